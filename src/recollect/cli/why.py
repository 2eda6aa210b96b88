"""`why`: the change that brought a line of a file, what asked for it, and the reason given."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from recollect.cli.commit_lines import commit_lines, unmade_note
from recollect.cli.hit_lines import place
from recollect.cli.open_memory import open_memory
from recollect.cli.screen import Screen, Styled
from recollect.cli.words import add_command
from recollect.present.history import diff_lines, why_object
from recollect.values.text import ellipsis, many, one_line, printable

if TYPE_CHECKING:
    from recollect.values.history import Touch, Why

_WIDTH = 160
_COLOURS = {"+": "green", "-": "red"}


def add_words(commands: Any) -> None:
    command = add_command(
        commands,
        "why",
        "the change that brought a line, and why",
        "Finds the change that brought the line as it stands now, among all that agents wrote, with the "
        "prompt that asked for it and the reason that was given. Where none is known, git is asked which "
        "commit the line is of, and the conversations that made that commit are shown. It says when it "
        "cannot know.",
        ("recollect why src/auth/token_store.py:42", "recollect why compose.yaml:7 --json"),
    )
    command.add_argument(
        "line", type=_line, metavar="FILE:LINE", help="a file and the number of a line in it"
    )


def _line(text: str) -> tuple[str, int]:
    path, colon, number = text.rpartition(":")
    if not (colon and path and number.isascii() and number.isdigit() and len(number) < 10):
        raise argparse.ArgumentTypeError(f"{text!r} is no line of a file, such as src/auth.py:42")
    return path, int(number)


def why(args: argparse.Namespace, screen: Screen) -> int:
    """Why a line is there."""
    with open_memory(args) as memory:
        found = memory.why(*args.line)
    if screen.json:
        screen.object("why", why_object(found))
        return 0
    screen.line(Styled(one_line(found.text, _WIDTH), "bold"))
    if found.touch is not None:
        _print_change(found, found.touch, screen)
    elif found.commit is not None:
        for line in commit_lines(found.commit):
            screen.line(*line)
    if not found.found_by:
        screen.note(_unknown(found))
    return 0


def _print_change(found: Why, touch: Touch, screen: Screen) -> None:
    screen.head(*place(touch.last, touch.session))
    asked = one_line(touch.prompt.entry.text, _WIDTH) if touch.prompt else "nothing was asked before"
    screen.line(Styled("    asked   ", "dim"), asked)
    if found.reason is not None:
        reason = one_line(found.reason.text, _WIDTH * 2)
        screen.line(Styled("    reason  ", "dim"), reason, Styled(f"  {found.reason.entry}", "cyan"))
    bringing = [each for each in touch.edits if found.text in each.new][:1]
    for edit in bringing:
        for line in diff_lines(edit, found.text):
            shown = ellipsis(printable(line.expandtabs(4)), _WIDTH)
            screen.line("    ", Styled(shown, _COLOURS.get(line[:1], "dim")))
    if found.found_by == "text":
        named = one_line(bringing[0].path, 80) if bringing else "another file"
        screen.note(f"found by its text, in {named}: no change of this file of this project brought it")
    if found.others:
        screen.note(
            f"{many(found.others, 'other change')} brought the same text; what stands around it told which"
        )


def _unknown(found: Why) -> str:
    if found.commit is not None:
        return f"no change in the store brought this line; {unmade_note(found.commit)}"
    git = (
        "git is not there, or reads no repository in its folder"
        if found.git_fails
        else "git has no commit of it"
    )
    return (
        f"nothing is known of this line: no change in the store brought it, and {git}; "
        f"`recollect blame {one_line(found.path, 80)}` lists who touched the file"
    )
