"""Commits are known by what makes them prints; a log that lists some makes none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.insight.digest.told import Told

from recollect.insight.digest.commits import commits, pull_requests


def hashes(told: Told) -> list[str]:
    return [each.hash for each in commits(told.steps)]


def test_a_commit_has_its_hash_its_subject_and_the_entry_that_shows_it() -> None:
    told = (
        Told()
        .asks("x")
        .runs("git add . && git commit -m x", "[main 50d8160] auth: honour skew\n 1 file changed")
    )
    (made,) = commits(told.steps)
    assert (made.hash, made.subject, made.entry) == ("50d8160", "auth: honour skew", "e2")


def test_several_commits_of_one_command_count_each() -> None:
    told = Told().asks("x").runs("git commit -m a; git commit -m b", "[main 1111111] a\n[main 2222222] b")
    assert hashes(told) == ["1111111", "2222222"]


def test_an_amended_commit_counts_once_as_it_is_in_the_end() -> None:
    told = Told().asks("x").runs("git commit -m a", "[main (root-commit) 1111111] a")
    told.runs("git commit --amend --no-edit", "[main 3333333] a")
    assert hashes(told) == ["3333333"]


@pytest.mark.parametrize(
    ("command", "output", "failed"),
    [
        ("git log --oneline", "50d8160 auth: honour skew", False),
        ("git commit -m x", "nothing to commit, working tree clean", True),
        ("git commit -m x", "pre-commit hook failed", True),
        ("cd /tmp/x && git commit -m x", "[main 50d8160] x", False),
        ("git commit --dry-run", "On branch main", False),
        ("git commit -m x | tail -1", "hook says no", False),
    ],
)
def test_what_made_no_commit_counts_none(command: str, output: str, failed: bool) -> None:
    assert hashes(Told().asks("x").runs(command, output, failed=failed)) == []


def test_a_commit_without_output_counts_without_a_hash() -> None:
    (made,) = commits(Told().asks("x").runs("git commit -q -m 'fix: skew'", "").steps)
    assert (made.hash, made.subject) == ("", "fix: skew")


@pytest.mark.parametrize(
    "command",
    [
        "git commit -q -m \"$(cat <<'EOF'\nfix: skew\n\n- a margin\nEOF\n)\"",
        "git add -A && git commit -q -F - <<'EOF'\nfix: skew\n\nA margin.\nEOF",
        "cat > notes <<EOF\nnot this\nEOF\ngit commit -qF - <<EOF\n\nfix: skew\nEOF",
    ],
)
def test_a_message_that_a_commit_reads_is_its_subject(command: str) -> None:
    (made,) = commits(Told().asks("x").runs(command, "").steps)
    assert (made.hash, made.subject) == ("", "fix: skew")


def test_a_commit_that_was_refused_or_never_ended_is_none() -> None:
    assert hashes(Told().asks("x").refuses("Bash", command="git commit -m x")) == []
    assert hashes(Told().asks("x").runs("git commit -m x", None)) == []


def test_a_wrapped_output_is_read() -> None:
    told = (
        Told()
        .asks("x")
        .runs("git commit -m x", '{"output":"[main 50d8160] x\\n","metadata":{"exit_code":0}}')
    )
    assert hashes(told) == ["50d8160"]


def test_pull_requests_are_those_that_were_opened() -> None:
    told = Told().asks("x").runs("gh pr view 3", "https://github.com/a/b/pull/3")
    told.runs("gh pr create --fill", "Creating...\nhttps://github.com/a/b/pull/4\n")
    assert [(each.text, each.entry) for each in pull_requests(told.steps)] == [
        ("https://github.com/a/b/pull/4", "e4")
    ]


@given(st.text("[]main 0123abcdef\n/:", max_size=300))
def test_any_output_is_read(text: str) -> None:
    for each in commits(Told().asks("x").runs("git commit -m x", text).steps):
        assert all(letter in "0123456789abcdef" for letter in each.hash)
