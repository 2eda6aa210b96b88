"""What is to be erased, by row: sessions whole, or single lines, and what is known anew of what they leave.

Whoever asks by text means every line that has it: the line's own bytes are searched, in the forms that JSON
gives a text. A name in a session's id or in the path of its log cannot be taken out of
a line; such a session goes whole.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from recollect.agents.erasures import ERASURES
from recollect.agents.registry import agent_of
from recollect.intake.checkpoints import Checkpoints
from recollect.intake.parsing import parse_lines
from recollect.light.project import project_of
from recollect.light.sources import is_conversation
from recollect.memory.citing import lines_citing
from recollect.search.digest_rows import DIGESTS, key_of
from recollect.search.evicted import Evicted
from recollect.search.joining import joined_sessions
from recollect.search.patterns import Patterns
from recollect.search.projects import by_name, named
from recollect.search.query import ready_pattern
from recollect.search.run import PATTERN_SECONDS
from recollect.search.vectors.pieces import pieces_of
from recollect.store.leaving import Leaving
from recollect.store.merge import merge_facts
from recollect.values.erasures import Wanted
from recollect.values.errors import DerivedDamaged, NotFound, UsageError
from recollect.values.ids import line_key, name_key
from recollect.values.records import LineFlag, Relation, SessionFacts
from recollect.values.retention import EvictedSession, SessionName
from recollect.values.stored import Session, Source

if TYPE_CHECKING:
    from recollect.memory.secrets import Secrets
    from recollect.store.contract import Array, View
    from recollect.values.reports import Progress

CHOOSING = "choosing"  # what the progress of looking through all lines is told as
_ROWS_AT_ONCE = 2048
_SHORT_BYTES = (
    64  # a line this short may be in any session; with a whole session that went it is not remembered
)


@dataclass(frozen=True, slots=True)
class ChosenSession:
    """A session that loses something: all of it where it is `whole`."""

    session: Session
    whole: bool
    lines: int
    bytes: int
    paths: tuple[str, ...]
    evicted: int = 0  # lines of it that were gone already
    kinds: tuple[tuple[str, int], ...] = ()  # how many secrets of each kind go


@dataclass(frozen=True, slots=True)
class Chosen:
    """What goes, for the store; what of it is remembered, and counted."""

    leaving: Leaving
    sessions: tuple[ChosenSession, ...]
    keys: tuple[bytes, ...]  # of the lines that must not come back
    texts: tuple[str, ...]  # of the entries that go
    entries: tuple[int, ...]  # their rows
    counts: dict[str, int]
    secrets: Secrets | None = None  # these go, and nothing else does
    kinds: tuple[tuple[str, int], ...] = ()


def choose(view: View, wanted: Wanted, progress: Progress | None = None) -> Chosen:
    """What of a view is wanted to go. Reads what goes, and all lines where a text is asked for."""
    if wanted.secrets:
        from recollect.memory.masking import choose_secrets

        return choose_secrets(view, wanted, progress)
    known = by_name(named(view))
    whole = session_rows_of(known, wanted)
    lines = _no_rows()
    if wanted.is_by_line:
        within = whole if whole is not None else {row for row, _ in view.session_rows().items()}
        whole, lines = _lines(view, wanted, within, progress or (lambda what, done, total: None))
    whole = with_subagents(view, whole or set())
    gone = np.union1d(view.lines_only_of(sorted(whole)), lines)
    if not len(gone) and not whole:
        raise NotFound("nothing in the store is so", hint="`recollect search` shows what there is")
    touched = _touched(view, whole, lines) if len(lines) else {}
    citing = lines_citing(view, lambda: _ids(view, _entries(view, {*whole, *touched}, gone)), whole)
    if len(citing):
        lines, gone = np.union1d(lines, citing), np.union1d(gone, citing)
        touched = _touched(view, whole, lines)
    told = {row: _retold(view, row, set(gone.tolist())) for row in touched if row not in whole}
    entries = _entries(view, {*whole, *touched}, gone)
    texts = [
        each.entry
        for at in range(0, len(entries), _ROWS_AT_ONCE)
        for each in view.entries_at(entries[at : at + _ROWS_AT_ONCE])
    ]
    vectors = {name_key(piece) for each in texts for piece in pieces_of(replace(each, flags=0))}
    leaving = Leaving(
        frozenset(whole),
        lines,
        vectors=np.array(sorted(vectors), np.uint64),
        facts={row: facts for row, (facts, _) in told.items()},
        states=[each for _, states in told.values() for each in states],
    )
    named_lines = set(lines.tolist())
    keys = tuple(
        line.key or line_key(line.data)
        for row, line in _read(view, gone.tolist())
        if line and (row in named_lines or len(line.data) >= _SHORT_BYTES)
    )
    usage = view.usage()
    counts = {
        "sessions": len(whole),
        "lines": len(gone),
        "bytes": int(view.line_lengths(gone.tolist()).sum()),
        "entries": len(entries),
        "responses": int(np.isin(usage.line.astype(np.int64), gone).sum()),
    }
    thinned = Evicted(view).sessions
    sessions = tuple(_told(view, row, row in whole, gone, thinned) for row in sorted({*whole, *touched}))
    return Chosen(
        leaving, sessions, keys, tuple(each.text for each in texts if each.text), tuple(entries), counts
    )


def _no_rows() -> Array:
    return np.zeros(0, np.int64)


def session_rows_of(known: Any, wanted: Wanted) -> set[int] | None:
    """The rows of the sessions that are named; None where none is."""
    every: Mapping[int, Session] = known.every
    talks = {row: each for row, each in every.items() if is_conversation(each.facts.agent)}
    found: set[int] | None = None
    if wanted.session or wanted.thread:
        session = named_session(known, wanted.session or wanted.thread, wanted.host)
        found = {
            row
            for row, each in every.items()
            if (each.facts.agent, each.host, each.facts.id)
            == (session.facts.agent, session.host, session.facts.id)
        }
        if not is_conversation(session.facts.agent) and session.facts.id == ERASURES:
            raise UsageError(
                "what was erased is not erased", hint="`recollect erase --forget-erasure ID` takes one back"
            )
    if wanted.thread and found:
        leaders = known.worked_out(joined_sessions).threads
        first = {leaders[row] for row in found if row in leaders}
        found |= {row for row, leader in leaders.items() if leader in first}
    if wanted.project:
        name = known.names.find(wanted.project)
        if not name:
            raise NotFound(f"no project is called {wanted.project!r}", hint="`recollect projects` lists them")
        chosen = {row for row, each in talks.items() if each.facts.project == name}
        found = chosen if found is None else found & chosen
    if wanted.host:
        chosen = {row for row, each in talks.items() if each.host == wanted.host}
        found = chosen if found is None else found & chosen
    return found


def named_session(known: Any, prefix: str, host: str = "") -> Session:
    """The session whose id starts so, of a host where one is named: two machines may have the same id."""
    every: Mapping[int, Session] = known.every
    fits = [each for each in every.values() if each.facts.id.startswith(prefix)]
    if not host:
        try:
            found: Session = known.find_session(prefix)
            return found
        except NotFound as error:
            hosts = sorted({each.host for each in fits})
            if len(hosts) < 2 or len({each.facts.id for each in fits}) > 1:
                raise
            raise NotFound(
                f"several machines have a session {fits[0].facts.id}: {', '.join(hosts)}",
                hint=f"say which: --host {hosts[0]}",
            ) from error
    own = [each for each in fits if each.host == host]
    if len(own) != 1:
        raise NotFound(
            f"{len(own)} sessions' ids of {host} start with {prefix!r}",
            hint="give the whole id; `recollect sessions` lists them",
        )
    return own[0]


def with_subagents(view: View, rows: set[int]) -> set[int]:
    """Sessions, with those that were started in them."""
    if not rows:
        return rows
    children: dict[tuple[str, str, str], list[int]] = {}
    named_so = {}
    for row, each in view.session_rows().items():
        named_so[row] = (each.facts.agent, each.host, each.facts.id)
        if each.facts.relation is Relation.SUBAGENT:
            children.setdefault((each.facts.agent, each.host, each.facts.parent), []).append(row)
    ahead, found = list(rows), set(rows)
    while ahead:
        for child in children.get(named_so[ahead.pop()], ()):
            if child not in found:
                found.add(child)
                ahead.append(child)
    return found


def _lines(view: View, wanted: Wanted, within: set[int], progress: Progress) -> tuple[set[int], Array]:
    """The sessions that go whole, and the lines, of some sessions, that are wanted to go."""
    if wanted.entry:
        entry = view.find_entry(wanted.entry)
        return set(), np.asarray(view.columns_at([entry.row], "line")["line"], np.int64)
    whole: set[int] = set()
    found: set[int] = set()
    seen: set[int] = set()
    timed = timed_lines(view, wanted, within) if wanted.since_ms or wanted.until_ms else None
    if not (wanted.match or wanted.regex):
        return whole, np.array(sorted(timed or ()), np.int64)
    done, total = 0, view.raw_sizes().total
    with searching(wanted) as has:
        if timed is None:
            whole |= {row for row, text in _kept_of_evicted(view) if row in within and has(_bytes(text))}
        for row, session in view.session_rows().items():
            if row not in within or (
                session.facts.id == ERASURES and not is_conversation(session.facts.agent)
            ):
                continue
            for source in view.sources(session):
                if timed is None and (has(_bytes(source.file.path)) or has(_bytes(session.facts.id))):
                    whole.add(row)
                rows = view.line_rows(source).tolist()
                for line, stored in zip(rows, view.lines(source), strict=True):
                    if line in seen or (timed is not None and line not in timed):
                        continue
                    seen.add(line)
                    done += len(stored.data)
                    if has(stored.data):
                        found.add(line)
                progress(CHOOSING, min(done, total), total)
    return whole, np.array(sorted(found), np.int64)


def _kept_of_evicted(view: View) -> Iterator[tuple[int, str]]:
    """The rows of sessions whose lines were evicted, with each text that is kept of them all the same."""
    evicted = Evicted(view)
    if not evicted.sessions:
        return
    rows = {key_of(session): row for row, session in view.session_rows().items()}
    for name in evicted.sessions:
        if name in rows:
            facts = view.session_rows()[rows[name]].facts
            yield rows[name], "\n".join((facts.title, facts.project, facts.cwd, facts.branch))
    with contextlib.suppress(DerivedDamaged):
        columns = view.derived(DIGESTS, only=("agent", "host", "session", "title", "digest"))
        for agent, host, id_, *texts in zip(*columns.values(), strict=True):
            name = SessionName(str(agent), str(host), str(id_))
            if name in evicted.sessions and name in rows:
                yield from ((rows[name], str(text)) for text in texts)
    mentions = evicted.mentions()
    if mentions is not None:
        yield from zip(mentions.session.tolist(), map(str, mentions.name), strict=True)


def timed_lines(view: View, wanted: Wanted, within: Iterable[int]) -> set[int]:
    """The lines with an entry of a time that is wanted."""
    lines: set[int] = set()
    replaced = view.replaced().tolist()
    for row in within:
        lines |= _within_time(view.session_columns(row, "time", "line"), wanted)
    if replaced:
        columns = view.columns_at(replaced, "time", "line", "session")
        inside = np.isin(columns["session"], list(within))
        lines |= _within_time({name: columns[name][inside] for name in ("time", "line")}, wanted)
    return lines


def _within_time(columns: Mapping[str, Array], wanted: Wanted) -> set[int]:
    time = columns["time"]
    inside = (time > 0) & (time >= wanted.since_ms) & (time < (wanted.until_ms or 2**62))
    found: set[int] = set(columns["line"][inside].astype(np.int64).tolist())
    return found


@contextlib.contextmanager
def searching(wanted: Wanted) -> Iterator[Callable[[bytes], bool]]:
    """Whether a line has the text, or what the pattern means, which a line's time is set for."""
    if not wanted.regex:
        forms = forms_of(wanted.match)
        yield lambda data: any(form in data for form in forms)
        return
    pattern, trouble = ready_pattern(wanted.regex)
    if trouble:
        raise UsageError(f"{wanted.regex[:80]!r} is no pattern: {trouble}")
    with contextlib.closing(Patterns([(pattern, True)])) as patterns:

        def has(data: bytes) -> bool:
            try:
                return patterns.fit(data.decode("utf-8", "replace"), time.monotonic() + PATTERN_SECONDS)
            except TimeoutError:
                raise UsageError(
                    f"the pattern takes more than {PATTERN_SECONDS:.0f} s on one line; nothing was changed",
                    hint="write it without repeats inside of repeats, or use --match",
                ) from None

        yield has


