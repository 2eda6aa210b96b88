"""`sessions`: what there is, the most recently active first."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from recollect.cli.columns import PROJECT, TITLE, Column
from recollect.cli.open_memory import open_memory
from recollect.cli.screen import Part, Screen, Styled
from recollect.cli.words import add_command, count
from recollect.present.agents import enumeration, names
from recollect.present.digests import heading_object, shown_title
from recollect.present.projects import unknown_project_note
from recollect.present.sessions import last_names, relation_text, session_object
from recollect.present.short_ids import short_ids
from recollect.values.records import Relation
from recollect.values.text import age, many, one_line, short

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from recollect.values.digests import Heading
    from recollect.values.stored import Session


def add_words(commands: Any) -> None:
    command = add_command(
        commands,
        "sessions",
        "list sessions, the most recently active first",
        "One row per session. The id shown is the shortest that names it; every command takes it, or "
        "any longer piece of the beginning of the full id.",
        (
            "recollect sessions",
            "recollect sessions --project harbor --limit 5",
            f"recollect sessions --agent {names()[-1]} --all",
        ),
    )
    command.add_argument("--project", metavar="P", help="only projects whose name contains P")
    command.add_argument(
        "--label", default="", metavar="L", help="only projects with a label that contains L"
    )
    command.add_argument(
        "--agent", metavar="A", help=f"only those of this agent: {enumeration(names(), 'or')}"
    )
    command.add_argument(
        "-n", "--limit", type=count, default=20, metavar="N", help="at most N rows, 0 for all (default: 20)"
    )
    command.add_argument("--all", action="store_true", help="subagents' sessions too")


def sessions(args: argparse.Namespace, screen: Screen) -> int:
    with open_memory(args) as memory:
        everything = memory.sessions()
        tokens = {row.group: row.tokens for row in memory.usage("session").rows}
        fitting = [each for each in reversed(everything) if _fits(each, args)]
        shown = fitting if args.all else [s for s in fitting if s.facts.relation != Relation.SUBAGENT]
        listed = shown[: args.limit or None]
        headings = memory.headings(listed)
    hidden = len(fitting) - len(shown)
    names = short_ids(each.facts.id for each in everything)
    if screen.json:
        screen.object(
            "sessions",
            {
                "total": len(shown),
                "subagents_hidden": hidden,
                "sessions": [_object(each, names, tokens, headings) for each in listed],
            },
        )
        return 0
    if listed:
        _print(listed, names, tokens, headings, screen)
    _notes(len(listed), len(shown), hidden, screen)
    if note := unknown_project_note(args.project or "", everything):
        screen.note(note)
    if listed and all(each.imported for each in listed):
        screen.note("all of them are from imported logs; no new conversation is told of them unasked")
    return 0


def _fits(session: Session, args: argparse.Namespace) -> bool:
    facts = session.facts
    labelled = not args.label or session.is_labelled(args.label)
    named = labelled and session.is_of_project(args.project or "")
    return named and (not args.agent or args.agent == facts.agent)


def _object(
    session: Session, names: dict[str, str], tokens: dict[str, int], headings: dict[str, Heading]
) -> dict[str, Any]:
    id_ = session.facts.id
    told = heading_object(headings.get(id_))
    return {**session_object(session), "short": names[id_], "tokens": tokens.get(id_, 0), "digest": told}


def _print(
    listed: Sequence[Session],
    names: dict[str, str],
    tokens: dict[str, int],
    headings: dict[str, Heading],
    screen: Screen,
) -> None:
    now_ms = time.time_ns() // 1_000_000
    related = any(each.facts.relation != Relation.NONE for each in listed)
    strange = len({each.imported for each in listed}) > 1  # where all are, a note says so
    columns = [
        Column("id"),
        Column("agent", drops=4),
        Column("project", gives=PROJECT),
        Column("when", right=True),
        Column("entries", right=True, drops=2),
        Column("tokens", right=True, drops=3),
        *([Column("log", drops=5)] if strange else []),
        *([Column("from", drops=1)] if related else []),
        Column("outcome", drops=6),
        Column("title", gives=TITLE),
    ]
    rows = [
        _row(each, headings.get(each.facts.id), names, tokens, related, strange, now_ms) for each in listed
    ]
    screen.table(columns, rows)


def _row(
    session: Session,
    heading: Heading | None,
    names: dict[str, str],
    tokens: dict[str, int],
    related: bool,
    strange: bool,
    now_ms: int,
) -> list[Part]:
    facts = session.facts
    used = tokens.get(facts.id, 0)
    return [
        Styled(names[facts.id], "cyan"),
        one_line(facts.agent, 12),
        one_line(last_names(facts.project), 28),
        Styled(age(facts.ended_ms, now_ms=now_ms), "dim"),
        f"{session.entries:,}",
        short(used) if used else "",
        *(["imported" if session.imported else ""] if strange else []),
        *([relation_text(session, names)] if related else []),
        str(heading.outcome) if heading else "",
        one_line(shown_title(session, heading), 72),
    ]


def _notes(listed: int, shown: int, hidden: int, screen: Screen) -> None:
    if not shown and not hidden:
        screen.note("no sessions fit")
    if listed < shown:
        screen.note(f"{listed:,} of {many(shown, 'session')}; --limit 0 lists all")
    if hidden:
        screen.note(f"{many(hidden, 'session')} of subagents not listed; --all lists them too")
