"""Lines, messages and arguments: what arrives, whatever it is and however it is cut."""

from __future__ import annotations

import io
import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import JSONRPCError, JSONRPCRequest

from recollect.mcp.arguments import checked
from recollect.mcp.stdio import understood
from recollect.mcp.tools import TOOLS, Tool
from recollect.mcp.wire import Oversized, lines
from recollect.present.fenced import fenced_blocks
from recollect.values.errors import UsageError
from recollect.values.text import tokens

LONGEST, GLIMPSE = 20, 8


class Dribble(io.BytesIO):
    """Gives what it holds in pieces of these sizes."""

    def __init__(self, data: bytes, sizes: list[int]) -> None:
        super().__init__(data)
        self._sizes = sizes

    def take(self, count: int) -> bytes:
        return self.read(self._sizes.pop() if self._sizes else 3)


@given(
    kept=st.lists(st.binary(max_size=60).map(lambda line: line.replace(b"\n", b"."))),
    sizes=st.lists(st.integers(1, 50)),
    ended=st.booleans(),
)
def test_lines_are_the_same_however_they_are_cut(kept: list[bytes], sizes: list[int], ended: bool) -> None:
    data = b"".join(line + b"\n" for line in kept)
    data = data if ended else data[:-1]
    expected = kept if ended or not kept else kept[:-1] + ([kept[-1]] if kept[-1] else [])
    found = list(lines(Dribble(data, sizes).take, LONGEST, GLIMPSE))
    assert len(found) == len(expected)
    for line, whole in zip(found, expected, strict=True):
        if isinstance(line, Oversized):
            assert len(whole) > LONGEST
            assert (line.head, line.tail) == (whole[:GLIMPSE], whole[-GLIMPSE:])
        else:
            assert line == whole
            assert len(whole) <= LONGEST


@given(st.binary() | st.text().map(str.encode))
def test_any_bytes_are_a_message_an_error_or_nothing(line: bytes) -> None:
    found = understood(line)
    assert found is None or isinstance(found, JSONRPCError)
    assert (found is None) == (not line.strip())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)
ODD = st.dictionaries(st.sampled_from(["jsonrpc", "id", "method", "params", "result"]), JSON | st.just("2.0"))


@given(ODD)
def test_any_object_is_answered_to_whoever_it_is_from(message: dict[str, Any]) -> None:
    found = understood(json.dumps(message).encode())
    if isinstance(found, JSONRPCError) and found.error.code == -32600 and "error" not in message:
        id_ = message.get("id")
        known = isinstance(id_, int | str) and not isinstance(id_, bool)
        assert found.id == (id_ if known else None)


@given(id_=st.integers(-(10**17), 10**17) | st.text("abc-_ :,", max_size=20), first=st.booleans())
def test_the_id_of_a_line_too_long_is_found_at_either_end(id_: int | str, first: bool) -> None:
    named = {"jsonrpc": "2.0", "id": id_}
    asked = {"method": "tools/call", "params": {"id": "no", "x": 'y","id":1' * 500}}
    line = json.dumps({**named, **asked} if first else {**asked, **named}).encode()
    found = understood(Oversized(line[:512], line[-512:]))
    assert isinstance(found, JSONRPCError)
    assert found.id == id_


def test_a_good_line_is_the_sdk_s_own_message() -> None:
    found = understood(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\r')
    assert isinstance(found, JSONRPCRequest)


# -- arguments -----------------------------------------------------------------------------


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
@given(data=st.data())
def test_arguments_are_judged_as_json_schema_judges_them(tool: Tool, data: st.DataObject) -> None:
    values = JSON | st.sampled_from(
        ["", "x" * 501, "x" * 10_001, "hybrid", ["a"] * 31, [5], ["x" * 501], 20_000]
    )
    known = st.fixed_dictionaries({}, optional=dict.fromkeys(tool.arguments, values))
    given_ = {**data.draw(known), **data.draw(st.dictionaries(st.text(max_size=3), values, max_size=1))}
    said = {name: value for name, value in given_.items() if value is not None}
    # A float without a fraction is an integer to JSON Schema; it is none to us.
    fits = jsonschema.Draft202012Validator(tool.schema).is_valid(said) and not any(
        isinstance(value, float) for value in said.values()
    )
    if not fits:
        with pytest.raises(UsageError) as raised:
            checked(tool.schema, given_)
        assert len(str(raised.value)) < 200
        return
    found = checked(tool.schema, given_)
    assert found.items() >= said.items()
    assert set(found) >= set(tool.arguments) - set(tool.required), "defaults are filled in"


# -- budgets -------------------------------------------------------------------------------


@given(
    blocks=st.lists(st.text(max_size=400), max_size=30),
    budget=st.integers(400, 3_000),
    notes=st.integers(0, 3),
)
def test_what_fits_a_budget_is_as_much_as_can_be(blocks: list[str], budget: int, notes: int) -> None:
    """Making text safe makes it longer, so it is measured after that."""
    shown_at: list[int] = []

    def foot(shown: int) -> list[str]:
        shown_at.append(shown)
        return [f"{shown} shown", *["note"] * notes]

    text = fenced_blocks(blocks, foot, budget, kind="search")
    shown = shown_at[-1]
    assert tokens(text) <= budget
    if shown < len(blocks):
        assert tokens(fenced_blocks(blocks[: shown + 1], foot, 1 << 30, kind="search")) > budget
