"""The store as files, for a person."""

from __future__ import annotations

import time
from typing import Any

from recollect.cli.screen import Screen, Styled
from recollect.values.text import age, many, moment, one_line, size


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
    for each in store["kept_aside"]:
        screen.line(Styled("damaged", "bold red"), f": bytes that cannot be read are in {one_line(each)}")
    if store["kept_aside"]:
        screen.note("recollect ingest takes lost lines in again; check --acknowledge ends this line")
