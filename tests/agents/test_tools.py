"""What a call makes of a file's text, whatever it is given."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from recollect.agents.codex.tools import patched_texts
from recollect.agents.registry import all_tools
from recollect.agents.tools import edited_arguments
from recollect.values.history import Change

_VALUES = st.recursive(
    st.none() | st.integers() | st.text(max_size=8) | st.just("*** Begin Patch\n*** Add File: a\n+b"),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=6,
)
_NAMES = st.sampled_from(["file_path", "old_string", "new_string", "edits", "content", "input", "command"])


def told(**arguments: Any) -> list[Change]:
    return edited_arguments(json.dumps(arguments))


def test_old_and_new_text_are_told() -> None:
    assert told(file_path="a", old_string="x", new_string="y") == [Change("a", "x", "y")]
    assert told(file_path="a", content="all") == [Change("a", "", "all", is_whole=True)]
    assert told(notebook_path="n", new_source="cell") == [Change("n", "", "cell")]
    assert told(file_path="a") == []
    assert told(old_string="x", new_string="y") == []


def test_a_patch_is_told_file_by_file_wherever_it_stands() -> None:
    patch = (
        "*** Begin Patch\n*** Update File: a.py\n@@\n one\n-two\n+2\n*** Delete File: b.py\n"
        "*** Add File: c.py\n+new\n*** End Patch"
    )
    expected = [Change("a.py", "one\ntwo", "one\n2"), Change("c.py", "", "new")]
    assert patched_texts(patch) == expected
    assert patched_texts(json.dumps({"input": patch})) == expected
    assert patched_texts(json.dumps({"command": ["apply_patch", patch]})) == expected
    assert patched_texts("no patch") == []


@given(st.one_of(st.text(), st.dictionaries(_NAMES, _VALUES).map(json.dumps), _VALUES.map(json.dumps)))
def test_any_text_of_a_call_can_be_asked(text: str) -> None:
    for edited in all_tools().edited:
        assert all(isinstance(each, Change) for each in edited(text))
