"""Every table of every command, at every width: ids, times and money are whole or not there."""

from __future__ import annotations

import ast
import io
import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.support import DATA, SOURCE
from tests.support.foreign_memories import foreign_database
from tests.support.plain_hosts import PlainHosts

from recollect.cli.columns import MODEL, PROJECT, TITLE, Column, fit
from recollect.cli.screen import Bar, Cell, Screen, Styled
from recollect.values.text import cells

WIDTHS = range(60, 201)
PRECIOUS = re.compile(
    r"[0-9a-f]{8}(?:-[0-9a-f-]+)?|<?\$[\d,.]+(?: \+ unknown)?|\d{4}-\d\d-\d\d.*|\d+ (?:y|mo|d|h|min)|now"
)


class Told:
    """A terminal of one width, and what was said on it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
        self._stream = _Terminal()
        monkeypatch.setenv("COLUMNS", str(width))
        monkeypatch.setenv("TERM", "xterm-256color")
        monkeypatch.setattr(sys, "stdout", self._stream)

    @property
    def lines(self) -> list[str]:
        return self._stream.getvalue().splitlines()


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


Table = tuple[Sequence[Column], list[Sequence[Cell]]]


@pytest.fixture
def tables(
    filled: Callable[..., Any], store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[tuple[str, int], list[Table]]:
    """What every command says in tables, by the place in its source where it does."""
    name = "a saved thread of mine"
    assert filled("assemble", "quiet amber harbor tests", "--save", name, "--quiet").code == 0
    (tmp_path / "fleet").mkdir()
    monkeypatch.setenv("PATH", PlainHosts(tmp_path / "fleet", "nas").environ["PATH"])
    Path(os.environ["RECOLLECT_CONFIG"]).write_text("[retention]\nraw_max_age_days = 1\n")
    assert filled("fleet", "add", "nas").code == 0
    found: dict[tuple[str, int], list[Table]] = {}

    def record(self: Screen, columns: Sequence[Column], rows: Any) -> None:
        frame = sys._getframe(1)
        place = Path(frame.f_code.co_filename).stem, frame.f_lineno
        found.setdefault(place, []).append((columns, [list(row) for row in rows]))

    every = (
        ["convert", str(DATA / "claude"), "-o", str(tmp_path / "made.h5")],
        ["sessions"],
        ["sessions", "--all"],
        ["projects"],
        ["projects", "label", "ada/harbor", "domain=keys"],
        ["threads"],
        ["index"],
        ["entities"],
        ["entities", "--trending", "--until", "2026-04-03"],
        ["entity", "tokens.py"],
        ["graph", "relate", "tokens.py", "belongs to", "quay"],
        ["remember", "the quay is painted in spring", "--project", "harbor", "--tag", "decision"],
        ["notes"],
        ["migrate", str(foreign_database(tmp_path / "palace.db", "mempalace")), "--verbose"],
        ["graph"],
        ["graph", "tokens.py"],
        *(["usage", "--by", by] for by in ("day", "model", "project", "session", "agent", "project,model")),
        ["usage", "--explain"],
        ["assemble", "quiet amber harbor tests", "--dry-run"],
        ["saved"],
        ["saved", "show", name],
        ["complete"],
        ["complete", "project"],
        ["inspect", str(tmp_path / "made.h5")],
        ["embedder", "list"],
        ["fleet", "list"],
        ["fleet", "sync"],
        ["fleet", "status"],
        ["retention"],
        ["erase", "a1b2", "--dry-run"],
        ["erase", "a1b2", "--yes"],
        ["erase", "--list"],
    )
    with monkeypatch.context() as patch:
        patch.setattr(Screen, "table", record)
        for words in every:
            assert filled(*words).code == 0, words
    return found


def calls_of_table() -> set[str]:
    """Every place in the commands' sources that says a table."""
    return {
        f"{path.stem}:{node.lineno}-{node.end_lineno}"
        for path in (SOURCE / "recollect" / "cli").glob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "table"
    }


