"""The values every layer speaks: entries, usage, session facts, sources, segments.

Standard library only, no I/O. Enumerations are written into stores by number, so a
number, once released, never changes its meaning.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from recollect.light import sources as places
from recollect.light.segments import segment_head, unpack_segment
from recollect.values.ids import line_key
from recollect.values.titles import bare_title, title_line, worth


class Kind(enum.IntEnum):
    """What an entry is to a reader of the conversation."""

    PROMPT = 1  # a person speaking
    ANSWER = 2  # the model speaking
    THOUGHT = 3  # the model thinking; the text is often empty, the signature never is
    CALL = 4  # a tool call: its text is the tool's input as JSON
    RESULT = 5  # what the tool gave back to the model
    IMAGE = 6  # an image or document block; no text
    SUMMARY = 7  # what a compaction kept, or a session's summary
    CONTEXT = 8  # text the harness put in front of the model: reminders, instructions
    EVENT = 9  # bookkeeping: titles, modes, boundaries, progress, token counts
    UNKNOWN = 10  # a record type this adapter does not know; the line is kept
    NOTE = 11  # something that code or a person saved to be remembered


class Flag(enum.IntEnum):
    """What else is true of an entry: bits, in any combination.

    Not an IntFlag: testing a bit of one costs a microsecond, and ingest tests millions.
    """

    ERROR = 1  # a failed tool call, an API error
    SIDECHAIN = 2  # said inside a subagent
    META = 4  # in a user's place, but no person typed it
    COPY = 8  # repeats another entry of the same session (events, progress): not indexed
    INJECTED = 16  # put there by Recollect itself: not indexed again
    BOUNDARY = 32  # the model's context restarts here (compaction)
    SPILLED = 64  # only a preview; the whole is in a file of its own (role SPILL)
    REPLACED = 128  # a later record took its place, or took it back: kept, neither shown nor found
    EXPORTED = 256  # an export of ours wrote it: read as COPY while what it was copied from is there


HIDDEN = int(Flag.COPY | Flag.INJECTED | Flag.REPLACED)  # what a reader has no use for, or has already
UNSAID = int(Flag.META) | HIDDEN  # a prompt that no person said, or not here


class Relation(enum.IntEnum):
    """How a session came out of its parent session."""

    NONE = 0
    SUBAGENT = 1
    FORK = 2
    CONTINUATION = 3


class Role(enum.IntEnum):
    """What a source file is to its session."""

    MAIN = places.MAIN  # the transcript itself
    SUBAGENT = places.SUBAGENT  # a subagent's transcript: a session of its own, with a parent
    SIDECAR = places.SIDECAR  # a small document about a session (agent-*.meta.json)
    SPILL = places.SPILL  # a tool result too big for the transcript


class LineFlag(enum.IntEnum):
    """What is true of a stored line: bits, in any combination."""

    BAD = 1  # no parser takes it; kept as it is
    BLANK = 2  # nothing in it
    CONTINUES = 4  # the next row is more of the same line: it was too long for one piece
    PENDING = 8  # the half-written end of a file; replaced once more of it arrives
    LENIENT = 16  # only the forgiving parser took it (lone surrogates, NaN)
    UNKNOWN = 32  # a record type the adapter does not know
    SPLICED = 64  # no record, but whole ones are inside of it; with BAD
    ALTERED = 128  # not what its source had: secrets are masked in it; or, where it is empty, it was evicted


class SourceFlag(enum.IntEnum):
    """What is true of a stored source: bits, in any combination."""

    UNTERMINATED = 1  # its content does not end with a newline
    SUPERSEDED = 2  # the file was rewritten; a newer version is stored too
    WAITING = 4  # its last line is half written and will be replaced
    OWN = 8  # the log of an agent of this person; `Provenance`
    IMPORTED = 16  # a file that was handed to Recollect; with neither bit nobody asked
    THINNED = 32  # lines of it were erased, evicted or altered: its lines are not its file any more


class Provenance(enum.IntEnum):
    """Whose log a source is. The greater one holds: what was once known to be a person's own stays so."""

    UNMARKED = 0  # nobody said: taken by a version that did not ask
    IMPORTED = 1  # a file that was handed to Recollect: anyone may have written it
    OWN = 2  # written by an agent of this person, where that agent keeps its logs


