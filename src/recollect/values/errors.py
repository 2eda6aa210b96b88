"""Everything Recollect raises on purpose.

    RecollectError                 a sentence for the person, and a hint at the next step
    ├── UsageError                 the command's words are off                   exit 2
    ├── NotFound                   no such session, source or entry              exit 3
    │   └── Evicted                only the digest of it was kept                exit 3
    ├── StoreError
    │   ├── StoreMissing           there is no store at that path                exit 4
    │   ├── NotAStore              something else is at that path                exit 4
    │   ├── StoreTooNew            written by a newer Recollect                  exit 4
    │   ├── StoreCorrupt           bytes fail their checksum                     exit 5
    │   ├── DerivedDamaged         rows that can be made again fail theirs       exit 5
    │   ├── StoreBusy              another process holds the writer's lock       exit 6
    │   ├── StoreClosed            asked after it was closed                     exit 4
    │   ├── FileRefused            a link, a pipe or another's file is in place  exit 4
    │   └── StoreWriteFailed       disk full, I/O error, read-only               exit 7
    ├── SourceError                a source cannot be read                       exit 8
    ├── EmbedderFailed             an embedder gave no vectors                   exit 9
    └── SettingsRefused            an agent's settings file is left as it is     exit 10

Interrupted by Ctrl-C: exit 130. Anything else is a bug: exit 70.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as `typing` has it; importing that costs a hook milliseconds
if TYPE_CHECKING:
    import os

    Name = str | os.PathLike[str]


class RecollectError(Exception):
    """The base of all errors a caller may want to catch."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class UsageError(RecollectError):
    """The call itself is wrong: an option, a value, a combination."""

    exit_code = 2


class NotFound(RecollectError):
    """What was asked for is not in the store, or its name fits more than one thing."""

    exit_code = 3


class Evicted(NotFound):
    """What a session said was let go to keep within a budget; its digest and its usage are kept."""

    def __init__(self, id_: str, lines: int) -> None:
        super().__init__(
            f"session {id_[:8]}: {lines:,} lines of it were evicted to keep within the budget",
            hint=f"`recollect show {id_[:8]} --restore` takes them back while the file they came from is "
            f"there; `recollect digest {id_[:8]}` tells what happened",
        )


class StoreError(RecollectError):
    """Something about the store as a whole."""

    exit_code = 4


class StoreMissing(StoreError):
    """There is no store at that path."""

    def __init__(self, path: Name) -> None:
        super().__init__(f"{path}: there is no store here", hint="run `recollect ingest` to make one")


class NotAStore(StoreError):
    """The path holds something that is not a Recollect store. Nothing was changed."""

    def __init__(self, path: Name, why: str) -> None:
        super().__init__(
            f"{path}: not a Recollect store ({why})",
            hint="name another file with --store, or move this one away; nothing was changed",
        )


class StoreTooNew(StoreError):
    """The store was written by a newer Recollect than this one."""

    def __init__(self, path: Name, found: int, known: int) -> None:
        super().__init__(
            f"{path}: store format {found}, and this Recollect reads up to {known}",
            hint="upgrade with `pip install -U recollect`; nothing was changed",
        )


class StoreCorrupt(StoreError):
    """Bytes on disk fail their checksum. Nothing was changed."""

    exit_code = 5

    def __init__(self, path: Name, what: str) -> None:
        super().__init__(
            f"{path}: damaged: {what}",
            hint="run `recollect check` to see how much is affected, "
            "`recollect check --repair` to keep every good record; nothing was changed",
        )


class DerivedDamaged(StoreError):
    """Rows that were worked out from the store do not read. What they were made of is untouched."""

    exit_code = 5

    def __init__(self, table: str, what: str) -> None:
        super().__init__(
            f"table {table} is damaged: {what}",
            hint="`recollect compact` leaves it out; it is made again when it is needed",
        )


class StoreBusy(StoreError):
    """Another process is writing, or another thread is at work, and did not finish in time."""

    exit_code = 6

    def __init__(self, path: Name, seconds: float, who: str = "another process has been writing") -> None:
        super().__init__(
            f"{path}: {who} for over {seconds:g} s",
            hint="try again when it is done; the lock goes with its process",
        )


class StoreClosed(StoreError):
    """The store was closed, perhaps by another thread, before this was asked of it."""

    def __init__(self, path: Name) -> None:
        super().__init__(f"{path}: was closed", hint="open it again with `Memory.open`")


class FileRefused(StoreError):
    """A file of ours is not what it must be: a link, a pipe, another person's. It was left as it is."""

    def __init__(self, path: Name, why: str) -> None:
        super().__init__(
            f"{path}: refused: {why}",
            hint="find out who put it there, then move it away or name another place; nothing was changed",
        )


class StoreWriteFailed(StoreError):
    """The disk refused a write; what was saved before is untouched."""

    exit_code = 7

    def __init__(self, path: Name, error: OSError) -> None:
        super().__init__(
            f"{path}: could not write: {error.strerror or error}",
            hint="free some space or fix the permissions, then run the same command again; "
            "everything saved before is still there",
        )


class SourceError(RecollectError):
    """A source file cannot be read as what it claims to be."""

    exit_code = 8


class EmbedderFailed(RecollectError):
    """An embedder that was set up well gave no vectors: its endpoint is down, its model fails."""

    exit_code = 9


class SettingsRefused(RecollectError):
    """An agent's settings file cannot be changed safely. It was left as it is."""

    exit_code = 10

    def __init__(self, path: Name, why: str, *, hint: str = "") -> None:
        super().__init__(
            f"{path}: not changed: {why}",
            hint=hint or "mend the file or its permissions, then run the same command again",
        )
