"""The documents of one collection, as a process holds them: chosen by filters, ranked by distance.

Every answer is exact: all documents that a filter chooses are compared. Their vectors are made while nobody
asks, at the latest when a question needs them.
"""

from __future__ import annotations

import base64
import binascii
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from recollect.chroma.checks import EMBEDDING, OWN
from recollect.chroma.where import Chooses

if TYPE_CHECKING:
    import numpy as np

    Floats = np.ndarray[Any, np.dtype[np.float32]]

AT_ONCE: Final = 8  # documents whose vectors are made in one go: a millisecond or two
_BLOCK_ROWS: Final = 256


class TextVectors(Protocol):
    """Makes vectors of texts, all of one length."""

    @property
    def dims(self) -> int: ...

    def encode(self, texts: Sequence[str]) -> Floats: ...


class Document:
    """A text with its id and what is known of it. `row`: where its vector is; -1 while there is none."""

    __slots__ = ("id", "kept", "row", "text", "time_ms")

    def __init__(self, id_: str, text: str, kept: Mapping[str, Any], time_ms: int) -> None:
        self.id, self.text = id_, text
        self.kept = kept  # metadata, with what we keep in it for ourselves
        self.time_ms = time_ms
        self.row = -1

    @property
    def metadata(self) -> dict[str, Any] | None:
        """What the caller said of it; None where that is nothing."""
        own = self.kept.keys() - {EMBEDDING}
        return {key: value for key, value in self.kept.items() if not key.startswith(OWN)} if own else None

    def embedding(self) -> bytes:
        """The vector that the caller gave instead of ours, as float32; empty where none was given."""
        try:
            return base64.b64decode(str(self.kept.get(EMBEDDING, "")), validate=True)
        except (binascii.Error, ValueError):
            return b""


class Collection:
    """Documents by id, in the order in which they were added."""

    def __init__(self, vectors: TextVectors) -> None:
        self._vectors = vectors
        self._documents: dict[str, Document] = {}
        self._unmade: dict[str, None] = {}
        self._blocks: list[Floats] = []  # of `_BLOCK_ROWS` vectors each, so that none is moved as they grow
        self._free: list[int] = []

    def __len__(self) -> int:
        return len(self._documents)

    def __contains__(self, id_: str) -> bool:
        return id_ in self._documents

    def __getitem__(self, id_: str) -> Document:
        return self._documents[id_]

    def __iter__(self) -> Iterator[Document]:
        return iter(self._documents.values())

    # -- what changes ----------------------------------------------------------------------

    def put(self, document: Document) -> None:
        """Take a document in; it takes the place of an earlier one of its id."""
        before = self._documents.get(document.id)
        self._documents[document.id] = document
        if before is not None:
            document.row = before.row
            same = before.text == document.text
            if same and before.kept.get(EMBEDDING) == document.kept.get(EMBEDDING):
                return
        self._unmade[document.id] = None

    def drop(self, id_: str) -> None:
        """Forget a document, if there is one."""
        document = self._documents.pop(id_, None)
        self._unmade.pop(id_, None)
        if document is not None and document.row >= 0:
            self._free.append(document.row)

    # -- what is asked ---------------------------------------------------------------------

    def chosen(self, chooses: Chooses | None, ids: Iterable[str] | None = None) -> list[Document]:
        """The documents that a filter chooses, of some ids or of all, in order."""
        wanted = None if ids is None else set(ids)
        return [
            each
            for each in self
            if (wanted is None or each.id in wanted) and (chooses is None or chooses(each.text, each.kept))
        ]

    def nearest(
        self, documents: Sequence[Document], text: str, count: int, space: str
    ) -> list[tuple[Document, float]]:
        """Of some documents the nearest to a text, each with its distance; equal ones in their order."""
        if not documents:
            return []
        import numpy as np

        self.make_vectors(len(self._unmade))
        asked, distance = self._vectors.encode([text])[0], _DISTANCES[space]
        everywhere = np.concatenate([distance(block, asked) for block in self._blocks])
        distances = everywhere[[each.row for each in documents]]
        best = np.argsort(distances, kind="stable")[:count]
        return [(documents[at], float(distances[at])) for at in best.tolist()]

    def embeddings(self, documents: Sequence[Document]) -> list[list[float]]:
        self.make_vectors(len(self._unmade))
        return [self._vector(each.row).tolist() for each in documents]

    @property
    def lacks_vectors(self) -> bool:
        """Whether some documents have no vector yet."""
        return bool(self._unmade)

    def make_vectors(self, count: int) -> None:
        """Make the vectors of so many documents that have none."""
        if not self._unmade:
            return
        import numpy as np

        while count > 0 and self._unmade:
            some = list(itertools.islice(self._unmade, min(count, AT_ONCE)))
            documents = [self._documents[each] for each in some]
            made = self._vectors.encode([each.text for each in documents])
            for document, vector in zip(documents, made, strict=True):
                given = document.embedding()
                own = np.frombuffer(given, "<f4") if len(given) == 4 * self._vectors.dims else vector
                self._place(document)[:] = own
            for each in some:
                del self._unmade[each]
            count -= len(some)

    def _place(self, document: Document) -> Floats:
        """The row of a document's vector, a new one where it has none."""
        import numpy as np

        if document.row < 0:
            if not self._free:
                first = len(self._blocks) * _BLOCK_ROWS
                self._blocks.append(np.zeros((_BLOCK_ROWS, self._vectors.dims), np.float32))
                self._free = list(range(first + _BLOCK_ROWS - 1, first - 1, -1))
            document.row = self._free.pop()
        return self._vector(document.row)

    def _vector(self, row: int) -> Floats:
        block, at = divmod(row, _BLOCK_ROWS)
        found: Floats = self._blocks[block][at]
        return found


def _squared(rows: Floats, asked: Floats) -> Floats:
    import numpy as np

    apart = rows - asked
    squared: Floats = np.einsum("ij,ij->i", apart, apart)
    return squared


def _cosine(rows: Floats, asked: Floats) -> Floats:
    import numpy as np

    lengths = np.sqrt(_squared(rows, np.zeros_like(asked)) * np.float32(asked @ asked))
    lengths[lengths == 0] = 1
    apart: Floats = np.float32(1) - (rows @ asked) / lengths
    return apart


def _inner(rows: Floats, asked: Floats) -> Floats:
    return 1 - rows @ asked


_DISTANCES: Final = {"l2": _squared, "cosine": _cosine, "ip": _inner}
SPACES: Final = tuple(_DISTANCES)
