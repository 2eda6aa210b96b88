"""What the decisions of a person about projects come to, one after the other."""

from __future__ import annotations

from collections.abc import Iterable

from recollect.values.projects import JOIN, LABEL, RENAME, SPLIT, Decision


class Decided:
    """Which projects are joined, apart, renamed, labelled. What cannot be done changes nothing."""

    def __init__(self, decisions: Iterable[Decision]) -> None:
        self._into: dict[str, str] = {}
        self._apart: set[str] = set()
        self._labels: dict[str, dict[str, str]] = {}
        self.names: dict[str, str] = {}
        for decision in decisions:
            key = decision.project.casefold()
            if decision.op == SPLIT and key in self._into:
                del self._into[key]
            elif decision.op == SPLIT:
                self._apart.add(key)
            elif decision.op == JOIN:
                self._join(self.joined(key), decision.name.casefold())
            elif decision.op == RENAME:
                self.names[key] = decision.name
            elif decision.op == LABEL:
                self._labels.setdefault(key, {})[decision.key] = decision.name

    def _join(self, into: str, other: str) -> None:
        """Two hosts may have joined the same two the other way round: what is one stays so."""
        if self.joined(other) != into:
            self._into[self.joined(other)] = into

    def joined(self, key: str) -> str:
        while key in self._into:
            key = self._into[key]
        return key

    def is_joined(self, key: str) -> bool:
        return key in self._into

    def key_named(self, name: str) -> str:
        """The key of what a person gave this name, else the name."""
        return next((key for key, given in self.names.items() if given.casefold() == name), name)

    def is_apart(self, key: str) -> bool:
        return key in self._apart

    def labels_of(self, key: str) -> tuple[str, ...]:
        """A project's labels, with those of what was joined into it; its own come first."""
        found = dict(self._labels.get(key, {}))
        for other in self._labels:
            if other != key and self.joined(other) == key:
                found = {**self._labels[other], **found}
        return tuple(sorted(f"{name}={value}" for name, value in found.items() if value))
