"""Conversations made of earlier ones, and what becomes of them: delivered, written, or kept by a name.

What a verb needs is imported by it: an agent asks one question per process.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.memory.known import find_session
from recollect.memory.looking import Looking
from recollect.memory.part import now_ms
from recollect.memory.retained import refuse_evicted
from recollect.values.budgets import ASSEMBLE_TOKENS, CATALOG_TOKENS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recollect.values.assembly import Assembly
    from recollect.values.conversation import Conversation
    from recollect.values.fidelity import Delivered
    from recollect.values.recalled import Catalog
    from recollect.values.saved import OpenedPiece, SavedThread


class Composing(Looking):
    """The part of a `Memory` that puts together what somebody goes on with."""

    def assemble(
        self, description: str, *, budget_tokens: int = ASSEMBLE_TOKENS
    ) -> tuple[Assembly, Conversation]:
        """The parts of all conversations that a description is about, within a budget, and as one.

        The conversation is empty where nothing fits.
        """
        from recollect.recall.assemble.run import assemble, compose
        from recollect.values.conversation import Conversation

        waiting = self._fold_if_free()
        with self.indexes.asking(meaning=True, waiting=waiting) as search:
            made = assemble(search, description, budget_tokens=budget_tokens)
            return made, compose(search.view, made) if made.pieces else Conversation(())

    def catalog(
        self, project: str = "", *, budget_tokens: int = CATALOG_TOKENS, imported: bool = False
    ) -> Catalog:
        """What a new conversation in a project is told, by default in that of the current folder.

        Any part of a project's name will do that no other name has. `imported`: also what imported logs
        say, which no conversation is told unasked.
        """
        from recollect.recall.catalog import catalog
        from recollect.search.projects import by_name

        with self.view() as view:
            name = by_name(view).names.find(project) if project else self._project_here(view)
            return catalog(view, name, budget_tokens=budget_tokens, now_ms=now_ms(), imported=imported)

    def conversation(self, prefix: str, *, until: str = "", before_compaction: bool = False) -> Conversation:
        """A session as its agent itself would go on with it: what the model had before it.

        `until`: up to this entry; `before_compaction`: what was said before it was last summed up.
        """
        from recollect.export.read import conversation

        with self.view() as view:
            session = find_session(view, prefix)
            refuse_evicted(view, session)
            self.note_read(session)
            return conversation(view, session, until=until, before_compaction=before_compaction)

    def deliver(
        self,
        conversation: Conversation,
        agent: str,
        *,
        folder: str = "",
        redacted: bool = True,
        dry_run: bool = False,
    ) -> Delivered:
        """Write a conversation where an agent looks for its past, to be opened in a folder."""
        from recollect.export.deliver import deliver

        done = deliver(
            conversation,
            agent,
            home=Path.home(),
            environ=os.environ,
            folder=folder or os.getcwd(),
            now_ms=now_ms(),
            redacted=redacted,
            dry_run=dry_run,
        )
        if done.path is not None:
            self.note_copy(done.path, "written", conversation.sessions, masked=redacted)
        return done

    def export(self, prefix: str, form: str, *, redacted: bool = True) -> Iterator[bytes]:
        """A session piece by piece: `raw`, byte for byte, or a page for people, secrets masked."""
        if form == "raw":
            yield from self.raw(prefix)
            return
        from recollect.export.pages.session import session_page

        with self.view() as view:
            session = find_session(view, prefix)
            refuse_evicted(view, session)
            self.note_read(session)
            yield from session_page(view, session, form, redacted=redacted)

    def page(
        self, form: str, assembly: Assembly, conversation: Conversation, *, redacted: bool = True
    ) -> tuple[str, int]:
        """An assembly as a page to share, and how many secrets are masked in it."""
        from recollect.export.pages.session import assembly_page

        return assembly_page(form, assembly, conversation, redacted=redacted)

    def save_thread(self, assembly: Assembly, name: str) -> SavedThread:
        """Keep an assembly in the store, under a name."""
        from recollect.recall.saved import save

        with self._store.writer() as writer:
            made = save(writer, self.config.host, assembly, name, now_ms=now_ms())
            writer.commit()
        return made

    def saved_threads(self) -> list[SavedThread]:
        """Every assembly that was kept, the last one edited first."""
        from recollect.recall.saved import saved

        with self.view() as view:
            return saved(view)

    def saved_thread(self, name: str) -> SavedThread:
        """The saved thread of this name, or whose id starts so."""
        from recollect.recall.saved import find

        with self.view() as view:
            return find(view, name)

    def saved_pieces(self, name: str) -> list[OpenedPiece]:
        """The pieces of a saved thread, in order, with what the store has of each."""
        from recollect.recall.saved import find, opened

        with self.view() as view:
            return opened(view, find(view, name))

    def edit_thread(
        self, name: str, op: str, *, piece: int = 0, to: int = 0, new_name: str = ""
    ) -> SavedThread:
        """Drop, pin, unpin, move, rename or delete; returns the thread as it then is.

        A deleted one is returned as it was.
        """
        from recollect.recall.saved import Edit, edit

        with self._store.writer() as writer:
            made = edit(writer, name, Edit(op, piece, to, new_name), now_ms=now_ms())
            writer.commit()
        return made

    def reassemble(self, name: str, *, budget_tokens: int = 0) -> tuple[Assembly, Conversation]:
        """A saved thread as `assemble` would have it; `budget_tokens`: another budget than its own."""
        from recollect.recall.saved import compose, find

        with self.view() as view:
            return compose(view, find(view, name), budget_tokens=budget_tokens)
