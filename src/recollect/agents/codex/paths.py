"""Where Codex keeps its rollouts, and what their names say. Light: hooks import it."""

from __future__ import annotations

from recollect.light.sources import DOCUMENT, LINES, MAIN, UUID_CHARS, Place, is_uuid

TYPE_CHECKING = False  # as `typing` has it; importing that costs a hook milliseconds
if TYPE_CHECKING:
    from collections.abc import Mapping

MOVED_BY = "CODEX_HOME"


def folder(home: str, environ: Mapping[str, str]) -> str:
    """Where Codex keeps everything."""
    return environ.get(MOVED_BY) or f"{home}/.codex"


def roots(home: str, environ: Mapping[str, str]) -> list[str]:
    """The folders below which its rollouts lie."""
    own = folder(home, environ)
    return [own + "/sessions", own + "/archived_sessions"]


def place(name: str) -> Place | None:
    """What a rollout is, from its name; a compressed one is the same source as the plain one."""
    stem = name
    for ending in (".jsonl.zst", ".jsonl", ".json"):
        stem = name.removesuffix(ending)
        if stem != name:
            break
    if stem == name or not name.startswith("rollout-"):
        return None
    # Behind the thread's id there may be that of a rollout of its own, after a thread went back.
    ends = [at for at, each in enumerate(stem) if each == "_" and "." not in stem[at:]] + [len(stem)]
    ids = [stem[end - UUID_CHARS : end] for end in ends if end >= UUID_CHARS]
    session = next(filter(is_uuid, ids), "")
    return MAIN, DOCUMENT if ending == ".json" else LINES, session, ""