class Framing(enum.IntEnum):
    """How a source's bytes are cut."""

    LINES = places.LINES  # at every b"\n", and nowhere else
    DOCUMENT = places.DOCUMENT  # not at all: the whole file is one line
    ROWS = places.ROWS  # a session in a database: a line for each version of each row that was seen
    EXPORT = places.EXPORT  # not kept as such: many sessions in one document, each of which is kept as one


@dataclass(frozen=True, slots=True)
class Entry:
    """One addressable thing in a line.

    `text` is what a person would read or search, complete; "" where there is none.
    `call` is the agent's own id of a tool call and stands on the call and on its result.
    `time_ms` is 0 where the record carries no time.
    """

    kind: Kind
    text: str = ""
    flags: int = 0
    time_ms: int = 0
    tool: str = ""
    call: str = ""
    model: str = ""

    @property
    def is_said(self) -> bool:
        """Whether a person said it."""
        return self.kind == Kind.PROMPT and not self.flags & UNSAID


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens of one model response, each token in exactly one of the first five.

    `reasoning` is the part of `output` spent on thinking, where the agent says so.
    Two records with the same `key` speak of the same response; the larger one counts.
    """

    key: str
    model: str
    time_ms: int
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    reasoning: int = 0


@dataclass(frozen=True, slots=True)
class Parsed:
    """What an adapter made of one line.

    `type` names the record as the agent does, most general part first
    ("user", "system/compact_boundary", "response_item/function_call").
    `uuid` and `parent` are the record's own link fields, "" where it has none. `replaces` are the
    uuids of earlier records of the session whose place this one takes, its own among them where it
    states again what it stated before; with `rewinds`, everything shown from that record on is taken
    back. A record that does either has an entry itself.
    """

    type: str
    entries: tuple[Entry, ...]
    known: bool = True
    uuid: str = ""
    parent: str = ""
    usages: tuple[Usage, ...] = ()
    replaces: tuple[str, ...] = ()
    rewinds: str = ""

    @property
    def usage(self) -> Usage | None:
        """The first response it speaks of, mostly the only one."""
        return self.usages[0] if self.usages else None


@dataclass(slots=True)
class SessionFacts:
    """What is known of a session so far. "" and 0 mean unknown.

    `id` is the agent's own id. `root` is the id of the session at the start of its
    chain of forks (its own id when it began fresh). `title_rank` says where the title
    came from; a higher rank is never replaced by a lower one.
    """

    agent: str
    id: str
    project: str = ""
    cwd: str = ""
    branch: str = ""
    slug: str = ""
    title: str = ""
    title_rank: int = 0
    model: str = ""
    version: str = ""
    started_ms: int = 0
    ended_ms: int = 0
    parent: str = ""
    relation: Relation = Relation.NONE
    root: str = ""

    def saw(self, time_ms: int) -> None:
        """Widen the session's time span to include this moment."""
        if time_ms > 0:
            if not self.started_ms or time_ms < self.started_ms:
                self.started_ms = time_ms
            self.ended_ms = max(self.ended_ms, time_ms)

    def titled(self, title: str, rank: int) -> None:
        """Take a title unless a known one says more, or as much and is better founded; of equals the last."""
        if title and worth(title, rank) >= worth(self.title, self.title_rank):
            self.title, self.title_rank = title, rank

    def title_from(self, text: str, rank: int) -> None:
        """Take what was said for a title, if no title and nothing said before says as much."""
        title = title_line(text)
        if title and worth(title, rank) > worth(self.title, self.title_rank):
            self.title, self.title_rank = title, rank

    @property
    def is_timeless_fork(self) -> bool:
        """Whether it branched off without any time of its own: as an export of ours, and few others."""
        return self.relation is Relation.FORK and not self.ended_ms

    @property
    def headline(self) -> str:
        """What it is called wherever it is shown; "" where nothing says what it was about."""
        return bare_title(self.title) if worth(self.title, self.title_rank)[0] else ""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file an adapter recognised, before anything of it is read.

    `session` is the id of the session it belongs to, "" when only its content can tell.
    `path` is the name the source is known by; `read_path` where its bytes are now
    (an agent may compress what is cold: same source, other bytes on disk). Of a database each session
    is a source, `DATABASE#SESSION`; of an export each is `AGENT:SESSION`, whatever file it came in
    (`ZIP#MEMBER` while that is read).
    `provenance` is for whoever found it to say, never for an agent or the file itself.
    """

    agent: str
    path: str
    role: Role = Role.MAIN
    framing: Framing = Framing.LINES
    session: str = ""
    parent: str = ""
    compressed: bool = False
    provenance: Provenance = Provenance.UNMARKED

    @property
    def has_file(self) -> bool:
        """Whether there is a file of its own: what an export listed, or Recollect noted, never had one."""
        return not self.path.startswith(f"{self.agent}:")

    @property
    def read_path(self) -> str:
        if self.framing is Framing.ROWS or (self.framing is Framing.EXPORT and self.compressed):
            return self.path.rpartition("#")[0] or self.path
        return self.path + ".zst" if self.compressed else self.path


@dataclass(frozen=True, slots=True)
class KeptLine:
    """What is kept of an evicted line: its key, and the responses that were read in it, by their keys."""

    key: bytes
    usages: tuple[tuple[int, Usage], ...] = ()


@dataclass(frozen=True, slots=True)
class Line:
    """One source line on its way into a store: its bytes without the newline.

    `kept`: it was evicted in the store that it comes from, and is without bytes. `key`: it is altered, and
    this is the key of the line that its source has.
    """

    data: bytes
    flags: int = 0
    parsed: Parsed | None = None
    kept: KeptLine | None = None
    key: bytes = b""

    @property
    def known_by(self) -> bytes:
        """The key of the line as its source has it."""
        return self.kept.key if self.kept is not None else self.key or line_key(self.data)


BEHIND = -1  # where a segment begins of a source that only the journal and the store have


@dataclass(frozen=True, slots=True)
class Segment:
    """Bytes of a source from `offset` on, as captured by a process that parses nothing.

    With `BEHIND` for an offset they are lines that stand nowhere else, and come behind whatever there is.
    """

    source: SourceFile
    host: str
    offset: int
    data: bytes

    def pack(self) -> bytes:
        # What stands behind is many short segments of one source, whose heads are alike.
        make = _known_head if self.offset == BEHIND else _head
        return make(self.source, self.host, self.offset) + self.data

    @classmethod
    def unpack(cls, payload: bytes) -> Segment:
        agent, path, place, compressed, host, offset, own, data = unpack_segment(payload)
        role, framing, session, parent = place
        whose = Provenance.OWN if own else Provenance.UNMARKED
        source = SourceFile(agent, path, Role(role), Framing(framing), session, parent, compressed, whose)
        return cls(source, host, offset, data)


def _head(source: SourceFile, host: str, offset: int) -> bytes:
    place = int(source.role), int(source.framing), source.session, source.parent
    own = source.provenance is Provenance.OWN
    return segment_head(source.agent, source.path, place, host, offset, compressed=source.compressed, own=own)


_known_head = lru_cache(256)(_head)


@dataclass(frozen=True, slots=True)
class Cursor:
    """How far a source has been taken, and what proves that it is still the same file.

    `offset` counts bytes of content, always at the end of a taken line. `size`,
    `mtime_ns`, `ctime_ns`, `inode` are the file's state when it was last looked at;
    `window` is the hash of the up to 4096 bytes before `offset`, 0 if unknown.
    `terminated`: the content so far ends with a newline. `waiting`: a half-written line
    is kept behind `offset` and will be replaced when the file grows. `thinned`: some of the lines before
    `offset` were erased, evicted or altered, so that what is stored is not the file.
    """

    offset: int = 0
    size: int = 0
    mtime_ns: int = 0
    ctime_ns: int = 0
    inode: int = 0
    window: int = 0
    terminated: bool = True
    waiting: bool = False
    state: dict[str, Any] = field(default_factory=dict)
    thinned: bool = False
