"""A session as a test tells it: entries in order, as a parser would have made them."""

from __future__ import annotations

import json

from recollect.insight.digest.session import digest_of
from recollect.insight.digest.steps import Exchange, Step, exchanges
from recollect.values.digests import Digest
from recollect.values.records import Entry, Flag, Kind, SessionFacts
from recollect.values.stored import StoredEntry

FOLDER = "/home/ada/harbor"


class Told:
    """Each verb adds what it says; ids are e0, e1, ... in order."""

    def __init__(self) -> None:
        self.entries: list[StoredEntry] = []

    def add(
        self, kind: Kind, text: str, flags: int = 0, tool: str = "", call: str = "", type: str = ""
    ) -> str:
        row = len(self.entries)
        entry = Entry(kind, text, flags, 1_000_000 + row * 1_000, tool, call)
        self.entries.append(StoredEntry(f"e{row}", "s", type, entry, row))
        return f"e{row}"

    def asks(self, text: str) -> Told:
        self.add(Kind.PROMPT, text)
        return self

    def says(self, text: str) -> Told:
        self.add(Kind.ANSWER, text)
        return self

    def calls(self, tool: str, result: str | None, *, failed: bool = False, **given: object) -> Told:
        call = f"c{len(self.entries)}"
        self.add(Kind.CALL, json.dumps(given), tool=tool, call=call)
        if result is not None:
            self.add(Kind.RESULT, result, int(Flag.ERROR) if failed else 0, tool, call)
        return self

    def runs(self, command: str, result: str | None = "", *, failed: bool = False) -> Told:
        return self.calls("Bash", result, failed=failed, command=command)

    def edits(self, path: str, old: str = "a", new: str = "b", *, failed: bool = False) -> Told:
        given = {"file_path": f"{FOLDER}/{path}", "old_string": old, "new_string": new}
        return self.calls("Edit", "done", failed=failed, **given)

    def writes(self, path: str, content: str = "x") -> Told:
        return self.calls("Write", "done", file_path=f"{FOLDER}/{path}", content=content)

    def refuses(self, tool: str, **given: object) -> Told:
        self.calls(tool, "The user doesn't want to proceed with this tool use. STOP", failed=True, **given)
        return self.stops()

    def stops(self) -> Told:
        self.add(Kind.EVENT, "[Request interrupted by user]", int(Flag.META))
        return self

    def commands(self, name: str) -> Told:
        self.add(Kind.EVENT, f"<command-name>{name}</command-name>", int(Flag.META))
        return self

    @property
    def exchanges(self) -> list[Exchange]:
        return exchanges(self.entries)

    @property
    def steps(self) -> list[Step]:
        return [step for each in self.exchanges for step in each.steps]

    @property
    def digest(self) -> Digest:
        return digest_of(self.entries, SessionFacts("claude", "s", cwd=FOLDER))
