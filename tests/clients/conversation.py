"""A conversation every client has: a picture, thoughts, two calls of which one fails, a second prompt."""

from __future__ import annotations

import json
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path

from tests.clients.drivers import Driver
from tests.clients.sessions import png
from tests.clients.standin import StandIn, text, thinking

FIRST = "Look around in the harbor."
SECOND = "And what of the gulls?"
DOOMED = "Wait for the tide."

THOUGHTS = ("The lantern first, then the bell.", "One of the two failed.", "Gulls are birds.")
TEXTS = ("I look at both.", "The lantern is lit: é 中文 and “quotes”.", "The gulls have flown.")
COMMANDS = ("echo lantern | tr ae oo", "echo belfry | tr e u >&2; exit 3")
# What the commands print, which they do not say themselves: found in a log, it is a result.
PRINTED = ("lontorn", "bulfry")
CUT_SHORT = (DOOMED, "It takes a while.", "I wait.")

PICTURE = png((200, 30, 30), side=32)  # Grok drops one of fewer than 512 dots


def first(driver: Driver, standin: StandIn) -> str:
    play = standin.script(
        "first",
        [thinking(THOUGHTS[0]), text(TEXTS[0]), *(driver.shell(command) for command in COMMANDS)],
        [thinking(THOUGHTS[1]), text(TEXTS[1])],
    )
    return f"{play} {FIRST}"


def second(standin: StandIn) -> str:
    return f"{standin.script('second', [thinking(THOUGHTS[2]), text(TEXTS[2])])} {SECOND}"


def doomed(driver: Driver, standin: StandIn, flag: Path) -> str:
    """A prompt whose one call runs while the flag is there."""
    call = driver.shell(f"touch {flag}; while [ -e {flag} ]; do sleep 0.1; done")
    play = standin.script("doomed", [thinking(CUT_SHORT[1]), text(CUT_SHORT[2]), call], [text("Never.")])
    return f"{play} {DOOMED}"


def missing(files: Mapping[str, bytes], told: tuple[str, ...]) -> list[str]:
    """What of these no file says, be it as JSON writes it or in a row of a database."""
    said = list(_said(files))
    return [words for words in told if not any(form in each for form in _forms(words) for each in said)]


def _forms(words: str) -> set[str]:
    return {words, json.dumps(words)[1:-1]}


def _said(files: Mapping[str, bytes]) -> Iterator[str]:
    for name, data in files.items():
        if name.endswith(".db"):
            yield from _rows(data, files.get(f"{name}-wal", b""))
        elif not name.endswith(("-wal", "-shm")):
            yield data.decode(errors="replace")


def _rows(data: bytes, log: bytes) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder, suppress(sqlite3.DatabaseError):
        path = Path(folder, "copy.db")
        path.write_bytes(data)
        Path(f"{path}-wal").write_bytes(log)
        with closing(sqlite3.connect(path)) as database:
            tables = database.execute("select name from sqlite_master where type = 'table'").fetchall()
            for (table,) in tables:
                for row in database.execute(f'select * from "{table}"'):
                    yield "\n".join(map(str, row))
