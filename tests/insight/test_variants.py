"""Variants of one command are one command, and commands are known in answers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.insight.variants import plain_form, told_commands, variant_key


@pytest.mark.parametrize(
    "command",
    [
        "make tides",
        "  make   tides  ",
        "cd /w && make tides",
        "cd /w; make tides 2>&1",
        "PIER=9 GAUGE=dry make tides > /tmp/out.log 2>/dev/null",
        "make tides 2>&1 | tail -20",
        "make tides | grep -v 'a|b' | head -3",
        "export A=1 && timeout 60 make tides &",
        "make tides; echo 'exit $?'",
        "source .venv/bin/activate\nmake tides",
    ],
)
def test_where_it_ran_and_what_became_of_its_output_is_cut_off(command: str) -> None:
    assert plain_form(command) == "make tides"


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("make upload ENV=staging", "make upload ENV=staging"),
        ("ps aux | xargs kill", "ps aux | xargs kill"),
        ("git add . && git commit -m 'a; b | tail'", "git add . && git commit -m 'a; b | tail'"),
        ("for n in 1 2; do make $n; done", "for n in 1 2; do make $n; done"),
        ("cat <<EOF\ncd x && y\nEOF", "cat <<EOF cd x && y EOF"),
        ("cd /w", "cd /w"),
        ("", ""),
    ],
)
def test_what_a_command_does_is_kept(command: str, expected: str) -> None:
    assert plain_form(command) == expected


def test_paths_below_the_sessions_folder_are_relative() -> None:
    assert plain_form("pytest /home/ada/harbor/tests/a.py", "/home/ada/harbor") == "pytest tests/a.py"
    assert plain_form("ls /etc/hosts", "/") == "ls /etc/hosts"


@pytest.mark.parametrize(
    ("command", "other"),
    [
        ("pytest -q tests/a.py", "pytest tests/b.py::test_c -v"),
        ("pnpm test -- --grep 'Sessions UI'", "pnpm test"),
        ("go test ./... -run TestTide", "go test ./pier"),
        ("gh pr view 12", "gh pr view 4711"),
        ("git commit -m 'one'", 'git commit -m "two"'),
        ("git show 4bda0c3a", "git show 82b70976ff"),
        ("docker logs --tail=20 pier", "docker logs --tail=300 pier"),
        ("ssh pier 'systemctl restart gauge | head -3'", 'ssh pier "systemctl restart gauge"'),
        ("/usr/bin/make tides", "make tides"),
        ("git commit -m \"$(cat <<'X'\nfeat: a\nX\n)\"", "git commit -m 'b'"),
        ("curl -s https://pier.example/a?b", "curl -s https://pier.example/c"),
    ],
)
def test_filters_paths_texts_and_numbers_make_variants(command: str, other: str) -> None:
    assert variant_key(command) == variant_key(other)


@pytest.mark.parametrize(
    ("command", "other"),
    [
        ("npm run lint", "npm run build"),
        ("./gauge --calibrate", "./gauge --calibrate --dry"),
        ("git push origin main", "git push origin/other"),
        ("ssh pier 'systemctl restart gauge'", "ssh pier 'psql -d tides'"),
        ("python -c 'import a'", "python -c 'import b'"),
        ("make tides", "make tides && make pier"),
    ],
)
def test_other_work_is_another_command(command: str, other: str) -> None:
    assert variant_key(command) != variant_key(other)


def test_commands_in_fences_and_in_code_are_told_with_the_line_they_belong_to() -> None:
    answer = """\
Start the database first:

```bash
# in the root
$ docker compose up -d \\
    db  # in the background
./migrate --all
```

Then run `npm run build`, not `build()` or `git`.

```python
make = 1
```

```
npm test
12 passed
```
"""
    assert list(told_commands(answer)) == [
        ("docker compose up -d db", "Start the database first:"),
        ("./migrate --all", "Start the database first:"),
        ("npm run build", "Then run `npm run build`, not `build()` or `git`."),
        ("npm test", "Then run `npm run build`, not `build()` or `git`."),
    ]


def test_a_program_that_was_run_is_known_in_an_answer() -> None:
    assert list(told_commands("`gauge calibrate`")) == []
    assert list(told_commands("`gauge calibrate`", frozenset({"gauge"})))


@given(st.text(st.sampled_from("ab '\"\\<>|&;\nEOF$()=-0`.\0"), max_size=60))
def test_any_text_has_a_form(text: str) -> None:
    form = plain_form(text, "/w")
    assert form == " ".join(form.split())
    assert isinstance(variant_key(form), str)
    assert all(command for command, _ in told_commands(text))
