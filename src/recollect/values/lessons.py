"""What is worth writing down for the next conversation, and why."""

from __future__ import annotations

from dataclasses import dataclass

from recollect.values.stored import Session


@dataclass(frozen=True, slots=True)
class Lesson:
    """Something that keeps happening. `line` is what could be written into one of `files`: by a person.

    `times` counts how often it was met, in `sessions`, the latest first, what forks repeat once; `recovered`
    says in how many of them it was overcome, `ended_by` by which command last. `command` is what met it,
    `entries` show it, the latest first.
    """

    kind: str
    text: str
    times: int
    sessions: tuple[Session, ...]
    entries: tuple[str, ...]
    line: str
    files: tuple[str, ...]
    recovered: int = 0
    command: str = ""
    ended_by: str = ""

    @property
    def projects(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(each.facts.project for each in self.sessions if each.facts.project))

    @property
    def agents(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(each.facts.agent for each in self.sessions))

    @property
    def imported(self) -> bool:
        """Whether only imported logs show it, so that anyone may have made it up."""
        return all(each.imported for each in self.sessions)
