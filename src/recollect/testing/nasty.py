"""Logs as crashes, full disks, second writers and other versions leave them.

    for nasty in nasty_inputs(Path("tests/data")):
        nasty.write(scratch / nasty.name)

Each variant is the whole folder of samples, every file of it damaged in one way, under the name that it had.
A log is changed by its lines, a document (one JSON value in a file that is no `.jsonl`) by what it lists,
anything else (a database) only by its bytes. The same samples give the same variants.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

COPIED_TO: Final = "copy/"  # the folder of the second copy in `copied`

# What a crash leaves of a page that was never written.
_HOLE: Final = bytes(512)
# A byte that UTF-8 never has, a character that ends too early, half of a pair.
_NOT_UTF8: Final = b"\xff\xc3(\xed\xa0\x80"
_DEEP: Final = 20_000  # far more than any parser takes
_NESTED: Final = 400  # still taken by it
_LONG_CHARS: Final = 200_000
_TYPE_NAMES: Final = frozenset({"type", "subtype", "role", "kind", "event", "name", "status"})
_HUGE: Final = (10**400, 2**64, -(2**63) - 1, 1.7e308, -1, float("nan"), float("-inf"), 0.1)
_OTHERS: Final[tuple[Any, ...]] = (None, True, -7, 2.5, "", "\0", [], {}, [[]], {"": {"": None}})


@dataclass(frozen=True, slots=True)
class NastyInput:
    """One way to be damaged, and the samples damaged in it, by their paths below the folder."""

    name: str
    files: Mapping[str, bytes]

    def write(self, folder: Path) -> None:
        """Write them below a folder, which is made."""
        for name, data in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)


def nasty_inputs(folder: Path) -> Iterator[NastyInput]:
    """Every variant of the samples in a folder."""
    samples = {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    for name, damage in _OF_BYTES.items():
        yield NastyInput(name, {path: damage(data) for path, data in samples.items()})
    texts = {path: data for path, data in samples.items() if _is_text(data)}
    for name, change in _OF_RECORDS.items():
        changed = {path: change(_records(path, data)) for path, data in texts.items()}
        yield NastyInput(name, {**samples, **changed})
    yield NastyInput("interleaved", {**samples, **_interleaved(texts)})
    yield NastyInput("copied", {**samples, **{COPIED_TO + path: data for path, data in samples.items()}})


# -- of bytes --------------------------------------------------------------------------------------


def _torn(data: bytes) -> bytes:
    """The last line half written."""
    end = data.rstrip()
    return end[: (end.rfind(b"\n") + 1 + len(end)) // 2]


def _with_nul_bytes(data: bytes) -> bytes:
    """A hole in the middle of a line, one between lines, and one at the end."""
    middle = len(data) // 2
    line = data.find(b"\n", middle) + 1
    return data[:middle] + _HOLE + data[middle:line] + _HOLE + data[line:] + _HOLE


def _in_every_line(piece: bytes) -> Callable[[bytes], bytes]:
    def changed(data: bytes) -> bytes:
        lines = data.split(b"\n")
        return b"\n".join(
            line[: len(line) // 2] + piece * bool(line) + line[len(line) // 2 :] for line in lines
        )

    return changed


def _spliced(data: bytes) -> bytes:
    """Of every two lines the second in the middle of the first, as two writers without a lock leave them."""
    lines = data.split(b"\n")
    joined = [
        first[: len(first) // 2] + second + first[len(first) // 2 :]
        for first, second in zip(lines[::2], lines[1::2], strict=False)
    ]
    return b"\n".join(joined) + b"\n"


_OF_BYTES: Final[Mapping[str, Callable[[bytes], bytes]]] = {
    "empty": lambda data: b"",
    "torn": _torn,
    "truncated": lambda data: data[: len(data) // 2],
    "beheaded": lambda data: data[len(data) // 2 :],
    "nul-bytes": _with_nul_bytes,
    "invalid-utf8": _in_every_line(_NOT_UTF8),
    "flipped-bits": lambda data: bytes(byte ^ (not at % 101) for at, byte in enumerate(data)),
    "spliced": _spliced,
    "blank-lines": lambda data: data.replace(b"\n", b"\n\n \t\n"),
    "windows-lines": lambda data: b"\xef\xbb\xbf" + data.replace(b"\n", b"\r\n"),
}


# -- of records ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Records:
    """The JSON values of a log, None for a line that is none, or the one value that a document is."""

    data: bytes
    values: tuple[Any, ...]
    is_document: bool

    def written(self, values: list[Any] | None = None, *, more: bytes = b"") -> bytes:
        lines = [json.dumps(value).encode() for value in (self.values if values is None else values)]
        return b"\n".join(lines) if self.is_document else b"\n".join([*lines, more])

    def changed(self, change: Callable[[Any], Any]) -> bytes:
        return self.written([change(value) for value in self.values])


def _records(path: str, data: bytes) -> _Records:
    if not path.endswith(".jsonl"):
        try:
            return _Records(data, (json.loads(data),), True)
        except ValueError:
            pass
    return _Records(data, tuple(_value(line) for line in data.split(b"\n") if line), False)


def _value(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None


def _is_text(data: bytes) -> bool:
    return b"\0" not in data


def _duplicated(records: _Records) -> bytes:
    """Every line twice in a row; a document, to which nobody appends, as it is."""
    if records.is_document:
        return records.data
    return b"\n".join(line for line in records.data.split(b"\n") for _ in range(2 if line else 1))


def _reordered(records: _Records) -> bytes:
    if records.is_document:
        return records.changed(lambda value: _mapped(value, _same, lists=lambda each: each[::-1]))
    return b"\n".join(records.data.rstrip(b"\n").split(b"\n")[::-1]) + b"\n"


def _deeply_nested(records: _Records) -> bytes:
    """Every record with something deep in it, and lines that are deeper than any parser goes."""
    nested: Any = "deep"
    for _ in range(_NESTED):
        nested = [{"deep": nested}]
    deep = [b"[" * _DEEP, b"[" * _DEEP + b"]" * _DEEP, b'{"a":' * _DEEP + b"1" + b"}" * _DEEP, b""]
    return records.written(
        [{**each, "deep": nested} if isinstance(each, dict) else each for each in records.values],
        more=b"\n".join(deep),
    )


def _with_huge_numbers(records: _Records) -> bytes:
    return _each_leaf(
        records, int | float, lambda at, old: old if type(old) is bool else _HUGE[at % len(_HUGE)]
    )


def _with_other_values(records: _Records) -> bytes:
    """Every value in turn something of another type; the records as they are in between."""
    return _each_leaf(records, object, lambda at, old: _OTHERS[at % len(_OTHERS)] if at % 3 else old)


def _without_fields(records: _Records) -> bytes:
    """Every record once without each of its fields, and of those of the objects in it."""
    if records.is_document:
        return records.changed(
            lambda value: {k: value[k] for k in list(value)[1:]} if _is_object(value) else value
        )
    found = []
    for value in filter(_is_object, records.values):
        found += [{key: value[key] for key in value if key != left_out} for left_out in value]
        for name, inner in ((name, inner) for name, inner in value.items() if _is_object(inner)):
            found += [{**value, name: {key: inner[key] for key in inner if key != out}} for out in inner]
    return records.written(found)


def _with_unknown_types(records: _Records) -> bytes:
    def renamed(value: Any) -> Any:
        if isinstance(value, list):
            return [renamed(each) for each in value]
        if not isinstance(value, dict):
            return value
        return {
            key: "soothsayer" if key in _TYPE_NAMES and isinstance(each, str) else renamed(each)
            for key, each in value.items()
        }

    return records.changed(renamed)


def _with_lone_surrogates(records: _Records) -> bytes:
    return records.changed(
        lambda value: _mapped(value, lambda leaf: f"\udc80{leaf}\ud800\0" if isinstance(leaf, str) else leaf)
    )


def _with_a_long_text(records: _Records) -> bytes:
    """The longest text of the last record far longer."""
    *others, last = records.values or ({},)
    leaves = [leaf for leaf in _leaves(last) if isinstance(leaf, str)]
    longest = max(leaves, key=len, default="")
    return records.written(
        [*others, _mapped(last, lambda leaf: "long " * (_LONG_CHARS // 5) if leaf == longest else leaf)]
    )


_OF_RECORDS: Final[Mapping[str, Callable[[_Records], bytes]]] = {
    "duplicated": _duplicated,
    "reordered": _reordered,
    "deeply-nested": _deeply_nested,
    "huge-numbers": _with_huge_numbers,
    "other-values": _with_other_values,
    "missing-fields": _without_fields,
    "unknown-types": _with_unknown_types,
    "lone-surrogates": _with_lone_surrogates,
    "long-text": _with_a_long_text,
}


def _interleaved(samples: Mapping[str, bytes]) -> dict[str, bytes]:
    """Every file with the lines of the next one between its own."""
    found = {}
    paths = list(samples)
    for path, other in zip(paths, [*paths[1:], *paths[:1]], strict=True):
        own, others = samples[path].split(b"\n"), samples[other].split(b"\n")
        pairs = [line for pair in zip(own, others, strict=False) for line in pair]
        shorter = min(len(own), len(others))
        found[path] = b"\n".join([*pairs, *own[shorter:], *others[shorter:]])
    return found


# -- of values -------------------------------------------------------------------------------------


def _same(value: Any) -> Any:
    return value


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _mapped(value: Any, leaf: Callable[[Any], Any], lists: Callable[[list[Any]], list[Any]] = _same) -> Any:
    if isinstance(value, dict):
        return {key: _mapped(each, leaf, lists) for key, each in value.items()}
    if isinstance(value, list):
        return lists([_mapped(each, leaf, lists) for each in value])
    return leaf(value)


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _leaves(each)
    else:
        yield value


def _each_leaf(records: _Records, kind: Any, other: Callable[[int, Any], Any]) -> bytes:
    """Leaves of a kind, counted over all records, replaced."""
    count = -1

    def replaced(leaf: Any) -> Any:
        nonlocal count
        if not isinstance(leaf, kind):
            return leaf
        count += 1
        return other(count, leaf)

    return records.changed(lambda value: _mapped(value, replaced))
