"""`blame`: every conversation that read or changed a file, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recollect.cli.hit_lines import place_parts
from recollect.cli.open_memory import open_memory
from recollect.cli.screen import Part, Screen, Styled
from recollect.cli.words import add_command, limit
from recollect.present.history import touch_object
from recollect.values.text import many, one_line

if TYPE_CHECKING:
    import argparse

    from recollect.values.stored import StoredEntry

_WIDTH = 160


def add_words(commands: Any) -> None:
    command = add_command(
        commands,
        "blame",
        "every conversation that read or changed a file, and why",
        "The most recent first, each with the last prompt before the file was changed, or else looked at. "
        "The end of the path is enough.",
        ("recollect blame src/auth/token_store.py", "recollect blame token_store.py --limit 50 --json"),
    )
    command.add_argument("path", metavar="PATH", help="a file, by its path or the end of it")
    limit(command, 20, "sessions")


def blame(args: argparse.Namespace, screen: Screen) -> int:
    """Who touched this file, and why."""
    with open_memory(args) as memory:
        found = memory.blame(args.path, args.limit)
    if screen.json:
        screen.object("blame", {"path": args.path, "sessions": [touch_object(each) for each in found]})
        return 0
    for touch in found:
        done = ", ".join(
            many(count, noun) for count, noun in ((touch.changes, "change"), (touch.looks, "look")) if count
        )
        screen.line(*place_parts(touch.last, touch.session), Styled(f"  {done}", "bold"))
        screen.line("    ", _asked(touch.prompt))
    if not found:
        screen.note("no conversation in the store names this file; the end of its path is enough to find it")
    return 0


def _asked(prompt: StoredEntry | None) -> Part:
    if prompt is None:
        return Styled("nothing was asked before", "dim")
    return one_line(prompt.entry.text, _WIDTH)
