"""Which repository a folder belongs to, against labelled folders: scored as the labels' own scorer does."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator
from typing import Any

from benchmarks.insight_lab import Lab, memory_of
from benchmarks.report import Row
from recollect.light.project import repository_folder
from recollect.search.projects import by_name
from recollect.values.stored import Clue

LEAST = 0.95


def projects(lab: Lab) -> Iterator[Row]:
    """Folders that are said to be of the right project."""
    scorer = lab.scorer("score_sessions")
    labels = scorer.table_of(str(lab.labels / "projects.tsv"))
    with memory_of([lab.corpus / "claude", lab.corpus / "codex"]) as memory, memory.view() as view:
        named, told = by_name(view).names, view.session_clues()
        known: dict[str, list[Clue]] = {}
        for clue in told.clues:
            known.setdefault(clue.folder, []).append(clue)
        said = [{"cwd": row["cwd"], "canonical": _called(row, known, named)} for row in labels]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        scorer.projects(said)
    for line in filter(None, map(str.strip, printed.getvalue().splitlines())):
        good, total = map(int, re.findall(r"(\d+)/(\d+)", line)[0])
        strict = "inferred" not in line
        yield Row(
            what=f"projects, {line.partition(':')[0].strip() if ':' in line else line[:20]}",
            ours=f"{good / total:.3f}  {good} of {total}",
            mark=f">= {LEAST}" if strict else "",
            met=good / total >= LEAST if strict else None,
        )


def _called(row: dict[str, Any], known: dict[str, list[Clue]], named: Any) -> str:
    """The name that most sessions of a folder have; that of one which says nothing, where there is none."""
    folder = row["cwd"]
    own = repository_folder(folder).rpartition("/")[2]
    clues = known.get(folder) or [Clue(row["agent"], "here", own, folder, True, True, False)]
    names = [named.called(clue).name for clue in clues]
    return str(max(set(names), key=names.count))
