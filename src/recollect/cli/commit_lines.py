"""A commit and the conversations that made it, line by line: for `blame --commit` and `why`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from recollect.cli.screen import Part, Styled
from recollect.present.short_ids import short_id
from recollect.values.text import many, moment, one_line

if TYPE_CHECKING:
    from recollect.values.history import CommitBlame, CommitMade

_FILES = 8
_DECISIONS = 4
_WIDTH = 160


def commit_lines(found: CommitBlame, limit: int = 0) -> Iterator[list[Part]]:
    """What git knows of a commit, then each conversation that made it."""
    if (known := found.known) is not None:
        when = moment(known.time_ms, "%Y-%m-%d %H:%M")
        yield [
            Styled(known.hash[:10], "yellow"),
            f"  {one_line(known.subject, _WIDTH)}",
            Styled(f"  {when}", "dim"),
        ]
        for path in known.files[:_FILES]:
            yield [Styled(f"    {one_line(path, _WIDTH)}", "dim")]
        if len(known.files) > _FILES:
            yield [Styled(f"    and {many(len(known.files) - _FILES, 'more file')}", "dim")]
    for each in found.made[: limit or None]:
        yield from _made(each)


def unmade_note(found: CommitBlame) -> str:
    """What is said where no conversation made a commit."""
    where = "" if found.known else ", and no repository in this folder has it"
    return (
        f"no conversation in the store made this commit{where}: a person did, or its output was not printed"
    )


def _made(made: CommitMade) -> Iterator[list[Part]]:
    facts = made.session.facts
    place = (one_line(facts.project, 40), one_line(facts.agent, 12), moment(made.time_ms, "%Y-%m-%d %H:%M"))
    whose = ("imported",) if made.session.imported else ()
    yield [
        Styled(made.commit.entry, "cyan"),
        "  ",
        Styled(one_line(made.title, 72) or "(no title)", "bold"),
        Styled("  " + "  ".join((*place, *whose)), "dim"),
    ]
    if made.by_subject:
        yield [Styled(f"    as {made.commit.hash}, of the same subject: rebased or amended since", "yellow")]
    asked = one_line(made.prompt.entry.text, _WIDTH) if made.prompt else "nothing was asked before"
    yield [Styled("    asked    ", "dim"), asked]
    for each in made.decisions[-_DECISIONS:]:
        yield [Styled("    decided  ", "dim"), one_line(each.text, _WIDTH), Styled(f"  {each.entry}", "cyan")]
    yield [Styled(f"    recollect digest {one_line(short_id(facts.id), 40)}", "dim")]