@pytest.mark.on_disk("`convert` makes a file")
def test_every_table_is_whole_at_every_width(
    tables: dict[tuple[str, int], list[Table]], monkeypatch: pytest.MonkeyPatch
) -> None:
    places = calls_of_table()
    seen = {
        place
        for place in places
        for module, line in tables
        if place.partition(":")[0] == module and _lies(line, place.partition(":")[2])
    }
    assert seen == places, "a table that no words above print"
    for made in tables.values():
        for columns, rows in made:
            assert rows
            _check_roles(columns, rows)
            for width in WIDTHS:
                _check_drawn(columns, rows, width, monkeypatch)


def _lies(line: int, span: str) -> bool:
    first, _, last = span.partition("-")
    return int(first) <= line <= int(last)


def _check_roles(columns: Sequence[Column], rows: list[Sequence[Cell]]) -> None:
    """A column of ids, times or money never gives way, whatever it is called."""
    for number, column in enumerate(columns):
        values = [_text(row[number]) for row in rows if not isinstance(row[number], Bar)]
        if any(PRECIOUS.fullmatch(value) for value in values) and column.name not in ("model", "project"):
            assert (column.gives, column.drops) == (0, 0), column


def _check_drawn(
    columns: Sequence[Column], rows: list[Sequence[Cell]], width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        told = Told(patch, width)
        Screen(json=False, color=False, quiet=True).table(columns, rows)
        lines = told.lines
    assert len(lines) == 1 + len(rows)
    assert all(cells(line) <= width for line in lines), width
    for line, row in zip(lines[1:], rows, strict=True):
        for column, cell in zip(columns, row, strict=True):
            if isinstance(cell, Bar) or column.gives:
                continue
            shown = not column.drops or column.name in lines[0].split("  ")
            assert not shown or _text(cell) in line, (width, column, line)


def _text(cell: Cell) -> str:
    return cell.text if isinstance(cell, Styled) else str(cell)


# -- the arithmetic ------------------------------------------------------------------------------


COLUMNS = (
    Column("id"),
    Column("project", gives=PROJECT),
    Column("entries", drops=2),
    Column("model", gives=MODEL),
    Column("tokens", drops=1),
    Column("title", gives=TITLE),
)
NATURAL = (8, 20, 7, 20, 6, 60)


@pytest.mark.parametrize(
    ("room", "widths"),
    [
        (200, (8, 20, 7, 20, 6, 60)),
        (131, (8, 20, 7, 20, 6, 60)),
        (130, (8, 20, 7, 20, 6, 59)),
        (95, (8, 20, 7, 20, 6, 24)),
        (92, (8, 17, 7, 20, 6, 24)),
        (84, (8, 16, 7, 13, 6, 24)),
        (83, (8, 16, 7, 12, 6, 24)),
        (82, (8, 16, 7, 19, 0, 24)),
        (70, (8, 16, 0, 16, 0, 24)),
        (50, (8, 16, 0, 12, 0, 8)),
    ],
)
def test_titles_give_way_first_then_projects_then_models_then_columns_leave(
    room: int, widths: tuple[int, ...]
) -> None:
    fitted = fit(COLUMNS, NATURAL, room)
    assert tuple(fitted.get(number, 0) for number in range(len(COLUMNS))) == widths


def test_what_is_left_out_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as patch:
        Told(patch, 30)
        columns = [Column("id"), Column("entries", drops=1), Column("title", gives=TITLE)]
        Screen(json=False, color=False, quiet=False).table(
            columns, [["3f2a9c01", "1,204", "mend the quay " * 9]]
        )
    assert "also shows: entries\n" in capsys.readouterr().err


def test_whose_a_conversation_is_stays_longer_than_how_long_it_is(
    tables: dict[tuple[str, int], list[Table]],
) -> None:
    for command, agent in (("sessions", "agent"), ("threads", "agents")):
        (columns, _), *_ = next(found for (place, _), found in tables.items() if place == command)
        leaves = {column.name: column.drops for column in columns}
        counts = [leaves[name] for name in ("tokens", "entries", "sessions") if name in leaves]
        assert counts
        assert max(counts) < leaves[agent]
