"""The answers of a host as values: what it is, which files it has, what is in them.

Each mirrors a function of `remote.sh`. Nothing here believes a number before it was bounded, nor a name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from recollect.intake.fleet.cksum import Cksum
from recollect.intake.fleet.wire import BadAnswer, Wire

PATH_BYTES_MAX = 4096
FILES_MAX = 250_000  # that a host may list
PIECE_BYTES = 8 << 20  # as `remote.sh` cuts them
DEPTH_MAX = 64
_FIELD_BYTES_MAX = PATH_BYTES_MAX + 200
_FIELDS_MAX = 1000
_INODE_MASK = (1 << 63) - 1
_SIZE, _INODE = re.compile(rb"\d{1,18}"), re.compile(rb"\d{1,20}")
_TIME = re.compile(rb"(\d{1,12})(?:\.(\d{1,12}))?")
_SUM = re.compile(r"(\d{1,10}) (\d{1,18})")


@dataclass(frozen=True, slots=True)
class Hello:
    """What a host says of itself; `lacks` are tools that are needed and not there.

    `looking`: how it finds out about files. `variables` are those that say where agents keep theirs.
    """

    home: str
    system: str
    looking: str
    lacks: tuple[str, ...]
    variables: dict[str, str]


@dataclass(frozen=True, slots=True)
class Stat:
    """A file as it was when it was listed: what changes when it does."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int


@dataclass(frozen=True, slots=True)
class Listing:
    """Regular files by their whole paths, as bytes; `told` are single ones that were asked for."""

    files: dict[bytes, Stat]
    told: dict[bytes, Stat]
    passed_over: int


def read_hello(wire: Wire) -> Hello:
    """The answer to `hello`."""
    home, system, looking = b"", "", ""
    lacks: list[str] = []
    variables: dict[str, str] = {}
    for _ in range(_FIELDS_MAX):
        name, _, value = wire.field(_FIELD_BYTES_MAX).partition(b" ")
        if name == b"END":
            if not is_whole_path(home):
                raise BadAnswer("a home that is no folder")
            return Hello(_name(home), system, looking, tuple(lacks), variables)
        if name == b"home":
            home = value
        elif name == b"system":
            system = _word(value)
        elif name == b"looking":
            looking = _word(value)
        elif name == b"lacks":
            lacks.append(_word(value))
        elif name == b"variable":
            key, _, path = value.partition(b"=")
            if is_whole_path(path):
                variables[_word(key)] = _name(path)
        else:
            raise BadAnswer("something it was not asked")
    raise BadAnswer("more than was asked for")


def read_listing(wire: Wire) -> Listing:
    """The answer to `roots` and `told`."""
    files: dict[bytes, Stat] = {}
    told: dict[bytes, Stat] = {}
    root, passed_over = b"", 0
    for _ in range(FILES_MAX):
        kind, _, rest = wire.field(_FIELD_BYTES_MAX).partition(b" ")
        if kind == b"END":
            return Listing(files, told, passed_over)
        if kind == b"R":
            root = rest if is_whole_path(rest) else b""
            continue
        if kind not in (b"F", b"T"):
            raise BadAnswer("something it was not asked")
        stat, name = _stat(rest)
        path = _below(root, name) if kind == b"F" else decoded(name)
        if stat is None or not is_whole_path(path):
            passed_over += 1
        elif kind == b"F":
            files[path] = stat
        else:
            told[path] = stat
    raise BadAnswer(f"more than {FILES_MAX:,} files")


@dataclass(frozen=True, slots=True)
class Begun:
    """A file's bytes follow: from `start` up to `end`, which may be before all of it."""

    number: int
    start: int
    end: int
    whole: int


@dataclass(frozen=True, slots=True)
class Part:
    """A file of a database follows: `main`, `wal` or `journal`."""

    number: int
    name: str
    end: int


@dataclass(frozen=True, slots=True)
class Ended:
    """All of a file came; `total` is the checksum from its first byte on, None where one piece says it."""

    number: int
    total: int | None


@dataclass(frozen=True, slots=True)
class Copied:
    """All files of a database came; whether they are of one moment."""

    number: int
    same: bool


