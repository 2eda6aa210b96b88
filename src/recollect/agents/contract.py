"""What an agent is to Recollect: one folder, one `Agent`.

Six things are required: a name, a title, the parser's version, where its logs are, which files are
its own, and a parser. That much makes an agent's past kept, searchable and shown. Everything else is
a capability that may be missing; whoever needs one asks for it and does without where the answer is
None. `has` says whether it is there without importing it.

    hooks       its sessions are captured as they happen
    settings    `init` puts hook and MCP server into its settings
    database    its sessions are rows of a database, which its client changes in place
    conversations  its sessions are listed in documents that a person asked it for
    reader      its sessions are read back as its log has them; without one, from what was parsed
    writer      a conversation is written as a session that it opens as its own
    tools       what its tools do: blame, how, fix, digests and recalled files know its calls
    asker       its client can be asked one question, in a form: facts, where a person wants a model's
    mirror      its SDK hands its sessions to a memory: where they lie there
    signs       what its client writes where a person stepped in: digests know how a session ended

The class that says so (`agent.py`) is imported for a help text. What it needs to answer the rest, it
imports inside its methods.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from pathlib import Path, PurePath
    from sqlite3 import Connection

    from recollect.agents.asking import Asker
    from recollect.agents.head import Head
    from recollect.agents.mirroring import Mirror
    from recollect.agents.sessions import SessionFile, StoredFile
    from recollect.agents.signs import Signs
    from recollect.agents.tools import Tools
    from recollect.light.agents import Hooks
    from recollect.values.conversation import Conversation, Message
    from recollect.values.records import Parsed, SessionFacts, SourceFile
    from recollect.values.settings import Commands, Plugin, Settings
    from recollect.values.stored import Session, StoredEntry


class Parser(Protocol):
    """Reads one source's records in file order and remembers what spans lines.

    It never fails on a record: whatever a decoded line holds, `parse` answers with a `Parsed`.
    What it does not know is `Kind.UNKNOWN`, `known=False`, under the name the agent gave it.
    """

    @property
    def facts(self) -> SessionFacts:
        """The session as known after the last record; `id` may be "" before the first."""
        ...

    def parse(self, record: Any, /) -> Parsed:
        """Turn one decoded JSON value (any value at all) into entries."""
        ...

    def document(self, data: bytes, /) -> Parsed:
        """Turn a whole file that is not JSON lines (a sidecar, a spilled result) into entries."""
        ...

    def state(self) -> dict[str, Any]:
        """What a later parser of the same source needs to go on: small, JSON-able."""
        ...


@runtime_checkable
class TellsFirst(Protocol):
    """What a parser has besides where forks copy records and name no parent."""

    @property
    def first(self) -> str:
        """The id of the first record of a conversation; "" while there is none."""
        ...


@runtime_checkable
class CutsRecords(Protocol):
    """What a parser has besides where a document is saved again as a whole: it cuts it into records.

    Records come as (key, bytes): the key stays the same while the record changes. What another version of
    the document had too is stored once; what only an older one had is kept, and shown no more.
    """

    def records(self, data: bytes, /) -> Iterator[tuple[str, bytes]]:
        """The records of a whole document, in order: all their bytes together are the document.

        None at all where the document is not whole, which happens while it is being saved.
        """
        ...

    def record(self, key: str, data: bytes, /) -> Parsed:
        """Turn one of them into entries."""
        ...


class Database(Protocol):
    """Where the sessions of an agent are in its database. A module will do.

    All of it is asked of one moment. What a file holds that only looks like the agent's is an `sqlite3.Error`
    or nothing.
    """

    def sessions(self, connection: Connection, /) -> Iterable[tuple[str, tuple[int, int, int]]]:
        """Every session, parents first, and numbers of which one changes whenever one of its rows does."""
        ...

    def rows(self, connection: Connection, session: str, /) -> Iterable[tuple[str, str, int]]:
        """Table, key and version of every row of a session, in the order in which it is told.

        A version is another one after every change, and the newest the greatest. The content of rows is
        not needed for it, so that what is known already is not read; where nothing else tells, a hash of it
        will do.
        """
        ...

    def row(self, connection: Connection, table: str, key: str, /) -> Mapping[str, Any] | None:
        """The columns of one row."""
        ...


class Conversations(Protocol):
    """Which conversation is which in a document that lists many. A module will do.

    Each becomes a source of its own, framed as DOCUMENT, that the agent's parser is given: the same one in
    whatever document it comes, so that a later export is a later version of it.
    """

    def identity(self, conversation: Any, /) -> tuple[str, int] | None:
        """Its id, and when it last changed in milliseconds, 0 where it does not say; None if it is none."""
        ...


class Reader(Protocol):
    """Stored lines back as conversations. A module will do."""

    def conversation(
        self,
        session: Session,
        files_of: Callable[[str], Sequence[StoredFile]],
        *,
        until: StoredEntry | None = None,
        before_compaction: bool = False,
    ) -> Conversation:
        """A whole session as it would be resumed; at an entry, or before it was last compacted.

        `files_of` gives the files that are kept of a session, by its id; NotFound for one that is not.
        """
        ...

    def message_of(self, stored: StoredEntry, line: bytes, again: bytes, /) -> Message | None:
        """The message that one entry is, None where it is no part of a conversation.

        `line` is the entry's; `again` the one behind it where that says the same once more, else b"".
        """
        ...


@runtime_checkable
class TellsBranches(Protocol):
    """What a reader has besides where a conversation can be taken back and led another way."""

    def left_branches(
        self, session: Session, files_of: Callable[[str], Sequence[StoredFile]], /
    ) -> list[tuple[bytes, int]]:
        """The branches that were left: the first line of each, and how many messages it has."""
        ...


class Writer(Protocol):
    """Conversations as sessions of its own. A module will do."""

    def session_file(
        self,
        conversation: Conversation,
        *,
        home: Path,
        environ: Mapping[str, str],
        folder: str,
        now_ms: int,
        seed: bytes,
    ) -> SessionFile:
        """A new session for the agent started in `folder`; the same seed gives the same session."""
        ...


class Agent(ABC):
    """One coding agent."""

    name: str  # as people say it in commands: "claude"; that of its folder
    title: str  # its own name: "Claude Code"
    version: int  # of its parser: raised whenever the same line would give other entries
    home: str = ""  # where it keeps everything, as a person would write it: "~/.claude"
    moved_by: tuple[str, ...] = ()  # environment variables that say it is elsewhere
    instructions: str = ""  # the file of a project that it reads at every start: "CLAUDE.md"
    tags: tuple[str, ...] = ()  # of what its harness puts into a conversation: "system-reminder"
    is_proven: bool = True  # False where no client was run for it, only descriptions and samples are known

    @abstractmethod
    def roots(self, home: PurePath, environ: Mapping[str, str]) -> list[PurePath]:
        """The folders in which this agent keeps its logs, existing or not."""

    @abstractmethod
    def recognise(self, path: PurePath, head: Head) -> SourceFile | None:
        """Say what a file is from its name and its beginning, or None.

        A `head` that nobody looks at is never read: a name that settles the matter costs nothing.
        """

    @abstractmethod
    def parser(self, source: SourceFile, state: Mapping[str, Any]) -> Parser:
        """A parser for this source, going on from an earlier one's `state()` or {}."""

    # -- capabilities ----------------------------------------------------------------------

    def has(self, capability: str) -> bool:
        """Whether it has a capability of this name, without loading it."""
        return getattr(type(self), capability) is not getattr(Agent, capability)

    def hooks(self) -> Hooks | None:
        """What a hook must know. Of a folder in this package a hook finds the module `hooks` by itself."""
        return None

    def settings(
        self, commands: Commands, *, home: Path, environ: Mapping[str, str], folder: Path
    ) -> Settings | None:
        """Its settings on this machine; `folder`: where a project's own are looked for."""
        return None

    def plugin(self, commands: Commands, *, folder: Path) -> Plugin | None:
        """A plugin that its own commands install, instead of `settings`, as it is to lie in a folder."""
        return None

    def database(self) -> Database | None:
        return None

    def conversations(self) -> Conversations | None:
        return None

    def reader(self) -> Reader | None:
        return None

    def writer(self) -> Writer | None:
        return None

    def tools(self) -> Tools | None:
        return None

    def signs(self) -> Signs | None:
        return None

    def asker(self) -> Asker | None:
        return None

    def mirror(self) -> Mirror | None:
        return None

    def deletes_after_days(self, home: Path, environ: Mapping[str, str]) -> int | None:
        """After how many days without a change it deletes a log; None where it keeps them."""
        return None

    def tells(self, home: PurePath, environ: Mapping[str, str]) -> list[PurePath]:
        """Small files outside of its logs that say how long it keeps them, or what they are about.

        Of another machine they are fetched with its logs, and lie under the same path below another folder.
        """
        return []
