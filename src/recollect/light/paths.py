"""Where agents keep their logs, and what a file's place says about it.

Nothing heavy is imported: a hook has milliseconds. The numbers below are written into
stores and journals; `records.Role` and `records.Framing` give them their names.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as `typing` has it; importing that costs a hook milliseconds
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MAIN, SUBAGENT, SIDECAR, SPILL = 1, 2, 3, 4
LINES, DOCUMENT = 1, 2
OURS = "recollect"  # what sessions say of themselves that an export of ours wrote

Place = tuple[int, int, str, str]  # role, framing, session, parent session

_HEX = frozenset("0123456789abcdefABCDEF")
_DASHES = (8, 13, 18, 23)
_UUID_CHARS = 36


def is_uuid(value: str) -> bool:
    """Whether a text has the form of a UUID. By hand: a hook has no time to import `re`."""
    if len(value) != _UUID_CHARS or any(value[at] != "-" for at in _DASHES):
        return False
    digits = value.replace("-", "")
    return len(digits) == _UUID_CHARS - len(_DASHES) and _HEX.issuperset(digits)


def claude_folder(home: str, environ: Mapping[str, str]) -> str:
    """Where Claude Code keeps everything."""
    return environ.get("CLAUDE_CONFIG_DIR") or f"{home}/.claude"


def codex_folder(home: str, environ: Mapping[str, str]) -> str:
    """Where Codex keeps everything."""
    return environ.get("CODEX_HOME") or f"{home}/.codex"


def claude_place(parts: Sequence[str]) -> Place | None:
    """What a file of Claude Code is, from the parts of its path alone; None where that does not tell."""
    name = parts[-1] if parts else ""
    if len(parts) > 2 and parts[-2] == "tool-results":
        return (SPILL, DOCUMENT, parts[-3], "") if is_uuid(parts[-3]) else None
    if name.startswith("agent-") and name.endswith(".meta.json"):
        return SIDECAR, DOCUMENT, name.removesuffix(".meta.json"), _session_above(parts)
    stem = name.removesuffix(".jsonl")
    if stem == name:
        return None
    if name.startswith("agent-"):
        parent = _session_above(parts)
        return (SUBAGENT, LINES, stem, parent) if parent else None
    in_projects = len(parts) > 2 and parts[-3] == "projects"
    return (MAIN, LINES, stem, "") if in_projects and is_uuid(stem) else None


def codex_place(name: str) -> Place | None:
    """What a rollout of Codex is, from its name; a compressed one is the same source as the plain one."""
    stem = name
    for ending in (".jsonl.zst", ".jsonl", ".json"):
        stem = name.removesuffix(ending)
        if stem != name:
            break
    if stem == name or not name.startswith("rollout-"):
        return None
    # Behind the thread's id there may be that of a rollout of its own, after a thread went back.
    ends = [at for at, each in enumerate(stem) if each == "_" and "." not in stem[at:]] + [len(stem)]
    ids = [stem[end - _UUID_CHARS : end] for end in ends if end >= _UUID_CHARS]
    session = next(filter(is_uuid, ids), "")
    return MAIN, DOCUMENT if ending == ".json" else LINES, session, ""


def remote_name(url: str) -> str:
    """A git remote as host/owner/name: no scheme, no credentials, no ".git"; "" when it is no remote."""
    scheme, separator, rest = url.strip().partition("://")
    # Whatever stands before the last "@" may be a password, wherever it ends.
    address = (rest if separator else scheme).rpartition("@")[2]
    if separator:
        host, _, path = address.partition("/")
        host = host.partition(":")[0]
    else:
        host, _, path = address.partition(":")  # git@host:owner/name
    path = path.partition("?")[0].partition("#")[0].strip("/").removesuffix(".git")
    if len(host) < 2 or not path or scheme == "file" or "/" in host or "\\" in host + path:
        return ""
    return f"{host.lower()}/{path}"


def _session_above(parts: Sequence[str]) -> str:
    """The session whose `<session>/subagents/` folder a file is inside of, or ""."""
    for at in range(len(parts) - 2, 0, -1):
        if parts[at] == "subagents":
            return parts[at - 1] if is_uuid(parts[at - 1]) else ""
    return ""
