"""Which session made a commit: by the hash its output printed, of whatever length, then by the subject.

A commit that was rebased or amended elsewhere has another hash than the one that was printed; its subject is
compared then, where the repository at hand tells it and it is more than a word or two.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from recollect.insight.digest.commits import SUBJECT_CHARS
from recollect.insight.digest.kept import Digests
from recollect.insight.repository import Repository
from recollect.search.projects import worked_out
from recollect.store.contract import View
from recollect.values.digests import Commit
from recollect.values.errors import NotFound
from recollect.values.history import CommitBlame, CommitMade, GitCommit
from recollect.values.stored import Session, StoredEntry

HASH_CHARS_MIN = 4
_SUBJECT_CHARS_MIN = 12
_HASH = re.compile(rf"[0-9a-f]{{{HASH_CHARS_MIN},64}}")


def blame_commit(view: View, asked: str, repository: Repository) -> CommitBlame:
    """The sessions that made a commit, the earliest first."""
    known = repository.commit(asked)
    if known is None and not _HASH.fullmatch(asked.lower()):
        raise NotFound(
            f"{asked!r} is no commit of the repository in this folder",
            hint=f"give a hash, at least {HASH_CHARS_MIN} characters of it, or stand in the repository",
        )
    return CommitBlame(asked, known, tuple(makers_of(view, known, asked.lower())))


def makers_of(view: View, known: GitCommit | None, hash_: str) -> list[CommitMade]:
    """The sessions that made a commit which a repository knows, or else one whose hash begins so."""
    wanted = known.hash if known else hash_
    found = list(_made(view, lambda each: _is_hash(each.hash, wanted), by_subject=False))
    if not found and known is not None and len(known.subject) >= _SUBJECT_CHARS_MIN:
        found = list(_made(view, lambda each: _is_subject(each.subject, known.subject), by_subject=True))
    return sorted(found, key=lambda each: (each.time_ms, each.session.facts.id))


def _made(view: View, is_it: Callable[[Commit], bool], *, by_subject: bool) -> Iterator[CommitMade]:
    seen: set[tuple[str, str, int]] = set()
    own = (session for session in view.sessions() if not session.copied)
    for session, digest in worked_out(view, Digests).telling("commits", own):
        for commit in filter(is_it, digest.commits):
            prompt, time_ms = _asked(view, session, commit)
            once = commit.hash, commit.subject, time_ms
            if once in seen:  # a fork shows what it was forked from
                continue
            seen.add(once)
            yield CommitMade(session, commit, digest.title, prompt, digest.decisions, time_ms, by_subject)


def _asked(view: View, session: Session, commit: Commit) -> tuple[StoredEntry | None, int]:
    """What a commit was asked for by, and when it was made."""
    try:
        result = view.find_entry(commit.entry)
    except NotFound:  # the digest outlives its entries
        return None, session.facts.ended_ms
    began = view.entries_at(view.turn_of(result.row)[:1])[0]
    return began if began.entry.is_said else None, result.entry.time_ms


def _is_hash(printed: str, wanted: str) -> bool:
    return bool(printed) and (printed.startswith(wanted) or wanted.startswith(printed))


def _is_subject(told: str, wanted: str) -> bool:
    """What a digest keeps of a subject is its beginning."""
    return told == wanted[:SUBJECT_CHARS].strip()
