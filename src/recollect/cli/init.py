"""`init`: the guided pass. Finds the agents, takes in their past, offers to put Recollect into each.

Every change is shown before it is made, and nothing of it happens without a yes: from a
person at a terminal, or by --yes. Done twice, the second time finds nothing to change.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from recollect.cli.hook import (
    agent_object,
    chosen_agents,
    done_object,
    note_failure,
    print_done,
    report_failures,
)
from recollect.cli.ingest import ingest
from recollect.cli.open_memory import check_store, open_memory
from recollect.cli.screen import Screen, Styled, is_terminal
from recollect.cli.words import add_command, agents_option
from recollect.config import Config, load_config
from recollect.light.missed import note_installed, note_removed
from recollect.memory import Memory
from recollect.memory.machine import by_hooks, carry_out, log_folders
from recollect.present.agents import enumeration
from recollect.values.errors import RecollectError, UsageError
from recollect.values.settings import FileChange, Settings
from recollect.values.text import one_line

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence


def add_words(commands: Any) -> None:
    command = add_command(
        commands,
        "init",
        "set everything up: past logs, hooks, the MCP server",
        "One pass that can be repeated: takes in the past logs of the agents on this machine, then "
        "offers to put the hook and the MCP server into each agent's settings, showing the exact change "
        "first. From then on every conversation is captured as it happens, and each new one knows what "
        "went before. --remove takes out exactly what was put in and keeps the store.",
        ("recollect init", "recollect init --dry-run", "recollect init --remove --yes"),
    )
    command.add_argument("--yes", action="store_true", help="make the changes without asking")
    command.add_argument("--dry-run", action="store_true", help="show every change, make none")
    command.add_argument("--remove", action="store_true", help="take out what was put in; the store stays")
    agents_option(command)
    command.add_argument("--no-hooks", action="store_true", help="leave the hooks out")
    command.add_argument("--no-mcp", action="store_true", help="leave the MCP server out")
    command.add_argument("--no-ingest", action="store_true", help="do not take in past logs now")


_COLORS = {"+": "green", "-": "red", "@": "dim"}


def init(args: argparse.Namespace, screen: Screen) -> int:
    """Exit code: the first failure's; an agent that fails does not stop the others."""
    check_store(args.store)
    config = load_config(args.store)
    offers = [_offer(agent, args) for agent in chosen_agents(args, config)]
    _print_found(offers, screen)
    _may_go_on(offers, args, screen)
    code, swept = _sweep(args, screen)
    if code == 130:
        return code
    for offer in offers:
        _settle(offer, args, screen)
    if not args.dry_run:
        _note(offers, config)
    catalogs = _catalogs(config, args)
    if screen.json:
        screen.object(
            "init",
            {
                "dry_run": args.dry_run,
                "remove": args.remove,
                "store": str(config.store),
                "agents": [offer.told for offer in offers],
                "ingest": swept,
                "catalogs": catalogs,
            },
        )
    elif not args.dry_run:
        _print_next(offers, args, screen)
    return report_failures([offer.error for offer in offers if offer.error], screen) or code


def _note(offers: list[_Offer], config: Config) -> None:
    """Let looks know which agents have hooks now, and which have none any more."""
    states = {offer.agent.name: offer.agent.state() for offer in offers if offer.error is None}
    if hooked := [name for name, state in states.items() if state.hooks]:
        note_installed(str(config.state), hooked, project=False)
    if bare := [name for name, state in states.items() if not state.hooks]:
        note_removed(str(config.state), bare)


@dataclass(slots=True)
class _Offer:
    """What is to be done with one agent, and what became of it."""

    agent: Settings
    told: dict[str, Any]
    changes: Sequence[FileChange]
    error: RecollectError | None = None

    def refuse(self, error: RecollectError) -> None:
        self.changes, self.error = [], error
        note_failure(self.told, error)


def _offer(agent: Settings, args: argparse.Namespace) -> _Offer:
    told = {**agent_object(agent), "version": agent.version(), "changes": [], "problems": []}
    offer = _Offer(agent, told, [])
    try:
        offer.changes = _plan(agent, args)
    except RecollectError as error:
        offer.refuse(error)
    offer.told["changes"] = [{"path": str(change.path), "diff": change.diff()} for change in offer.changes]
    return offer


def _plan(agent: Settings, args: argparse.Namespace) -> Sequence[FileChange]:
    if args.remove:
        return agent.removal(project=False)
    return agent.changes(hooks=not args.no_hooks, mcp=not args.no_mcp, project=False)


