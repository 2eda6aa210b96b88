"""`blame`: every conversation that read or changed a file, or made a commit, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recollect.cli.columns import Column
from recollect.cli.commit_lines import commit_lines, unmade_note
from recollect.cli.hit_lines import place
from recollect.cli.open_memory import open_memory
from recollect.cli.screen import Part, Screen, Styled
from recollect.cli.words import add_command, limit
from recollect.present.history import commit_object, diff_lines, touch_object
from recollect.values.errors import UsageError
from recollect.values.text import ellipsis, many, one_line, printable

if TYPE_CHECKING:
    import argparse

    from recollect.values.stored import StoredEntry

_WIDTH = 160
_COLOURS = {"+": "green", "-": "red"}


def add_words(commands: Any) -> None:
    command = add_command(
        commands,
        "blame",
        "every conversation that read or changed a file, or made a commit, and why",
        "The most recent first, each with the last prompt before the file was changed, or else looked at. "
        "The end of the path is enough. With words, only the change that brought them into the file: what "
        "was there before and then, and the prompt that asked for it. With --commit, the conversations that "
        "made a commit, by the hash that was printed there; git is asked for its subject and files where "
        "you stand in its repository.",
        (
            "recollect blame src/auth/token_store.py",
            "recollect blame token_store.py 'clock_skew = 30'",
            "recollect blame --commit 50d8160",
        ),
    )
    command.add_argument("path", nargs="?", metavar="PATH", help="a file, by its path or the end of it")
    command.add_argument("words", nargs="*", metavar="WORDS", help="what stands in it, as it stands there")
    command.add_argument(
        "--commit", metavar="HASH", help="instead of a file, a commit: its hash, the beginning of it, or HEAD"
    )
    limit(command, 20, "sessions")


def blame(args: argparse.Namespace, screen: Screen) -> int:
    """Who touched this file, and why."""
    if (args.path is None) == (args.commit is None):
        raise UsageError("name a file, or a commit with --commit", hint="recollect blame --help")
    return _file(args, screen) if args.commit is None else _commit(args, screen)


def _commit(args: argparse.Namespace, screen: Screen) -> int:
    with open_memory(args) as memory:
        found = memory.blame_commit(args.commit)
    if screen.json:
        screen.object("blame-commit", commit_object(found))
        return 0
    for line in commit_lines(found, args.limit):
        screen.line(*line)
    if not found.made:
        screen.note(unmade_note(found))
    return 0


def _file(args: argparse.Namespace, screen: Screen) -> int:
    words = " ".join(args.words)
    with open_memory(args) as memory:
        found = memory.blame(args.path, args.limit, words=words)
    if screen.json:
        sessions = [touch_object(each) for each in found]
        screen.object("blame", {"path": args.path, "words": words, "sessions": sessions})
        return 0
    for touch in found:
        done = ", ".join(
            many(count, noun) for count, noun in ((touch.changes, "change"), (touch.looks, "look")) if count
        )
        screen.head(*place(touch.last, touch.session), (Column("done"), Styled(done, "bold")))
        screen.line("    ", _asked(touch.prompt))
        for edit in touch.edits if words else ():
            for line in diff_lines(edit, words):
                shown = ellipsis(printable(line.expandtabs(4)), _WIDTH)
                screen.line("    ", Styled(shown, _COLOURS.get(line[:1], "dim")))
    if not found and words:
        screen.note("no change in the store brought these words into it")
    elif not found:
        screen.note("no conversation in the store names this file; the end of its path is enough to find it")
    return 0


def _asked(prompt: StoredEntry | None) -> Part:
    if prompt is None:
        return Styled("nothing was asked before", "dim")
    return one_line(prompt.entry.text, _WIDTH)
