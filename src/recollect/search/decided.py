"""What the decisions of a person about projects come to, one after the other.

A decision names a project as it was called that day. Once the remote of that folder is known the project is
called by it, and the decision is about the project of the remote.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping

from recollect.values.projects import JOIN, LABEL, RENAME, SPLIT, Decision


class Decided:
    """Which projects are joined, apart, renamed, labelled. What cannot be done changes nothing."""

    def __init__(self, decisions: Iterable[Decision], became: Mapping[str, Collection[str]]) -> None:
        """`became`: the keys that projects have by now which on their own have this name."""
        self._became = became
        self._into: dict[str, str] = {}
        self._apart: set[str] = set()
        self._labels: dict[str, dict[str, str]] = {}
        self.names: dict[str, str] = {}
        self.given: dict[str, set[str]] = {}  # all that it was ever called
        for decision in decisions:
            key = decision.project.casefold()
            keys = self.keys_now(key)
            if decision.op == SPLIT and self.is_joined(key):
                self._into = {one: into for one, into in self._into.items() if one not in keys}
            elif decision.op == SPLIT:
                self._apart.add(key)
            elif decision.op == JOIN:
                for other in self.keys_now(decision.name.casefold()):
                    self._join(self.joined(keys[0]), other)
            elif decision.op == RENAME:
                for each in keys:
                    self.names[each] = decision.name
                    self.given.setdefault(each, set()).add(decision.name)
            elif decision.op == LABEL:
                for each in keys:
                    self._labels.setdefault(each, {})[decision.key] = decision.name

    def keys_now(self, key: str) -> list[str]:
        """What the project that had this key has become, more than one where it was found to be several."""
        return [key] if key in self._apart else sorted(self._became.get(key, (key,)))

    def _join(self, into: str, other: str) -> None:
        """Two hosts may have joined the same two the other way round: what is one stays so."""
        if self.joined(other) != into:
            self._into[self.joined(other)] = into

    def joined(self, key: str) -> str:
        while key in self._into:
            key = self._into[key]
        return key

    def is_joined(self, key: str) -> bool:
        return any(each in self._into for each in self.keys_now(key))

    def key_named(self, name: str, known: Container[str]) -> str:
        """The key of what a person calls so, or once did; else the name. `known`: what sessions go by."""
        now = next((key for key, given in self.names.items() if given.casefold() == name), "")
        if now or name in known:
            return now or name
        return next((key for key, given in self.given.items() if name in map(str.casefold, given)), name)

    def is_apart(self, key: str) -> bool:
        return key in self._apart

    def labels_of(self, key: str) -> tuple[str, ...]:
        """A project's labels, with those of what was joined into it; its own come first."""
        found = dict(self._labels.get(key, {}))
        for other in self._labels:
            if other != key and self.joined(other) == key:
                found = {**self._labels[other], **found}
        return tuple(sorted(f"{name}={value}" for name, value in found.items() if value))
