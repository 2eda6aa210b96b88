"""What the rows of OpenCode's database hold, under the names that its documents have."""

from __future__ import annotations

from typing import Any

from recollect.agents.decode import BadLine, decode
from recollect.agents.fields import dict_of, text_of


def data_of(row: dict[str, Any], column: str = "data") -> dict[str, Any]:
    """The JSON that a row holds in one of its columns."""
    try:
        return dict_of(decode(text_of(row.get(column)).encode("utf-8", "surrogatepass"))[0])
    except BadLine:
        return {}


def session_of(row: dict[str, Any]) -> dict[str, Any]:
    """A session."""
    times = {"created": row.get("time_created"), "updated": row.get("time_updated")}
    metadata = data_of(row, "metadata")
    return {**row, "parentID": row.get("parent_id"), "time": times, "metadata": metadata}
