"""The retriever for evaluation harnesses: documents in, their ids out, by the product's own way."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.examples import examples

from recollect.testing.retriever import Engine

WORDS = ["amber", "basil", "cobalt", "dahlia", "ember", "fennel", "garnet", "hazel", "indigo", "juniper"]
STRANGE = ["", "   ", "-not OR (", '"open', "project:nothing", "/(/", "灯笼", "a" * 20_000]


def doc(number: int, role: str = "user", text: str = "", timestamp: str = "2026-03-01") -> dict[str, str]:
    word = WORDS[number % len(WORDS)]
    return {
        "id": f"doc/{number}",
        "text": text or f"{role}: the {word} lantern number {number} stood beside the harbour wall",
        "timestamp": timestamp,
        "session": f"talk/{number // 4}",
        "role": role,
    }


def test_every_document_is_found_by_what_only_it_says() -> None:
    docs = [doc(n, "user" if n % 2 == 0 else "assistant") for n in range(12)]
    with Engine() as engine:
        engine.index(docs)
        found = [engine.query(f"{WORDS[n % 10]} lantern {n}", 3)[0] for n in range(12)]
    assert found == [each["id"] for each in docs]


@pytest.mark.parametrize("role", ["user", "assistant", "tool", "Caroline", ""])
def test_whoever_speaks_is_found(role: str) -> None:
    with Engine() as engine:
        engine.index([doc(0, role), doc(1, "Melanie")])
        assert engine.query("amber lantern", 1) == ["doc/0"]


def test_no_more_than_k_and_none_twice() -> None:
    long = " ".join(f"the amber lantern, seen for the {n}th time." for n in range(400))
    with Engine() as engine:
        engine.index([doc(0, text=long), *(doc(n) for n in range(1, 30))])
        found = engine.query("lantern beside the harbour", 10)
    assert len(found) == len(set(found)) == 10


def test_documents_without_a_time_and_the_same_text_twice() -> None:
    with Engine() as engine:
        engine.index([doc(n, "tool", "def lantern(): pass", timestamp="") for n in range(3)])
        assert sorted(engine.query("lantern", 5)) == ["doc/0", "doc/1", "doc/2"]


def test_a_question_may_say_when_it_is_asked() -> None:
    with Engine() as engine:
        engine.index([doc(0), doc(1)])
        assert "doc/0" in engine.query("which lantern was it yesterday", 5, now=datetime(2026, 3, 2, 9, 0))


TEXTS = st.one_of(st.text(), st.sampled_from(["", "\ud800", "<command-name>/x", "<persisted-output>", "{}"]))


@examples(15)
@given(said=st.lists(st.tuples(st.sampled_from(["user", "assistant", "tool", "Ann"]), TEXTS), min_size=1))
def test_whatever_is_said_every_document_keeps_its_id(said: list[tuple[str, str]]) -> None:
    """Texts that look like an agent's own marks are the documents they are, and none pushes another aside."""
    docs = [doc(n, role) | {"text": text} for n, (role, text) in enumerate(said)]
    last = doc(len(docs), text="the only lantern")
    with Engine() as engine:
        engine.index([*docs, last])
        assert engine.query("lantern", len(docs) + 1)[0] == last["id"]


@pytest.mark.parametrize("text", STRANGE)
def test_a_question_is_words_whatever_they_are(text: str) -> None:
    with Engine() as engine:
        engine.index([doc(0)])
        assert set(engine.query(text, 5)) <= {"doc/0"}


def test_what_was_written_is_gone_after_close(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    engine = Engine()
    engine.index([doc(0)])
    assert list(tmp_path.iterdir())
    engine.close()
    assert not list(tmp_path.iterdir())
