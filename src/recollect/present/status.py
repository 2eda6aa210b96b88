"""What the whole of a memory is: its store as files, what it holds, what hooks did last."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from recollect.light.journal import journal_path, read_frames

if TYPE_CHECKING:
    from recollect.memory import Memory


def store_object(memory: Memory) -> dict[str, Any]:
    """The store as files: where, how large, how old, and what waits in its journal."""
    info, path = memory.info(), memory.path
    journal = journal_path(path)
    waiting = sum(1 for _ in read_frames(journal, info.folded)) if journal.exists() else 0
    return {
        "path": str(path),
        "id": info.id,
        "format": info.format,
        "generation": info.generation,
        "created_ms": info.created_ms,
        "written_ms": os.stat(path).st_mtime_ns // 1_000_000,
        "bytes": os.stat(path).st_size + (os.stat(journal).st_size if journal.exists() else 0),
        "line_bytes": info.line_bytes,
        "sources": info.sources,
        "journal_pending": waiting,
    }


def odd_text(odd: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in odd.items() if count)


def totals_object(memory: Memory) -> dict[str, Any]:
    """What the whole store holds now."""
    info, total = memory.info(), memory.usage().total
    return {
        "sessions": len(memory.sessions()),
        "subagents": info.subagents,
        "entries": info.entries,
        "lines": info.lines,
        "responses": total.responses,
        "tokens": total.tokens,
        "cost_microdollars": total.cost_microdollars,
        "unpriced_responses": total.unpriced_responses,
        "unpriced_models": list(total.unpriced_models),
    }
