"""What a shell was told to do, and which parts of it do some work."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.insight.commands import command_of, heads, is_piped, only_reads
from recollect.values.records import Entry, Kind


def test_a_shell_is_known_by_any_name() -> None:
    wrapped = json.dumps({"command": ["bash", "-lc", "make test"]})
    assert command_of(Entry(Kind.CALL, wrapped)) == "make test"
    assert command_of(Entry(Kind.CALL, json.dumps({"cmd": "ls"}))) == "ls"
    assert command_of(Entry(Kind.CALL, "[1]")) == ""
    assert command_of(Entry(Kind.CALL, "plain text")) == "plain text"


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("pytest -q tests/auth", [("pytest", "-q")]),
        ("cd /w && A=1 make test; echo $?", [("make", "test")]),
        ('git add . && git commit -m "one; two\nthree"', [("git", "add"), ("git", "commit")]),
        ("cat > a.txt <<'EOF'\nrm -rf x\nEOF\nmake", [("cat", ">"), ("make",)]),
        ("git commit -m \"$(cat <<'EOF'\nfeat: a; b\nEOF\n)\"", [("git", "commit")]),
        ("python - <<EOF\nnever ended", [("python", "-")]),
        ("", []),
    ],
)
def test_the_parts_of_a_command_are_told_without_the_texts_given_to_it(
    command: str, expected: list[tuple[str, ...]]
) -> None:
    assert list(heads(command)) == expected


def test_a_pipe_is_known_from_an_or_and_from_a_quoted_bar() -> None:
    assert is_piped("pytest 2>&1 | tail -3")
    assert not is_piped("make || make clean")
    assert not is_piped("grep 'a|b' file")


def test_a_command_only_reads_if_every_part_of_it_does() -> None:
    assert only_reads("cd src && ls; cat a.py")
    assert not only_reads("cat a.py && rm a.py")


@given(st.text(st.sampled_from("ab '\"\\<|&;\nEOF$()=-"), max_size=60))
def test_any_command_can_be_told(command: str) -> None:
    assert all(1 <= len(words) <= 2 for words in heads(command))
    assert only_reads(command) in (True, False)
    assert is_piped(command) in (True, False)
    assert isinstance(command_of(Entry(Kind.CALL, command)), str)
