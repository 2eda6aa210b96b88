"""What a command says, and the one gate through which all of it passes.

Every piece of text printed here goes through `printable`, so no command can forget it.
On a terminal rich colours it, lines break between words, tables fit; in a pipe the same is plain
text of any width, and rich is not even imported. JSON is pure ASCII: what a log holds arrives escaped.
"""

from __future__ import annotations

import io
import itertools
import os
import sys
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from recollect.cli.columns import BAR, BY_ITS_END, GAP, Column, fit
from recollect.cli.wrap import wrap
from recollect.values.text import ascii_json, cells, ellipsis, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rich.console import Console
    from rich.text import Text


_SPOOL_BYTES = 16 << 20
_BAR_CELLS = 24
_WIDTH = 80  # of a terminal that does not say
_NOTE_HANG = 2
_HEAD_HANG = 4  # of a line that heads others, as that of a hit
_EIGHTHS = "▏▎▍▌▋▊▉"


class OutputGone(Exception):
    """Whoever read our output went away. Told apart from any other pipe that breaks."""


class Styled(NamedTuple):
    """A piece of text with the style it has on a terminal."""

    text: str
    style: str


class Bar(NamedTuple):
    """A cell that is drawn as long as its share, from 0 to 1, of the room there is; only on a terminal."""

    share: float


Part = str | Styled
Cell = Part | Bar


class Screen:
    """Where one command's output goes."""

    def __init__(self, *, json: bool, color: bool, quiet: bool, paged: bool = False) -> None:
        """With `paged`, what is said on a terminal waits for `finish`, and may be read in a pager."""
        self.json = json
        self.quiet = quiet
        self._held = io.StringIO() if paged and self.is_terminal else None
        self._notes: list[str] = []
        self._point = 0
        self._color = color and not os.environ.get("NO_COLOR")
        self._begun = False
        self._console: Console | None = None
        for stream in (sys.stdout, sys.stderr):
            # A character the terminal's encoding lacks is shown as an escape, not a crash.
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")

    # -- data ------------------------------------------------------------------------------

    def line(self, *parts: Part, hang: int | None = None) -> None:
        """One line, or a text of several, to stdout; what is too long goes on `hang` cells from the edge."""
        if self.is_terminal:
            with _read_by_someone():
                self.console.print(_rich(_wrapped(parts, self.console.width, hang)), soft_wrap=True)
        else:
            self._write(_plain(parts) + "\n")

    def table(self, columns: Sequence[Column], rows: Iterable[Sequence[Cell]]) -> None:
        """Rows under headings. Cells are single lines; on a terminal they are shortened to its width."""
        shown = self.is_terminal
        numbers = [number for number, column in enumerate(columns) if shown or column.gives != BAR]
        columns = [columns[number] for number in numbers]
        table: list[list[Cell]] = [[Styled(column.name, "bold") for column in columns]]
        table += [[_one_lined(row[number]) for number in numbers] for row in rows]
        widths = [max(_wide(row[number]) for row in table) for number in range(len(columns))]
        fitted = fit(columns, widths, self.console.width) if shown else dict(enumerate(widths))
        for row in table:
            cut = [_padded(row[number], width, columns[number]) for number, width in fitted.items()]
            self._row(cut)
        left_out = [column.name for number, column in enumerate(columns) if number not in fitted]
        if named := ", ".join(filter(None, left_out)):
            self.note(f"a wider terminal, or a pipe, also shows: {named}")

    def head(self, *cells: tuple[Column, Part], indent: int = 0) -> None:
        """One line above others, cell by cell; on a terminal it fits, as a row of a table does."""
        kept = [(column, _single_line(part)) for column, part in cells if part_text(part)]
        widths = [_wide(cell) for _, cell in kept]
        room = self.console.width - indent if self.is_terminal else sum(widths) + GAP * len(kept)
        fitted = fit([column for column, _ in kept], widths, room)
        row = [_shortened(kept[number][1], width, kept[number][0]) for number, width in fitted.items()]
        row[0] = _with_text(row[0], " " * indent + part_text(row[0]))
        self._row(row)

    def point(self) -> None:
        """Where a pager opens what was and will be said: the next line."""
        if self._held is not None:
            self._point = self._held.getvalue().count("\n") + 1

    def finish(self) -> None:
        """Say what was held back, in a pager if it is longer than the screen."""
        if self._held is not None:
            from recollect.cli.pager import fits, page

            text, height = self._held.getvalue(), self.console.height
            if not fits(text, self.console.width, height) and page(text, self._point, os.environ):
                self._held = io.StringIO()
        self.flush()

    def raw(self, pieces: Iterable[bytes]) -> None:
        """Bytes as they are; for a terminal the caller has made them safe."""
        with _read_by_someone():
            sys.stdout.flush()
            for piece in pieces:
                sys.stdout.buffer.write(piece)
            sys.stdout.buffer.flush()

    def pairs(self, rows: Iterable[tuple[str, Part]]) -> None:
        """Names and values, the values aligned; a value of "" is left out."""
        kept = [(name, value) for name, value in rows if part_text(value)]
        wide = max((len(name) for name, _ in kept), default=0)
        for name, value in kept:
            self.line(Styled(f"  {name:<{wide}}  ", "dim"), value, hang=wide + 4)

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
        if self._held is not None and not self.quiet:
            self._notes.append(text)
        elif not self.quiet:
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
        """Let everything that was said arrive, also what was held back."""
        held, self._held = self._held, None
        self._console = None if held is not None else self._console
        with _read_by_someone():
            if held is not None:
                sys.stdout.write(held.getvalue())
            sys.stdout.flush()
            sys.stderr.flush()
        for text in self._notes:
            self._say(text)
        self._notes.clear()

    # -- how -------------------------------------------------------------------------------

    @property
    def is_terminal(self) -> bool:
        """Whether a person is looking at stdout."""
        return not self.json and is_terminal(sys.stdout)

    @property
    def has_shades(self) -> bool:
        """Whether shades arrive as such: not where the encoding lacks them, nor on a dumb terminal."""
        try:
            "░▒▓█".encode(sys.stdout.encoding or "ascii")
        except (LookupError, UnicodeEncodeError):
            return False
        return os.environ.get("TERM") != "dumb"

    @property
    def console(self) -> Console:
        if self._console is None:
            self._console = self.console_for(sys.stdout, self._held)
        return self._console

    def console_for(self, stream: Any, held: IO[str] | None = None) -> Console:
        """A rich console that neither reads markup nor paints what it guesses; `held`: where it writes."""
        from rich.console import Console

        options: dict[str, Any] = {} if self._color else {"color_system": None}
        if held is not None:
            options |= {"force_terminal": True}
        return Console(
            file=held or stream,
            width=terminal_width(stream),
            markup=False,
            highlight=False,
            emoji=False,
            **options,
        )

    def _write(self, text: str) -> None:
        with _read_by_someone():
            sys.stdout.write(text)

    def _say(self, text: str) -> None:
        with _read_by_someone():
            sys.stdout.flush()  # what belongs before it should also arrive before it
            if is_terminal(sys.stderr):
                text = "".join(map(part_text, _wrapped([text], terminal_width(sys.stderr), _NOTE_HANG)))
            sys.stderr.write(printable(text) + "\n")
            sys.stderr.flush()

    def _row(self, row: list[Part]) -> None:
        last = row[-1]
        row[-1] = Styled(last.text.rstrip(), last.style) if isinstance(last, Styled) else last.rstrip()
        if self.is_terminal:
            with _read_by_someone():
                self.console.print(_rich(_joined(row)), soft_wrap=True)
        else:
            self._write(_plain(_joined(row)).rstrip() + "\n")


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


