"""`status`: what is in the store, how fresh it is, what is at risk. Reads no log."""

from __future__ import annotations

import argparse
import time
from typing import Any

from recollect.cli.captured import captured_object, hooks_text, print_captured
from recollect.cli.ingest import cost_text, print_risk, standing_object, standing_of, totals_of
from recollect.cli.opening import open_memory
from recollect.cli.screen import Screen, Styled
from recollect.memory import Memory
from recollect.store.contract import View
from recollect.values.records import LineFlag
from recollect.values.text import age, many, moment, size

_COUNTED = (LineFlag.BAD, LineFlag.BLANK, LineFlag.PENDING, LineFlag.LENIENT, LineFlag.UNKNOWN)


def status(args: argparse.Namespace, screen: Screen) -> int:
    with open_memory(args) as memory:
        store, totals, risk = store_object(memory), totals_of(memory), standing_of(memory)
        with memory.view() as view:
            odd = odd_lines(view)
        captured, hooks = captured_object(memory.config), hooks_text(memory.config)
    if screen.json:
        screen.object(
            "status",
            {
                "store": store,
                "totals": totals,
                "odd_lines": odd,
                "newest_source_ms": risk.newest_ms or None,
                "retention": standing_object(risk),
                "captured": captured,
            },
        )
        return 0
    print_store(
        store,
        screen,
        ("sessions", f"{totals['sessions']:,} ({totals['subagents']:,} of them by subagents)"),
        ("entries", f"{totals['entries']:,} from {many(totals['lines'], 'line')}"),
        ("tokens", f"{totals['tokens']:,} in {many(totals['responses'], 'response')}"),
        ("cost", cost_text(totals)),
        ("odd lines", odd_text(odd)),
        ("hooks", hooks),
    )
    if risk.changed:
        screen.line(f"{many(risk.changed, 'source')} changed since the last ingest: recollect ingest")
    print_risk(risk, screen)
    if captured["sessions"] or captured["trouble"]:
        print_captured(captured, screen)
    return 0


def store_object(memory: Memory) -> dict[str, Any]:
    """The store as a whole: where, how large, how old, and what waits in its journal."""
    info, footprint = memory.info(), memory.footprint()
    return {
        "path": memory.name,
        "id": info.id,
        "format": info.format,
        "generation": info.generation,
        "created_ms": info.created_ms,
        "written_ms": footprint.written_ms,
        "bytes": footprint.bytes,
        "line_bytes": info.line_bytes,
        "sources": info.sources,
        "journal_pending": memory.waiting(),
    }


def print_store(store: dict[str, Any], screen: Screen, *more: tuple[str, str]) -> None:
    """The store's path and what there is to say of it, `more` at the end."""
    now_ms = time.time_ns() // 1_000_000
    ago = age(store["written_ms"], now_ms=now_ms)
    screen.line(Styled(store["path"], "bold"))
    held, bytes_ = store["line_bytes"], store["bytes"]
    waiting = store["journal_pending"]
    screen.pairs(
        (
            ("size", f"{size(bytes_)} for {size(held)} of lines from {many(store['sources'], 'source')}"),
            ("written", f"{moment(store['written_ms'])} ({'just now' if ago == 'now' else ago + ' ago'})"),
            ("generation", f"{store['generation']:,} of store {store['id'][:8]}, format {store['format']}"),
            ("journal", f"{many(waiting, 'segment')} waiting" if waiting else ""),
            *more,
        )
    )


def odd_lines(view: View) -> dict[str, int]:
    """Lines that are not simply entries, by what is odd about them."""
    counts = view.flag_counts()
    return {flag.name.lower(): counts.get(flag, 0) for flag in _COUNTED}


def odd_text(odd: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in odd.items() if count)
