"""What is worth keeping, and what is worth showing again: two options that are off unless asked for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from recollect.memory.part import Part
from recollect.values.notes import checked_text

if TYPE_CHECKING:
    from recollect.memory.activation import Activation
    from recollect.values.hits import Results


class Weighing(Part):
    """The part of a `Memory` that weighs what is saved and what is found."""

    def worth(self, text: str) -> str:
        """Why a sentence is not worth keeping; "" where it is. Nothing is kept for having been asked.

        Stock phrases and empty words are not, nor what something that is kept already says as well.
        """
        from recollect.insight.worth import KNOWN_COSINE, NEAREST, why_not

        if why := why_not(checked_text(text)):
            return why
        self._fold_if_free()
        with self.indexes.asking(meaning=True) as search:
            near = search.cosines(text, NEAREST)
        return "the same is kept already" if max(near, default=0.0) > KNOWN_COSINE else ""

    def tick(self) -> None:
        """Let fade what `search(activated=True)` lifts: to be called once a session, or once a day."""
        self._activation().tick()

    def _activated(self, results: Results, limit: int) -> Results:
        activation = self._activation()
        hits = activation.ordered(results.hits)[:limit]
        activation.reinforce([hit.id for hit in hits])
        return replace(results, hits=hits)

    def _activation(self) -> Activation:
        from recollect.memory.activation import Activation

        return Activation(self.config.cache, self.info().id)
