"""What earlier conversations have to say, for a model to read: within a budget, each part cited."""

from __future__ import annotations

import contextlib
import datetime
from typing import TYPE_CHECKING

from recollect.memory.part import Part
from recollect.values.budgets import READ_TOKENS, RECALL_TOKENS
from recollect.values.errors import NotFound

if TYPE_CHECKING:
    from collections.abc import Iterable

    from recollect.values.recalled import Brief, Reading, Recall


class Recalling(Part):
    """The part of a `Memory` that answers a model."""

    def recall(
        self,
        terms: Iterable[str],
        question: str = "",
        *,
        budget_tokens: int = RECALL_TOKENS,
        project: str = "",
        strict_project: str = "",
        now: datetime.datetime | None = None,
        spread: bool = False,
    ) -> Recall:
        """What earlier conversations have on some words and a question: cited excerpts, within a budget.

        `project` is preferred, `strict_project` is all that is looked at; "last week" is that before `now`;
        `spread` is as in `search`.
        """
        from recollect.recall.recall import recall

        waiting = self._fold_if_free()
        with self.indexes.asking(meaning=True, waiting=waiting) as search:
            return recall(
                search,
                list(terms),
                question,
                budget_tokens=budget_tokens,
                project=project,
                strict_project=strict_project,
                now=now,
                spread=spread,
            )

    def brief(
        self,
        terms: Iterable[str],
        question: str = "",
        *,
        project: str = "",
        strict_project: str = "",
        now: datetime.datetime | None = None,
    ) -> Brief:
        """The three sentences of earlier conversations that say most about what `recall` is asked."""
        from recollect.recall.brief import brief

        waiting = self._fold_if_free()
        with self.indexes.asking(meaning=True, waiting=waiting) as search:
            return brief(
                search, list(terms), question, project=project, strict_project=strict_project, now=now
            )

    def read(
        self,
        id_: str,
        *,
        before: int = 3,
        after: int = 3,
        whole: bool = False,
        budget_tokens: int = READ_TOKENS,
        offset: int = 0,
    ) -> Reading:
        """An entry and what was said around it, or all of its text, page by page."""
        from recollect.recall.recall import reading

        with self.view() as view:
            if self.config.retention is not None:
                with contextlib.suppress(NotFound):
                    self.note_read(view.session_rows()[view.find_entry(id_).session_row])
            return reading(
                view, id_, before=before, after=after, whole=whole, budget_tokens=budget_tokens, offset=offset
            )