def forms_of(text: str) -> list[bytes]:
    """A text as it stands in a log: as it is, in JSON, and in JSON inside of JSON."""
    once = {text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]}
    twice = {json.dumps(each, ensure_ascii=ascii_)[1:-1] for each in once for ascii_ in (True, False)}
    return sorted({_bytes(each) for each in once | twice if each})


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _touched(view: View, whole: set[int], lines: Array) -> dict[int, None]:
    """The sessions one of whose sources has one of these lines."""
    by_name = {(s.facts.agent, s.host, s.facts.id): row for row, s in view.session_rows().items()}
    found: dict[int, None] = {}
    for source in view.sources():
        row = by_name.get((source.file.agent, source.host, source.session))
        if row is not None and row not in whole and np.isin(view.line_rows(source), lines).any():
            found[row] = None
    return found


def _entries(view: View, sessions: Iterable[int], gone: Array) -> list[int]:
    """The rows of the entries of lines that go."""
    found: list[int] = []
    for row in sessions:
        columns = view.session_columns(row, "row", "line")
        found += columns["row"][np.isin(columns["line"].astype(np.int64), gone)].tolist()
    replaced = view.replaced().tolist()
    if replaced:
        lines = view.columns_at(replaced, "line")["line"].astype(np.int64)
        found += np.asarray(replaced)[np.isin(lines, gone)].tolist()
    return sorted(set(found))


