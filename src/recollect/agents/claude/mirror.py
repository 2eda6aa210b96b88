"""What the Claude Agent SDK mirrors: sessions of Claude Code as sources on no disk, and notes on them.

The SDK knows a transcript by three opaque texts: a project, a session and, for what a subagent said, a path
below the session. Each is a source of its own whose lines are the entries, so that the same lines in the log
on disk are known again by their bytes. Two things are ours: a line that says that all before it was deleted,
which is a list because no entry is one; and beside each session a source that says when something of it was
stored, and what the SDK made of it as a summary.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote, unquote

from recollect.agents.claude.parse import ClaudeParser
from recollect.agents.fields import INJECTED, count_of, dict_of, text_of, unknown
from recollect.light.sources import is_uuid
from recollect.values.mirrored import MirrorKey, Stored
from recollect.values.records import Entry, Kind, Parsed, Provenance, Role, SessionFacts, SourceFile

CLAUDE: Final = "claude"
MIRROR: Final = f"{CLAUDE}:sdk/"
SIDECAR: Final = f"{CLAUDE}:sdk-stored/"
STORED: Final = "stored"
DELETED: Final = "deleted"

# Where the SDK puts a session for Claude Code to go on with: what the mirror has, written again as ASCII.
_RESUMED: Final = re.compile(r"/claude-resume-[^/]+/projects/")
_TOMBSTONE: Final = ["recollect", DELETED]
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def mirror_file(key: MirrorKey) -> SourceFile:
    """The source that the entries of a transcript are lines of."""
    main = _session(key)
    if not key.subpath:
        return SourceFile(CLAUDE, _path(MIRROR, key), session=main, provenance=Provenance.OWN)
    folders, _, name = key.subpath.rpartition("/")
    is_known = is_uuid(main) and name.startswith("agent-") and "subagents" in folders.split("/")
    session = name if is_known else f"{main}/{key.subpath}"
    return SourceFile(
        CLAUDE, _path(MIRROR, key), Role.SUBAGENT, session=session, parent=main, provenance=Provenance.OWN
    )


def sidecar_file(key: MirrorKey) -> SourceFile:
    """The source that is noted in what was stored of a session. It is of that session, and goes with it."""
    path = _path(SIDECAR, key.main)
    return SourceFile(CLAUDE, path, Role.SIDECAR, session=_session(key), provenance=Provenance.OWN)


def mirrored_key(path: str) -> MirrorKey | None:
    """The transcript that a source of this path has; None for any other source."""
    if not path.startswith(MIRROR):
        return None
    project, _, rest = path.removeprefix(MIRROR).partition("/")
    session, _, subpath = rest.partition("/")
    return MirrorKey(_unquoted(project), _unquoted(session), _unquoted(subpath))


def project_prefix(project: str) -> str:
    """What the paths of all transcripts of a project begin with."""
    return f"{MIRROR}{_quoted(project)}/"


def mirror_parser(source: SourceFile, state: Mapping[str, Any]) -> ClaudeParser | SidecarParser | None:
    """The parser of a source of the SDK's; None for any other."""
    if source.path.startswith(MIRROR):
        return MirrorParser(source, state)
    if source.path.startswith(SIDECAR):
        return SidecarParser(source, state)
    return RestatingParser(source, state) if _RESUMED.search(source.path) else None


def tombstone_line(key: MirrorKey, time_ms: int) -> bytes:
    """The line that says that all lines before it were deleted. No other source has an equal one."""
    return json.dumps([*_TOMBSTONE, time_ms, *key]).encode("ascii")


def is_tombstone(record: Any) -> bool:
    return type(record) is list and record[:2] == _TOMBSTONE


def sidecar_line(stored: Stored) -> bytes:
    """What was stored, as a line."""
    told = {"type": STORED, "time_ms": stored.time_ms, "through": stored.through, "data": stored.data}
    return json.dumps(told, separators=(",", ":")).encode("ascii")


