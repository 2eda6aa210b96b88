"""Whatever is typed gets an answer or a clear error: never a traceback, a hang or a byte that acts."""

from __future__ import annotations

import json
import subprocess
import sys
import unicodedata
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from tests.search.nasty import ATTACK, HOSTILE
from tests.support.children import environment
from tests.support.commands import Answer
from tests.support.examples import examples
from tests.support.memories import memory_at, scratch

from recollect.memory import Memory
from recollect.values.errors import NotFound, RecollectError, UsageError


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A store with hostile texts in it, some of them made for the patterns above."""
    with scratch() as made:
        log = made / "projects" / "-home-ada-harbor" / "3f2a9c01-0000-4000-8000-000000000001.jsonl"
        log.parent.mkdir(parents=True)
        texts = [
            "lamp",
            "a" * 40 + "!",
            "a" * 5_000 + "!",
            f"lamp {ATTACK}",
            "lamp \ud800 half",
            "时钟偏差太大",
            "owned",
            "",
        ]
        log.write_text("".join(_line(n, text) + "\n" for n, text in enumerate(texts * 3)))
        with memory_at(made) as memory:
            memory.ingest([log])
        yield made


@pytest.fixture(scope="module")
def memory(folder: Path) -> Iterator[Memory]:
    with memory_at(folder) as opened:
        yield opened


@pytest.fixture(scope="module", autouse=True)
def bounded() -> Iterator[None]:
    """Four more gigabytes and no more: a query that wants memory without end fails, not the machine."""
    if not sys.platform.startswith("linux"):
        yield
        return
    import resource

    before = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (4 << 30), before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Patterns give up early: what is tested is that they do."""
    monkeypatch.setattr("recollect.search.run.PATTERN_SECONDS", 0.05)