def _may_go_on(offers: list[_Offer], args: argparse.Namespace, screen: Screen) -> None:
    """Where no one can say yes, show what would be done, and stop before anything is."""
    if args.yes or args.dry_run or not any(offer.changes for offer in offers):
        return
    if screen.is_terminal and is_terminal(sys.stdin):
        return
    for offer in offers:
        _print_changes(offer, screen)
    raise UsageError(
        "nothing was changed: there is no terminal to ask on",
        hint="look with --dry-run, then run it again with --yes",
    )


def _settle(offer: _Offer, args: argparse.Namespace, screen: Screen) -> None:
    """Show, ask and do what is to be done with one agent."""
    _print_changes(offer, screen)
    if args.dry_run or offer.error:
        return
    if offer.changes and not args.yes and not _has_consent(offer.agent, remove=args.remove):
        screen.line(Styled(offer.agent.title, "bold"), ": left as it is")
        return
    try:
        # Read once more: minutes may have passed since the plan was made.
        done = carry_out(lambda: _plan(offer.agent, args))
        offer.told["changed"] = [done_object(change, backup) for change, backup in done]
        offer.told["problems"] = list(offer.agent.state().problems)
    except RecollectError as error:
        offer.refuse(error)
    if not screen.json:
        print_done(offer.told, screen)


def _has_consent(agent: Settings, *, remove: bool) -> bool:
    asked = f"Take Recollect out of {agent.title}?" if remove else f"Put this into {agent.title}'s settings?"
    try:
        return input(f"{asked} [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        return False


# -- the past ------------------------------------------------------------------------------


class _KeepingScreen(Screen):
    """Keeps the object of a command that is a part of another one."""

    fields: Mapping[str, Any] | None = None

    def object(self, command: str, fields: Mapping[str, Any]) -> None:
        self._begun = True
        self.fields = fields


def _sweep(args: argparse.Namespace, screen: Screen) -> tuple[int, Mapping[str, Any] | None]:
    """Take in what the agents' logs hold; with the exit code and the object of `ingest`."""
    args.paths, args.no_index = _folders(args.agent or ()), False
    if args.remove or args.no_ingest or (args.agent and not args.paths):
        return 0, None
    if not screen.json:
        return ingest(args, screen), None
    kept = _KeepingScreen(json=True, color=False, quiet=screen.quiet)
    code = ingest(args, kept)
    if code == 130 and kept.fields is not None:
        screen.object("error", kept.fields)
    return code, kept.fields


def _folders(names: Sequence[str]) -> list[str]:
    """Where the logs of the agents that were named are; nowhere in particular if none was."""
    return [str(folder) for folder in log_folders(names) if folder.is_dir()] if names else []


def _catalogs(config: Config, args: argparse.Namespace) -> int | None:
    """Make ready what the next conversation of each project is told; hooks go on from where this got to."""
    if args.dry_run or args.remove or args.no_hooks or not Memory.exists(config):
        return None
    from recollect.hooks.settle import follow_stored, refresh_catalogs

    with open_memory(args) as memory:
        made = refresh_catalogs(memory)
        follow_stored(memory)
    return made


# -- what is told --------------------------------------------------------------------------


def _print_found(offers: list[_Offer], screen: Screen) -> None:
    if not screen.json:
        names = [f"{offer.agent.title} {offer.told['version']}".strip() for offer in offers]
        screen.line(Styled("Found", "bold"), one_line(f": {', '.join(names)}"))


def _print_changes(offer: _Offer, screen: Screen) -> None:
    if screen.json:
        return
    for change in offer.told["changes"]:
        for line in change["diff"].splitlines():
            screen.line(Styled(line, _COLORS.get(line[:1], "")))


def _print_next(offers: list[_Offer], args: argparse.Namespace, screen: Screen) -> None:
    if args.remove:
        screen.note("what was captured stays in the store; `recollect init` puts everything back")
        return
    if not any(offer.told["changed"] for offer in offers):
        return
    hooked, bare = by_hooks([offer.agent for offer in offers])
    if hooked and not args.no_hooks:
        screen.note("from the next conversation on: it is captured as it happens, and begins with a short")
        screen.note("catalog of what is known (`recollect catalog`)")
    if bare:
        titles = enumeration([agent.title for agent in bare])
        screen.note(f"no hooks in {titles}: `recollect watch` takes those conversations as they happen")
    if not args.no_mcp:
        screen.note('an agent can ask for what was said before: tell it "search your memory for ..."')
    screen.note("look: recollect hook status | undo: recollect init --remove")
