"""What hooks use instead of `json` does the same."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.light.stdlib import dumps, loads, suppress

SCALARS = st.none() | st.booleans() | st.integers() | st.text()
VALUES = st.recursive(SCALARS, lambda some: st.lists(some) | st.dictionaries(st.text(), some))


@given(VALUES)
def test_a_value_is_written_as_json_does_and_comes_back(value: Any) -> None:
    assert dumps(value) == json.dumps(value)
    assert loads(dumps(value)) == value
    assert loads(json.dumps(value, ensure_ascii=False, indent=1)) == value


@given(st.text() | VALUES.map(lambda v: json.dumps(v)[:-1]) | VALUES.map(lambda v: json.dumps(v) + "]"))
def test_what_json_refuses_is_refused(text: str) -> None:
    try:
        wanted = json.loads(text)
    except ValueError:
        with pytest.raises(ValueError):
            loads(text)
    else:
        assert loads(text) == wanted


@pytest.mark.parametrize("data", [b"\xff", b"", b"{", b"[1,]", b'{"a":1} {}', b"nope", b'"\n"'])
def test_bytes_that_are_no_json_are_a_value_error(data: bytes) -> None:
    with pytest.raises(ValueError):
        loads(data)


def test_nesting_without_end_ends_in_an_error() -> None:
    with pytest.raises((RecursionError, ValueError)):
        loads(b"[" * 200_000)


def test_numbers_json_knows_and_javascript_does_not() -> None:
    assert loads(b'{"a": 1.5e3}') == {"a": 1500.0}
    assert loads(b"[Infinity, -Infinity]") == [float("inf"), float("-inf")]


def test_only_the_errors_named_are_suppressed() -> None:
    with suppress(OSError, KeyError):
        raise FileNotFoundError
    with pytest.raises(ValueError), suppress(OSError):
        raise ValueError
