"""`workspace.yaml`, beside a session's events: what the session is called. The rest of it the events say too.

Only what its client writes is read of YAML: one `name: value` a line, a value plain, in quotes, or as a block
of indented lines below.
"""

from __future__ import annotations

import json

_BLOCKS = ("|", ">", "|-", ">-", "|+", ">+")


def values_of(data: bytes) -> dict[str, str]:
    """The names at the left margin, with their values as text."""
    found: dict[str, str] = {}
    block = ""
    for line in data.decode("utf-8", "replace").splitlines():
        if line[:1].isspace():
            if block:
                found[block] = f"{found[block]} {line.strip()}".strip()
            continue
        name, colon, value = line.partition(":")
        value = value.strip()
        if not colon or name.startswith("#"):
            continue
        block = name if value in _BLOCKS or not value else ""
        found[name] = "" if block else _scalar(value)
    return found


def _scalar(value: str) -> str:
    if value[:1] == value[-1:] == "'" and len(value) > 1:
        return value[1:-1].replace("''", "'")
    if value[:1] == '"':
        try:
            said = json.loads(value, strict=False)
        except ValueError:
            return value
        return said if type(said) is str else value
    return "" if value in ("null", "~") else value
