"""The logs every row is measured on: the real corpus, laid out as agents lay it out, copied, enlarged.

Nothing here quotes the corpus: files are copied into a scratch folder that is removed afterwards.
Copies must not deduplicate, so `Template` changes every id, every day and the numbers in the
text; a copy has the shape of the original but shares no line with it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

UUID = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_CHANGED = re.compile(
    rb"(?P<uuid>" + UUID.pattern + rb")"
    # Claude names answers, requests and tool calls apart from UUIDs; Codex its calls and reasoning.
    rb"|\b(?:msg|req|toolu|srvtoolu|call|fc|rs|resp|ws)_(?P<name>[0-9A-Za-z]{12,})"
    rb'|(?<="agentId":")(?P<agent>[0-9A-Za-z_-]+)'
    rb'|(?<=")(?P<day>20[0-9]{2}-[01][0-9]-[0-3][0-9])(?=T[0-9]{2}:)'
    # Numbers in running text. JSON's own numbers follow a colon and stay: token counters must go on rising.
    rb"|(?P<number>(?<![0-9A-Za-z\\.:+-])[1-9][0-9]{2,5}(?![0-9A-Za-z.:+-]))"
)


@dataclass(frozen=True)
class Tree:
    """Source files under one folder, and what they weigh."""

    root: Path
    files: tuple[Path, ...]
    bytes_total: int

    @property
    def megabytes(self) -> float:
        return self.bytes_total / 1e6


def tree_of(root: Path, *folders: str) -> Tree:
    """Every file below the named folders of `root` (all of it when none is named), sorted."""
    bases = [root / folder for folder in folders] or [root]
    files = sorted(path for base in bases for path in base.rglob("*") if path.is_file())
    return Tree(root, tuple(files), sum(path.stat().st_size for path in files))


def agent_home(corpus: Path, home: Path) -> Tree:
    """Copy the corpus's sessions into `home` where Claude Code and Codex would have written them.

    Only files that both products read as sessions take part: a file named by its session, and
    subagent files below their session's folder. Two files of one name would be one session to
    the peer, so the first wins. Spilled tool results, indexes and fixtures stay out.
    """
    taken: set[Path] = set()
    for source in tree_of(corpus, "claude", "codex").files:
        place = _place(source, corpus)
        if place is None or place in taken:
            continue
        taken.add(place)
        target = home / place
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
    os.sync()  # Else whoever reads first shares the disk with the copy being written out.
    return tree_of(home, ".claude/projects", ".codex/sessions")


def claude_sample(corpus: Path, target: Path, bytes_max: int) -> Tree:
    """An even pick of whole Claude sessions, in all about `bytes_max`, for a peer that reads nothing else."""
    sessions = [
        path
        for path in tree_of(corpus, "claude").files
        if path.suffix == ".jsonl" and UUID.fullmatch(path.stem.encode()) and path.stat().st_size > 20_000
    ]
    target.mkdir(parents=True, exist_ok=True)
    for source in subset(sessions, bytes_max):
        shutil.copyfile(source, target / source.name)
    return tree_of(target)


def subset(files: Iterable[Path], bytes_max: int) -> tuple[Path, ...]:
    """An even pick of files that weighs about `bytes_max`, the same one every time."""
    order = sorted(files, key=lambda path: hashlib.sha256(path.name.encode()).digest())
    chosen: list[Path] = []
    room = bytes_max
    for path in order:
        size = path.stat().st_size
        if size <= room:
            chosen.append(path)
            room -= size
    return tuple(sorted(chosen))


def multiply(files: Iterable[Path], root: Path, target: Path, copies: Sequence[int]) -> Tree:
    """Write each file once per copy below `target/c<copy>/`, as sessions nobody has seen before."""
    for source in files:
        template = Template(source.read_bytes())
        for copy in copies:
            place = target / f"c{copy}" / renamed(str(source.relative_to(root)), copy)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(template.filled(copy))
    return tree_of(target)


def renamed(path: str, copy: int) -> str:
    """The path of a copied file: its UUIDs, and a subagent's short id, as the copy's lines have them."""
    changed = UUID.sub(lambda found: _uuid(found.group(), copy), path.encode())
    pattern = rb"(?<=/agent-)[0-9a-zA-Z_-]+(?=\.)"
    return re.sub(pattern, lambda found: _agent(found.group(), copy), changed).decode()


class Template:
    """A log cut at everything that must differ between copies: ids, days, numbers in its text."""

    def __init__(self, data: bytes) -> None:
        self._between: list[bytes] = []
        self._changed: list[tuple[str, bytes]] = []
        at = 0
        for found in _CHANGED.finditer(data):
            kind = found.lastgroup
            assert kind is not None
            start, end = found.span(kind)
            self._between.append(data[at:start])
            self._changed.append((kind, data[start:end]))
            at = end
        self._last = data[at:]

    def filled(self, copy: int, keep: Mapping[bytes, bytes] | None = None) -> bytes:
        """The log as another machine might have written it; `keep` names what is to become of some ids."""
        values = {token: _CHANGES[token[0]](token[1], copy) for token in set(self._changed)}
        values |= {("uuid", old): new for old, new in (keep or {}).items()}
        pieces: list[bytes] = []
        for between, token in zip(self._between, self._changed, strict=True):
            pieces += (between, values[token])
        return b"".join((*pieces, self._last))


def write_long_line(target: Path, bytes_total: int) -> Tree:
    """One valid Claude session whose only user line is `bytes_total` long."""
    target.mkdir(parents=True, exist_ok=True)
    session, entry = (str(uuid5(NAMESPACE_URL, which)) for which in ("long line", "its entry"))
    with (target / f"{session}.jsonl").open("wb") as file:
        head, tail = _claude_user_line(session, entry)
        file.write(head)
        room = bytes_total - len(head) - len(tail)
        for number, words in enumerate(_filler()):
            if room <= 0:
                break
            piece = (b"%d " % number + words)[:room]
            file.write(piece)
            room -= len(piece)
        file.write(tail)
    return tree_of(target)


def prompt_line(session: str, text: str) -> bytes:
    """One more line of a Claude session: a person saying this."""
    head, tail = _claude_user_line(session, str(uuid5(NAMESPACE_URL, f"{session} {text}")))
    return head + json.dumps(text)[1:-1].encode() + tail


def write_long_file(target: Path, source: Path, bytes_total: int) -> Tree:
    """One session file of about `bytes_total`: a real one over and over, every time with new ids."""
    target.mkdir(parents=True, exist_ok=True)
    session = source.stem.encode()
    assert UUID.fullmatch(session), f"{source} is not named by its session"
    template = Template(source.read_bytes().rstrip(b"\n") + b"\n")
    name = _uuid(session, bytes_total)
    with (target / f"{name.decode()}.jsonl").open("wb") as file:
        copy = 0
        while file.tell() < bytes_total:
            file.write(template.filled(copy, keep={session: name}))
            copy += 1
    return tree_of(target)


def _place(source: Path, corpus: Path) -> Path | None:
    """Where an agent would keep this file below the home folder, or None when no agent names a session so."""
    agent, repo, *rest = source.relative_to(corpus).parts
    found = UUID.search(source.name.encode())
    if source.suffix != ".jsonl":
        return None
    if agent == "codex":
        return Path(_codex_name(source.name, found.group().decode())) if found else None
    project = Path(".claude/projects", "-bench-" + re.sub(r"[^0-9A-Za-z]", "-", repo))
    if UUID.fullmatch(source.stem.encode()):
        return project / source.name
    if not source.name.startswith("agent-"):
        return None
    if "subagents" in rest:
        return project.joinpath(*rest[rest.index("subagents") - 1 :])
    session = _session_named_inside(source)
    return project / session / "subagents" / source.name if session else None


def _codex_name(name: str, session: str) -> str:
    if found := re.match(r"rollout-(\d{4})-(\d\d)-(\d\d)T", name):
        return f".codex/sessions/{found[1]}/{found[2]}/{found[3]}/{name}"
    return f".codex/sessions/2026/01/01/rollout-2026-01-01T00-00-00-{session}.jsonl"


def _session_named_inside(source: Path) -> str | None:
    """Claude Code of 2025 kept subagent files beside their session; only their lines name it."""
    with source.open("rb") as file:
        for line in file:
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if isinstance(record, dict) and isinstance(record.get("sessionId"), str):
                return str(record["sessionId"])
    return None


def _hex(value: bytes, copy: int) -> bytes:
    return hashlib.blake2b(value, digest_size=16, key=b"copy %d" % copy).hexdigest().encode()


def _uuid(value: bytes, copy: int) -> bytes:
    """Another UUID with the same first group and version: Codex's begin with the time."""
    digits = _hex(value, copy)
    return b"-".join((value[:8], digits[8:12], value[14:18], b"8" + digits[17:20], digits[20:32]))


