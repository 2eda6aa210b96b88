"""What a row holds that was kept of a database: JSON, as text or as bytes."""

from __future__ import annotations

from typing import Any

from recollect.agents.decode import BadLine, decode


def value_in(text: Any) -> Any:
    """The JSON in a text, or the value itself where it is none: what stands in a row may be written twice."""
    if type(text) is not str or not text:
        return text
    try:
        return decode(text.encode("utf-8", "surrogatepass"))[0]
    except BadLine:
        return text


def text_in(cell: Any) -> Any:
    """A cell as text where its bytes are some."""
    if type(cell) is not bytes:
        return cell
    try:
        return cell.decode("utf-8")
    except UnicodeDecodeError:
        return cell
