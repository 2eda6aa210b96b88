"""`status`: what is in the store, how fresh it is, what is at risk. Reads no log."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from recollect.cli.hook_status import captured_object, hooks_text, print_captured
from recollect.cli.ingest import print_risk
from recollect.cli.open_memory import open_memory
from recollect.cli.store_lines import print_store
from recollect.cli.words import add_command
from recollect.present.fleet import host_standing_object, summary_text, trouble_lines
from recollect.present.reports import standing_object
from recollect.present.status import odd_text, store_object, totals_object, unproven_objects, unproven_text
from recollect.present.usage import cost_text
from recollect.values.text import many

if TYPE_CHECKING:
    import argparse

    from recollect.cli.screen import Screen


def add_words(commands: Any) -> None:
    add_command(
        commands,
        "status",
        "what is in the store, how fresh it is, what is at risk",
        "Counts, sizes and age of the store, which logs changed since the last ingest, and which are "
        "about to be deleted by the agent that wrote them. Reads no log, only looks at the files' dates.",
        ("recollect status", "recollect status --json"),
    )


def status(args: argparse.Namespace, screen: Screen) -> int:
    with open_memory(args) as memory:
        store, totals, risk = store_object(memory), totals_object(memory), memory.standing()
        odd, unproven = memory.odd_lines(), unproven_objects(memory)
        captured, hooks = captured_object(memory.config), hooks_text(memory.config)
        standings, now_ms = memory.fleet.status(), time.time_ns() // 1_000_000
    if screen.json:
        screen.object(
            "status",
            {
                "store": store,
                "totals": totals,
                "odd_lines": odd,
                "unproven": unproven,
                "newest_source_ms": risk.newest_ms or None,
                "retention": standing_object(risk),
                "captured": captured,
                "fleet": [host_standing_object(each, now_ms) for each in standings],
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
        ("unproven", unproven_text(unproven)),
        ("hooks", hooks),
        ("fleet", summary_text(standings, now_ms)),
    )
    for line in trouble_lines(standings):
        screen.line(line)
    if risk.changed:
        screen.line(f"{many(risk.changed, 'source')} changed since the last ingest: recollect ingest")
    print_risk(risk, screen)
    if captured["sessions"] or captured["trouble"]:
        print_captured(captured, screen)
    return 0
