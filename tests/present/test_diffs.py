"""Tool calls that change files, read as diffs."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.present.diffs import change_of

PATCH = "*** Begin Patch\n*** Update File: quay.py\n@@ def mend():\n-leaks\n+holds\n*** End Patch"


def edit(old: str, new: str, **more: Any) -> str:
    return json.dumps({"file_path": "/srv/quay.py", "old_string": old, "new_string": new, **more})


@pytest.mark.parametrize(
    ("call", "path", "lines"),
    [
        (edit("a\nleaks\nz", "a\nholds\nz"), "/srv/quay.py", [" a", "-leaks", "+holds", " z"]),
        (edit("", "holds"), "/srv/quay.py", ["+holds"]),
        (edit("leaks", ""), "/srv/quay.py", ["-leaks"]),
        (json.dumps({"file_path": "q", "content": "a\nb\n"}), "q", ["+a", "+b"]),
        (
            json.dumps({"file_path": "q", "edits": [{"old_string": "a", "new_string": "b"}] * 2}),
            "q",
            ["-a", "+b", "@@", "-a", "+b"],
        ),
        (PATCH.replace(" def mend():", ""), "quay.py", ["-leaks", "+holds"]),
        (PATCH, "quay.py", ["@@ def mend():", "-leaks", "+holds"]),
        (json.dumps({"input": PATCH}), "quay.py", ["@@ def mend():", "-leaks", "+holds"]),
        (json.dumps({"command": ["apply_patch", PATCH]}), "quay.py", ["@@ def mend():", "-leaks", "+holds"]),
        (
            "*** Begin Patch\n*** Add File: a\n+x\n*** Delete File: b\n*** End Patch",
            "",
            ["*** Add File: a", "+x", "*** Delete File: b"],
        ),
    ],
)
def test_a_change_is_read_as_a_diff(call: str, path: str, lines: list[str]) -> None:
    assert change_of(call) == (path, lines)


def test_far_apart_changes_are_told_apart() -> None:
    same = [f"line {number}" for number in range(20)]
    changed = change_of(edit("\n".join(["a", *same, "y"]), "\n".join(["b", *same, "z"])))
    assert changed is not None
    assert changed[1] == [
        "-a",
        "+b",
        *(f" {x}" for x in same[:2]),
        "@@",
        *(f" {x}" for x in same[-2:]),
        "-y",
        "+z",
    ]


def test_a_long_text_is_not_compared() -> None:
    changed = change_of(edit("a\n" * 3000, "a\n" * 3000))
    assert changed is not None
    assert changed[1] == ["-a"] * 3000 + ["+a"] * 3000


@pytest.mark.parametrize(
    "call",
    ["", "ls", "[1]", "null", '{"command":"ls"}', '{"file_path":"q"}', '{"file_path":1,"content":"x"}'],
)
def test_another_call_is_none(call: str) -> None:
    assert change_of(call) is None


@given(
    st.text()
    | st.recursive(st.none() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)).map(
        json.dumps
    )
)
def test_whatever_a_call_holds_nothing_is_raised(call: str) -> None:
    change_of(call)
