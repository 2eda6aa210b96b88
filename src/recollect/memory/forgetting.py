"""The verbs of the facade that make something go: erase, and what belongs to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from recollect.memory.part import now_ms

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from recollect.memory import Memory
    from recollect.memory.choosing import Chosen
    from recollect.memory.copies import Copy
    from recollect.store.contract import Writer
    from recollect.values.erasures import Erased, Erasure, Wanted
    from recollect.values.reports import Progress
    from recollect.values.stored import Session


class Forgetting:
    """What `Memory` can be asked to forget."""

    def erase(
        self, wanted: Wanted, *, progress: Progress | None = None, would: Chosen | None = None
    ) -> tuple[Chosen, dict[str, Any]]:
        """Erase what is wanted for good; returns what went and a receipt without a word of it.

        It is gone from the store, its journal, indexes, vectors and all that is derived, and does not come
        back with the next ingest. `erasable` says beforehand what would go; given as `would`, lines that it
        read for secrets are not read for them again.
        """
        from recollect.memory.erasing import erase

        return erase(self._memory, wanted, progress, now_ms=now_ms(), would=would)

    def erasable(self, wanted: Wanted, *, progress: Progress | None = None) -> Chosen:
        """What `erase` would take, without changing anything."""
        from recollect.memory.erasing import rehearse

        return rehearse(self._memory, wanted, progress)

    def session_to_erase(self, prefix: str, host: str = "") -> Session:
        """The session whose id starts so, on a host where that is needed to tell it from another one's."""
        from recollect.memory.choosing import named_session
        from recollect.search.projects import by_name, named

        with self._memory.view() as view:
            return named_session(by_name(named(view)), prefix, host)

    def secret_glimpses(self, would: Chosen) -> list[tuple[str, str]]:
        """Of each kind of secret that would go, one place, masked."""
        from recollect.memory.masking import glimpses_of

        with self._memory.view() as view:
            return glimpses_of(getattr(view, "base", view), would, 20, 72)

    def glimpses(self, would: Chosen, wanted: Wanted) -> list[str]:
        """A few lines of what would go by a text or a pattern, secrets masked."""
        from recollect.memory.glimpses import glimpses

        return glimpses(would.texts, wanted)

    def erasures(self) -> list[Erasure]:
        """What was erased and stays so, in the order in which it was: counts and hashes, no text."""
        from recollect.intake.erased import erasures

        with self._memory.view() as view:
            return erasures(view)

    def forget_erasure(self, id_: str) -> Erasure:
        """Let what was erased come back: the next ingest takes what the agents' logs still have of it."""
        from recollect.memory.erasing import forget

        return forget(self._memory, id_, now_ms=now_ms())

    def verify_erasure(
        self, receipt: dict[str, Any], texts: Iterable[str] = (), *, progress: Progress | None = None
    ) -> dict[str, Any]:
        """Look for what a receipt is of, and for texts, in every file of ours, unpacked."""
        from recollect.memory.erasing import verify

        return verify(self._memory, receipt, texts, progress)

    def finish_erasing(self, *, timeout: float = 60.0) -> list[Erasure]:
        """Complete what an `erase` that was killed left to do; returns the erasures that were not complete.

        An ingest, an index and the next `erase` do so by themselves.
        """
        from recollect.intake.erased import erased

        with self._memory._store.view() as view:
            left = erased(view).uncleared
        if left:
            self._memory.checkpoint(timeout=timeout)
        return left

    def erasure_of(self, session: str) -> Erasure | None:
        """The erasure that a session went with, by its whole id."""
        from recollect.memory.erasing import erasure_of

        return erasure_of(self._memory, session)

    def sources_of_erased(self, chosen: Chosen) -> list[str]:
        """The agents' own files that still have what was erased, as far as they are on this machine."""
        from recollect.memory.erasing import own_files

        return own_files(chosen, self._memory.config.host)

    def note_copy(
        self, path: str | os.PathLike[str], kind: str, sessions: Iterable[str] | None, *, masked: bool = False
    ) -> None:
        """Remember that a file was made of some sessions, by their ids, or of everything: erase names it."""
        from recollect.memory.copies import note_copy

        note_copy(self._memory.config.copies[0], path, kind, sessions, masked=masked, now_ms=now_ms())

    def copies_of_erased(self, chosen: Chosen) -> list[Copy]:
        """The copies that were made, are still there, and may hold what was erased."""
        from recollect.memory.copies import copies_of

        return copies_of(self._memory.config.copies, chosen)

    def _cleared(self, writer: Writer) -> Erased:
        """What was erased; what is left of things made of it goes before anything new comes."""
        from recollect.intake.erased import erased

        known = erased(writer.view())
        if known.uncleared:
            from recollect.memory.erasing import clear_rest

            clear_rest(self._memory, writer, known.uncleared, now_ms=now_ms())
        return known

    @property
    def _memory(self) -> Memory:
        return cast("Memory", self)
