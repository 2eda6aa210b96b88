"""The fleet: other machines of a person, whose agents' logs are taken in over ssh (docs/fleet.md).

Which machines those are stands in the config file, where a person reads and edits it; `add_host` and
`remove_host` change their own table there and nothing else.
"""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.config import config_path, load_config
from recollect.values.errors import SettingsRefused, StoreBusy, UsageError
from recollect.values.fleet import FleetHost, FleetSettings, HostState, checked_host, fleet_settings
from recollect.values.reports import Report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from recollect.agents.editing.toml_text import Toml
    from recollect.memory import Memory
    from recollect.store.contract import Store, Writer
    from recollect.values.reports import Progress

_TABLE = "fleet"


@dataclass(frozen=True, slots=True)
class HostReport:
    """What a sync did with one host: how it stands now, and what was taken."""

    host: FleetHost
    state: HostState
    report: Report


@dataclass(frozen=True, slots=True)
class HostStanding:
    """A host as `fleet status` tells it; `sources` and `sessions` are those that the store has of it."""

    host: FleetHost
    state: HostState
    sources: int
    sessions: int


class Fleet:
    """What is done with the fleet of a memory: `Memory.fleet`."""

    def __init__(self, memory: Memory, store: Store) -> None:
        self._memory, self._store = memory, store

    @property
    def settings(self) -> FleetSettings:
        """The hosts, and how they are visited."""
        settings = fleet_settings(self._memory.config.fleet)
        for host in settings.hosts:
            _refuse_this_host(host.name, self._memory.config.host)
        return settings

    def sync(
        self, names: Sequence[str] = (), *, progress: Progress | None = None, timeout: float = 60.0
    ) -> list[HostReport]:
        """Take everything new from all hosts, or from those of these names; many at once.

        What is wrong with a host is told of it (`HostState.trouble`) and raises nothing. `timeout`: seconds
        to wait for another process that is writing.
        """
        from recollect.intake.fleet.sync import Sync

        settings = self.settings
        hosts = [settings.host(name) for name in dict.fromkeys(names)] if names else settings.hosts
        if not hosts:
            raise UsageError("there is no host in the fleet", hint="recollect fleet add HOST")
        if os.name == "nt":
            raise UsageError("`fleet sync` does not run on Windows", hint="run it on another of the machines")

        @contextmanager
        def writer() -> Iterator[Writer]:
            with self._store.writer(timeout=timeout) as opened:
                yield opened

        with self._alone():
            sync = Sync(
                self._store,
                settings,
                self._memory.config.fleet_folder,
                writer=writer,
                environ=os.environ,
                progress=progress,
            )
            done = sync.run(hosts)
        return [
            HostReport(visit.host, state, visit.visited.report if visit.visited else Report())
            for state, visit in done
        ]

    def status(self) -> list[HostStanding]:
        """How every host stood when it was last visited; asks none of them."""
        from recollect.intake.fleet.kept import HostFolder

        hosts = self.settings.hosts
        if not hosts:
            return []
        with self._store.view() as view:
            sources = [each.host for each in view.sources() if not each.superseded]
            sessions = [each.host for each in view.sessions()]
        below = self._memory.config.fleet_folder
        return [
            HostStanding(
                host,
                HostFolder(below, host.name).read().state,
                sources.count(host.name),
                sessions.count(host.name),
            )
            for host in hosts
        ]

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Two syncs would fetch the same, and take it in turns."""
        from recollect.intake.watch import alone

        began = time.monotonic()
        with alone(self._memory.config.fleet_folder / "lock") as only:
            if not only:
                seconds = time.monotonic() - began
                raise StoreBusy(self._memory.name, seconds, "another process has been syncing the fleet")
            yield


def fleet_of(store: str | None) -> FleetSettings:
    """The fleet as the config file has it; `store` is what the command line said."""
    return fleet_settings(load_config(store).fleet)


def add_host(name: str, address: str = "", *, own: bool | None = None) -> tuple[FleetHost, Path]:
    """Put a host into the config file, or change what is said of it; gives it and that file.

    `own`: whether its logs count as this person's own; None leaves that as it is, at first they do not.
    """
    config = load_config()
    before = {host.name: host for host in fleet_settings(config.fleet).hosts}.get(name)
    host = checked_host(name, address or (before.address if before else ""))
    host = replace(host, own=own if own is not None else before is not None and before.own)
    _refuse_this_host(name, config.host)
    _edit(lambda toml: toml.put_table((_TABLE, name), {"address": host.address, "own": host.own}))
    return host, config_path()


def remove_host(name: str) -> tuple[FleetHost, Path]:
    """Take a host out of the config file, and what is kept to visit it; what was taken from it stays."""
    from recollect.intake.fleet.kept import HostFolder

    config = load_config()
    host = fleet_settings(config.fleet).host(name)
    _edit(lambda toml: toml.drop_table((_TABLE, name)))
    HostFolder(config.fleet_folder, name).forget()
    return host, config_path()


def _edit(edit: Callable[[Toml], Toml]) -> None:
    from recollect.agents.editing.change import Change, read_settings
    from recollect.agents.editing.toml_text import Toml

    path = config_path()
    before = read_settings(path)
    try:
        after = edit(Toml.parse(path, before))
        # `undo`: no backup stays beside a file that is ours anyway.
        Change(path, before, after.data, undo=True).apply()
    except SettingsRefused as error:
        why = str(error).partition(": ")[2] or str(error)
        hint = "write the table [fleet.NAME] there by hand, as docs/fleet.md shows it"
        raise SettingsRefused(path, why, hint=hint) from error


def _refuse_this_host(name: str, here: str) -> None:
    """A source is known by host and path: two machines under one name would be one."""
    if name == here:
        raise UsageError(
            f"this machine itself is called {name!r} in the store",
            hint=f"give the other one another name: recollect fleet add {name}-2 --address {name}",
        )
