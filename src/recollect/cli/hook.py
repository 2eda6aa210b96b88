"""`hook`: puts the hooks into agents' settings or into a plugin, takes them out, and says how they are."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.cli.hook_status import captured_object, print_captured
from recollect.cli.screen import Screen, Styled
from recollect.cli.words import add_command, agents_option
from recollect.config import Config, load_config
from recollect.hooks.command import hook_command, mcp_command
from recollect.light.missed import note_installed, note_removed
from recollect.memory.machine import agent_plugin, carry_out, write_plugin
from recollect.present.agents import names
from recollect.values.errors import RecollectError
from recollect.values.settings import FileChange, Installed, Plugin, Settings
from recollect.values.text import one_line

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

ACTIONS = ("install", "remove", "status", "plugin")


def add_words(commands: Any) -> None:
    command = add_command(
        commands,
        "hook",
        "install, remove or look at the hooks alone",
        "A hook appends what is new in a conversation to the store's journal at each of its events, in "
        "milliseconds, and never stops the agent. `status` says where it is installed, what it captured "
        "last and what went wrong last. `plugin` writes hooks, server and a skill into a folder that "
        f"{' and '.join(names('plugin'))} can install as a plugin.",
        (
            "recollect hook status",
            f"recollect hook install --agent {names('settings')[0]}",
            "recollect hook remove --project",
        ),
    )
    command.add_argument("action", choices=ACTIONS, metavar="ACTION", help=", ".join(ACTIONS))
    agents_option(command)
    command.add_argument(
        "--project", action="store_true", help="in the settings of the current folder, not in your own"
    )


def hook(args: argparse.Namespace, screen: Screen) -> int:
    """Install, remove or status. An agent that fails does not stop the others; the exit code tells."""
    config = load_config(args.store)
    if args.action == "plugin":
        return _plugin(config, screen)
    picked = chosen_agents(args, config)
    if args.action == "status":
        return _status(picked, config, screen)
    done = [_carried_out(agent, args) for agent in picked]
    changed = [told["name"] for told, error in done if error is None]
    if args.action == "install" and changed:
        note_installed(str(config.state), changed, project=args.project)
    elif args.action == "remove" and not args.project:
        note_removed(str(config.state), changed)
    if screen.json:
        screen.object("hook", {"action": args.action, "agents": [told for told, _ in done]})
    else:
        for told, _ in done:
            print_done(told, screen)
    return report_failures([error for _, error in done if error], screen)


def chosen_agents(args: argparse.Namespace, config: Config) -> list[Settings]:
    """The agents a command names, or those on this machine."""
    from recollect.setup.agents import agents, chosen

    known = agents(config, home=Path.home(), environ=os.environ, folder=Path.cwd())
    return chosen(known, args.agent or ())


def done_object(change: FileChange, backup: Path | None) -> dict[str, Any]:
    """One settings file that was changed."""
    return {
        "path": str(change.path),
        "backup": str(backup) if backup else None,
        "removed_file": change.after is None,
    }


def agent_object(agent: Settings) -> dict[str, Any]:
    return {"name": agent.name, "title": agent.title, "changed": [], "error": None}


def note_failure(told: dict[str, Any], error: RecollectError) -> None:
    """Note in an agent's object why it was left out."""
    told["error"] = {"error": type(error).__name__, "message": str(error), "hint": error.hint}


def print_done(told: dict[str, Any], screen: Screen) -> None:
    """What was written for one agent."""
    if told["error"]:
        return
    title = Styled(told["title"], "bold")
    if not told["changed"]:
        screen.line(title, ": nothing to change")
    for change in told["changed"]:
        verb = "removed" if change["removed_file"] else "changed"
        kept = f" (the original is kept as {Path(change['backup']).name})" if change["backup"] else ""
        screen.line(title, one_line(f": {verb} {change['path']}{kept}"))
    for problem in told.get("problems", ()):
        screen.line("  ", Styled("to do", "bold yellow"), one_line(f": {problem}"))