def _ids(view: View, rows: list[int]) -> set[str]:
    """The ids of entries."""
    parts = (rows[at : at + _ROWS_AT_ONCE] for at in range(0, len(rows), _ROWS_AT_ONCE))
    return {each.id for part in parts for each in view.entries_at(part)}


def _retold(view: View, row: int, gone: set[int]) -> tuple[SessionFacts, list[tuple[Source, dict[str, Any]]]]:
    """What is known of a session, and what its parsers remember, from the lines that stay alone."""
    session = view.session_rows()[row]
    before = session.facts
    facts = SessionFacts(before.agent, before.id)
    states: list[tuple[Source, dict[str, Any]]] = []
    has_own = False
    for source in view.sources(session):
        agent = agent_of(source.file.agent)
        file = replace(source.file, parent="" if before.relation is Relation.NONE else before.parent)
        parser = agent.parser(file, {})
        for line, stored in zip(view.line_rows(source).tolist(), view.lines(source), strict=True):
            if line not in gone and not stored.flags & (LineFlag.PENDING | LineFlag.CONTINUES | LineFlag.BAD):
                parse_lines(parser, file.framing, stored.data, stored.flags & int(LineFlag.ALTERED))
        known = parser.facts
        merge_facts(
            facts,
            replace(known, id=before.id, project=known.project or project_of(known.cwd)),
            imported=source.imported,
            has_own=has_own,
        )
        has_own = has_own or not source.imported
        sums = Checkpoints.split(source.cursor.state, source.cursor.offset)[1]
        state = parser.state()
        states.append((source, state if sums is None else sums.joined(state)))
    facts.parent, facts.relation, facts.root = before.parent, before.relation, before.root
    facts.id = before.id
    return facts, states


def _read(view: View, rows: list[int]) -> Iterator[tuple[int, Any]]:
    for at in range(0, len(rows), _ROWS_AT_ONCE):
        part = rows[at : at + _ROWS_AT_ONCE]
        for row, line in zip(part, view.lines_at(part), strict=True):
            yield row, line if line.data.strip() else None


def _told(
    view: View, row: int, whole: bool, gone: Array, thinned: Mapping[SessionName, EvictedSession]
) -> ChosenSession:
    session = view.session_rows()[row]
    sources = view.sources(session)
    lines = np.unique(np.concatenate([_no_rows(), *(view.line_rows(each) for each in sources)]))
    lost = lines[np.isin(lines, gone)]
    size = int(view.line_lengths(lost.tolist()).sum())
    paths = tuple(dict.fromkeys(each.file.path for each in sources))
    evicted = thinned.get(key_of(session))
    return ChosenSession(session, whole, len(lost), size, paths, evicted.lines if evicted else 0)
