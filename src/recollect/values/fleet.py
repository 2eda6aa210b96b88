"""Machines whose logs are taken in over ssh: how they are named, what is set for them, how each stands."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from recollect.values.errors import UsageError

AT_ONCE = 16
PATIENCE_SECONDS = 120.0

# A name is a part of a file's name and of a table in the settings; what ssh is given begins with no minus.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_ADDRESS = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9._-]{0,63}@)?[A-Za-z0-9:][A-Za-z0-9._:%-]{0,252}")


@dataclass(frozen=True, slots=True)
class FleetHost:
    """A machine of the fleet. `address` is what ssh is given; `own`: its logs count as this person's own."""

    name: str
    address: str
    own: bool = False
    patience_seconds: float = 0.0  # 0: as for all of them


@dataclass(frozen=True, slots=True)
class FleetSettings:
    """The whole fleet, and how it is visited.

    `at_once`: hosts that are talked to at the same time. `patience_seconds`: without a byte from a host
    before it is given up. `ssh_config`: a file that ssh is to read instead of the person's own.
    """

    hosts: tuple[FleetHost, ...] = ()
    at_once: int = AT_ONCE
    patience_seconds: float = PATIENCE_SECONDS
    ssh_config: str = ""

    def host(self, name: str) -> FleetHost:
        for each in self.hosts:
            if each.name == name:
                return each
        known = ", ".join(each.name for each in self.hosts)
        raise UsageError(
            f"no host of the fleet is called {name!r}",
            hint=f"there are: {known}" if known else f"recollect fleet add {name}",
        )


@dataclass(frozen=True, slots=True)
class HostDoomed:
    """What a host's agent deletes next: a log, when that last changed, and how many days later it goes."""

    agent: str
    path: str
    session: str
    modified_ms: int
    days: int


@dataclass(frozen=True, slots=True)
class HostState:
    """How a host stood when it was last visited.

    `synced_ms`: when everything it had was last in the store; `tried_ms`: when it was last asked. `bytes` is
    the size of its sources there, `received` what came over the wire the last time and `taken` what that was
    parsed. `newest_ms`: when the newest of its logs changed. `gone` files are in the store and not there any
    more. `trouble` and `hint` say why the last visit was not a whole one; `failed` sources could not be had.
    """

    name: str
    synced_ms: int = 0
    tried_ms: int = 0
    system: str = ""
    sources: int = 0
    bytes: int = 0
    received: int = 0
    taken: int = 0
    newest_ms: int = 0
    gone: int = 0
    kind: str = ""
    trouble: str = ""
    hint: str = ""
    failed: Mapping[str, str] = field(default_factory=dict)
    doomed: HostDoomed | None = None
    soon: int = 0


def fleet_settings(told: Any) -> FleetSettings:
    """What the config file says in `[fleet]`; a table in it is a host, everything else a setting."""
    if not isinstance(told, Mapping):
        raise UsageError("[fleet] in the config file is no table", hint="docs/fleet.md shows one")
    hosts = [_host(name, table) for name, table in told.items() if isinstance(table, Mapping)]
    at_once = told.get("at_once", AT_ONCE)
    if type(at_once) is not int or not 1 <= at_once <= 256:
        raise UsageError("[fleet] at_once is no number from 1 to 256", hint="correct it in the config file")
    patience = _patience(told) or PATIENCE_SECONDS
    return FleetSettings(tuple(hosts), at_once, patience, str(told.get("ssh_config", "")))


def checked_host(name: str, address: str = "", *, own: bool = False) -> FleetHost:
    """A host by these words, refused where one of them could be anything else."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} cannot be the name of a host",
            hint="letters, digits, dots, dashes and underscores, the first of them a letter or digit; "
            "another name for an address: recollect fleet add build-7 --address ada@192.0.2.7",
        )
    if not _ADDRESS.fullmatch(address or name):
        raise UsageError(
            f"{address!r} is nothing that ssh is given as an address",
            hint="HOST or USER@HOST; a port, a key or a jump host belongs into ~/.ssh/config",
        )
    return FleetHost(name, address or name, own)


def _host(name: str, table: Mapping[str, Any]) -> FleetHost:
    host = checked_host(str(name), str(table.get("address", "")), own=table.get("own") is True)
    return replace(host, patience_seconds=_patience(table))


def _patience(told: Mapping[str, Any]) -> float:
    """For how long a host may be silent; 0 where nothing is said."""
    patience = told.get("patience_seconds", 0)
    if type(patience) not in (int, float) or not 0 <= patience <= 86_400:
        hint = "correct it in the config file"
        raise UsageError("[fleet] patience_seconds is no number of seconds", hint=hint)
    return float(patience)
