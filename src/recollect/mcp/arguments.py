"""A tool's arguments, checked against its schema before anything else sees them.

Covers what our own schemas use, because the package that covers all of JSON Schema takes longer to import
than a search takes. A null counts as left out: models send it for what they have nothing to say about.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recollect.values.errors import UsageError
from recollect.values.text import one_line

_TYPES: dict[str, tuple[tuple[type, ...], str]] = {
    "string": ((str,), "a string"),
    "integer": ((int,), "a whole number"),
    "number": ((int, float), "a number"),
    "boolean": ((bool,), "true or false"),
    "array": ((list,), "a list"),
}


def checked(schema: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments with defaults filled in; a `UsageError` names the first that does not fit."""
    properties: Mapping[str, Any] = schema["properties"]
    said = {name: value for name, value in given.items() if value is not None}
    for name, value in said.items():
        if name not in properties:
            known = ", ".join(properties) or "none"
            raise UsageError(f"there is no argument {one_line(name, 60)!r}", hint=f"arguments: {known}")
        if wrong := _wrong(properties[name], value):
            raise UsageError(f"{name}: {wrong}", hint=properties[name].get("description", ""))
    for name in schema["required"]:
        if name not in said:
            raise UsageError(f"{name} is missing", hint=properties[name].get("description", ""))
    defaults = {name: each["default"] for name, each in properties.items() if "default" in each}
    return {**defaults, **said}


def _wrong(schema: Mapping[str, Any], value: Any) -> str:
    """What is wrong with a value; "" when nothing is."""
    kinds, told = _TYPES[schema["type"]]
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        return f"must be {told}"
    if "enum" in schema and value not in schema["enum"]:
        return f"must be one of {', '.join(schema['enum'])}"
    if isinstance(value, str):
        return _outside(len(value), schema.get("minLength", 0), schema["maxLength"], "characters")
    if isinstance(value, list):
        each = next(filter(None, (_wrong(schema["items"], item) for item in value)), "")
        return _outside(len(value), schema["minItems"], schema["maxItems"], "items") or each
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _outside(value, schema["minimum"], schema["maximum"], "")
    return ""


def _outside(count: float, low: int, high: int, unit: str) -> str:
    if low <= count <= high:
        return ""
    return f"must be from {low:,} to {high:,} {unit}".rstrip()
