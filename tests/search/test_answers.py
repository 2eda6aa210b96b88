"""What holds of an answer: its pages fit together, it comes whatever happens to the file or the process."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.memories import memory_at, scratch

from recollect.memory import Memory
from recollect.values.errors import UsageError


def log(folder: Path, prompts: list[str]) -> None:
    """One Claude Code session of prompts."""
    target = folder / "logs" / "projects" / "-home-ada-x"
    target.mkdir(parents=True, exist_ok=True)
    id_ = "aaaaaaaa-0000-4000-8000-000000000000"
    lines = [
        json.dumps(
            {
                "type": "user",
                "sessionId": id_,
                "uuid": f"{n:032d}",
                "cwd": "/home/ada/x",
                "timestamp": f"2026-03-01T{n // 3600:02d}:{n // 60 % 60:02d}:{n % 60:02d}.000Z",
                "message": {"role": "user", "content": text},
            }
        )
        for n, text in enumerate(prompts)
    ]
    (target / f"{id_}.jsonl").write_text("\n".join(lines) + "\n", "utf-8")


@pytest.fixture
def repetitive() -> Iterator[Memory]:
    """Forty different prompts, then forty-five that say the same."""
    with scratch() as folder:
        words = ["amber", "birch", "cedar", "delta", "ember", "flint", "grove", "heath", "inlet", "jetty"]
        log(folder, [f"{a} {b} task" for a in words for b in words[:4]] + ["continue"] * 45)
        with memory_at(folder) as memory:
            memory.ingest([folder / "logs"])
            yield memory


@pytest.mark.parametrize(
    ("query", "mode"), [("kind:prompt", "text"), ("task", "text"), ("task amber", "hybrid")]
)
def test_pages_are_pieces_of_one_list(repetitive: Memory, query: str, mode: str) -> None:
    whole = [hit.id for hit in repetitive.search(query, mode=mode, limit=200).hits]
    paged = [
        hit.id
        for offset in range(0, len(whole) + 7, 7)
        for hit in repetitive.search(query, mode=mode, limit=7, offset=offset).hits
    ]
    assert paged == whole


def test_a_hit_counts_what_was_folded_into_it(repetitive: Memory) -> None:
    results = repetitive.search("continue", mode="text")
    assert (len(results.hits), results.hits[0].folded, len(results.hits[0].similar)) == (1, 44, 10)
    assert results.total == 45


def test_a_store_that_was_put_back_is_read_as_it_is_now(repetitive: Memory) -> None:
    assert repetitive.search("amber").hits
    path = Path(repetitive.config.store)
    shutil.copy(path, path.with_name("copy.h5"))
    os.replace(path.with_name("copy.h5"), path)
    assert repetitive.search("amber").hits


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_can_search(repetitive: Memory) -> None:
    assert repetitive.search("amber").hits
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    path, config = Path(repetitive.config.store), repetitive.config

    def child() -> None:
        with Memory.open(path, config=config) as memory:
            answers.put(len(memory.search("amber").hits))

    process = context.Process(target=child)
    process.start()
    try:
        assert answers.get(timeout=60) > 0
    finally:
        process.kill()
        process.join()


def test_what_only_stands_beside_a_hit_is_none() -> None:
    with scratch() as folder:
        log(folder, ["", "Fix error E0277 in the pool", "", "ok"])
        with memory_at(folder) as memory:
            memory.ingest([folder / "logs"])
            texts = [hit.stored.entry.text for hit in memory.search("E0277").hits]
            assert texts[0] == "Fix error E0277 in the pool"
            assert "" not in texts


def test_nearness_without_meaning_is_refused(repetitive: Memory) -> None:
    hit = repetitive.search("amber").hits[0]
    with pytest.raises(UsageError):
        repetitive.search(near=[hit.id], mode="text")
    assert repetitive.search(near=[hit.id]).hits


def test_a_name_finds_the_thing_and_a_word_what_shares_its_stem() -> None:
    with scratch() as folder:
        log(folder, ["`pip install requests`", "one request failed", "requests are slow", "prerequests"])
        with memory_at(folder) as memory:
            memory.ingest([folder / "logs"])
            memory.index()
            found = {h.stored.entry.text for h in memory.search("@requests", collapse=False).hits}
            assert found == {"`pip install requests`"}
            stems = memory.search("requests", mode="text", collapse=False).hits
            assert len(stems) == 3
