"""What is told of documents, held small: many have the same keys, and many of their values are the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

_SHARED_MAX: Final = 1 << 16  # values and shapes that are looked for again; then all is forgotten
_VALUE_CHARS_MAX: Final = 64


class Told(Mapping[str, Any]):
    """A mapping whose keys are one tuple with those of all others of its shape."""

    __slots__ = ("_at", "_values")

    def __init__(self, at: Mapping[str, int], values: tuple[Any, ...]) -> None:
        self._at, self._values = at, values

    def __getitem__(self, key: str) -> Any:
        return self._values[self._at[key]]

    def get(self, key: str, default: Any = None) -> Any:
        at = self._at.get(key)
        return default if at is None else self._values[at]

    def __iter__(self) -> Iterator[str]:
        return iter(self._at)

    def __len__(self) -> int:
        return len(self._values)


class Sharing:
    """Makes mappings that share what they have in common."""

    def __init__(self) -> None:
        self._shapes: dict[tuple[str, ...], dict[str, int]] = {}
        self._values: dict[str, str] = {}

    def told(self, given: Mapping[str, Any]) -> Told:
        if len(self._shapes) + len(self._values) > _SHARED_MAX:
            self._shapes.clear()
            self._values.clear()
        keys = tuple(given)
        at = self._shapes.get(keys)
        if at is None:
            at = self._shapes[keys] = {key: number for number, key in enumerate(keys)}
        return Told(at, tuple(map(self._shared, given.values())))

    def _shared(self, value: Any) -> Any:
        if type(value) is str and len(value) <= _VALUE_CHARS_MAX:
            return self._values.setdefault(value, value)
        return value
