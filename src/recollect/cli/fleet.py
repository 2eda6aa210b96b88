"""`fleet`: the logs of other machines, over ssh; which machines those are, and how each stands."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.cli.columns import TITLE, Column
from recollect.cli.open_memory import open_memory
from recollect.cli.screen import Part, Screen, Styled
from recollect.cli.words import add_command
from recollect.config import load_config
from recollect.light.processes import command_words
from recollect.memory import Memory
from recollect.memory.fleet import add_host, fleet_of, remove_host
from recollect.present.fleet import (
    host_object,
    host_report_object,
    host_standing_object,
    next_deleted_text,
    state_word,
    trouble_lines,
)
from recollect.values.errors import UsageError
from recollect.values.text import age, many, one_line, size

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from recollect.memory.fleet import HostReport, HostStanding


def add_words(commands: Any) -> None:
    command = add_command(
        commands,
        "fleet",
        "the logs of other machines, over ssh: add, sync, status",
        "Takes in what your agents wrote on other machines, with the system's ssh and your own keys and "
        "settings; nothing is installed there. Only what is new travels. Actions: list; add NAME; remove "
        "NAME (what was taken stays); sync [NAME ...]; status; install-service writes an hourly timer for "
        "systemd or launchd and says how to start it, remove-service takes it out. A machine's key must be "
        "known and its login must need no question: `ssh -o BatchMode=yes NAME true`. Its conversations are "
        "searched like all others and marked as imported, unless you say --own.",
        (
            "recollect fleet add nas --address ada@192.0.2.7 --own",
            "recollect fleet sync",
            "recollect fleet install-service",
        ),
    )
    command.add_argument("words", nargs="*", metavar="WORD", help="an action, and names of hosts")
    command.add_argument("--address", default="", metavar="A", help="add: what ssh is given, if not the name")
    own = command.add_mutually_exclusive_group()
    own.add_argument(
        "--own", action="store_true", default=None, help="add: its logs count as your own, as those here do"
    )
    own.add_argument(
        "--not-own", dest="own", action="store_false", help="add: they do not (so it is unless you say --own)"
    )
    command.add_argument(
        "--no-index", action="store_true", help="sync: do not make it searchable now; a search will"
    )


def fleet(args: argparse.Namespace, screen: Screen) -> int:
    """Without words the status, else what the first word says."""
    action, names = (args.words[0], args.words[1:]) if args.words else ("status", [])
    if action not in _ACTIONS:
        raise UsageError(f"fleet has no action {action!r}", hint="actions: " + ", ".join(_ACTIONS))
    act, fewest, most = _ACTIONS[action]
    if not fewest <= len(names) <= most:
        wanted = "a name" if fewest else "no names"
        raise UsageError(f"fleet {action} takes {wanted}, not {len(names)}", hint="recollect fleet --help")
    return act(args, names, screen)


def _list(args: argparse.Namespace, names: list[str], screen: Screen) -> int:
    hosts = fleet_of(args.store).hosts
    if screen.json:
        screen.object("fleet", {"hosts": [host_object(each) for each in hosts]})
        return 0
    if not hosts:
        screen.note("no hosts yet: recollect fleet add HOST")
        return 0
    columns = [Column("host"), Column("address", gives=TITLE), Column("logs")]
    screen.table(
        columns,
        [[Styled(each.name, "cyan"), each.address, "own" if each.own else "imported"] for each in hosts],
    )
    return 0


def _add(args: argparse.Namespace, names: list[str], screen: Screen) -> int:
    host, path = add_host(names[0], args.address, own=args.own)
    if screen.json:
        screen.object("fleet-host", {"host": host_object(host), "config": str(path), "changed": "added"})
        return 0
    whose = "count as your own" if host.own else "are marked as imported (--own if they are yours)"
    screen.line(f"{host.name} ({host.address}) is in the fleet; its conversations {whose}")
    screen.note(f"it stands in {path}; next: recollect fleet sync {host.name}")
    return 0


def _remove(args: argparse.Namespace, names: list[str], screen: Screen) -> int:
    host, path = remove_host(names[0])
    if screen.json:
        screen.object("fleet-host", {"host": host_object(host), "config": str(path), "changed": "removed"})
        return 0
    screen.line(f"{host.name} is not visited any more; what was taken from it stays")
    return 0


def _sync(args: argparse.Namespace, names: list[str], screen: Screen) -> int:
    """Exit code 8 when a host, or something of one, could not be had; the others are safe."""
    from recollect.cli.index import catch_up, exit_code
    from recollect.cli.ingest import report_stop
    from recollect.cli.progress import Progress
    from recollect.present.hits import fresh_object

    began = time.monotonic()
    with open_memory(args, create=True) as memory:
        progress = Progress(screen, "visiting hosts")
        try:
            with progress.running():
                done = memory.fleet.sync(names, progress=progress)
            seconds = time.monotonic() - began
            fresh = None if args.no_index else catch_up(memory, screen)
        except KeyboardInterrupt:
            return report_stop(memory, screen)
    now_ms = time.time_ns() // 1_000_000
    if screen.json:
        told = [host_report_object(each, now_ms) for each in done]
        screen.object(
            "fleet-sync",
            {"seconds": round(seconds, 3), "hosts": told, "fresh": fresh and fresh_object(fresh)},
        )
    else:
        _print_done(done, seconds, screen)
    incomplete = any(each.state.trouble or each.state.failed for each in done)
    return 8 if incomplete else exit_code(fresh) if fresh is not None else 0


def _print_done(done: list[HostReport], seconds: float, screen: Screen) -> None:
    columns = [
        Column("host"),
        Column("state"),
        Column("new lines", right=True),
        Column("sources", right=True, drops=2),
        Column("received", right=True, drops=1),
    ]
    screen.table(columns, [_done_row(each) for each in done])
    for each in done:
        if each.state.trouble:
            screen.line(Styled(each.host.name, "bold red"), f": {one_line(each.state.trouble)}")
            if each.state.hint:
                screen.line("    ", one_line(each.state.hint))
        for path, why in each.state.failed.items():
            screen.line(f"    {each.host.name}: {path}: {why}")
    lines = sum(each.report.taken for each in done)
    screen.note(f"{many(lines, 'new line')} from {many(len(done), 'host')} in {seconds:.1f} s")


def _done_row(done: HostReport) -> list[Part]:
    state = done.state
    return [
        Styled(done.host.name, "cyan"),
        Styled(state_word(state), "red" if state.kind else ""),
        f"{done.report.taken:,}",
        f"{state.sources:,}",
        size(state.received),
    ]


def _status(args: argparse.Namespace, names: list[str], screen: Screen) -> int:
    config = load_config(args.store)
    if not Memory.exists(config):
        if fleet_of(args.store).hosts:
            screen.note("nothing was synced yet: recollect fleet sync")
        return _list(args, names, screen)
    with open_memory(args) as memory:
        standings = memory.fleet.status()
    now_ms = time.time_ns() // 1_000_000
    if screen.json:
        screen.object("fleet-status", {"hosts": [host_standing_object(each, now_ms) for each in standings]})
        return 0
    if not standings:
        screen.note("no hosts yet: recollect fleet add HOST")
        return 0
    columns = [
        Column("host"),
        Column("state"),
        Column("synced", right=True),
        Column("newest log", right=True, drops=2),
        Column("sessions", right=True),
        Column("sources", right=True, drops=3),
        Column("size there", right=True, drops=4),
        Column("logs", drops=5),
        Column("gone there", right=True, drops=1),
    ]
    screen.table(columns, [_status_row(each, now_ms) for each in standings])
    for line in trouble_lines(standings):
        screen.line(line)
    going = [(each.host.name, each.state.doomed) for each in standings if each.state.doomed is not None]
    for name, doomed in sorted(going, key=lambda each: each[1].modified_ms + each[1].days * 86_400_000):
        screen.line(Styled("At risk ", "yellow"), next_deleted_text(name, doomed, now_ms))
    return 0


def _status_row(standing: HostStanding, now_ms: int) -> list[Part]:
    state = standing.state
    return [
        Styled(standing.host.name, "cyan"),
        Styled(state_word(state), "red" if state.kind else ""),
        Styled(age(state.synced_ms, now_ms=now_ms) if state.synced_ms else "never", "dim"),
        age(state.newest_ms, now_ms=now_ms) if state.newest_ms else "",
        f"{standing.sessions:,}",
        f"{standing.sources:,}",
        size(state.bytes),
        "own" if standing.host.own else "imported",
        f"{state.gone:,}" if state.gone else "",
    ]


def _install(args: argparse.Namespace, names: list[str], screen: Screen) -> int:
    return _service(args, screen, remove=False)


def _uninstall(args: argparse.Namespace, names: list[str], screen: Screen) -> int:
    return _service(args, screen, remove=True)


def _service(args: argparse.Namespace, screen: Screen, *, remove: bool) -> int:
    """Write or remove the files that let the system sync every hour; starting that is left to the person."""
    from recollect.setup import service
    from recollect.setup.timer import timer

    config = load_config(args.store)
    command = command_words("--store", config.url, "--quiet", "fleet", "sync")
    wanted = timer(sys.platform, Path.home(), os.environ, command)
    changed = [service.remove(each) if remove else service.install(each) for each in wanted]
    run = wanted[-1].end if remove else wanted[-1].start
    if screen.json:
        files = [
            {"path": str(each.path), "text": "" if remove else each.content.decode("utf-8", "replace")}
            for each in wanted
        ]
        told = {"files": files, "installed": not remove, "changed": any(changed), "command": run}
        screen.object("fleet-service", told)
        return 0
    for each, has_changed in zip(wanted, changed, strict=True):
        if remove:
            screen.line(f"removed {each.path}" if has_changed else f"{each.path}: not there")
        else:
            screen.line(f"{'written' if has_changed else 'already there'}: {each.path}")
            screen.line(each.content.decode("utf-8", "replace").rstrip("\n"))
    screen.note(f"{'end it, if it runs' if remove else 'start it'}: {run}")
    return 0


_HOSTS_MAX = 10_000
# What each action does, and how many names it takes at least and at most.
_ACTIONS: dict[str, tuple[Callable[[argparse.Namespace, list[str], Screen], int], int, int]] = {
    "list": (_list, 0, 0),
    "add": (_add, 1, 1),
    "remove": (_remove, 1, 1),
    "sync": (_sync, 0, _HOSTS_MAX),
    "status": (_status, 0, 0),
    "install-service": (_install, 0, 0),
    "remove-service": (_uninstall, 0, 0),
}
