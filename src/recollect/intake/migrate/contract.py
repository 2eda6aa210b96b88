"""What is known of another program's database: how to tell it, and what its columns mean.

A schema is a list of rules, one for a table. What a rule does not name goes into the note's metadata, so a
column that a later version adds is kept too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from recollect.intake.migrate.tables import Tables, Unread

NOTE: Final = "note"
SESSION: Final = "session"

Look = Callable[[Mapping[str, Any]], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Rule:
    """What the columns of a table mean. Of `time` the first that is one counts; `texts` become one text."""

    table: str
    key: tuple[str, ...]
    texts: tuple[str, ...]
    makes: str = NOTE
    role: str = "note"
    session: str = ""
    group: str = ""  # where rows without a session are
    project: str = ""
    channel: str = ""
    author: str = ""
    title: str = ""  # of a session
    tags: tuple[str, ...] = ()
    tag: str = ""  # that every row has
    time: tuple[str, ...] = ()
    ended: str = ""
    vector: str = ""
    metadata: str = ""  # a column of JSON, whose names become those of the metadata
    kind: str = ""  # of an entity: the column that says what it is
    weight: str = ""  # of a relation, whose ends are known by `relations_of`
    until: str = ""
    deleted: str = ""  # anything but NULL and 0 there says that a row is deleted

    def places(self) -> dict[str, str]:
        """Where the values of each column go."""
        told = dict.fromkeys(self.texts, "text" if self.makes == NOTE else "summary")
        told |= dict.fromkeys(self.tags, "tags") | dict.fromkeys(self.time, "time")
        single = {
            self.session: "session",
            self.project: "project",
            self.channel: "channel",
            self.author: "author",
            self.title: "title",
            self.ended: "time",
            self.vector: "vector",
            self.metadata: "metadata",
            self.deleted: "deleted",
            self.weight: "weight",
            self.until: "time",
        }
        told |= {column: place for column, place in single.items() if column}
        return {column: told.get(column, "id") for column in self.key} | told


@dataclass(frozen=True, slots=True)
class Row:
    """A row, and what is known of it from other tables: by the names that a `Rule` has, and its vector."""

    values: Mapping[str, Any]
    known: Mapping[str, Any] = field(default_factory=dict)


class Schema:
    """One program's database."""

    name: str
    rules: tuple[Rule, ...]
    indexes: Mapping[str, str] = {}  # tables that are made of the others, by a reason

    def recognise(self, tables: Tables) -> bool:
        """Whether a database is one of these."""
        raise NotImplementedError

    def rows(self, tables: Tables, rule: Rule) -> Iterator[Row | Unread]:
        """The rows of a table, with what other tables say of them."""
        look = self.looker(tables, rule)
        for values in tables.rows(rule.table):
            yield values if isinstance(values, Unread) else Row(values, look(values))

    def looker(self, tables: Tables, rule: Rule) -> Look:
        """What says of a row's values what other tables know of it."""
        return _nothing


def _nothing(values: Mapping[str, Any]) -> Mapping[str, Any]:
    return {}
