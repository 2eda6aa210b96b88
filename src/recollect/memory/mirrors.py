"""Sessions that an SDK mirrors into a memory: appended, loaded, listed and deleted by its keys.

An append is one frame of the journal for the entries, and one that says when they were stored and what the
SDK makes of them as a summary. The second is only ever behind: which lines a summary is of is said in it, and
what came later is folded in when it is asked for. So nothing needs a lock that another process would see.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from recollect.memory.note_lines import FRAME_BYTES, frames
from recollect.memory.part import now_ms
from recollect.memory.remembered import READ_BYTES
from recollect.values.errors import Evicted, UsageError
from recollect.values.mirrored import Mirrored, MirrorKey, Stored
from recollect.values.records import BEHIND, Segment
from recollect.values.stored import source_bytes

if TYPE_CHECKING:
    from recollect.agents.mirroring import Mirror
    from recollect.memory import Memory
    from recollect.store.contract import Store, View
    from recollect.values.records import SourceFile
    from recollect.values.stored import Source

MirroredEntry = dict[str, Any]
Fold = Callable[[dict[str, Any] | None, list[MirroredEntry]], dict[str, Any]]  # of a summary's data


@dataclass(slots=True)
class _Known:
    """What is known of a transcript without looking again."""

    records: set[str] = field(default_factory=set)  # ids of the entries that are there
    lines: int = 0  # of this host's source
    through: int = 0  # as many of them are in what was last noted
    data: dict[str, Any] | None = None
    time_ms: int = 0


class Mirrors:
    """The mirrored sessions of a memory: `Memory.mirrors`. Any thread may ask it."""

    def __init__(self, memory: Memory, store: Store, agent: str) -> None:
        self._memory, self._store = memory, store
        self._agent, self._form = agent, _form_of(agent)
        self._lock = threading.Lock()
        self._known: dict[MirrorKey, _Known] = {}
        self._number = -1  # of the last frame that is in what is known

    def append(self, key: MirrorKey, entries: Sequence[MirroredEntry], fold: Fold) -> None:
        """Keep entries behind those that are there: durable when it returns, and none twice."""
        _check(key)
        with self._lock:
            self._forget_if_others_wrote()
            known = self._known.get(key) or self._look(key, fold)
            fresh = list(_fresh(entries, set(known.records)))
            if fresh:
                known = self._keep(key, known, fresh, fold)
            if (
                not key.subpath and known.through != known.lines
            ):  # what failed the last time is made good, too
                stored = Stored(max(now_ms(), known.time_ms + 1), known.lines, known.data or {})
                self._write(self._form.sidecar_file(key), [self._form.sidecar_line(stored)])
                known.time_ms, known.through = stored.time_ms, stored.through

    def load(self, key: MirrorKey) -> list[MirroredEntry] | None:
        """Every entry of a transcript in order, each id once; None where there is none, or it was deleted."""
        with self._view() as view:
            found = _living(
                self._form, view, self._by_path(view).get(self._form.mirror_file(key).path, ()), self._host
            )
        return list(_fresh(found, set())) or None

    def sessions(self, project: str, fold: Fold) -> list[Mirrored]:
        """The sessions of a project, with their summaries."""
        with self._view() as view:
            by_path = self._by_path(view)
            keys = [key for key in _keys(self._form, by_path, project) if not key.subpath]
            found = [(key, self._known_of(view, by_path, key, fold)) for key in keys]
        return [Mirrored(key.session, known.time_ms, known.data or {}) for key, known in found]

    def subpaths(self, project: str, session: str) -> list[str]:
        """What there is of a session besides its own transcript."""
        with self._view() as view:
            keys = _keys(self._form, self._by_path(view), project)
        return [key.subpath for key in keys if key.session == session and key.subpath]

    def delete(self, key: MirrorKey) -> None:
        """Let a transcript be gone, with all that is below a session's own; `erase` takes it out for good."""
        with self._lock:
            with self._view() as view:
                keys = _keys(self._form, self._by_path(view), key.project)
            below = [each for each in keys if each.main == key] if not key.subpath else [key]
            moment_ms = now_ms()
            # The session's own comes last: until it is gone, whoever was cut short can ask for it again.
            for each in sorted((each for each in below if each in keys), reverse=True):
                self._write(self._form.mirror_file(each), [self._form.tombstone_line(each, moment_ms)])
                self._known.pop(each, None)

    # -- underneath ------------------------------------------------------------------------

    @property
    def _host(self) -> str:
        return self._memory.config.host

    def _view(self) -> contextlib.AbstractContextManager[View]:
        return self._memory._notes_view()

    def _keep(self, key: MirrorKey, known: _Known, fresh: list[MirroredEntry], fold: Fold) -> _Known:
        """Append entries; returns what is known of their transcript then."""
        is_alone = self._write(self._form.mirror_file(key), [_line(self._form, entry) for entry in fresh])
        if not is_alone:
            return self._look(key, fold)
        known.records.update(_records(fresh))
        known.lines += len(fresh)
        known.data = fold(known.data, fresh) if not key.subpath else None
        return known

    def _write(self, file: SourceFile, lines: Sequence[bytes]) -> bool:
        """Append lines; whether nobody else appended anything since what is known was."""
        is_alone = True
        for data in frames(lines):
            number = self._memory.append(Segment(file, self._host, BEHIND, data))
            is_alone = is_alone and number == self._number + 1
            self._number = number
        if not is_alone:
            self._known.clear()
        return is_alone

    def _look(self, key: MirrorKey, fold: Fold) -> _Known:
        """What there is of a transcript, as far as anyone has appended it."""
        self._forget_if_others_wrote()  # before looking: what comes in between is then noticed
        with self._view() as view:
            by_path = self._by_path(view)
            known = self._known_of(view, by_path, key, fold)
            entries = _living(self._form, view, by_path.get(self._form.mirror_file(key).path, ()), self._host)
            known.records = set(_records(entries))
        self._known[key] = known
        return known

    def _forget_if_others_wrote(self) -> None:
        """Know nothing any more where the last frame in the journal is not the last of ours.

        The journal is read for it, and so it is kept short.
        """
        if self._store.journal_bytes() > READ_BYTES:
            self._memory._fold_if_free()
        with self._store.view() as view:
            folded = view.info().folded
        last = max((number for number, _ in self._store.pending(patient=False)), default=folded)
        if last != self._number:
            self._known.clear()
            self._number = last

    def _known_of(
        self, view: View, by_path: Mapping[str, Sequence[Source]], key: MirrorKey, fold: Fold
    ) -> _Known:
        """How long a transcript is and, of a session's own, its summary."""
        sources = by_path.get(self._form.mirror_file(key).path, ())
        known = _Known(lines=sum(each.lines for each in sources if each.host == self._host))
        if key.subpath:
            return known
        stored = _stored(self._form, view, by_path.get(self._form.sidecar_file(key).path, ()), self._host)
        if stored is not None:
            known.time_ms = stored.time_ms
        own = next((each for each in sources if each.host == self._host), None)
        if stored is not None and own is not None and _is_of(stored, own):
            known.through = stored.through
            rest = list(_from(view, own, stored.through)) if stored.through < known.lines else []
            known.data = fold(stored.data, rest) if rest else stored.data
            return known
        try:
            entries = list(_living(self._form, view, sources, self._host))
            known.data = fold(None, entries) if entries else None
        except Evicted:  # what was made of it while it was there
            known.data = stored.data if stored is not None else None
        return known

    def _by_path(self, view: View) -> dict[str, list[Source]]:
        """The sources that the SDK's entries are in, and what is noted of them."""
        found: dict[str, list[Source]] = {}
        for source in view.sources():
            if source.file.agent == self._agent and not source.file.has_file and not source.superseded:
                found.setdefault(source.file.path, []).append(source)
        return found


