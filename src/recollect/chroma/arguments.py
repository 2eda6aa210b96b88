"""A call's arguments, made what its tool takes, or refused as chroma-mcp refuses them.

A text that is JSON of a list or an object counts as that: some clients send everything as text. What a tool
does not know is left out; what it needs and does not get is named, all of it at once.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from recollect.chroma.refusals import Refused

REQUIRED: Final[Any] = object()

_SHOWN_CHARS: Final = 50  # of a value in an error
_INTEGER: Final = "Input should be a valid integer"
_NUMBER: Final = "Input should be a valid number"
_EXPECTED: Final = {
    str: "Input should be a valid string",
    int: _INTEGER,
    float: _NUMBER,
    list: "Input should be a valid list",
    dict: "Input should be a valid dictionary",
}
_NAMES: Final = {str: "string", int: "int", float: "float", list: "list", dict: "dict"}
_JSON_NAMES: Final = {str: "string", int: "integer", float: "number", list: "array", dict: "object"}


@dataclass(frozen=True, slots=True)
class Form:
    """What a value must be; of a list, what each of its items must be."""

    type: type
    items: Form | None = None
    nullable: bool = False

    def schema(self) -> dict[str, Any]:
        told: dict[str, Any] = {"type": _JSON_NAMES[self.type]}
        if self.items is not None:
            told["items"] = self.items.schema()
        return {"anyOf": [told, {"type": "null"}]} if self.nullable else told


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a tool; one without a default is required."""

    name: str
    form: Form
    default: Any = REQUIRED

    def schema(self) -> dict[str, Any]:
        told = {**self.form.schema(), "title": self.name.replace("_", " ").title()}
        return told if self.default is REQUIRED else {**told, "default": self.default}


@dataclass(frozen=True, slots=True)
class _Error:
    where: str
    why: str
    kind: str
    value: Any

    def __str__(self) -> str:
        told = f"[type={self.kind}, input_value={_shown(self.value)}, input_type={type(self.value).__name__}]"
        return f"{self.where}\n  {self.why} {told}"


class _Wrong(Exception):
    def __init__(self, errors: list[_Error]) -> None:
        self.errors = errors


def fit(tool: str, arguments: tuple[Argument, ...], given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call, with defaults filled in."""
    errors: list[_Error] = []
    fitted: dict[str, Any] = {}
    for argument in arguments:
        if argument.name not in given:
            if argument.default is REQUIRED:
                errors.append(_Error(argument.name, "Field required", "missing", dict(given)))
            fitted[argument.name] = argument.default
            continue
        try:
            fitted[argument.name] = _fit(argument.form, _read(given[argument.name]), argument.name)
        except _Wrong as wrong:
            errors += wrong.errors
    if errors:
        count = f"{len(errors)} validation error{'s' * (len(errors) > 1)}"
        raise Refused("\n".join([f"{count} for {tool}Arguments", *map(str, errors)]))
    return fitted


def _read(value: Any) -> Any:
    """What a text says, where it is JSON of something that is neither a text nor a number."""
    if not isinstance(value, str):
        return value
    try:
        read = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return value if isinstance(read, str | int | float) else read


def _fit(form: Form, value: Any, where: str) -> Any:
    if value is None and form.nullable:
        return None
    if form.type is int:
        return _whole(value, where)
    if form.type is float:
        return _number(value, where)
    if not isinstance(value, form.type):
        raise _Wrong([_Error(where, _EXPECTED[form.type], f"{_NAMES[form.type]}_type", value)])
    if form.items is None:
        return value
    made: list[Any] = []
    errors: list[_Error] = []
    items: Any = value
    for at, item in enumerate(items):
        try:
            made.append(_fit(form.items, item, f"{where}.{at}"))
        except _Wrong as wrong:
            errors += wrong.errors
    if errors:
        raise _Wrong(errors)
    return made


def _whole(value: Any, where: str) -> int:
    if isinstance(value, str):
        try:
            return int(value)
        except ValueError:
            why = f"{_INTEGER}, unable to parse string as an integer"
            raise _Wrong([_Error(where, why, "int_parsing", value)]) from None
    if isinstance(value, float) and not value.is_integer():
        why = f"{_INTEGER}, got a number with a fractional part"
        raise _Wrong([_Error(where, why, "int_from_float", value)])
    if not isinstance(value, int | float):
        raise _Wrong([_Error(where, _INTEGER, "int_type", value)])
    return int(value)


def _number(value: Any, where: str) -> float:
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            why = f"{_NUMBER}, unable to parse string as a number"
            raise _Wrong([_Error(where, why, "float_parsing", value)]) from None
    if not isinstance(value, int | float):
        raise _Wrong([_Error(where, _NUMBER, "float_type", value)])
    return float(value)


def _shown(value: Any) -> str:
    told = repr(value)
    if len(told) <= _SHOWN_CHARS:
        return told
    return f"{told[:25]}...{told[-24:]}"


def schema_of(tool: str, arguments: tuple[Argument, ...]) -> dict[str, Any]:
    """The JSON schema of a tool's arguments."""
    told: dict[str, Any] = {"properties": {each.name: each.schema() for each in arguments}}
    if required := list(_required(arguments)):
        told["required"] = required
    return {**told, "title": f"{tool}Arguments", "type": "object"}


def _required(arguments: tuple[Argument, ...]) -> Iterator[str]:
    return (each.name for each in arguments if each.default is REQUIRED)
