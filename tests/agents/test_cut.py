"""Cutting JSON documents into what they list."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from recollect.agents.cut import END, HEAD, cut, head_in, thing_in
from recollect.testing.agents import JSON

_OTHERS = st.dictionaries(st.text(max_size=5).filter(lambda k: k != "messages"), JSON, max_size=3)


def _key(thing: Any, number: int) -> str:
    return f"{number}"


@given(
    head=_OTHERS,
    messages=st.lists(JSON, max_size=4),
    tail=_OTHERS,
    indent=st.sampled_from([None, 0, 2]),
    ascii_only=st.booleans(),
    bare=st.booleans(),
)
def test_the_pieces_of_any_document_are_the_document(
    head: Any, messages: Any, tail: Any, indent: Any, ascii_only: bool, bare: bool
) -> None:
    whole = {**head, "messages": messages, **{k: v for k, v in tail.items() if k not in head}}
    told = messages if bare else whole
    data = json.dumps(told, indent=indent, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    pieces = list(cut(data, "" if bare else "messages", _key))
    assert b"".join(piece for _, piece in pieces) == data
    assert [key for key, _ in pieces] == [HEAD, *(str(n) for n in range(len(messages))), END]
    for (_, piece), message in zip(pieces[1:-1], messages, strict=True):
        assert repr(thing_in(piece)) == repr(json.loads(json.dumps(message)))
    if not bare:
        assert repr(head_in(pieces[0][1])) == repr(json.loads(json.dumps({**head, "messages": []})))


@given(
    data=st.binary(max_size=60) | JSON.map(lambda value: json.dumps(value).encode()), name=st.text(max_size=3)
)
def test_whatever_is_no_document_has_no_pieces_or_all_of_it(data: bytes, name: str) -> None:
    assert b"".join(piece for _, piece in cut(data, name, _key)) in (b"", data)
