"""`digest`: what replaces reading a session again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recollect.cli.open_memory import open_memory
from recollect.cli.screen import Screen, Styled
from recollect.cli.statements import print_statements
from recollect.cli.words import add_command
from recollect.present.digests import (
    digest_object,
    digest_statements,
    effort_text,
    gone_text,
    pattern_text,
    usage_text,
)
from recollect.values.text import moment, one_line

if TYPE_CHECKING:
    import argparse

    from recollect.values.digests import Digest
    from recollect.values.stored import Session
    from recollect.values.usage import SessionUsage

_REPORT_CHARS = 600
COLOURS = {"success": "green", "failed": "red", "abandoned": "yellow", "unknown": "dim"}


def add_words(commands: Any) -> None:
    command = add_command(
        commands,
        "digest",
        "what happened in a conversation, on one screen",
        "What was asked, what was changed, run, tested and committed, what was decided, which errors were "
        "met and whether they were solved, what is open, and how it ended; each with the id of the entry "
        "that shows it. Made by rules from the log alone: no model is asked.",
        ("recollect digest 3f2a", "recollect digest 3f2a --json"),
    )
    command.add_argument("session", metavar="SESSION", help="a session, by its id or the beginning of it")


def digest(args: argparse.Namespace, screen: Screen) -> int:
    """A session's digest."""
    with open_memory(args) as memory:
        session, made = memory.digest(args.session)
        usage = memory.session_usage(session.facts.id)
    if screen.json:
        screen.object("digest", digest_object(session, made, usage))
        return 0
    _print_head(session, made, usage, screen)
    print_statements(digest_statements(made), screen, label=len("unsolved"))
    if made.report is not None:
        screen.line("")
        screen.line(one_line(made.report.text, _REPORT_CHARS), Styled(f"  {made.report.entry}", "cyan"))
    return 0


def _print_head(session: Session, made: Digest, usage: SessionUsage, screen: Screen) -> None:
    facts = session.facts
    whose = "imported" if session.imported else ""
    place = (facts.agent, one_line(facts.project, 30), moment(facts.started_ms, "%Y-%m-%d %H:%M"), whose)
    screen.line(Styled(one_line(made.title, 80), "bold"))
    screen.line(Styled("  ".join(filter(None, place)), "dim"))
    outcome = str(made.ending.outcome)
    why = (f": {made.ending.why}", Styled(f"  {made.ending.entry}", "cyan"))
    screen.line(Styled(outcome, COLOURS[outcome]), *why)
    for told in (effort_text(made), usage_text(usage), pattern_text(made), gone_text(made)):
        if told:
            screen.line(Styled(told, "dim"))