def _form_of(agent: str) -> Mirror:
    """The form of the sessions that an agent's SDK mirrors."""
    from recollect.agents.registry import agent_of, agents

    form = agent_of(agent).mirror()
    if form is None:
        can = sorted(each.name for each in agents() if each.has("mirror"))
        raise UsageError(f"no SDK of {agent!r} mirrors sessions", hint=f"agents: {', '.join(can)}")
    return form


def _check(key: MirrorKey) -> None:
    if not key.project or not key.session:
        raise UsageError("a session is named by a project_key and a session_id, neither of them empty")


def _line(form: Mirror, entry: MirroredEntry) -> bytes:
    try:
        line = form.entry_line(entry)
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"an entry of a session is what JSON can say: {error}") from error
    if len(line) > FRAME_BYTES:
        raise UsageError(f"an entry has at most {FRAME_BYTES >> 20} MiB, not {len(line):,} bytes")
    return line


def _records(entries: Iterable[MirroredEntry]) -> Iterator[str]:
    for entry in entries:
        if type(uuid := entry.get("uuid")) is str:
            yield uuid


def _fresh(entries: Iterable[MirroredEntry], known: set[str]) -> Iterator[MirroredEntry]:
    """The entries that are not known by their ids; those without one are all kept."""
    for entry in entries:
        uuid = entry.get("uuid")
        if type(uuid) is not str:
            yield entry
        elif uuid not in known:
            known.add(uuid)
            yield entry


