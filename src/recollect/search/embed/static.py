"""The embedder inside the wheel: a table of word-piece vectors, numpy, and nothing to download.

A text's vector is the sum of its pieces' rows, each by the root of how often its word occurs, scaled
to length one; word order plays no part. The rows were distilled from all-MiniLM-L6-v2 and trained on
pairs (see `training/`). They are kept as int8 with one scale a row and become floats as they are summed.

Most of the time goes into finding words, so a text is cut into runs of word characters, each
distinct run is looked up once, and what a run means (`parseHTTPHeader_v2`: parse, http, header, v,
2, and their pieces) is remembered in a bounded memo.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from recollect.search.embed.contract import Idf, Vectors

TABLE = Path(__file__).with_name("static-256.npz")

MEMO_RUNS_MAX = 1 << 16  # then the memo starts afresh
RUN_CHARS_MAX = 128  # what follows in a run is not read: such runs are keys, hashes, base64
RUN_PIECES_MAX = 24
PIECE_CHARS_MAX = 20
BLOCK_ROWS = 4096  # rows that are floats at one time: 4 MB, however long the text


class StaticEmbedder:
    """Word-piece vectors, summed per text. Threads may share one: only the memo changes."""

    name = "recollect-static"

    def __init__(
        self, vocabulary: Sequence[str], table: NDArray[np.int8], scales: NDArray[np.float32], revision: str
    ) -> None:
        assert len(vocabulary) == table.shape[0] == scales.shape[0]
        self.revision = revision
        self.dims: int = table.shape[1]
        self._table = table
        self._scales = scales
        self._row_of = {piece: row for row, piece in enumerate(vocabulary)}
        self._memo: dict[str, tuple[int, ...]] = {}

    @staticmethod
    def load(path: Path = TABLE) -> StaticEmbedder:
        """The table that ships, or another file that `training/train.py` wrote; read once a process."""
        return _load(path)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """One unit row per text, zeros where it has no words; the same bits alone and in any batch."""
        vectors = np.zeros((len(texts), self.dims), dtype=np.float32)
        for vector, text in zip(vectors, texts, strict=True):
            rows: list[int] = []
            weights: list[float] = []
            for run, count in Counter(_runs(text)).items():
                found = self._memo.get(run)
                if found is None:
                    found = self._learn(run)
                rows += found
                weights += [count**0.5] * len(found)
            self._add(vector, rows, weights)
        return vectors

    def encode_query(self, text: str, idf: Idf | None = None) -> Vectors:
        """The vector to search with; given `idf`, a word counts by the root of its rarity."""
        vector: Vectors
        if idf is None:
            vector = self.encode([text])[0]
            return vector
        rows: list[int] = []
        weights: list[float] = []
        for word, count in Counter(words(text)).items():
            found = self._rows_of_word(word)
            rows += found
            weights += [(count * max(idf(word), 0.0)) ** 0.5] * len(found)
        vector = np.zeros(self.dims, dtype=np.float32)
        self._add(vector, rows, weights)
        return vector

    def rows(self, text: str) -> list[int]:
        """The table's rows that a text is made of, repeats included: what training sees of it."""
        return [row for run in _runs(text) for row in self._memo.get(run) or self._learn(run)]

    def _learn(self, run: str) -> tuple[int, ...]:
        found = tuple(row for word in _words_of_run(run) for row in self._rows_of_word(word))[:RUN_PIECES_MAX]
        if len(run) <= RUN_CHARS_MAX:
            if len(self._memo) >= MEMO_RUNS_MAX:
                self._memo.clear()
            self._memo[run] = found
        return found

    def _rows_of_word(self, word: str) -> list[int]:
        """The longest known piece, the longest that continues it, and so on; unknown letters are left out."""
        if (whole := self._row_of.get(word)) is not None:
            return [whole]
        rows: list[int] = []
        start = 0
        while start < len(word):
            mark = "##" if start else ""
            for end in range(min(len(word), start + PIECE_CHARS_MAX), start, -1):
                if (row := self._row_of.get(mark + word[start:end])) is not None:
                    rows.append(row)
                    start = end
                    break
            else:
                start += 1
        return rows

    def _add(self, vector: Vectors, rows: Sequence[int], weights: Sequence[float]) -> None:
        """Add the weighted rows to a vector of zeros, and make it a unit vector."""
        for at in range(0, len(rows), BLOCK_ROWS):
            index = np.array(rows[at : at + BLOCK_ROWS], dtype=np.intp)
            scales = self._scales[index] * np.array(weights[at : at + BLOCK_ROWS], dtype=np.float32)
            # einsum and not BLAS: one thread, one order of summing, the same bits on every run.
            vector += np.einsum("i,ij->j", scales, self._table[index].astype(np.float32))
        length = float(np.sqrt(np.einsum("i,i->", vector, vector)))
        if length > 0:
            vector /= np.float32(length)


def words(text: str) -> Iterator[str]:
    """The lower-case words of a text, identifiers taken apart: what `idf` is asked about."""
    for run in _runs(text):
        yield from _words_of_run(run)


# A run is what an identifier is made of, with marks that combine with a letter.
_ASCII_RUN = re.compile(r"[A-Za-z0-9_]+")
_RUN = re.compile(r"[\w\u0300-\u036f]+")
_CJK = re.compile("[\u2e80-\u2fdf\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_WORD = re.compile(
    r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+"  # HTTP | Header, parse | 2
    r"|[^\W\d_A-Za-z]+|\d+"  # other scripts: the vocabulary knows their letters, not their case
)


def _runs(text: str) -> list[str]:
    if text.isascii():
        return _ASCII_RUN.findall(text)
    return _RUN.findall(_CJK.sub(r" \g<0> ", text))  # such a character is a word by itself in the vocabulary


def _words_of_run(run: str) -> list[str]:
    run = run[:RUN_CHARS_MAX]
    if not run.isascii():
        # The vocabulary knows no accents, and a combining mark would cut a word in two.
        run = "".join(c for c in unicodedata.normalize("NFD", run) if unicodedata.category(c) != "Mn")
    return [word.lower() for word in _WORD.findall(run)]


@cache
def _load(path: Path) -> StaticEmbedder:
    with np.load(path, allow_pickle=False) as data:
        vocabulary = data["vocabulary"].tobytes().decode().split("\n")
        return StaticEmbedder(vocabulary, data["table"], data["scales"], str(data["revision"]))
