"""What a shell was told to do, and which parts of it do some work."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.insight.commands import command_of, heads, is_piped, is_shell, only_reads, work_parts
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
    assert all(1 <= len(words) <= 3 for words in heads(command))
    assert bool(work_parts(command)) == bool(command.strip())
    assert only_reads(command) in (True, False)
    assert is_piped(command) in (True, False)
    assert isinstance(command_of(Entry(Kind.CALL, command)), str)


def test_a_list_of_words_is_one_command_unless_a_shell_was_told_it() -> None:
    def told(*words: object) -> str:
        return command_of(Entry(Kind.CALL, json.dumps({"command": words})))

    assert told("bash", "-c", "make test") == "make test"
    assert told("git", "commit", "-m") == "git commit -m"
    assert told("bash", "-lc", "make", "test") == "bash -lc make test"
    assert told("echo", 1) == "echo 1"


def test_only_a_call_of_a_shell_is_one() -> None:
    assert is_shell(Entry(Kind.CALL, "{}", tool="Bash"))
    assert not is_shell(Entry(Kind.CALL, "{}", tool="Read"))
    assert not is_shell(Entry(Kind.RESULT, "x", tool="Bash"))


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("npm run lint -- --fix", {("npm", "run", "lint")}),
        ("sudo timeout 60 make tides", {("make", "tides")}),
        ("git -C /w --no-pager push origin", {("git", "push")}),
        ("cd /w && grep -n x a.py; cargo test", {("cargo", "test")}),
        ("ssh pier 'systemctl restart gauge'", {("ssh pier 'systemctl restart gauge'",)}),
        ("uv run python -c 'import tides'", {("uv run python -c 'import tides'",)}),
        ("", set()),
    ],
)
def test_work_is_told_by_heads_and_by_all_words_where_those_could_mean_anything(
    command: str, expected: set[tuple[str, ...]]
) -> None:
    assert work_parts(command) == expected


@pytest.mark.parametrize(
    "command", ["git diff --stat", "git -C /w log -3", "gh pr view 5", "sed -n 1,3p a.py"]
)
def test_looking_at_what_changed_changes_nothing(command: str) -> None:
    assert only_reads(command)


@pytest.mark.parametrize("command", ["sed -i s/a/b/ a.py", "cat > a.py <<'X'\ny\nX", "git push", "make"])
def test_what_writes_does_not_only_read(command: str) -> None:
    assert not only_reads(command)


def test_a_list_of_commands_is_one_below_the_other() -> None:
    told = Entry(Kind.CALL, json.dumps({"commands": ["cd pier", "make all"]}), tool="run_commands")
    assert is_shell(told)
    assert command_of(told) == "cd pier\nmake all"
