"""Editing another program's JSON: what we name changes, every other byte stays."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.written import VALUES, written

from recollect.agents.editing.json_text import Document
from recollect.values.errors import SettingsRefused

PATH = Path("settings.json")


def places(value: Any, steps: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every member and element."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for step, each in items for place in [(*steps, step), *places(each, (*steps, step))]]


def boxes(value: Any) -> list[tuple[Any, ...]]:
    return [(), *(place for place in places(value) if isinstance(at(value, place), dict | list))]


def at(value: Any, steps: tuple[Any, ...]) -> Any:
    for step in steps:
        value = value[step]
    return value


def parse(data: bytes | None) -> Document:
    return Document.parse(PATH, data)


@given(data=written(), new=VALUES, choose=st.data())
def test_an_edit_changes_what_it_names_and_nothing_else(data: bytes, new: Any, choose: st.DataObject) -> None:
    document = parse(data)
    model = copy.deepcopy(document.value)
    box = choose.draw(st.sampled_from(boxes(model)))
    holder = at(model, box)
    if isinstance(holder, list):
        step: Any = choose.draw(st.integers(0, len(holder)))
        holder[step : step + 1] = [new]
    else:
        step = choose.draw(st.sampled_from(list(holder)) | st.text() if holder else st.text())
        holder[step] = new
    assert parse_safely(document.put((*box, step), new)) == model


def parse_safely(document: Document) -> Any:
    """What another program reads in the text: the document's own value came from the same text."""
    assert json.loads(document.text.removeprefix("\ufeff")) == document.value
    return document.value


@given(data=written(), choose=st.data())
def test_what_is_dropped_is_gone_and_nothing_else(data: bytes, choose: st.DataObject) -> None:
    document = parse(data)
    model = copy.deepcopy(document.value)
    if not places(model):
        return
    place = choose.draw(st.sampled_from(places(model)))
    del at(model, place[:-1])[place[-1]]
    assert parse_safely(document.drop(place)) == model


@given(data=written(), name=st.text(), new=VALUES, choose=st.data())
def test_what_is_put_in_and_taken_out_leaves_the_same_bytes(
    data: bytes, name: str, new: Any, choose: st.DataObject
) -> None:
    document = parse(data)
    box = choose.draw(st.sampled_from(boxes(document.value)))
    holder = at(document.value, box)
    if not holder or name in holder:  # how an empty one was spaced is not remembered
        return
    place = (*box, name if isinstance(holder, dict) else len(holder))
    assert document.put(place, new).drop(place).data == data


@pytest.mark.parametrize("text", ["", " \n", "{}", "{ }", "{\n}\n", "\ufeff", "\ufeff{}"])
def test_an_empty_file_gains_a_readable_object(text: str) -> None:
    grown = parse(text.encode()).put(("hooks",), {"Stop": []})
    assert grown.value == {"hooks": {"Stop": []}}
    assert '\n  "hooks": {\n    "Stop": []\n  }\n}' in grown.text


def test_new_lines_look_like_their_neighbours() -> None:
    tabs = parse(b'{\r\n\t"a": {\r\n\t\t"b": 1\r\n\t}\r\n}').put(("a", "c"), ["x"])
    assert tabs.text == '{\r\n\t"a": {\r\n\t\t"b": 1,\r\n\t\t"c": [\r\n\t\t\t"x"\r\n\t\t]\r\n\t}\r\n}'
    flat = parse(b'{"a": [1], "b":2}').put(("a", 1), {"c": 3})
    assert flat.text == '{"a": [1, {"c": 3}], "b":2}'


def test_numbers_escapes_and_spacing_stay_as_they_were_written() -> None:
    text = '{ "n": 1.50e+3, "t": "\\u00e9é\\/",  "l": [1,2 , 3] }'
    assert parse(text.encode()).put(("new",), 1).text == text.replace("] }", '], "new": 1 }')


def test_half_a_character_that_is_escaped_is_no_trouble() -> None:
    text = '{"a": "\\ud800", "b": {}}'
    assert parse(text.encode()).put(("b", "c"), "é").data.decode() == text.replace("{}", '{"c": "é"}')


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b'{"a": 1', "not valid JSON"),
        (b'{"a": 1,}', "not valid JSON"),
        (b'// a comment\n{"a": 1}', "not valid JSON"),
        (b'{"a": 1} {}', "not valid JSON"),
        (b'{"a": 1, "a": 2}', "stands twice"),
        (b'{"x": {"a": 1, "a": 2}}', "stands twice"),
        (b'{"a": NaN}', "NaN"),
        (b"[]", "not an object"),
        (b"null", "not an object"),
        (b'{"a": "\xff"}', "not valid JSON"),
        ('{"a": 1}'.encode("utf-16"), "not valid JSON"),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "nested too deep"),
        (b'{"a": ' + b"9" * 5000 + b"}", "not valid JSON"),
    ],
)
def test_what_is_not_plain_json_is_refused(data: bytes, why: str) -> None:
    with pytest.raises(SettingsRefused, match=why):
        parse(data)
