"""What counts now: asked for the present state, the newest statement on a subject comes first.

Each subject was settled, spoken of again, and later settled otherwise: the old value is told twice, and one
of the old statements fits the question better by its words.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.memories import memory_at, scratch

from recollect.memory import Memory

SUBJECTS = {
    "which port does the dev server use now": (
        ("which port should the dev server use?", "The dev server uses port 8080, which was free."),
        ("the dev server does not come up", "The dev server uses port 8080; another process held the port."),
        ("8080 clashes with jenkins", "The dev server uses port 9090, 8080 is Jenkins' again."),
    ),
    "what is the current timeout of the payment client": (
        ("payment client hangs", "The payment client has a timeout of 30 s now, instead of none."),
        ("is 30 s right?", "The timeout of the payment client is 30 s, the default of the library."),
        ("checkout is too slow", "The payment client has a timeout of 5 s, cut down from 30."),
    ),
    "latest node version in the docker image": (
        ("pin node in the docker image", "The docker image has node version 18, pinned by its digest."),
        ("why node 18 in docker?", "Version 18 is the node that the docker image was written for."),
        ("upgrade node in the docker image", "The docker image has node version 22, and all tests pass."),
    ),
    "how is the log level set currently": (
        ("how do I set the log level?", "The log level is set by LOG_LEVEL in the environment."),
        ("log level ignored", "The log level is set by LOG_LEVEL, which the service file did not pass."),
        (
            "one config file please",
            "The log level is set by settings.toml; LOG_LEVEL has no effect any more.",
        ),
    ),
}
NEWEST = ["9090", "5 s", "22", "settings.toml"]


def talk(folder: Path, number: int, day: int, prompt: str, answer: str, home: str = "logs") -> None:
    """One Claude Code session of one exchange."""
    target = folder / home / "projects" / "-home-ada-shop"
    target.mkdir(parents=True, exist_ok=True)
    id_ = f"aaaaaaaa-0000-4000-8000-{number:012d}"
    said = [("user", prompt), ("assistant", [{"type": "text", "text": answer}])]
    lines = [
        {
            "type": role,
            "sessionId": id_,
            "uuid": f"{number:030d}{n:02d}",
            "cwd": "/home/ada/shop",
            "timestamp": f"2026-{1 + day // 28:02d}-{1 + day % 28:02d}T10:00:{n:02d}.000Z",
            "message": {"role": role, "content": content},
        }
        for n, (role, content) in enumerate(said)
    ]
    (target / f"{id_}.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n", "utf-8")


@pytest.fixture(scope="module")
def shop() -> Iterator[Memory]:
    with scratch() as folder:
        number = 0
        for n, said in enumerate(SUBJECTS.values()):
            for when, (prompt, answer) in enumerate(said):
                number += 1
                talk(folder, number, 2 * n + 40 * when, prompt, answer)
        with memory_at(folder) as memory:
            memory.ingest([folder / "logs"])
            yield memory


@pytest.mark.parametrize(("question", "newest"), list(zip(SUBJECTS, NEWEST, strict=True)))
def test_the_newest_statement_is_first_where_the_present_is_asked_for(
    shop: Memory, question: str, newest: str
) -> None:
    first = shop.search(question, plain=True, limit=3).hits[0]
    assert newest in first.stored.entry.text, first.parts


def test_without_such_a_word_the_best_statement_is_first_whatever_its_age(shop: Memory) -> None:
    first = shop.search("dev server uses port", plain=True, limit=1).hits[0]
    assert "8080" in first.stored.entry.text
    assert "newer" not in first.parts


def test_where_own_logs_tell_it_an_imported_one_is_not_the_latest(monkeypatch: pytest.MonkeyPatch) -> None:
    question, said = next(iter(SUBJECTS.items()))
    with scratch() as folder:
        monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(folder / "own"))
        for when, (prompt, answer) in enumerate(said):
            talk(folder, when, 40 * when, prompt, answer, "own")
        talk(folder, 9, 200, said[0][0], "The dev server uses port 6666, which was free.", "strange")
        with memory_at(folder) as memory:
            memory.ingest([folder / "own", folder / "strange"])
            hits = memory.search(question, plain=True, limit=5, collapse=False).hits
            assert [hit.stored.imported for hit in hits if "6666" in hit.stored.entry.text] == [True]
            assert "9090" in hits[0].stored.entry.text
            assert not hits[0].stored.imported