def report_failures(errors: list[RecollectError], screen: Screen) -> int:
    """Say every failure on stderr; the first one's exit code, or 0."""
    for error in errors:
        screen.error(type(error).__name__, str(error), error.hint, error.exit_code)
    return errors[0].exit_code if errors else 0


def _carried_out(agent: Settings, args: argparse.Namespace) -> tuple[dict[str, Any], RecollectError | None]:
    def plan() -> Sequence[FileChange]:
        if args.action == "remove":
            return agent.removal(project=args.project, mcp=False)
        return agent.changes(hooks=True, mcp=False, project=args.project)

    told = agent_object(agent)
    try:
        told["changed"] = [done_object(change, backup) for change, backup in carry_out(plan)]
        told["problems"] = list(agent.state().problems) if args.action == "install" else []
    except RecollectError as error:
        note_failure(told, error)
        return told, error
    return told, None


def _plugin(config: Config, screen: Screen) -> int:
    plugin = _plugin_of(config)
    write_plugin(plugin)
    note_installed(str(config.state), names("plugin"), project=False)
    if screen.json:
        told = {"plugin": str(plugin.folder), "steps": list(plugin.steps)}
        screen.object("hook", {"action": "plugin", "agents": [], **told})
        return 0
    screen.line(one_line(f"{plugin.folder} is a plugin now; it is installed by"))
    for step in plugin.steps:
        screen.line("    ", one_line(step))
    return 0


def _plugin_of(config: Config) -> Plugin:
    from recollect.setup.agents import commands_of

    return agent_plugin(lambda agent: commands_of(agent, config), folder=config.plugins)


# -- status --------------------------------------------------------------------------------


def _status(picked: list[Settings], config: Config, screen: Screen) -> int:
    told = [_agent_status(agent, config) for agent in picked]
    captured = captured_object(config)
    if screen.json:
        folder = config.plugins / names("plugin")[0]
        plugin = str(folder) if folder.is_dir() else None
        screen.object("hook", {"action": "status", "agents": told, "captured": captured, "plugin": plugin})
        return 0
    for each in told:
        _print_agent(each, screen)
    print_captured(captured, screen)
    return 0


def _agent_status(agent: Settings, config: Config) -> dict[str, Any]:
    state = agent.state()
    problems = [*state.problems, *_command_problems(agent, (*state.hooks, *state.mcp), config)]
    return {
        "name": agent.name,
        "title": agent.title,
        "found": agent.found(),
        "hooks": [_installed_object(found) for found in state.hooks],
        "mcp": [_installed_object(found) for found in state.mcp],
        "problems": problems,
    }


def _installed_object(found: Installed) -> dict[str, Any]:
    return {"path": str(found.path), "command": found.command, "events": list(found.events)}


def _command_problems(agent: Settings, installed: Sequence[Installed], config: Config) -> Iterator[str]:
    """What is wrong with the commands in settings: their files are gone, or they name another store."""
    today = (_words(hook_command(agent.name, config)), mcp_command(config))
    for found in installed:
        words = _words(found.command)
        if words in today or words[:1] == ["plugin"]:
            continue
        gone = [word for word in words[:4] if os.path.isabs(word) and not os.path.exists(word)]
        if gone:
            yield f"{found.path}: {gone[0]} is gone, so it runs nothing: run `recollect init` again"
        else:
            yield f"{found.path}: runs another Recollect, or names another store: run `recollect init` again"


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:  # a quote that a person left open
        return command.split()


def _print_agent(told: dict[str, Any], screen: Screen) -> None:
    screen.line(Styled(told["title"], "bold"), "" if told["hooks"] or told["mcp"] else ": not installed")
    for name in ("hooks", "mcp"):
        for found in told[name]:
            screen.pairs(((f"{name:<5}", one_line(found["path"])), ("runs", one_line(found["command"]))))
    for problem in told["problems"]:
        screen.line("  ", Styled("problem", "bold yellow"), one_line(f": {problem}"))
