"""Many texts looked for in many bytes, all at once: at every place the first bytes decide."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

_HEAD_BYTES = 6
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_Array = np.ndarray[Any, Any]


class Needles:
    """Some texts, each in several forms, in bytes. A form below six bytes is not looked for."""

    def __init__(self, forms: Iterable[tuple[bytes, str]]) -> None:
        """`forms`: each with the text that it is a form of."""
        self._by_head: dict[int, list[tuple[bytes, str]]] = {}
        for form, text in forms:
            if len(form) >= _HEAD_BYTES:
                head = int.from_bytes(form[:_HEAD_BYTES], "little")
                self._by_head.setdefault(head, []).append((form, text))
        self._heads: _Array = np.array(sorted(self._by_head), np.uint64)
        self._marked = np.zeros(1 << 16, bool)
        self._marked[_spread(self._heads)] = True

    def __bool__(self) -> bool:
        return bool(self._by_head)

    def found_in(self, data: bytes) -> Iterator[tuple[int, str]]:
        """Where in some bytes each text begins that is there, in order of places."""
        if not self._by_head or len(data) < _HEAD_BYTES:
            return
        held: _Array = np.frombuffer(data, np.uint8)
        last = len(held) - _HEAD_BYTES + 1
        heads = np.zeros(last, np.uint64)
        for n in range(_HEAD_BYTES):
            heads |= held[n : last + n].astype(np.uint64) << np.uint64(8 * n)
        at = np.flatnonzero(self._marked[_spread(heads)])
        at = at[np.isin(heads[at], self._heads)]
        for place, head in zip(at.tolist(), heads[at].tolist(), strict=True):
            yield from ((place, text) for form, text in self._by_head[head] if data.startswith(form, place))


def _spread(heads: _Array) -> _Array:
    return np.asarray((heads * _SPREAD) >> np.uint64(48))
