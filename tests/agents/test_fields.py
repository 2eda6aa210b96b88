"""The accessors on which "parse never raises" rests."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from recollect.agents.fields import json_of, time_of
from recollect.testing.agents import JSON


@pytest.mark.parametrize(
    ("value", "time_ms"),
    [
        ("2026-03-02T09:00:00.123Z", 1772442000123),
        ("2026-03-02T10:00:00.123456+01:00", 1772442000123),
        ("2026-03-02T09:00:00", 1772442000000),
        ("1969-12-31T23:59:59Z", 0),
        ("0001-01-01T00:00:00+23:59", 0),
        ("yesterday", 0),
        ("2026-13-45", 0),
        (1772442000123, 0),
        (None, 0),
    ],
)
def test_a_time_is_milliseconds_or_nothing(value: Any, time_ms: int) -> None:
    assert time_of(value) == time_ms


@given(JSON)
def test_json_is_compact_and_total(value: Any) -> None:
    assert type(json_of(value)) is str


def test_json_is_what_javascript_wrote() -> None:
    assert json_of({"a": [1, True, None, "é\n\u2028"]}) == '{"a":[1,true,null,"é\\n\u2028"]}'
    assert json_of(None) == ""


def test_a_value_nested_beyond_reason_has_no_text() -> None:
    value: Any = 1
    for _ in range(100_000):
        value = [value]
    assert json_of(value) == ""
