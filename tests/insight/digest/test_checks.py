"""Test runs are known by their commands, and how they ended by the runner's own count."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.insight.digest.told import Told

from recollect.insight.digest.checks import FAILED, PASSED, UNKNOWN, is_test, result_of, summary
from recollect.insight.shell import simple_commands


def is_test_run(command: str) -> bool:
    return any(is_test(part) for part in simple_commands(command))


@pytest.mark.parametrize(
    "command",
    [
        "pytest -q",
        "python -m pytest tests",
        "cd x && go test ./...",
        "cargo test --all",
        "npm test",
        "npm run test:unit",
        "bun run test",
        "pnpm exec vitest run",
        "npx playwright test",
        "uv run pytest",
        "make test",
        "./run_tests.sh",
        "python tests/run_tests.py",
        "node --test",
        "harbor test -p x",
        "rtk test bun run test",
    ],
)
def test_commands_that_run_tests(command: str) -> None:
    assert is_test_run(command)


@pytest.mark.parametrize(
    "command",
    [
        "test -f x",
        "git log --grep test",
        "grep -r test src",
        "cat tests/test_a.py",
        "pytest --version",
        "cargo build --tests",
        "npm run build",
        "mkdir tests",
        "cargo test --no-run",
        "git commit -m 'npm test'",
        "echo pytest",
    ],
)
def test_commands_that_run_none(command: str) -> None:
    assert not is_test_run(command)


@pytest.mark.parametrize(
    "text",
    [
        "====== 1 failed, 12 passed in 0.31s ======",
        " Test Files  1 failed | 5 passed (6)\n      Tests  1 failed | 24 passed (25)",
        "Tests:       2 failed, 3 passed, 5 total",
        "test result: FAILED. 3 passed; 1 failed; 0 ignored",
        "--- FAIL: TestToken (0.00s)\nFAIL\tharbor/auth 0.1s",
        " 1606 pass\n 24 fail\nRan 1630 tests across 96 files.",
        "FAILED (failures=2)",
        "# pass 3\n# fail 1",
        "Failed: 2, Passed: 5",
    ],
)
def test_a_summary_that_counts_failures_is_red(text: str) -> None:
    assert summary(text)[0]


@pytest.mark.parametrize(
    "text",
    [
        "12 passed in 0.31s",
        "12 passed, 0 failed",
        " 1351 pass\n 0 fail\n 2939 expect() calls",
        "test result: ok. 3 passed; 0 failed; 0 ignored",
        "ok  \tharbor/auth\t0.123s",
        "Ran 4 tests in 0.1s\n\nOK",
        "\x1b[32m 24 passed\x1b[0m (24)",
        "PASSED tests/test_a.py::test_failed_login\n3 passed",
        "[worker] Task 2 failed: boom\n[worker] 1 failed\n 9 pass\n 0 fail",
        " 9 pass\n 0 fail\nretrying: job 2 failed, 3 failed before",
    ],
)
def test_no_word_makes_a_green_summary_red(text: str) -> None:
    assert summary(text) == (False, True)


def result(command: str, output: str, *, failed: bool = False) -> str:
    return result_of(Told().asks("x").runs(command, output, failed=failed).steps[0])


def test_the_tests_own_count_decides_before_the_exit_code() -> None:
    assert result("pytest && ruff check", "3 passed\nruff: E501", failed=True) == PASSED
    assert result("pytest | tail -3", "1 failed, 3 passed") == FAILED


def test_without_a_count_the_exit_code_decides_unless_a_pipe_hides_it() -> None:
    assert result("npm test", "boom", failed=True) == FAILED
    assert result("npm test", "") == PASSED
    assert result("npm test | tail -3", "...") == UNKNOWN


def test_a_runner_that_is_not_there_failed() -> None:
    assert result("npm test | tail -3", "sh: 1: vitest: not found") == FAILED


def test_a_run_that_goes_on_ends_with_what_follows_it() -> None:
    told = Told().asks("x").runs("npm test", "Command running in background with ID: b1")
    assert result_of(told.steps[0]) == UNKNOWN
    told.calls("BashOutput", "Tests  2 failed | 1 passed", bash_id="b1")
    assert result_of(told.steps[0]) == FAILED
    assert told.digest.tests.last == FAILED


@given(st.integers(0, 999), st.integers(0, 999))
def test_counts_are_read_as_numbers(failed: int, passed: int) -> None:
    assert summary(f"== {failed} failed, {passed} passed in 1.0s ==") == (failed > 0, passed > 0)


@given(st.text("passed failed0123456789 \n=,;:|()\x1b[m", max_size=400))
def test_any_output_has_an_answer(text: str) -> None:
    assert len(summary(text)) == 2


@pytest.mark.parametrize("piece", ["1 failed ", "=", "tests ", "\n1 ", "ok a ", "FAILED ", "\x1b["])
def test_hostile_output_takes_no_longer_than_its_length(piece: str) -> None:
    summary(piece * 20_000)
