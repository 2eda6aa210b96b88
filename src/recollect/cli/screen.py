"""What a command says, and the one gate through which all of it passes.

Every piece of text printed here goes through `printable`, so no command can forget it.
On a terminal rich draws tables and colour; in a pipe the same rows are plain aligned
text, and rich is not even imported. JSON is pure ASCII: what a log holds arrives escaped.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from recollect.values.text import ascii_json, cells, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rich.console import Console
    from rich.text import Text


_SPOOL_BYTES = 16 << 20


class OutputGone(Exception):
    """Whoever read our output went away. Told apart from any other pipe that breaks."""


class Styled(NamedTuple):
    """A piece of text with the style it has on a terminal."""

    text: str
    style: str


class Column(NamedTuple):
    """A table's column. `width`: the most cells a value may take on a terminal, 0 for any."""

    name: str
    right: bool = False
    width: int = 0
    flexible: bool = False


Part = str | Styled


class Screen:
    """Where one command's output goes."""

    def __init__(self, *, json: bool, color: bool, quiet: bool) -> None:
        self.json = json
        self.quiet = quiet
        self._color = color and not os.environ.get("NO_COLOR")
        self._begun = False
        self._console: Console | None = None
        for stream in (sys.stdout, sys.stderr):
            # A character the terminal's encoding lacks is shown as an escape, not a crash.
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")

    # -- data ------------------------------------------------------------------------------

    def line(self, *parts: Part) -> None:
        """One line, or a text of several, to stdout."""
        if self.is_terminal:
            with _read_by_someone():
                self.console.print(_rich(parts), soft_wrap=True)
        else:
            self._write(_plain(parts) + "\n")

    def table(self, columns: Sequence[Column], rows: Iterable[Sequence[Part]]) -> None:
        """Rows under headings. Cells are single lines."""
        if self.is_terminal:
            self._rich_table(columns, rows)
        else:
            self._plain_table(columns, rows)

    def raw(self, pieces: Iterable[bytes]) -> None:
        """Bytes as they are; for a terminal the caller has made them safe."""
        with _read_by_someone():
            sys.stdout.flush()
            for piece in pieces:
                sys.stdout.buffer.write(piece)
            sys.stdout.buffer.flush()

    def pairs(self, rows: Iterable[tuple[str, Part]]) -> None:
        """Names and values, the values aligned; a value of "" is left out."""
        kept = [(name, value) for name, value in rows if _text(value)]
        wide = max((len(name) for name, _ in kept), default=0)
        for name, value in kept:
            self.line(Styled(f"  {name:<{wide}}  ", "dim"), value)

    def object(self, command: str, fields: Mapping[str, Any]) -> None:
        """The one JSON object of a command."""
        self._begun = True
        self._write(ascii_json({"schema": f"recollect.{command}/1", **fields}) + "\n")

    def spool(self, command: str, fields: Mapping[str, Any], name: str, items: Iterable[Any]) -> IO[str]:
        """Like `object`, with one last field that is a list too long to hold; `pour` prints it."""
        import tempfile

        spool = tempfile.SpooledTemporaryFile(_SPOOL_BYTES, "w+", encoding="ascii", newline="")  # noqa: SIM115
        spool.write(
            ascii_json({"schema": f"recollect.{command}/1", **fields})[:-1] + f",{ascii_json(name)}:["
        )
        joint = "\n"
        for item in items:
            spool.write(joint + ascii_json(item))
            joint = ",\n"
        spool.write("\n]}\n")
        return spool

    def pour(self, spool: IO[str]) -> None:
        """Print what was spooled."""
        self._begun = True
        spool.seek(0)
        while piece := spool.read(1 << 20):
            self._write(piece)
        spool.close()

    # -- everything else -------------------------------------------------------------------

    def note(self, text: str) -> None:
        """Something worth knowing that is not the answer: to stderr, unless --quiet."""
        if not self.quiet:
            self._say(text)

    def error(self, name: str, message: str, hint: str, code: int) -> None:
        """A sentence and the next step; with --json the same as an object on stdout."""
        if self.json and not self._begun:
            self.object("error", {"error": name, "message": message, "hint": hint, "exit_code": code})
        self.flush()
        self._say(f"recollect: {message}")
        if hint:
            self._say(f"  try: {hint}")

    def traceback(self, text: str) -> None:
        self._say(text.rstrip("\n"))

    def flush(self) -> None:
        with _read_by_someone():
            sys.stdout.flush()
            sys.stderr.flush()

    # -- how -------------------------------------------------------------------------------

    @property
    def is_terminal(self) -> bool:
        """Whether a person is looking at stdout."""
        return not self.json and is_terminal(sys.stdout)

    @property
    def console(self) -> Console:
        if self._console is None:
            self._console = self.console_for(sys.stdout)
        return self._console

    def console_for(self, stream: Any) -> Console:
        """A rich console that neither reads markup nor paints what it guesses."""
        from rich.console import Console

        colors: dict[str, Any] = {} if self._color else {"color_system": None}
        return Console(file=stream, markup=False, highlight=False, emoji=False, **colors)

    def _write(self, text: str) -> None:
        with _read_by_someone():
            sys.stdout.write(text)

    def _say(self, text: str) -> None:
        with _read_by_someone():
            sys.stdout.flush()  # what belongs before it should also arrive before it
            sys.stderr.write(printable(text) + "\n")
            sys.stderr.flush()

    def _plain_table(self, columns: Sequence[Column], rows: Iterable[Sequence[Part]]) -> None:
        table = [[column.name for column in columns]]
        table += [[_cell(value) for value in row] for row in rows]
        wide = [max(cells(row[n]) for row in table) for n in range(len(columns))]
        for row in table:
            padded = [_pad(value, wide[n], columns[n].right) for n, value in enumerate(row)]
            self._write("  ".join(padded).rstrip() + "\n")

    def _rich_table(self, columns: Sequence[Column], rows: Iterable[Sequence[Part]]) -> None:
        from rich.table import Table

        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        for column in columns:
            table.add_column(
                column.name,
                justify="right" if column.right else "left",
                no_wrap=True,
                overflow="ellipsis",
                max_width=column.width or None,
                ratio=1 if column.flexible else None,
            )
        for row in rows:
            table.add_row(*(_rich([_cell_part(value)]) for value in row))
        with _read_by_someone():
            self.console.print(table)


@contextmanager
def _read_by_someone() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError as error:
        raise OutputGone from error


def is_terminal(stream: Any) -> bool:
    try:
        return bool(stream.isatty()) and os.environ.get("TERM") != "dumb"
    except ValueError:  # closed
        return False


def _text(part: Part) -> str:
    return part.text if isinstance(part, Styled) else part


def _plain(parts: Iterable[Part]) -> str:
    return "".join(printable(_text(part)) for part in parts)


def _rich(parts: Iterable[Part]) -> Text:
    from rich.text import Text

    text = Text()
    for part in parts:
        text.append(printable(_text(part)), part.style if isinstance(part, Styled) else None)
    return text


def _cell(part: Part) -> str:
    return printable(_text(part)).replace("\n", " ").replace("\t", " ")


def _cell_part(part: Part) -> Part:
    return Styled(_cell(part), part.style) if isinstance(part, Styled) else _cell(part)


def _pad(text: str, wide: int, right: bool) -> str:
    space = " " * (wide - cells(text))
    return space + text if right else text + space
