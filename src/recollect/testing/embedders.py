"""What every embedder promises. An embedder's test class subclasses this and inherits every test."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.search.embed.contract import Embedder

TEXTS = [
    "the token expired",
    "database connection was refused",
    "tests",
    "git commit in a database " * 20,
    "refresh the token",
    "the the the",
]
BLANK = ["", " ", "\n\t \r"]
HOSTILE = [
    "\0\0",
    "\ud800 token \udfff",
    "\x1b[31mred\x1b[0m\x7f",
    "a" * 1_000_000,
    "token " * 170_000,
    "数据库" * 100_000,
    "e" + "\u0301" * 100_000,
    "👩‍👩‍👧‍👦" * 1000,
    "\u202etoken",
    "[CLS] [SEP] [PAD]",
    " " * 1_000_000,
]


class EmbedderContract:
    """What `search.embed.contract` promises. A subclass gives `make`, a way to open the embedder anew."""

    @pytest.fixture(scope="class")
    @classmethod
    def make(cls) -> Callable[[], Embedder]:
        raise AssertionError("an embedder's test class gives the way to make it")

    @pytest.fixture(scope="class")
    @classmethod
    def embedder(cls, make: Callable[[], Embedder]) -> Embedder:
        return make()

    def test_it_says_what_its_vectors_are(self, embedder: Embedder) -> None:
        assert embedder.name
        assert len(embedder.revision) == 12
        assert embedder.dims > 0

    def test_rows_are_unit_and_blank_texts_are_zeros(self, embedder: Embedder) -> None:
        vectors = embedder.encode([*TEXTS, *BLANK])
        assert vectors.dtype == np.float32
        assert vectors.shape == (len(TEXTS) + len(BLANK), embedder.dims)
        lengths = np.linalg.norm(vectors, axis=1)
        assert np.allclose(lengths[: len(TEXTS)], 1, atol=1e-5)
        assert not vectors[len(TEXTS) :].any()

    def test_no_texts_are_no_rows(self, embedder: Embedder) -> None:
        assert embedder.encode([]).shape == (0, embedder.dims)

    def test_a_row_depends_on_its_text_alone(self, embedder: Embedder) -> None:
        @settings(
            deadline=None, max_examples=min(25, settings().max_examples)
        )  # fewer where the profile says so
        @given(texts=st.lists(st.sampled_from([*TEXTS, *BLANK]) | st.text(max_size=40), max_size=12))
        def check(texts: list[str]) -> None:
            for text, row in zip(texts, embedder.encode(texts), strict=True):
                assert embedder.encode([text])[0].tobytes() == row.tobytes()

        check()

    def test_opened_again_it_gives_the_same_bits(
        self, make: Callable[[], Embedder], embedder: Embedder
    ) -> None:
        again = make()
        assert (again.name, again.revision, again.dims) == (embedder.name, embedder.revision, embedder.dims)
        assert again.encode(TEXTS).tobytes() == embedder.encode(TEXTS).tobytes()

    @pytest.mark.parametrize("text", [*HOSTILE, *BLANK], ids=range(len(HOSTILE) + len(BLANK)))
    def test_no_text_is_an_error(self, embedder: Embedder, text: str) -> None:
        for vector in (embedder.encode([text])[0], embedder.encode_query(text, idf=lambda word: 1.0)):
            assert vector.shape == (embedder.dims,)
            assert np.isfinite(vector).all()
            assert math.isclose(np.linalg.norm(vector), 1, abs_tol=1e-5) or not vector.any()

    def test_a_text_is_nearest_to_itself(self, embedder: Embedder) -> None:
        scores = (embedder.encode([*TEXTS, ""]) @ embedder.encode_query(TEXTS[1])).tolist()
        assert len(scores) == len(TEXTS) + 1
        assert max(scores) == scores[1] > 0.5
        assert scores[-1] == 0
