"""`tail`: the end of a session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recollect.cli.open_memory import open_memory
from recollect.cli.transcript import is_wanted, say, session_line, transcript_lines
from recollect.cli.words import add_command, count, session_argument, transcript_options
from recollect.present.sessions import entry_object, session_object

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from recollect.cli.screen import Screen
    from recollect.memory import Memory
    from recollect.values.stored import Session, StoredEntry


def add_words(commands: Any) -> None:
    command = add_command(
        commands,
        "tail",
        "read the end of a session",
        "The last entries of a session, in the form `show` has.",
        ("recollect tail 3f2a9c01", "recollect tail 3f2a9c01 -n 5 --full", "recollect tail 3f2a9c01 --json"),
    )
    session_argument(command)
    command.add_argument(
        "-n", "--count", type=count, default=20, metavar="N", help="how many entries (default: 20)"
    )
    transcript_options(command)


def tail(args: argparse.Namespace, screen: Screen) -> int:
    """The last entries of a session."""
    wanted = is_wanted(args, screen)
    with open_memory(args) as memory, memory.view():
        session, _ = memory.find(args.session)
        found = _last(memory, session, args.count, wanted)
    if screen.json:
        entries = [entry_object(each) for each in found]
        screen.object("tail", {"session": session_object(session), "entries": entries})
        return 0
    say([session_line(session), *transcript_lines(session, found, args)], screen)
    return 0


def _last(
    memory: Memory, session: Session, count: int, wanted: Callable[[StoredEntry], bool] | None
) -> list[StoredEntry]:
    """The last `count` entries that are wanted; looks back further until there are enough."""
    if not count:
        return []
    reach = count
    while True:
        found = list(filter(wanted, memory.tail(session.facts.id, reach)))
        if len(found) >= count or reach >= session.entries:
            return found[-count:]
        reach = min(reach * 4, session.entries)