def _keys(form: Mirror, by_path: Mapping[str, Sequence[Source]], project: str) -> list[MirrorKey]:
    """The transcripts of a project that have entries."""
    start = form.project_prefix(project)
    living = (
        form.mirrored_key(path)
        for path, sources in by_path.items()
        if path.startswith(start) and _has_entries(sources)
    )
    return [key for key in living if key is not None]


def _has_entries(sources: Sequence[Source]) -> bool:
    """Whether anything came after the last line that deleted all."""
    return any(source.lines and source.cursor.state.get("since") for source in sources)


def _living(form: Mirror, view: View, sources: Sequence[Source], host: str) -> Iterator[MirroredEntry]:
    """The entries that were not deleted: those that came from other machines, then this one's own."""
    found: list[MirroredEntry] = []
    for source in sorted(sources, key=lambda each: each.host == host):
        if source.thinned and (gone := len(view.kept_lines(source))):
            raise Evicted(source.session, gone)
        for record in _decoded(view, source):
            if form.is_tombstone(record):
                found.clear()
            elif type(record) is dict:
                found.append(record)
    return iter(found)


def _from(view: View, source: Source, line: int) -> Iterator[MirroredEntry]:
    """The entries of a source from a line on, behind which nothing was deleted."""
    return (record for record in itertools.islice(_decoded(view, source), line, None) if type(record) is dict)


def _is_of(stored: Stored, source: Source) -> bool:
    """Whether a summary is of lines that the source still has, all of them, and none that were deleted."""
    since = source.cursor.state.get("since", 0)
    is_after_all_deleted = since == source.lines or stored.through > source.lines - since
    return not source.thinned and stored.through <= source.lines and is_after_all_deleted


def _stored(form: Mirror, view: View, sources: Sequence[Source], host: str) -> Stored | None:
    """What was last noted of a session here; where nothing was, on another machine."""
    found: Stored | None = None
    for source in sorted(sources, key=lambda each: each.host == host):
        rows = view.line_rows(source)
        if len(rows):
            found = form.stored_of(json.loads(view.lines_at([int(rows[-1])])[0].data))
    return found


def _decoded(view: View, source: Source) -> Iterator[Any]:
    """Every line of a source as what it says."""
    for line in b"".join(source_bytes(source, view.lines(source))).split(b"\n"):
        if line:
            yield json.loads(line)
