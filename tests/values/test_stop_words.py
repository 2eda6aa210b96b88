"""One list of words that say nothing, in three circles."""

from __future__ import annotations

from recollect.values.stop_words import ASIDES, EVERYDAY, STOP_WORDS


def test_each_circle_holds_the_one_before() -> None:
    assert STOP_WORDS < ASIDES < EVERYDAY
    assert {"the", "latest", "commit"} & STOP_WORDS == {"the"}
    assert {"the", "latest", "commit"} & ASIDES == {"the", "latest"}


def test_words_are_as_they_are_compared() -> None:
    assert all(word == word.lower().strip() and word.isalpha() for word in EVERYDAY)
