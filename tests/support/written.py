"""JSON files as programs and people write them: any value, any indent, any spacing."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

_NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | _NUMBERS | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)
OBJECTS = st.dictionaries(st.text(), VALUES, max_size=5)

_INDENTS = st.sampled_from([None, 0, 1, 2, 4, "\t"])
_SEPARATORS = st.sampled_from([None, (",", ":"), (" , ", " : ")])
_BEGINNINGS = st.sampled_from(["", " ", "\n", "\ufeff"])
_ENDS = st.sampled_from(["", "\n", " \n\n"])


@st.composite
def written(draw: Any, values: Any = OBJECTS) -> bytes:
    """The bytes of a file that holds one of `values`."""
    body = json.dumps(
        draw(values), indent=draw(_INDENTS), separators=draw(_SEPARATORS), ensure_ascii=draw(st.booleans())
    )
    data: bytes = (draw(_BEGINNINGS) + body + draw(_ENDS)).encode()
    return data.replace(b"\n", b"\r\n") if draw(st.booleans()) else data