def stored_of(record: Any) -> Stored | None:
    """What a line of the sidecar says was stored; None where it says nothing of that."""
    record = dict_of(record)
    if record.get("type") != STORED:
        return None
    return Stored(
        count_of(record.get("time_ms")), count_of(record.get("through")), dict_of(record.get("data"))
    )


def entry_line(entry: Mapping[str, Any]) -> bytes:
    """An entry as Claude Code itself writes it to its log, byte for byte."""
    text = json.dumps(entry, separators=(",", ":"), ensure_ascii=False)
    if "e-" in text and _has_small_number(entry):
        text = _as_javascript(entry)
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:  # half of a pair, which JavaScript writes as an escape
        return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text).encode("utf-8")


class MirrorParser(ClaudeParser):
    """Reads entries, and knows from which of them on they count."""

    __slots__ = ("_since",)

    def __init__(self, source: SourceFile, state: Mapping[str, Any]) -> None:
        super().__init__(source, state)
        self._since: int = state.get("since", 0)  # how many lines came after the last that deleted all

    def parse(self, record: Any, /) -> Parsed:
        if not is_tombstone(record):
            self._since += 1
            return super().parse(record)
        self._since = 0
        first, self._session.first = self._session.first, ""
        return Parsed(DELETED, (Entry(Kind.EVENT, "", INJECTED),), rewinds=first)

    def state(self) -> dict[str, Any]:
        return {**super().state(), "since": self._since}


class RestatingParser(ClaudeParser):
    """Reads a copy that the SDK made of a session: what it says again takes the place of what was said."""

    __slots__ = ()

    def parse(self, record: Any, /) -> Parsed:
        from dataclasses import replace

        parsed = super().parse(record)
        return replace(parsed, replaces=(parsed.uuid,)) if parsed.uuid and parsed.entries else parsed


class SidecarParser:
    """Lines without entries: a session shows nothing of what is noted of it."""

    def __init__(self, source: SourceFile, state: Mapping[str, Any]) -> None:
        self.facts = SessionFacts(CLAUDE, source.session, root=source.session)

    def parse(self, record: Any, /) -> Parsed:
        kind = text_of(dict_of(record).get("type"))
        return Parsed(f"sdk/{kind}", ()) if kind == STORED else unknown(kind)

    def document(self, data: bytes, /) -> Parsed:
        return unknown("document")

    def state(self) -> dict[str, Any]:
        return {}


def _session(key: MirrorKey) -> str:
    """The session that a transcript is of: as on disk, or one of its project."""
    return key.session if is_uuid(key.session) else f"{key.project}/{key.session}"


def _path(start: str, key: MirrorKey) -> str:
    named = f"{start}{_quoted(key.project)}/{_quoted(key.session)}"
    return f"{named}/{_quoted(key.subpath, free='/')}" if key.subpath else named


def _quoted(text: str, free: str = "") -> str:
    return quote(text, safe=free, errors="surrogatepass")


def _unquoted(text: str) -> str:
    return unquote(text, errors="surrogatepass")


def _has_small_number(value: Any) -> bool:
    """Whether a number is in it that Python and JavaScript write in two ways."""
    if isinstance(value, Mapping):
        return any(map(_has_small_number, value.values()))
    if isinstance(value, list | tuple):
        return any(map(_has_small_number, value))
    return isinstance(value, float) and "e-" in repr(value)


def _as_javascript(value: Any) -> str:
    """JSON as JavaScript writes it: numbers below a millionth with an exponent, and no others."""
    if isinstance(value, Mapping):
        parts = (
            f"{json.dumps(name, ensure_ascii=False)}:{_as_javascript(each)}" for name, each in value.items()
        )
        return "{" + ",".join(parts) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(_as_javascript, value)) + "]"
    if not isinstance(value, float):
        return json.dumps(value, ensure_ascii=False)
    digits, is_small, power = repr(value).partition("e-")
    if not is_small:
        return json.dumps(value)
    if int(power) > 6:
        return f"{digits}e-{int(power)}"
    places = int(power) + len(digits.partition(".")[2])
    return f"{value:.{places}f}"
