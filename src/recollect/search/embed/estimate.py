"""What embedding a whole store from nothing would take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from recollect.search.embed import embedder
from recollect.search.vectors.pieces import pieces_of
from recollect.store.contract import View
from recollect.values.reports import Estimate
from recollect.values.text import tokens


def estimate(
    view: View, name: str, settings: Mapping[str, Mapping[str, Any]], environ: Mapping[str, str]
) -> Estimate:
    """Pieces, tokens and, for an endpoint, dollars."""
    if name != "openai":
        counts = [tokens(piece) for piece in _pieces(view)]
        return Estimate(name, len(counts), sum(counts), None)
    from recollect.search.embed.endpoint import EndpointEmbedder

    made = embedder(name, settings=settings, environ=environ)
    assert isinstance(made, EndpointEmbedder)
    found = made.estimate(_pieces(view))
    return Estimate(name, found.texts, found.tokens, found.dollars)


def _pieces(view: View) -> Iterator[str]:
    """Every piece that would be embedded, each once."""
    seen: set[int] = set()
    for stored in view.entry_range(0, view.info().rows_end):
        for piece in pieces_of(stored.entry):
            if (key := hash(piece)) not in seen:
                seen.add(key)
                yield piece
