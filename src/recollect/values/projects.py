"""A project with the names it goes by, and what a person decided about one."""

from __future__ import annotations

import re
from dataclasses import dataclass

from recollect.values.errors import UsageError
from recollect.values.names import checked_name

JOIN, SPLIT, RENAME, LABEL = "join", "split", "rename", "label"
PROJECT_CHARS_MAX = 1_000  # of a name that a log gives

_LABEL_KEY = re.compile(r"[a-z][a-z0-9_-]{0,31}")


@dataclass(frozen=True, slots=True)
class Decision:
    """What a person decided about the project of this name.

    JOIN: `name` is another name of it; SPLIT: it is no other name of anything; RENAME: it is called `name`;
    LABEL: it is labelled `key=name`, or no more where `name` is "".
    """

    op: str
    project: str
    name: str = ""
    key: str = ""
    time_ms: int = 0


@dataclass(frozen=True, slots=True)
class Project:
    """A project: `aliases` are the other names it goes by, `folders` where it was worked on, the last first.

    `labels` are `key=value`, in order.
    """

    name: str
    aliases: tuple[str, ...]
    labels: tuple[str, ...]
    folders: tuple[str, ...]
    agents: tuple[str, ...]
    sessions: int
    entries: int
    started_ms: int
    ended_ms: int
    imported: bool


def checked_label(label: str) -> tuple[str, str]:
    """The key and the value of `key=value`; the value is "" to take the label away."""
    key, equals, value = label.partition("=")
    if not equals or not _LABEL_KEY.fullmatch(key):
        raise UsageError(
            "a label is written KEY=VALUE, its key in plain lower-case letters",
            hint="such as domain=payments",
        )
    return key, checked_name(value) if value.strip() else ""
