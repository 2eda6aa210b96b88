"""Test runs: which commands are one, and how it ended, from the runner's own summary and the exit code.

A count decides, not a word: "0 failed" is no failure, and a test that is called `test_failed_login` fails
nothing by its name. Without a count the exit code decides, unless the run stands behind a pipe.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from recollect.insight.digest.steps import Step, once
from recollect.insight.shell import Simple

PASSED, FAILED, UNKNOWN = "passed", "failed", "unknown"

READ_CHARS = 12_000  # of an output, from its end: that is where a runner sums up
HEAD_CHARS = 4_000  # and from its beginning, where it says why it did not start
_LINE_CHARS = 300  # a longer line sums up nothing


@once
def test_parts(step: Step) -> Sequence[Simple]:
    """The parts of a step's command that run tests."""
    return [part for part in step.parts if is_test(part)] if _HINT.search(step.command) else []


def is_test(part: Simple) -> bool:
    """Whether a simple command runs tests."""
    program, given = part.program, part.arguments[:3]
    if program in _RUNNERS:
        return not part.has("--version", "--help")
    if program == "test":  # of a wrapper that shortens what it runs: the shell's own compares
        return bool(given) and given[0] in _DISPATCHERS
    if program in _NO_RUNNERS or part.has("--version", "--help", "--no-run"):
        return False
    if program in _INTERPRETERS:
        return part.has("--test") or any(word in _RUNNERS or _TEST_SCRIPT.search(word) for word in given)
    if program in _DISPATCHERS:
        return any(word in _RUNNERS or _TEST_TARGET.fullmatch(word) for word in given)
    return given[:1] in (("test",), ("tests",), ("nextest",)) or bool(_TEST_SCRIPT.search(part.words[0]))


@once
def result_of(step: Step) -> str:
    """How the tests of a step ended."""
    if not step.is_ended or step.is_refused:
        return UNKNOWN
    text = _seen(step.output)
    failed, passed = summary(text)
    if failed or passed:
        return FAILED if failed else PASSED
    if step.has_failed or _NOT_STARTED.search(text):
        return FAILED
    if _STILL_RUNNING.search(text) or any(part.piped for part in test_parts(step)):
        return UNKNOWN
    return PASSED


def summary(text: str) -> tuple[bool, bool]:
    """Whether a runner sums up that tests failed, and that some passed.

    What is tested may count failures of its own, so that of all counts the last one is the runner's.
    """
    text = _COLOUR.sub("", text)
    failed = passed = 0
    for number, word in _counts(text):
        if word.startswith(("pass", "ok", "succe")):
            passed = number
        else:
            failed = number
    return bool(failed or _FAILED_LINE.search(text)), bool(passed or _PASSED_LINE.search(text))


def _counts(text: str) -> Iterator[tuple[int, str]]:
    """Each count of a summary's lines with its word; a line that begins with other words is none."""
    line = -1  # where the one begins that was judged last
    for found in _COUNT.finditer(text):
        begin = text.rfind("\n", max(found.start() - _LINE_CHARS, 0), found.start()) + 1
        if begin != line and not _HEADING.fullmatch(text, begin, found.start()):
            continue
        line = begin
        yield int(found[1] or found[4]), (found[2] or found[3]).lower()


def _seen(text: str) -> str:
    if len(text) <= READ_CHARS + HEAD_CHARS:
        return text
    return f"{text[:HEAD_CHARS]}\n{text[-READ_CHARS:]}"


_RUNNERS = frozenset(
    """
    ava bats behave busted ctest cucumber cypress gotestsum jest karma minitest mocha nextest nose2 nox
    phpunit playwright py.test pytest robot rspec tap testcafe tox unittest vitest
    """.split()  # noqa: SIM905
)
_NO_RUNNERS = frozenset(
    """
    [ [[ apt apt-get awk brew cat cd code cp curl diff docker-compose echo export find gh git grep head
    jq kill ls man mkdir mv pip pip3 pkill ps rg rm scp sed set source ssh tail touch vi vim wc which
    """.split()  # noqa: SIM905
)
_INTERPRETERS = frozenset({"deno", "node", "perl", "php", "py", "python", "python3", "ruby"})
_DISPATCHERS = frozenset(
    """
    bazel bun bundle bunx cargo composer dart docker dotnet flutter go gradle gradlew hatch just lein
    lerna make mix moon mvn mvnw npm npx nx pdm pipenv pnpm pnpx poetry rake rye sbt swift task turbo uv
    yarn zig
    """.split()  # noqa: SIM905
)
_TEST_TARGET = re.compile(
    r"(?:[\w.-]+:)?(?:tests?|e2e|unittests?|integration-tests?)(?:[:._-][\w:.-]*)?|//.*test.*"
)
_TEST_SCRIPT = re.compile(
    r"(?:^|[/\\])(?:run[-_]?)?(?:all[-_]?)?(?:tests?|e2e)(?:[-_]\w{1,30})?\.(?:sh|py|[mc]?js|ts|ps1|bat|rb)$"
)
_HINT = re.compile(
    "test|tox|nox|spec|jest|mocha|ava|karma|cypress|playwright|bats|behave|cucumber|e2e|robot|tap"
)

_COLOUR = re.compile(r"\x1b\[[0-9;]{0,20}[A-Za-z]")
_COUNT = re.compile(
    r"(?<![\w.])(\d{1,7}) (?:tests? |specs? |examples?, )?"
    r"(failed|failing|failures?|fail|errored|passed|passing|pass|ok|succeeded)\b"
    r"|\b(failures?|failed|fail|passed|pass)\s{0,3}[=:]?\s{1,12}(\d{1,7})\b(?! (?:passed|failed))",
    re.IGNORECASE,
)
_HEADING = re.compile(
    r"\W*(?:(?:tests?|test files|test suites|suites?|specs?|totals?|results?|summary|ran \d{1,7} tests?"
    r"|FAILED"
    r"|passed!|test result: \w{1,8}|\d{1,7} (?:tests?|examples?|skipped|total))\W*){0,2}",
    re.IGNORECASE,
)
_FAILED_LINE = re.compile(
    r"^test result: FAILED|^FAILED \(|^--- FAIL|^FAIL(?:\s|$)|^FAILED +\S+::"
    r"|^(?:npm ERR! |error: )[Tt]est failed|^(?:Error: )?[Nn]o test (?:specified|files found)"
    r"|^=+ \d+ errors? in \d",
    re.MULTILINE,
)
_PASSED_LINE = re.compile(
    r"^test result: ok|^ok\s+\S+\s+(?:\(cached\)|[\d.]+m?s)|^OK$|^OK \(|^All (?:\d+ )?tests passed"
    r"|^PASS(?:\s|$)",
    re.MULTILINE,
)
_NOT_STARTED = re.compile(
    r"command not found|: not found$|No module named|Cannot find module|Missing script|is not recognized as",
    re.MULTILINE,
)
_STILL_RUNNING = re.compile(r"Process running with session ID|running in background with ID", re.IGNORECASE)