@pytest.mark.parametrize("query", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_query_is_answered_or_refused(memory: Memory, query: str) -> None:
    for mode, plain in product(("hybrid", "text", "vector"), (False, True)):
        outcome = ask(memory, query, plain=plain, mode=mode)
        if isinstance(outcome, RecollectError):
            assert isinstance(outcome, UsageError)
            assert 0 < len(str(outcome)) < 1_000


@pytest.mark.parametrize(
    "words",
    [
        {"limit": -1},
        {"offset": -1},
        {"limit": 0},
        {"limit": 10**9},
        {"limit": 2**63},
        {"limit": 10**40},
        {"offset": 2**63},
        {"offset": 10**40},
        {"limit": 2**63, "offset": 2**63},
        {"limit": 10**9, "collapse": False},
        {"mode": "psychic"},
        {"fusion": "cold"},
        {"strategy": "hope"},
        {"project_boost": "\ud800\x00"},
        {"recency": True},
        {"fusion": "rrf"},
    ],
)
@pytest.mark.parametrize("query", ["lamp", "kind:prompt", "/lamp/"])
def test_odd_numbers_and_names_are_answered_or_refused(
    memory: Memory, query: str, words: dict[str, Any]
) -> None:
    outcome = ask(memory, query, **words)
    assert not isinstance(outcome, RecollectError) or isinstance(outcome, UsageError)


@pytest.mark.parametrize(
    "near",
    [
        "",
        "^",
        "^2",
        "zz",
        "\ud800",
        "\x00",
        "ffffffffffff",
        "3f2a^x",
        "^nan",
        "*",
        "0" * 100_000,
        "ffffffffffff.99999999999",
    ],
)
@pytest.mark.parametrize("side", ["near", "not_near"])
def test_ids_that_name_nothing_are_refused(memory: Memory, near: str, side: str) -> None:
    outcome = ask(memory, "lamp", **{side: [near]})
    assert isinstance(outcome, UsageError | NotFound)


@pytest.mark.parametrize("weight", ["nan", "inf", "-inf", "1e400", "-1", "0", "1e-300", "", "2"])
def test_any_weight_is_answered_or_refused(memory: Memory, weight: str) -> None:
    found = memory.search("lamp", mode="text").hits[0].id
    for side in ("near", "not_near"):
        outcome = ask(memory, "", **{side: [f"{found}^{weight}"]})
        if isinstance(outcome, RecollectError):
            assert isinstance(outcome, UsageError)
        else:
            assert all(hit.score == hit.score for hit in outcome.hits)


_SIGNS = st.sampled_from(
    [
        "(",
        ")",
        '"',
        "-",
        "OR",
        "/",
        "*",
        "@",
        ":",
        "is:error",
        "file:",
        "project:",
        "last:",
        "lamp",
        "a",
        " ",
        " ",
        "\\",
        "\x00",
        "\ud800",
        "\u202e",
        "时",
        "钟",
        "é",
        "<",
        ">",
        "[",
        "+",
        "{",
        "^",
        "$",
        "|",
        "?",
        ".",
        "'",
        "\n",
        "9",
    ]
)


@examples(150, suppress_health_check=list(HealthCheck))
@given(st.one_of(st.text(max_size=60), st.lists(_SIGNS, max_size=30).map("".join)), st.booleans())
def test_whatever_is_typed_is_answered_or_refused(memory: Memory, query: str, plain: bool) -> None:
    outcome = ask(memory, query, plain=plain)
    assert not isinstance(outcome, RecollectError) or isinstance(outcome, UsageError)


@pytest.mark.parametrize("query", HOSTILE.values(), ids=HOSTILE.keys())
def test_on_the_command_line(folder: Path, recollect: Callable[..., Answer], query: str) -> None:
    for options in ((), ("--plain", "--explain"), ("--json",)):
        answer = recollect(folder, "search", "--mode", "text", *options, "--", query)
        assert answer.code in (0, 2), answer.err
        assert "Traceback" not in answer.err
        scan(answer.out)
        scan(answer.err)
        if "--json" in options:
            assert json.loads(answer.out)["schema"] in ("recollect.search/1", "recollect.error/1")
        elif answer.code:
            assert answer.err.startswith("recollect: ")


@pytest.mark.parametrize(
    "words",
    [
        ("--limit", "-1"),
        ("--offset", "-5"),
        ("--limit", "9" * 30),
        ("--offset", "9" * 30),
        ("--limit", "ten"),
        ("--near", "zz"),
        ("--near", ""),
        ("--mode", "psychic"),
        ("--fields", "id,\x1b[2J"),
        ("--fields", ""),
        ("--max-tokens", "-1"),
        ("--max-tokens", "9" * 30),
        ("--boost-project", "\x1b[2J"),
        ("--fields", "text,snippet"),
    ],
    ids=str,
)
def test_odd_options_on_the_command_line(
    folder: Path, recollect: Callable[..., Answer], words: tuple[str, ...]
) -> None:
    answer = recollect(folder, "search", *words, "lamp")
    assert answer.code in (0, 2, 3), answer.err
    assert "Traceback" not in answer.err
    scan(answer.out)
    scan(answer.err)


def test_what_a_log_holds_is_shown_and_cannot_act(folder: Path, recollect: Callable[..., Answer]) -> None:
    answer = recollect(folder, "search", "--mode", "text", "--no-collapse", "--limit", "50", "lamp")
    assert answer.code == 0
    assert "\\x1b]0;owned\\x07" in answer.out
    assert "\\ud800" in answer.out
    scan(answer.out)


@pytest.mark.parametrize(
    "query", [b"\xff\xfe lamp", b"\xed\xa0\x80", "时钟".encode(), b"\x1b[2J\x07", b'"\xc3'], ids=str
)
def test_bytes_that_are_no_text_reach_a_real_process(folder: Path, query: bytes) -> None:
    store = ["--store", str(folder / "memory.h5")]
    done = subprocess.run(
        [sys.executable, "-m", "recollect", "search", *store, query],
        env={
            **environment(),
            "RECOLLECT_CACHE": str(folder / "cache"),
            "HOME": str(folder),
            "LC_ALL": "C.UTF-8",
        },
        capture_output=True,
        check=False,
    )
    assert done.returncode in (0, 2), done.stderr
    assert b"Traceback" not in done.stderr
    scan(done.stdout.decode())
    scan(done.stderr.decode())


def ask(memory: Memory, query: str, **words: Any) -> Any:
    """The results, or the error a caller would catch; anything else is a bug and comes through."""
    try:
        return memory.search(query, **words)
    except RecollectError as error:
        return error


def scan(text: str) -> None:
    """Fail on every character that could act on a terminal."""
    for character in set(text):
        if character not in "\n\t":
            assert unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Zl", "Zp"), ascii(character)


def _line(number: int, text: str) -> str:
    return json.dumps(
        {
            "type": "user",
            "uuid": f"00000000-0000-4000-8000-{number:012}",
            "cwd": f"/home/{ATTACK}",
            "gitBranch": ATTACK,
            "sessionId": "3f2a9c01-0000-4000-8000-000000000001",
            "timestamp": "2026-03-02T09:00:00.000Z",
            "version": "2.1.150",
            "message": {"role": "user", "content": text},
            "slug": ATTACK,
        }
    )
