"""A talk with a word of its own in every field, and a search for such words in every file of ours."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path
from typing import Any

from recollect.config import Config
from recollect.memory import Memory
from recollect.store.hdf5.engine import Hdf5Store

HOST = "harbor"
ERASED = "c0ffee00-0000-4000-8000-00000000000a"
KEPT = "5afe0000-0000-4000-8000-00000000000b"


def canary(name: str) -> str:
    return f"CANARY{name}Zq7"


def record(id_: str, number: int, kind: str, content: Any, **more: Any) -> dict[str, Any]:
    return {
        "type": kind,
        "uuid": f"{id_[:8]}-{number}",
        "parentUuid": f"{id_[:8]}-{number - 1}" if number else None,
        "sessionId": id_,
        "timestamp": f"2026-03-02T10:00:{number:02d}.000Z",
        "cwd": more.pop("cwd", "/home/ada/harbor"),
        "gitBranch": more.pop("branch", "main"),
        "version": "2.1.0",
        "message": {"role": kind, "content": content, **more},
    }


def talk(id_: str, word: str, **places: str) -> list[dict[str, Any]]:
    """A conversation with a word in every field that we read."""
    usage = {"input_tokens": 11, "output_tokens": 7}
    call = {
        "type": "tool_use",
        "id": f"toolu_{word}",
        "name": f"tool{word}",
        "input": {"command": f"make {word} everything at once"},
    }
    result = {
        "type": "tool_result",
        "tool_use_id": f"toolu_{word}",
        "content": f"built {word} without any trouble\nsecond line",
    }
    answer: list[Any] = [
        {"type": "text", "text": f"Done: {word} works now, decision: keep {word} as it is."},
        call,
    ]
    ids = {"id": f"msg_{word}", "model": f"model-{word}", "usage": usage}
    return [
        record(
            id_, 0, "user", f"Please fix {word}, it fails in src/{word}/main.py since yesterday.", **places
        ),
        record(id_, 1, "assistant", answer, **ids, **places),
        record(id_, 2, "user", [result], **places),
        record(
            id_,
            3,
            "assistant",
            [{"type": "text", "text": f"All of {word} is green. \u00dcber {word}."}],
            id=f"msg2_{word}",
            model=f"model-{word}",
            usage=usage,
            **places,
        ),
        {"type": "summary", "summary": f"Summary about {word}", "leafUuid": f"{id_[:8]}-3"},
    ]


def write(path: Path, records: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(each) + "\n" for each in records))
    return path


def write_logs(folder: Path) -> Path:
    """The logs of two sessions, one of which is to be erased."""
    word = canary("Body")
    places = {"cwd": f"/home/ada/{canary('Folder')}", "branch": canary("Branch")}
    write(folder / canary("Path") / f"{ERASED}.jsonl", talk(ERASED, word, **places))
    write(folder / "harbor" / f"{KEPT}.jsonl", talk(KEPT, "gasket"))
    return folder


def ours(folder: Path) -> Config:
    """Everything of ours is below one folder."""
    return Config(folder / "memory.h5", HOST, cache=folder / "cache")


def forms(text: str) -> list[bytes]:
    """Written independently of the product: plain, UTF-16, base64 at three alignments."""
    plain = text.encode()
    found = [plain, text.encode("utf-16-le"), text.encode("utf-16-be")]
    for before in range(3):
        coded = base64.b64encode(b"x" * before + plain)
        found.append(coded[4 if before else 0 : len(coded) - 4])
    return found


def places_with(memory: Memory, *texts: str) -> set[str]:
    """Every place beside our store and in its cache, unpacked, that has one of some texts."""
    store = memory._store
    assert isinstance(store, Hdf5Store)
    wanted = [form for text in texts for form in forms(text)]
    found = {where for where, data in store.contents() if any(form in data for form in wanted)}
    for path in {*store.path.parent.rglob("*"), *memory.config.cache.rglob("*")}:
        data = (path.read_bytes() if path.is_file() else b"") + os.fsencode(path.name)
        found |= {str(path)} if any(form in data for form in wanted) else set()
    return found


CANARIES = tuple(map(canary, ("Body", "Path", "Folder", "Branch")))
