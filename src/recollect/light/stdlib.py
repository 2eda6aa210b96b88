"""What hooks need of `json` and `contextlib`, without what those import.

`json` imports `re`, and that enumerations and more: 8 ms of processor time, as much as an empty
interpreter takes. The work itself is done by the C module that `json` uses too; where that is
missing or changed, `json` is what is used.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as `typing` has it; importing that costs a hook milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class suppress:  # noqa: N801  (as contextlib's)
    """A `with` block that these errors end in silence."""

    def __init__(self, *errors: type[BaseException]) -> None:
        self._errors = errors

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> bool:
        return kind is not None and issubclass(kind, self._errors)


class _Decoding:
    """What the scanner asks of a decoder: as `json.JSONDecoder` without any hook."""

    strict, object_hook, object_pairs_hook = True, None, None
    parse_float, parse_int = float, int
    parse_constant = float
    memo: dict[str, str] = {}  # noqa: RUF012


def _scanner() -> tuple[Callable[[str, int], tuple[Any, int]], Callable[[str], str]]:
    try:
        from _json import encode_basestring_ascii, make_scanner

        return make_scanner(_Decoding()), encode_basestring_ascii  # type: ignore[arg-type]
    except (ImportError, AttributeError, TypeError):
        import json

        return json.JSONDecoder().raw_decode, json.dumps


_scan, _quoted = _scanner()


def loads(data: bytes | bytearray | str) -> Any:
    """The value of a JSON text in UTF-8; ValueError or RecursionError for anything else."""
    text = (data if isinstance(data, str) else data.decode("utf-8")).strip(" \t\r\n")
    try:
        value, end = _scan(text, 0)
    except StopIteration:
        raise ValueError("not JSON") from None
    if end != len(text):
        raise ValueError("more than one value")
    return value


def dumps(value: Any) -> str:
    """A value of texts, numbers, lists and dictionaries as JSON in ASCII."""
    if isinstance(value, str):
        return _quoted(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_quoted(key)}: {dumps(each)}" for key, each in value.items()) + "}"
    return "[" + ", ".join(map(dumps, value)) + "]"
