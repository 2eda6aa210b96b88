"""Standard input and output, kept for the protocol alone, and the lines that arrive.

Claimed before anything heavy is imported: from then on what a library prints, warns about or writes from C
goes to stderr, and whoever reads standard input finds its end. A line that is too long is never held in
memory; its two ends are, because one of them has the id that its sender waits for.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NoReturn

from recollect.values.errors import UsageError

LINE_BYTES_MAX = 8 << 20
GLIMPSE_BYTES = 512
_READ_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Wire:
    """The descriptors that were standard input and output."""

    incoming: int
    outgoing: int


@dataclass(frozen=True, slots=True)
class Oversized:
    """What is known of a line that was too long to keep: its first bytes and its last."""

    head: bytes
    tail: bytes


def claim() -> Wire:
    """Take both from the rest of the process, which gets the null device and stderr in their place."""
    try:
        wire = Wire(os.dup(0), os.dup(1))
    except OSError as error:
        raise UsageError("standard input and output are closed", hint="an agent starts this") from error
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # started without stderr
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
    os.close(nowhere)
    return wire


def lines(
    read: Callable[[int], bytes], longest: int = LINE_BYTES_MAX, glimpse: int = GLIMPSE_BYTES
) -> Iterator[bytes | Oversized]:
    """Every line until `read` gives nothing, the last one also where no line break ends it."""
    held, head = bytearray(), b""
    while piece := read(_READ_BYTES):
        *ended, rest = piece.split(b"\n")
        for end in ended:
            held += end
            yield _line(held, head, longest, glimpse)
            held, head = bytearray(), b""
        held += rest
        if len(held) > longest:
            head = head or bytes(held[:glimpse])
            del held[:-glimpse]
    if held:
        yield _line(held, head, longest, glimpse)


def write(wire: Wire, data: bytes) -> None:
    """All of it; whoever stopped reading has no use for this process either."""
    left = memoryview(data)
    try:
        while left:
            left = left[os.write(wire.outgoing, left) :]
    except OSError:
        leave(0)


def leave(code: int) -> NoReturn:
    """End the process now, whatever its threads do: nothing they hold would be spoilt by a kill."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):
            continue
    os._exit(code)


def _line(held: bytearray, head: bytes, longest: int, glimpse: int) -> bytes | Oversized:
    if not head and len(held) <= longest:
        return bytes(held)
    return Oversized(head or bytes(held[:glimpse]), bytes(held[-glimpse:]))
