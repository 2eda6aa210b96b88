"""What a store gives back: sessions, sources, entries and lines, with where they are from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from recollect.values.records import Cursor, Entry, Framing, LineFlag, Provenance, SessionFacts, SourceFile


class Clue(NamedTuple):
    """What a session says of its project; `copied` as in `Session`."""

    agent: str
    host: str
    project: str
    folder: str
    in_git: bool
    imported: bool
    copied: bool


class Called(NamedTuple):
    """What a project is called: its name, its other names, and its labels as `key=value`."""

    name: str
    aliases: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()

    def is_of_project(self, part: str) -> bool:
        """Whether one of its names contains this, in any case."""
        wanted = part.casefold()
        return any(wanted in name.casefold() for name in (self.name, *self.aliases))

    def is_labelled(self, part: str) -> bool:
        """Whether one of its labels contains this, in any case."""
        wanted = part.casefold()
        return any(wanted in label.casefold() for label in self.labels)


@dataclass(frozen=True, slots=True)
class Session:
    """A stored session: what is known of it, where it is from, how much it shows.

    `imported`: no log of this person's own agents has it, and what is known of it anyone may have made up.
    `copied`: an export of ours wrote it, nobody went on in it, and what it is a copy of is there. A store
    says it of every fork without a time; which of them it is true of, `recollect.search.copies` finds out.
    `aliases` are the other names of its project, `labels` what a person said of that, as `key=value`:
    whoever names projects adds both (`recollect.search.projects`).
    """

    facts: SessionFacts
    host: str
    entries: int
    imported: bool = False
    copied: bool = field(default=False, kw_only=True)
    aliases: tuple[str, ...] = field(default=(), kw_only=True)
    labels: tuple[str, ...] = field(default=(), kw_only=True)

    def is_of_project(self, part: str) -> bool:
        """Whether a name of its project contains this, in any case."""
        return Called(self.facts.project, self.aliases).is_of_project(part)

    def is_labelled(self, part: str) -> bool:
        """Whether a label of its project contains this, in any case."""
        return Called(self.facts.project, labels=self.labels).is_labelled(part)

    @property
    def clue(self) -> Clue:
        """What it says of its project itself."""
        facts = self.facts
        return Clue(
            facts.agent, self.host, facts.project, facts.cwd, bool(facts.branch), self.imported, self.copied
        )


@dataclass(frozen=True, slots=True)
class Source:
    """A stored source. `superseded`: the file was rewritten, and a newer version is stored too.

    `thinned`: lines of it were erased, evicted or altered since, so that its file is not what they add up to.
    """

    file: SourceFile
    host: str
    cursor: Cursor
    session: str
    lines: int
    parser: int
    superseded: bool = False

    @property
    def thinned(self) -> bool:
        return self.cursor.thinned

    @property
    def imported(self) -> bool:
        """Whether it was handed to Recollect, so that anyone may have written it."""
        return self.file.provenance is Provenance.IMPORTED


@dataclass(frozen=True, slots=True)
class StoredEntry:
    """An entry with the short id it is addressed by and the ids of its record in the log.

    `row` is its number among all entries, `session_row` that of its session; -1 outside a store.
    Numbers grow in the order in which things came and may have gaps; what came together is close together.
    `imported`: its line is in no log of this person's own agents, whatever session it says it is of.
    """

    id: str
    session: str
    type: str
    entry: Entry
    row: int = field(default=-1, compare=False)
    session_row: int = field(default=-1, compare=False)
    imported: bool = False


@dataclass(frozen=True, slots=True)
class StoredLine:
    """A line as it was in its source, and what it was taken for.

    `key`: it is altered, but not evicted, and this is the key of the line that its source had.
    """

    data: bytes
    flags: int
    type: str
    key: bytes = b""

    @property
    def is_evicted(self) -> bool:
        """Whether its bytes and entries were let go, and only its row is left."""
        return bool(self.flags & LineFlag.ALTERED) and not self.data


@dataclass(frozen=True, slots=True)
class TakeResult:
    """What became of the lines handed to a writer: which ones the store had already."""

    known: Sequence[bool]
    entries: int


@dataclass(frozen=True, slots=True)
class VectorModel:
    """What vectors were made with; those of another name, revision or size never mix with them.

    `rows` is how many of them a view has.
    """

    name: str
    revision: str
    dims: int
    rows: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is not as it should be. `error`: data is affected; `warning`: only worth knowing."""

    level: str
    what: str


@dataclass(frozen=True, slots=True)
class Footprint:
    """What a store takes, what waits in its journal included, and when it was last written."""

    bytes: int
    written_ms: int


@dataclass(frozen=True, slots=True)
class StoreInfo:
    """The store as a whole. `folded` is the last journal number that is in it.

    `entries` counts them; `rows_end` is one behind the last one's row, 0 where there is none. `epoch`
    changes whenever rows may stand for something else than they did.
    """

    id: str
    format: int
    generation: int
    epoch: int
    created_ms: int
    folded: int
    sessions: int
    sources: int
    lines: int
    entries: int
    rows_end: int
    responses: int
    line_bytes: int
    subagents: int  # of the sessions


def source_bytes(source: Source, lines: Iterator[StoredLine]) -> Iterator[bytes]:
    """The source file's content, piece by piece, exactly as it was, unless it is `thinned`."""
    joint = b""
    for line in lines:
        yield joint + line.data if joint else line.data
        cut = source.file.framing == Framing.DOCUMENT or line.flags & LineFlag.CONTINUES
        joint = b"" if cut else b"\n"
    if source.lines and source.cursor.terminated and joint:
        yield joint
