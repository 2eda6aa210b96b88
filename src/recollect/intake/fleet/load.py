"""Files of a host as they come in: into the spool, each checked by itself.

A file that shrinks, is rewritten or grows while it is read costs that file, for now, and no other: so many
bytes come as were announced, and a checksum of a second reading says whether they were there.
"""

from __future__ import annotations

import contextlib
import copy
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from recollect.intake.fleet.answers import (
    PIECE_BYTES,
    Begun,
    Copied,
    Ended,
    Part,
    Piece,
    Refused,
    is_good,
    read_record,
)
from recollect.intake.fleet.channel import HostTrouble
from recollect.intake.fleet.cksum import Cksum
from recollect.intake.fleet.plan import Wanted, Way
from recollect.intake.fleet.wire import BadAnswer, CutOff, Wire
from recollect.light.own_files import open_own

_PARTS = {"main": "", "wal": "-wal", "journal": "-journal"}


@dataclass(frozen=True, slots=True)
class Fetched:
    """A file in the spool: its bytes from `start` up to `end`; `whole` is how long it was then."""

    wanted: Wanted
    path: Path
    start: int
    end: int
    whole: int

    @property
    def is_all(self) -> bool:
        """Whether nothing is left of the file as it was listed."""
        return self.end == self.whole == self.wanted.stat.size


@dataclass(slots=True)
class Load:
    """What one round brought. `unsteady` files changed while they were read; `refused` ones were not sent."""

    fetched: list[Fetched] = field(default_factory=list)
    unsteady: list[Wanted] = field(default_factory=list)
    refused: list[tuple[Wanted, str]] = field(default_factory=list)
    trouble: Exception | None = None  # that ended it early


def receive(wire: Wire, wanted: Sequence[Wanted], spool: Path, moved: Callable[[int], None]) -> Load:
    """Read the answers to these questions, in their order; what came before a cut is good.

    `moved` is told of bytes as they come.
    """
    load = Load()
    try:
        for number, each in enumerate(wanted):
            _Receiving(wire, number, each, spool / str(number), load, moved).run()
        if read_record(wire) is not None:
            raise BadAnswer("more than was asked for")
        wire.finish()
    except (BadAnswer, CutOff, HostTrouble) as trouble:
        load.trouble = trouble
    return load


class _Receiving:
    """One answer."""

    def __init__(
        self, wire: Wire, number: int, wanted: Wanted, path: Path, load: Load, moved: Callable[[int], None]
    ) -> None:
        self._wire, self._number, self._wanted, self._path = wire, number, wanted, path
        self._load, self._moved = load, moved

    def run(self) -> None:
        record = read_record(self._wire)
        if record is None or isinstance(record, Piece) or record.number != self._number:
            raise BadAnswer("an answer to something else")
        if isinstance(record, Refused):
            self._load.refused.append((self._wanted, record.why))
        elif isinstance(record, Part) and self._wanted.way is Way.DATABASE:
            self._database(record)
        elif isinstance(record, Begun) and self._wanted.way is not Way.DATABASE:
            self._file(record)
        else:
            raise BadAnswer("an answer to something else")

    def _file(self, begun: Begun) -> None:
        wanted = self._wanted
        if begun.start not in (0, wanted.offset) or begun.end - begun.start > wanted.limit:
            raise BadAnswer("other bytes than were asked for")
        total = copy.copy(wanted.before) if begun.start else Cksum()
        good = begun.start  # up to here
        try:
            with _new_file(self._path) as file:
                for end, same in self._pieces(file, begun.end - begun.start, total):
                    good = begun.start + end if same and good == begun.start + end - self._last else good
            ended = read_record(self._wire)
        except (CutOff, HostTrouble):
            # Of a log, whole pieces that were read twice alike will do.
            if wanted.way is Way.LINES and good > begun.start:
                os.truncate(self._path, good - begun.start)
                self._load.fetched.append(Fetched(wanted, self._path, begun.start, good, begun.whole))
            raise
        if not isinstance(ended, Ended) or ended.number != self._number:
            raise BadAnswer("no end where one belongs")
        one_piece = begun.start == 0 and begun.end <= PIECE_BYTES
        if good == begun.end and (ended.total == total.value or (ended.total is None and one_piece)):
            self._load.fetched.append(Fetched(wanted, self._path, begun.start, begun.end, begun.whole))
        else:
            self._load.unsteady.append(wanted)

    def _database(self, part: Part) -> None:
        record: object = part
        steady, main, seen = True, part, set()
        while isinstance(record, Part):
            if record.name in seen or record.end > self._wanted.limit:
                raise BadAnswer("other bytes than were asked for")
            seen.add(record.name)
            with _new_file(Path(f"{self._path}{_PARTS[record.name]}")) as file:
                for _, same in self._pieces(file, record.end, Cksum()):
                    steady &= same
            record = read_record(self._wire)
        if not isinstance(record, Copied) or record.number != self._number or "main" not in seen:
            raise BadAnswer("no end where one belongs")
        if steady and record.same:
            self._load.fetched.append(Fetched(self._wanted, self._path, 0, main.end, main.end))
        else:
            self._load.unsteady.append(self._wanted)

    def _pieces(self, file: BinaryIO, length: int, total: Cksum) -> Iterator[tuple[int, bool]]:
        """Write so many bytes; gives for each piece where it ends, and whether it was read twice alike."""
        at = 0
        while at < length:
            piece = read_record(self._wire)
            if not isinstance(piece, Piece) or piece.length != min(PIECE_BYTES, length - at):
                raise BadAnswer("other bytes than were announced")
            made = Cksum()
            for data in self._wire.exactly(piece.length):
                made.add(data)
                total.add(data)
                file.write(data)
                self._moved(len(data))
            at += piece.length
            self._last = piece.length
            yield at, is_good(self._wire, made)


@contextlib.contextmanager
def _new_file(path: Path) -> Iterator[BinaryIO]:
    with os.fdopen(open_own(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as file:
        yield file
