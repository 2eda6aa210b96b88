"""What entries mention: the derived tables that keep it, and the things and entries that a name means.

`recollect.insight.entities` fills the tables; here they are described and asked, as a search does too. A
column is read when it is first needed, and a search without a name reads none. What was mentioned in entries
that were evicted since is kept as counts (`recollect.search.evicted`), and counts as before.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

from recollect.search.evicted import Evicted
from recollect.store.derived import TEXT, DerivedTable, unbuilt
from recollect.values.entities import ENTITY_TYPES
from recollect.values.errors import DerivedDamaged
from recollect.values.lazy import lazy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recollect.search.evicted import EvictedMentions
    from recollect.store.contract import Array, View

TYPES = tuple(ENTITY_TYPES)

# Raised together: a change of any rule of extraction and of its word lists makes other rows.
_RULES = 1
THINGS = DerivedTable("entities", _RULES, (("key", "<u8"), ("type", "<u1")))  # a type is its place in TYPES
NAMES = DerivedTable("entity-names", _RULES, (("name", TEXT),))
MENTIONS = DerivedTable("mentions", _RULES, (("entry", "<u8"), ("entity", "<u4"), ("day", "<u2")))
TABLES = (THINGS, NAMES, MENTIONS)  # a thing's number is its row in the first two

_PATHS = (TYPES.index("file"), TYPES.index("folder"))


def key_of(type_: str, name: str) -> int:
    """What a thing is found by."""
    told = f"{type_}\0{name}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(told, digest_size=8).digest(), "little")


class Mentions:
    """The mentions of one view, in the order of their entries; what was replaced since does not count.

    A mention whose entry was evicted comes before all others.
    """

    def __init__(self, view: View) -> None:
        self._view = view
        self._rows: dict[str, list[int]] = {}

    # -- columns ---------------------------------------------------------------------------------

    @lazy
    def keys(self) -> Array:
        return self._things["key"]

    @lazy
    def types(self) -> Array:
        """For each thing its place in `TYPES`."""
        return self._things["type"]

    @lazy
    def entries(self) -> Array:
        """For each mention the row of its entry; of one that was evicted -1 less the row of its session."""
        return self._columns["entry"]

    def owners(self, entries: Array) -> Array:
        """The rows of the sessions that some of `entries` are of."""
        found: Array = -1 - entries.astype(np.int64)
        there = found < 0
        found[there] = self._view.columns_at(entries[there].tolist(), "session")["session"]
        return found

    @lazy
    def things(self) -> Array:
        """For each mention the number of what is mentioned."""
        return self._columns["entity"]

    @lazy
    def days(self) -> Array:
        """For each mention its day, counted from 1970-01-01; 0 is unknown."""
        return self._columns["day"]

    @lazy
    def counts(self) -> Array:
        """For each thing how many entries mention it."""
        return np.bincount(self.things, minlength=len(self.keys))

    @lazy
    def unread(self) -> int:
        """How many rows of entries nobody looked at yet: the last ones."""
        return unbuilt(self._view, TABLES)

    @lazy
    def read_to(self) -> int:
        """The row of the first entry that nobody looked at yet."""
        return self._view.info().rows_end - self.unread

    def name(self, number: int) -> str:
        stored = len(self.keys) - len(self._gone_names)
        if number >= stored:
            return self._gone_names[number - stored]
        (name,) = self._view.derived(NAMES, number, number + 1)["name"]
        return str(name)

    # -- names -----------------------------------------------------------------------------------

    def folded_names(self) -> list[str]:
        """What each thing is called, in small letters, by its number."""
        return self._folded.split("\n")[1:-1]

    def numbers(self, name: str, type_: str = "") -> list[int]:
        """The numbers of all things that a name may mean; none where nothing is called so.

        Exactly, else in any case, else by the end of a path. A file's name without its folder is one in every
        folder.
        """
        types = (type_,) if type_ else TYPES
        exact = [key_of(each, said) for each in types for said in (name, f"@{name}")]
        found: Array = np.flatnonzero(np.isin(self.keys, np.array(exact, np.uint64)))
        if not len(found):
            found = self._of_types(self._lines(f"\n{name}\n"), types)
        if not len(found) or ("/" not in name and np.isin(self.types[found], _PATHS).any()):
            found = np.union1d(found, self._of_types(self._lines(f"/{name}\n"), types))
        return [int(number) for number in found]

    def rows(self, name: str) -> list[int]:
        """The rows of all entries that mention something of this name, in order."""
        if name not in self._rows:
            wanted = np.zeros(len(self.keys), bool)
            wanted[self.numbers(name)] = True
            found = np.unique(self.entries[wanted[self.things]])
            self._rows[name] = found[found >= 0].tolist()
        return self._rows[name]

    def beginning(self, prefix: str, limit: int) -> list[tuple[str, int]]:
        """Names that begin so, or whose path's last part does, with their mentions; the most first."""
        begun = prefix.casefold()
        fitting = [
            number
            for number, name in enumerate(self.folded_names())
            if name.startswith(begun) or name.rpartition("/")[2].startswith(begun)
        ]
        found: dict[str, int] = {}
        for number in sorted(fitting, key=lambda each: (-int(self.counts[each]), each))[: 2 * limit]:
            count = int(self.counts[number])
            if count:
                name = self.name(number)
                found[name] = found.get(name, 0) + count
        return sorted(found.items(), key=lambda each: -each[1])[:limit]

    def containing(self, part: str) -> str:
        """The shortest name that has this in it, "" for none."""
        wanted = part.casefold()
        close = [n for n, name in enumerate(self.folded_names()) if wanted in name]
        return min(map(self.name, close), key=len, default="")

    def _of_types(self, numbers: list[int], types: Sequence[str]) -> Array:
        found = np.array(numbers, np.int64)
        return found[np.isin(self.types[found], [TYPES.index(each) for each in types])]

    def _lines(self, end: str) -> list[int]:
        """The numbers of the names that end so, in any case; a name ends with its line."""
        wanted, told = end.casefold(), self._folded
        found: list[int] = []
        at, number = told.find(wanted), -1
        passed = 0
        while at >= 0:
            behind = at + len(wanted) - 1
            number += told.count("\n", passed, behind)
            found.append(number)
            passed = behind
            at = told.find(wanted, behind)
        return found

    @lazy
    def _folded(self) -> str:
        """All names in small letters, each in a line between two ends of lines: looked through at once."""
        names = "\n".join(["", *self._view.derived(NAMES)["name"], *self._gone_names, ""]).casefold()
        if names.count("\n") != len(self.keys) + 1:
            raise DerivedDamaged(NAMES.name, "not every thing has a name")
        return names

    # -- what was evicted ------------------------------------------------------------------------

    @lazy
    def _gone(self) -> EvictedMentions | None:
        return Evicted(self._view).mentions()

    @lazy
    def _gone_keys(self) -> Array:
        """For each row of `_gone` the key of what is mentioned."""
        gone = self._gone
        if gone is None:
            return np.zeros(0, np.uint64)
        told = zip(gone.type.tolist(), gone.name, strict=True)
        return np.array([key_of(TYPES[type_], name) for type_, name in told], np.uint64)

    @lazy
    def _gone_places(self) -> Array:
        """Of each thing that only evicted entries mention, the first row of `_gone` that is of it."""
        found, first = np.unique(self._gone_keys, return_index=True)
        return np.sort(first[~np.isin(found, self._stored_things["key"])])

    @lazy
    def _gone_names(self) -> list[str]:
        gone = self._gone
        return [] if gone is None else [gone.name[place] for place in self._gone_places.tolist()]

    # -- the tables ------------------------------------------------------------------------------

    @lazy
    def _stored_things(self) -> dict[str, Array]:
        return {name: np.asarray(column) for name, column in self._view.derived(THINGS).items()}

    @lazy
    def _things(self) -> dict[str, Array]:
        """The table of things, and behind it those that only evicted entries mention."""
        gone, stored = self._gone, self._stored_things
        if gone is None:
            return stored
        new = {"key": self._gone_keys[self._gone_places], "type": gone.type[self._gone_places]}
        return {
            name: np.concatenate([column, new[name].astype(column.dtype)]) for name, column in stored.items()
        }

    @lazy
    def _columns(self) -> dict[str, Array]:
        columns = {name: np.asarray(column) for name, column in self._view.derived(MENTIONS).items()}
        ends = {"entity": len(self._stored_things["key"]), "entry": self._view.info().rows_end}
        if any(len(columns[name]) and int(columns[name].max()) >= end for name, end in ends.items()):
            raise DerivedDamaged(MENTIONS.name, "what a mention is of is not there")
        replaced = self._view.replaced()
        if len(replaced):
            shown = np.ones(ends["entry"], bool)
            shown[replaced] = False
            columns = {name: column[shown[columns["entry"]]] for name, column in columns.items()}
        gone = self._gone
        return columns if gone is None else self._with_gone(columns, gone)

    def _with_gone(self, columns: dict[str, Array], gone: EvictedMentions) -> dict[str, Array]:
        """The same columns behind one row for each mention that was evicted."""
        order = np.argsort(self.keys, kind="stable")
        number = order[np.searchsorted(self.keys[order], self._gone_keys)]
        told = {"entry": -1 - gone.session, "entity": number, "day": gone.day}
        first = np.argsort(told["entry"], kind="stable")
        rows = np.repeat(first, gone.mentions[first])
        kinds = {"entry": np.int64, "entity": columns["entity"].dtype, "day": columns["day"].dtype}
        return {
            name: np.concatenate([told[name][rows].astype(kind), columns[name].astype(kind)])
            for name, kind in kinds.items()
        }
