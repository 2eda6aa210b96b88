"""Whatever was erased is found wherever it stands, by its fingerprints alone, and nothing else is."""

from __future__ import annotations

import base64
import re

from hypothesis import example, given
from hypothesis import strategies as st

from recollect.memory import proof
from recollect.memory.proof import STRETCH_BYTES, Fingerprints, Looking

SALT = bytes(range(16))
BEFORE = st.binary(max_size=80)
FORM = st.sampled_from(["plain", "utf-16-le", "utf-16-be", "base64"])
WORDS = st.lists(st.text("abcdefgXYZ0123", min_size=1, max_size=9), min_size=25, max_size=40).map(" ".join)


@given(
    text=WORDS,
    before=BEFORE,
    after=BEFORE,
    form=st.sampled_from(["plain", "utf-16-le", "utf-16-be", "base64"]),
)
def test_a_text_is_found_in_every_form_wherever_it_stands(
    text: str, before: bytes, after: bytes, form: str
) -> None:
    prints = Fingerprints.of(SALT, [text])
    assert prints.prints
    if form == "base64":
        data = b'"' + base64.b64encode(before + text.encode() + after) + b'"'
    elif form == "plain":
        data = before + text.encode() + after
    else:
        data = text.encode(form)
        data = b"\0" * (len(before) % 2) + data
    assert Looking(prints).found_in(data) == prints.prints
    assert Fingerprints.unpacked(SALT, prints.packed()) == prints


@given(text=WORDS, changed=st.integers(0, STRETCH_BYTES - 1))
def test_a_stretch_that_differs_in_one_byte_is_another(text: str, changed: int) -> None:
    (stretch, *_) = proof._stretches(text.encode(), SALT)
    prints = Fingerprints(SALT, frozenset([proof._print(SALT, stretch)]))
    other = bytearray(stretch)
    other[changed] ^= 1
    assert Looking(prints).found_in(b".." + stretch + b"..") == prints.prints
    assert Looking(prints).found_in(b".." + bytes(other) + b"..") == set()


@given(
    data=st.binary(min_size=30, max_size=200) | st.text("aZ09 .", min_size=30, max_size=90).map(str.encode)
)
def test_stretches_begin_where_a_word_does_and_where_the_key_says(data: bytes) -> None:
    chosen = proof._beginnings(SALT)
    expected = [n for n in range(len(data) - STRETCH_BYTES + 1) if chosen[data[n] | data[n + 1] << 8]]
    assert sorted(proof._starts(data, SALT).tolist()) == expected
    words = [
        m.start() for m in re.finditer(rb" (?=[A-Za-z0-9])", data) if m.start() + STRETCH_BYTES <= len(data)
    ]
    assert set(words) <= set(expected)


@given(data=st.lists(st.tuples(st.text("aZ0+/-_", max_size=60), st.sampled_from(["", ".", " ", '"', "\0"]))))
@example(data=[("a" * 39, "."), ("b" * 40, "")])
@example(data=[("", "."), ("c" * 47, "."), ("d" * 40, ".")])
def test_runs_of_base64_are_those_that_an_expression_finds(data: list[tuple[str, str]]) -> None:
    text = "".join(run + between for run, between in data).encode()
    expected = [each.translate(proof._STANDARD) for each in re.findall(rb"[A-Za-z0-9+/_-]{40,}", text)]
    assert list(proof._base64_runs(text)) == expected