def _name(value: bytes, copy: int) -> bytes:
    digits = _hex(value, copy)
    return (value[:2] + digits * (len(value) // len(digits) + 1))[: len(value)]


def _agent(value: bytes, copy: int) -> bytes:
    return value[:1] + _hex(value, copy)[: max(len(value) - 1, 7)]


def _day(value: bytes, copy: int) -> bytes:
    """So many days later: times keep their order, and no line is the same in two copies."""
    try:
        return (date.fromisoformat(value.decode()) + timedelta(days=copy + 1)).isoformat().encode()
    except ValueError:
        return value


def _number(value: bytes, copy: int) -> bytes:
    """Another number of the same length, never with a leading zero."""
    low = 10 ** (len(value) - 1)
    return b"%d" % (low + (int(value) - low + 7919 * (copy + 1)) % (9 * low))


_CHANGES: dict[str, Callable[[bytes, int], bytes]] = {
    "uuid": _uuid,
    "name": _name,
    "agent": _agent,
    "day": _day,
    "number": _number,
}


def _claude_user_line(session: str, uuid: str) -> tuple[bytes, bytes]:
    """A user record of Claude Code cut at the place where its text goes."""
    record = {
        "parentUuid": None, "isSidechain": False, "userType": "external", "cwd": "/bench/long-line",
        "sessionId": session, "version": "2.1.197", "gitBranch": "main", "type": "user",
        "message": {"role": "user", "content": "\0"}, "uuid": uuid, "timestamp": "2026-01-01T00:00:00.000Z",
    }  # fmt: skip
    head, tail = json.dumps(record, separators=(",", ":")).encode().split(b"\\u0000")
    return head, tail + b"\n"


def _filler() -> Iterator[bytes]:
    """Words without end that compress about as badly as prose does."""
    words = b"store line entry session thread journal checkpoint index hit source adapter page row".split()
    state = 1
    while True:
        picked = []
        for _ in range(2000):
            state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
            picked.append(words[(state >> 33) % len(words)] + b"%x" % ((state >> 40) % 4096))
        yield b" ".join(picked) + b" "
