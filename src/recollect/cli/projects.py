"""`projects`: what projects there are, by all their names; which of them are one, and what they are."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from recollect.cli.columns import PATH, PROJECT, TITLE, Column
from recollect.cli.open_memory import open_memory
from recollect.cli.screen import Part, Screen, Styled
from recollect.cli.words import add_command, limit
from recollect.present.projects import project_object
from recollect.values.errors import UsageError
from recollect.values.text import age, many, one_line

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from recollect.memory import Memory
    from recollect.values.projects import Project


def add_words(commands: Any) -> None:
    command = add_command(
        commands,
        "projects",
        "projects and the names they go by: list, join, rename, label",
        "A project is a repository, wherever it was worked on: clones, worktrees, folders inside of it, "
        "folders that are gone count as one where a log knows the remote, or git was there. "
        "Without words it lists them. With an action: "
        "join P OTHER makes two one, under P's name; split NAME takes a name out of its project again; "
        "rename P NEW; label P KEY=VALUE, or KEY= to take it back. Labels filter and group: search "
        "'label:domain=payments', sessions --label, threads --label, usage --by label. Sessions stay as "
        "they are: what you say is kept in the store and applied when they are read.",
        (
            "recollect projects",
            "recollect projects join ada/harbor harbor-old",
            "recollect projects label harbor domain=payments",
        ),
    )
    command.add_argument("words", nargs="*", metavar="WORD", help="an action, and what it is about")
    command.add_argument("--label", default="", metavar="L", help="only those with a label that contains L")
    limit(command, 40, "projects")


# What each action takes, in the order it is typed.
_TAKES: dict[str, tuple[str, ...]] = {
    "join": ("P", "OTHER"),
    "split": ("NAME",),
    "unjoin": ("NAME",),
    "rename": ("P", "NEW"),
    "label": ("P", "KEY=VALUE"),
}


def projects(args: argparse.Namespace, screen: Screen) -> int:
    """Without words all of them, else what the first word says."""
    with open_memory(args) as memory:
        if not args.words:
            return _list(memory.projects(), args, screen)
        made = _decide(memory, args.words)
    if screen.json:
        screen.object("project", {"project": project_object(made)})
    else:
        _print([made], screen)
    return 0


def _decide(memory: Memory, words: Sequence[str]) -> Project:
    action, given = words[0], words[1:]
    names = _TAKES.get(action)
    if names is None:
        raise UsageError(f"projects has no action {action!r}", hint="actions: " + ", ".join(_TAKES))
    if len(given) != len(names):
        raise UsageError(
            f"projects {action} takes {many(len(names), 'word')}, not {len(given)}",
            hint=f"recollect projects {action} {' '.join(names)}; a name with blanks stands in quotes",
        )
    if action == "join":
        return memory.join_projects(*given)
    if action == "rename":
        return memory.rename_project(*given)
    if action == "label":
        return memory.label_project(*given)
    return memory.split_project(*given)


def _list(found: list[Project], args: argparse.Namespace, screen: Screen) -> int:
    label = args.label.casefold()
    fitting = [each for each in found if any(label in name.casefold() for name in each.labels) or not label]
    listed = fitting[: args.limit or None]
    if screen.json:
        screen.object(
            "projects", {"total": len(fitting), "projects": [project_object(each) for each in listed]}
        )
        return 0
    if listed:
        _print(listed, screen)
    else:
        screen.note(
            "no projects fit" if found else "no projects yet; `recollect ingest` takes in what there is"
        )
    if len(listed) < len(fitting):
        screen.note(f"{len(listed):,} of {many(len(fitting), 'project')}; --limit 0 lists all")
    return 0


def _print(listed: list[Project], screen: Screen) -> None:
    now_ms = time.time_ns() // 1_000_000
    labelled, strange = any(each.labels for each in listed), any(each.imported for each in listed)
    columns = [
        Column("project", gives=PROJECT),
        Column("when", right=True),
        Column("sessions", right=True),
        *([Column("log")] if strange else []),
        Column("agents", drops=4),
        *([Column("labels", gives=TITLE, drops=3)] if labelled else []),
        Column("also called", gives=TITLE, drops=2),
        Column("folders", gives=PATH, drops=1),
    ]
    screen.table(columns, [_row(each, labelled, strange, now_ms) for each in listed])


def _row(project: Project, labelled: bool, strange: bool, now_ms: int) -> list[Part]:
    others = len(project.folders) - 1
    folder = project.folders[0] if project.folders else ""
    return [
        Styled(one_line(project.name, 60), "cyan"),
        Styled(age(project.ended_ms, now_ms=now_ms), "dim"),
        f"{project.sessions:,}",
        *([Styled("imported" if project.imported else "", "dim")] if strange else []),
        one_line(", ".join(project.agents), 20),
        *([one_line(", ".join(project.labels), 60)] if labelled else []),
        one_line(", ".join(project.aliases), 60),
        (f"+{others:,} " if others > 0 else "") + one_line(folder, 60),
    ]
