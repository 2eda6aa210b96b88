"""`threads`: sessions that continue one another as one line each, the most recently active first."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from recollect.cli.columns import PROJECT, TITLE, Column
from recollect.cli.open_memory import open_memory
from recollect.cli.screen import Part, Screen, Styled
from recollect.cli.words import add_command, limit
from recollect.present.digests import heading_object, thread_heading
from recollect.present.projects import unknown_project_note
from recollect.present.sessions import thread_object
from recollect.present.short_ids import short_ids
from recollect.present.threads import tree_lines, tree_object
from recollect.values.text import age, cells, ellipsis, many, moment, one_line
from recollect.values.titles import UNTITLED

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from recollect.values.digests import Heading
    from recollect.values.history import Thread, ThreadTree

_WIDTH = 80


def add_words(commands: Any) -> None:
    command = add_command(
        commands,
        "threads",
        "conversations with everything that continued them",
        "A thread is a session with those that resumed it, were forked from it, went on after a compaction, "
        "carried out its plan, asked the same again or, where that is likely, worked on with its branch, its "
        "files or its plan document; the most recently active first. With --tree what ties them is drawn: "
        "subagents with the call that started them, compactions, how sure it is where it may be chance.",
        ("recollect threads", "recollect threads --project harbor", "recollect threads --tree --limit 5"),
    )
    command.add_argument("--tree", action="store_true", help="draw how the sessions of each hang together")
    command.add_argument("--project", default="", metavar="P", help="only projects whose name contains P")
    command.add_argument(
        "--label", default="", metavar="L", help="only projects with a label that contains L"
    )
    limit(command, 20, "threads")


def threads(args: argparse.Namespace, screen: Screen) -> int:
    with open_memory(args) as memory:
        found = memory.threads(args.project, label=args.label)
        listed = found[: args.limit or None]
        sessions = memory.sessions()
        headings = memory.headings(session for thread in listed for session in thread.sessions)
        trees = memory.thread_trees(args.project, label=args.label, limit=args.limit) if args.tree else []
    names = short_ids(session.facts.id for session in sessions)
    if screen.json and args.tree:
        screen.object(
            "threads", {"total": len(found), "threads": [tree_object(each, names) for each in trees]}
        )
        return 0
    if screen.json:
        screen.object(
            "threads",
            {"total": len(found), "threads": [_object(each, names[each.id], headings) for each in listed]},
        )
        return 0
    for number, tree in enumerate(trees):
        if number:
            screen.line("")
        draw(tree, names, screen)
    if listed and not trees:
        _print(listed, names, headings, screen)
    if not found:
        screen.note(unknown_project_note(args.project, sessions) or "no threads fit")
    if listed and all(each.imported for each in listed):
        screen.note("all of them are from imported logs")
    if len(listed) < len(found):
        screen.note(f"{len(listed):,} of {many(len(found), 'thread')}; --limit 0 lists all")
    return 0


def _object(thread: Thread, short: str, headings: Mapping[str, Heading]) -> dict[str, Any]:
    told = heading_object(thread_heading(thread, headings))
    return {**thread_object(thread, short), "digest": told}


def _print(
    listed: list[Thread], names: dict[str, str], headings: Mapping[str, Heading], screen: Screen
) -> None:
    now_ms = time.time_ns() // 1_000_000
    strange = len({each.imported for each in listed}) > 1  # where all are, a note says so
    columns = [
        Column("thread"),
        Column("agents", drops=3),
        Column("project", gives=PROJECT),
        Column("when", right=True),
        Column("sessions", right=True, drops=2),
        Column("entries", right=True, drops=1),
        *([Column("log", drops=5)] if strange else []),
        Column("outcome", drops=4),
        Column("title", gives=TITLE),
    ]
    rows = [_row(each, thread_heading(each, headings), names[each.id], strange, now_ms) for each in listed]
    screen.table(columns, rows)


def draw(tree: ThreadTree, names: dict[str, str], screen: Screen) -> None:
    """A thread as a tree, in 80 columns."""
    for line in tree_lines(tree, names):
        name = ""
        if line.session is not None:
            facts = line.session.facts
            name = names.get(facts.id, one_line(facts.id, 12))
            when = moment(facts.started_ms, "%m-%d %H:%M")
            whose = facts.agent if len(tree.thread.agents) > 1 else ""
            name = "  ".join(filter(None, (name, when, whose))) + "  "
        entry = f"  {line.entry}" if line.entry else ""
        room = _WIDTH - cells(line.branch) - cells(name) - len(entry)
        shown = ellipsis(one_line(line.text, 4 * _WIDTH), room)
        screen.line(Styled(line.branch, "dim"), Styled(name, "cyan"), shown, Styled(entry, "dim"))


def _row(thread: Thread, heading: Heading | None, name: str, strange: bool, now_ms: int) -> list[Part]:
    return [
        Styled(name, "cyan"),
        one_line(", ".join(thread.agents), 16),
        one_line("/".join(thread.project.split("/")[-2:]), 28),
        Styled(age(thread.ended_ms, now_ms=now_ms), "dim"),
        f"{len(thread.sessions):,}" + (f" +{thread.subagents:,}" if thread.subagents else ""),
        f"{thread.entries:,}",
        *(["imported" if thread.imported else ""] if strange else []),
        str(heading.outcome) if heading else "",
        one_line((heading.title if heading else "") or thread.title or UNTITLED, 72),
    ]