@dataclass(frozen=True, slots=True)
class Refused:
    """A file that is not sent, and why: `link`, `gone`, `unreadable`, `large`."""

    number: int
    why: str


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes follow (`Wire.exactly`), then what says whether they were read twice alike (`is_good`)."""

    length: int


Record = Begun | Part | Ended | Copied | Refused | Piece

_RECORDS = (
    (re.compile(r"F (\d{1,9}) (\d{1,18}) (\d{1,18}) (\d{1,18})"), lambda *n: Begun(*map(int, n))),
    (
        re.compile(r"D (\d{1,9}) (main|wal|journal) (\d{1,18})"),
        lambda number, name, end: Part(int(number), name, int(end)),
    ),
    (
        re.compile(r"E (\d{1,9}) (-|\d{1,10})"),
        lambda number, total: Ended(int(number), None if total == "-" else int(total)),
    ),
    (re.compile(r"V (\d{1,9}) (same|changed)"), lambda number, how: Copied(int(number), how == "same")),
    (re.compile(r"X (\d{1,9}) (link|gone|unreadable|large)"), lambda number, why: Refused(int(number), why)),
    (re.compile(r"P (\d{1,18})"), lambda length: Piece(int(length))),
)


def read_record(wire: Wire) -> Record | None:
    """The next record of the answer to `fetch` and `database`; None at the end."""
    line = wire.line()
    if line == "END":
        return None
    for form, make in _RECORDS:
        if found := form.fullmatch(line):
            record: Record = make(*found.groups())
            if isinstance(record, Piece) and not 0 < record.length <= PIECE_BYTES:
                raise BadAnswer("a piece of no allowed length")
            if isinstance(record, Begun) and not record.start <= record.end <= record.whole:
                raise BadAnswer("a file that ends before it begins")
            return record
    raise BadAnswer("something it was not asked")


def is_good(wire: Wire, made: Cksum) -> bool:
    """Whether what follows a piece's bytes says that they are what the host read a second time."""
    if wire.line():
        raise BadAnswer("more bytes than were announced")
    found = _SUM.fullmatch(wire.line())
    if found is None:
        raise BadAnswer("no checksum where one belongs")
    return (int(found[1]), int(found[2])) == (made.value, made.length)


def coded(path: bytes) -> str:
    """A path as a word that no shell reads anything into: letters, digits, `/._-`, and escapes."""
    return "".join(
        chr(byte) if chr(byte).isascii() and (chr(byte).isalnum() or byte in b"/._-") else f"\\0{byte:03o}"
        for byte in path
    )


def decoded(word: bytes) -> bytes:
    """What was coded; b"" where it was not."""
    if not re.fullmatch(rb"(?:[A-Za-z0-9/._-]|\\0[0-3][0-7]{2})*", word):
        return b""
    return re.sub(rb"\\0(...)", lambda found: bytes([int(found[1], 8)]), word)


def is_whole_path(path: bytes) -> bool:
    """Whether it names a file from the root on, in one way only, and is neither too long nor too deep."""
    if not path.startswith(b"/") or len(path) > PATH_BYTES_MAX or b"\0" in path:
        return False
    names = path[1:].split(b"/")
    return len(names) <= DEPTH_MAX and not any(name in (b"", b".", b"..") for name in names)


def _below(root: bytes, name: bytes) -> bytes:
    """The whole path of a name that `find .` printed; b"" for any other."""
    if not root or not name.startswith(b"./"):
        return b""
    return root + name[1:]


def _stat(rest: bytes) -> tuple[Stat | None, bytes]:
    """Size, two times and a number, and what follows them."""
    parts = rest.split(b" ", 4)
    if len(parts) < 5:
        return None, b""
    size, mtime, ctime, inode, name = parts
    times = _TIME.fullmatch(mtime), _TIME.fullmatch(ctime)
    if not (_SIZE.fullmatch(size) and _INODE.fullmatch(inode) and times[0] and times[1]):
        return None, b""
    number = int(inode) & _INODE_MASK
    return Stat(int(size), _nanoseconds(times[0]), _nanoseconds(times[1]), number), name


def _nanoseconds(time: re.Match[bytes]) -> int:
    # Beyond what fits into 64 bits a clock tells nothing.
    fraction = (time[2] or b"")[:9].ljust(9, b"0")
    return min(int(time[1]) * 10**9 + int(fraction), (1 << 62) - 1)


def _name(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _word(data: bytes) -> str:
    """A short word of a host's own."""
    if not re.fullmatch(rb"[\w.-]{0,64}", data):
        raise BadAnswer("a word that is none")
    return data.decode("ascii")


def pieces_of(wire: Wire, length: int, total: Cksum) -> Iterator[bytes]:
    """A piece's bytes as they come, added to the checksum of all of them."""
    for data in wire.exactly(length):
        total.add(data)
        yield data
