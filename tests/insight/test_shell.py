"""A shell's command is read as the shell would read it, and never takes long."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.insight.shell import COMMAND_CHARS_MAX, Simple, simple_commands, without_heredocs


def words(command: str) -> list[tuple[str, ...]]:
    return [each.words for each in simple_commands(command)]


@pytest.mark.parametrize(
    ("command", "parts"),
    [
        ("cd /w && git add . ; git push", [("cd", "/w"), ("git", "add", "."), ("git", "push")]),
        ("A=1 sudo -u ada timeout 60 rm -rf x", [("rm", "-rf", "x")]),
        ("pytest -q 2>&1 | tail -3", [("pytest", "-q"), ("tail", "-3")]),
        ("git commit -m 'do not rm -rf; ever'", [("git", "commit", "-m", "do not rm -rf; ever")]),
        ('echo "it\'s" && ls', [("echo", "it's"), ("ls",)]),
        ("for f in a; do rm -r $f; done", [("for", "f", "in", "a"), ("rm", "-r", "$f"), ("done",)]),
        ("ls \\\n  -l", [("ls", "-l")]),
        ("ls # and rm -r x\nmake a#b", [("ls",), ("make", "a#b")]),
        ("a `b c` &>log <in", [("a",), ("b", "c"), ("in",)]),
        ("type C:\\Users\\ada a\\ b", [("type", "C:\\Users\\ada", "a b")]),
        ("echo 'left open; rm x", [("echo", "left open; rm x")]),
        ("", []),
    ],
)
def test_a_command_is_cut_into_programs_with_their_words(command: str, parts: list[tuple[str, ...]]) -> None:
    assert words(command) == parts


def test_what_a_command_is_given_to_read_is_no_command() -> None:
    told = "cat > a.sh <<'EOF'\nrm -rf /\nEOF\nsh a.sh"
    assert words(told) == [("cat",), ("sh", "a.sh")]
    assert next(simple_commands(told)).writes == ("a.sh",)
    assert "rm" not in without_heredocs(told)


def test_where_output_goes_is_told_and_the_wastebasket_is_not() -> None:
    assert [each.writes for each in simple_commands("a > x 2>/dev/null; b >> y; c 2>&1")] == [
        ("x",),
        ("y",),
        (),
    ]


def test_a_pipe_is_known_from_its_left_side() -> None:
    assert [each.piped for each in simple_commands("a | b || c")] == [True, False, False]


def test_what_another_machine_is_told_is_read_too_and_says_where_it_runs() -> None:
    told = list(simple_commands('ssh root@harbor.example "systemctl restart web && tail log"'))
    assert [each.words for each in told[1:]] == [("systemctl", "restart", "web"), ("tail", "log")]
    assert [each.host for each in told] == ["", "root@harbor.example", "root@harbor.example"]
    assert words("bash -lc 'rm -r x'") == [("bash", "-lc", "rm -r x"), ("rm", "-r", "x")]


@pytest.mark.parametrize(
    ("command", "inner", "host"),
    [
        ("ssh -i key -tt harbor rm -r x", ("rm", "-r", "x"), "harbor"),
        ("ssh harbor", None, ""),
        ("docker exec -it -e A=1 web rm -r 'a b'", ("rm", "-r", "a b"), "web"),
        ("docker --context far compose exec --user=root web ls", ("ls",), "web"),
        ("kubectl exec pod-1 -c main -- ls", ("ls",), "pod-1"),
        ("docker run image 'rm -r x'", ("rm", "-r", "x"), "run"),
        ("sshpass -p x ls -l", ("ls", "-l"), ""),
        ("eval ls -l", ("ls", "-l"), ""),
    ],
)
def test_what_is_handed_on_without_quotes_is_read_too(
    command: str, inner: tuple[str, ...] | None, host: str
) -> None:
    told = [(each.words, each.host) for each in simple_commands(command)][1:]
    assert told == ([(inner, host)] if inner else [])


def test_what_is_run_for_a_command_is_known_from_the_command() -> None:
    told = "bash <(curl x); echo $(date) `pwd`; (ls)"
    assert [(each.program, each.reads) for each in simple_commands(told)] == [
        ("bash", True),
        ("curl", False),
        ("echo", True),
        ("date", False),
        ("pwd", True),
        ("ls", False),
    ]


def test_shells_within_shells_are_read_only_so_deep() -> None:
    told = "ls"
    for _ in range(5):
        told = f"sh -c {shlex.quote(told)}"
    assert len(words(told)) == 4


@given(st.lists(st.text("abc -./=", min_size=1).filter(str.strip), min_size=1, max_size=6))
def test_quoted_words_come_back_whole(given_words: list[str]) -> None:
    told = "echo " + " ".join(f"'{word}'" for word in given_words)
    assert words(told) == [("echo", *given_words)]


@given(st.text("ab \n\t'\"\\|&;<>()$-", max_size=300))
def test_any_text_is_read_to_its_end(text: str) -> None:
    for each in simple_commands(text):
        assert isinstance(each, Simple)
        assert each.words


@pytest.mark.parametrize("piece", ["'", '"', "\\", "<<a\n", "(", "sh -c '", "ssh a 'b c' ", "> ", '"\\'])
def test_hostile_commands_are_bounded(piece: str) -> None:
    assert sum(1 for _ in simple_commands(piece * 100_000)) <= COMMAND_CHARS_MAX