def terminal_width(stream: Any) -> int:
    """How many cells a line has: what COLUMNS says, or the terminal, or 80."""
    asked = os.environ.get("COLUMNS", "")
    if asked.isascii() and asked.isdigit() and int(asked[:4]):
        return int(asked[:4])
    try:
        return os.get_terminal_size(stream.fileno()).columns or _WIDTH
    except (OSError, ValueError):
        return _WIDTH


def part_text(part: Part) -> str:
    """What a part says, whatever its style."""
    return part.text if isinstance(part, Styled) else part


def _plain(parts: Iterable[Part]) -> str:
    return "".join(printable(part_text(part)) for part in parts)


def _rich(parts: Iterable[Part]) -> Text:
    from rich.text import Text

    text = Text()
    for part in parts:
        text.append(printable(part_text(part)), part.style if isinstance(part, Styled) else None)
    return text


def _wrapped(parts: Iterable[Part], width: int, hang: int | None) -> list[Part]:
    """The parts with line breaks where the terminal would break words."""
    gated = [_with_text(part, printable(part_text(part))) for part in parts]
    text = "".join(map(part_text, gated))
    if hang is None and len(gated) > 1 and "\n" not in text and text[:1] != " ":
        hang = _HEAD_HANG
    breaks = list(wrap(text, width, hang))
    ends = itertools.accumulate(len(part_text(part)) for part in gated)
    return [_broken(part, end, breaks) for part, end in zip(gated, ends, strict=True)]


def _broken(part: Part, end: int, breaks: Sequence[tuple[int, int, str]]) -> Part:
    """A part that ends at `end` of the whole text, with those breaks that are in it."""
    text, made = part_text(part), ""
    begin = at = end - len(text)
    for start, stop, instead in breaks:
        if begin <= start < end:
            made += text[at - begin : start - begin] + instead
        if start < end and stop > at:
            at = min(stop, end)
    return _with_text(part, made + text[at - begin :])


def _with_text(part: Part, text: str) -> Part:
    return Styled(text, part.style) if isinstance(part, Styled) else text


def _one_lined(cell: Cell) -> Cell:
    return cell if isinstance(cell, Bar) else _single_line(cell)


def _single_line(part: Part) -> Part:
    return _with_text(part, printable(part_text(part)).replace("\n", " ").replace("\t", " "))


def _wide(cell: Cell) -> int:
    return _BAR_CELLS if isinstance(cell, Bar) else cells(part_text(cell))


def _padded(cell: Cell, width: int, column: Column) -> Part:
    """A cell in exactly so many cells."""
    if isinstance(cell, Bar):
        eighths = round(min(max(cell.share, 0), 1) * width * 8)
        drawn = "█" * (eighths // 8) + ("" if eighths % 8 == 0 else _EIGHTHS[eighths % 8 - 1])
        return Styled(drawn.ljust(width), "cyan")
    shown = _shortened(cell, width, column)
    text, space = part_text(shown), " " * (width - cells(part_text(shown)))
    return _with_text(cell, space + text if column.right else text + space)


def _shortened(part: Part, width: int, column: Column) -> Part:
    return _with_text(part, ellipsis(part_text(part), width, front=column.gives in BY_ITS_END))


def _joined(row: Sequence[Part]) -> Iterator[Part]:
    for number, part in enumerate(row):
        yield from ((" " * GAP, part) if number else (part,))
