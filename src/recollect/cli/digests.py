"""`digests`: conversations found by what happened in them, a line or two each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recollect.cli.digest import COLOURS
from recollect.cli.hit_lines import session_head
from recollect.cli.open_memory import open_memory
from recollect.cli.screen import Screen, Styled
from recollect.cli.words import add_command, limit
from recollect.present.digests import digest_hit_object, undigested_note, words_told
from recollect.values.text import many, one_line

if TYPE_CHECKING:
    import argparse

    from recollect.values.digests import DigestHit, DigestsFound

_STATEMENTS = 2
_STATEMENT_CELLS = 150  # two lines of 80, less what stands before


def add_words(commands: Any) -> None:
    command = add_command(
        commands,
        "digests",
        "find conversations by what happened in them",
        "Looks through what `digest` tells of every conversation, not through what was said: its title, what "
        "was asked, changed, decided, committed and left open. Words rank; outcome:, pattern:, project:, "
        "last: and the other filters on sessions and times narrow it down. Without words the newest.",
        (
            "recollect digests 'token expiry'",
            "recollect digests 'deploy outcome:failed last:30d'",
            "recollect digests pattern:dangerous-operation",
        ),
    )
    command.add_argument(
        "query", nargs="*", metavar="QUERY", help='words, "phrases", -not, OR, filters on sessions and times'
    )
    limit(command, 10, "conversations")


def digests(args: argparse.Namespace, screen: Screen) -> int:
    """Exit code 0 also when nothing was found: that is an answer."""
    query = " ".join(args.query)
    with open_memory(args) as memory:
        found = memory.search_digests(query, limit=args.limit or memory.info().sessions)
    if screen.json:
        screen.object(
            "digests",
            {
                "query": query,
                "total": found.total,
                "undigested": found.undigested,
                "notes": list(found.notes),
                "digests": [digest_hit_object(each, found.terms) for each in found.hits],
            },
        )
        return 0
    for each in found.hits:
        _print_hit(each, found, screen)
    if not found.hits:
        screen.note("nothing found")
    elif len(found.hits) < found.total:
        screen.note(f"{len(found.hits):,} of {many(found.total, 'conversation')}; --limit 0 lists all")
    for note in (*found.notes, *filter(None, [undigested_note(found.undigested)])):
        screen.note(note)
    return 0


def _print_hit(hit: DigestHit, found: DigestsFound, screen: Screen) -> None:
    ending = hit.digest.ending
    screen.head(*session_head(hit.session, hit.digest.title))
    why = one_line(ending.why, _STATEMENT_CELLS)
    screen.line("  ", Styled(str(ending.outcome), COLOURS[str(ending.outcome)]), f"  {why}")
    for what, text, entry in words_told(hit.digest, found.terms)[:_STATEMENTS]:
        told = one_line(text, _STATEMENT_CELLS)
        screen.line(Styled(f"  {what}  ", "dim"), told, Styled(f"  {entry}", "cyan"), hang=4)
