"""One visit to one host: what it is, what it has, what of that is new; in a thread of its own.

The store is another thread's: what came is handed over (`Desk`), and the visit goes on when it is taken.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Protocol

from recollect.agents.registry import agents
from recollect.intake.fleet.answers import Hello, Listing, coded, is_whole_path, read_hello, read_listing
from recollect.intake.fleet.channel import Channel, HostTrouble, ssh_words
from recollect.intake.fleet.cksum import Cksum
from recollect.intake.fleet.kept import HostFolder, Kept
from recollect.intake.fleet.load import Load, receive
from recollect.intake.fleet.plan import Plan, Wanted, told_files
from recollect.intake.fleet.take import Visited, put_told
from recollect.intake.fleet.wire import BadAnswer, CutOff
from recollect.values.erasures import Erased
from recollect.values.fleet import FleetHost, FleetSettings
from recollect.values.stored import Source

TOTAL_BYTES_MAX = 256 << 30  # that one visit takes from a host
_END = "printf 'END\\000'"


class Desk(Protocol):
    """Where what came is handed over: asked from many threads, answers when it is done."""

    def sources(self, host: str) -> Iterable[Source]:
        """What the store has of a host."""
        ...

    def summed(self, source: Source) -> Cksum:
        """The checksum of what was taken of a source."""
        ...

    @property
    def erased(self) -> Erased:
        """What is not to come back."""
        ...

    def take(self, visited: Visited, load: Load) -> None: ...

    def expect(self, count: int) -> None:
        """Be told of bytes that will come."""
        ...

    def moved(self, count: int) -> None:
        """Be told of bytes that came."""
        ...


@dataclass(slots=True)
class Visit:
    """What came of one: `trouble` is why it was not a whole one."""

    host: FleetHost
    hello: Hello | None = None
    listing: Listing | None = None
    visited: Visited | None = None
    received: int = 0
    unpacked: int = 0
    trouble: HostTrouble | None = None
    failed: dict[str, str] = field(default_factory=dict)


def visit(
    host: FleetHost,
    settings: FleetSettings,
    folder: HostFolder,
    kept: Kept,
    desk: Desk,
    *,
    ssh: str,
    environ: Mapping[str, str],
    stop: threading.Event,
) -> Visit:
    """Take what is new on a host, as far as it goes."""
    made = Visit(host)

    def opened(*, packed: bool) -> Channel:
        words = ssh_words(ssh, host, config=settings.ssh_config, packed=packed)
        return Channel(words, environ, patience=host.patience_seconds or settings.patience_seconds, stop=stop)

    folder.begin()
    channel = opened(packed=kept.packed)
    try:
        made.hello, has_gzip = _greet(channel)
        if not has_gzip and not kept.packed:  # ssh can do it, if it is told before
            channel.close()
            kept.packed, channel = True, opened(packed=True)
            made.hello, has_gzip = _greet(channel)
        kept.packed = not has_gzip
        _go_through(channel, made, folder, kept, desk)
    except (BadAnswer, CutOff) as error:
        made.trouble = channel.trouble(error)
    except HostTrouble as error:
        made.trouble = error
    finally:
        made.received, made.unpacked = channel.wire.received, channel.wire.unpacked
        channel.close()
        folder.empty()
    return made


def _greet(channel: Channel) -> tuple[Hello, bool]:
    """What a host says of itself, and whether it can pack."""
    channel.send(_script())
    names = sorted({name for agent in agents() for name in agent.moved_by})
    wire = channel.ask(f"hello {' '.join(names)}\n{_END}")
    hello, has_gzip = read_hello(wire), wire.is_packed
    wire.finish()
    if hello.lacks:
        raise HostTrouble(
            "tools", f"it has no {', '.join(hello.lacks)}", "install it there; POSIX tools will do"
        )
    return hello, has_gzip


def _go_through(channel: Channel, made: Visit, folder: HostFolder, kept: Kept, desk: Desk) -> None:
    assert made.hello is not None
    made.listing = _listed(channel, made.hello)
    told = list(told_files(made.listing, kept.told))
    for path in set(kept.told) - {name.decode("utf-8", "surrogateescape") for name in made.listing.told}:
        folder.put_beside(path, None)
        del kept.told[path]
    host = made.host

    def moved(count: int) -> None:
        if channel.wire.unpacked > TOTAL_BYTES_MAX:
            raise BadAnswer(f"more than {TOTAL_BYTES_MAX >> 30} GiB")
        desk.moved(count)

    if told:
        load = _fetched(channel, told, folder, moved)
        put_told(folder, kept, load)
        _raise(load)
    plan = Plan(
        made.listing,
        desk.sources(host.name),
        kept,
        host=host.name,
        erased=desk.erased,
        names=folder.names,
        summed=desk.summed,
    )
    made.visited, made.failed = Visited(host, folder, kept, plan), plan.failed
    for wanted in plan.rounds():
        desk.expect(sum(each.size for each in wanted))
        load = _fetched(channel, wanted, folder, moved)
        desk.take(made.visited, load)
        _raise(load)
        folder.empty_spool()


def _fetched(
    channel: Channel, wanted: list[Wanted], folder: HostFolder, moved: Callable[[int], None]
) -> Load:
    calls = "\n".join(each.call(number) for number, each in enumerate(wanted))
    return receive(channel.ask(f"{calls}\nprintf 'END\\n'"), wanted, folder.spool, moved)


def _raise(load: Load) -> None:
    if load.trouble is not None:
        raise load.trouble


def _listed(channel: Channel, hello: Hello) -> Listing:
    roots = " ".join(f"'{coded(root)}'" for root in _paths(log_roots(hello)))
    tells = " ".join(f"'{coded(path)}'" for path in _paths(telling_files(hello)))
    wire = channel.ask(f"roots {roots}\ntold {tells}\n{_END}")
    listing = read_listing(wire)
    wire.finish()
    return listing


def log_roots(hello: Hello) -> Iterator[PurePosixPath]:
    """Where every agent keeps its logs on a host: where it has them by default, and where it was told to."""
    home = PurePosixPath(hello.home)
    for agent in agents():
        for told in ({}, hello.variables):
            yield from (PurePosixPath(root) for root in agent.roots(home, told))


def telling_files(hello: Hello) -> Iterator[PurePosixPath]:
    """The files of every agent on a host that say something about its logs."""
    home = PurePosixPath(hello.home)
    for agent in agents():
        yield from (PurePosixPath(path) for path in agent.tells(home, hello.variables))


def _paths(found: Iterable[PurePosixPath]) -> list[bytes]:
    """Each once, as bytes; what is no whole path is none."""
    names = [str(path).encode("utf-8", "surrogateescape") for path in found]
    return [name for name in dict.fromkeys(names) if is_whole_path(name)]


def _script() -> str:
    return Path(__file__).with_name("remote.sh").read_text("ascii")
