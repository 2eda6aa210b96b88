"""What an agent's client writes of its own accord, so that how a piece of work ended can be told."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class Signs:
    """Texts by how they begin, each in the place where its client puts it.

    `interrupted`: an event or context, the person stopped the agent. `refused`: a result, the person did not
    allow the call; `replied` stands in such a result before what the person said instead. `commanded`:
    an event, the person typed a command of the client. `trifles`: a result, the call was put wrongly and
    nothing was tried; `unread` stands in one, as the file to be changed had not been read. `failing` and
    `closing` are types of records: the agent could not go on (a limit, a login, a lost connection); the
    agent's turn is over. `around`: a line of a result that tells how a command ended, not what it printed;
    `before` stands on a line before what it printed.
    """

    interrupted: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    replied: tuple[str, ...] = ()
    commanded: tuple[str, ...] = ()
    trifles: tuple[str, ...] = ()
    failing: tuple[str, ...] = ()
    closing: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    around: tuple[str, ...] = ()
    before: tuple[str, ...] = ()


def signs_of(several: Iterable[Signs]) -> Signs:
    """Those of all agents: an entry does not say whose it is."""
    known = list(several)
    return Signs(
        *(tuple(sign for each in known for sign in getattr(each, field.name)) for field in fields(Signs))
    )
