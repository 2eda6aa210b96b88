"""What the hooks did last, for `status` and `hook status`."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.cli.screen import Screen, Styled
from recollect.hooks.state import last_trouble
from recollect.light.capture import followed
from recollect.light.missed import is_missed
from recollect.values.text import age, one_line

if TYPE_CHECKING:
    from recollect.config import Config


def captured_object(config: Config) -> dict[str, Any]:
    """What hooks follow: how many sessions, which one wrote last, and what went wrong last."""
    sessions = followed(str(config.state))
    last = next((session for session in reversed(sessions) if session.time_ns), None)
    trouble_ms, trouble = last_trouble(str(config.state))
    return {
        "sessions": len(sessions),
        "last_ms": last and last.time_ns // 1_000_000,
        "last_path": last and last.path,
        "trouble_ms": trouble_ms or None,
        "trouble": trouble or None,
        "missed": is_missed(str(config.state)),
    }


def hooks_text(config: Config) -> str:
    """Which agents on this machine have our hooks, in a few words."""
    from recollect.memory.machine import by_hooks
    from recollect.setup.agents import agents

    known = agents(config, home=Path.home(), environ=os.environ, folder=Path.cwd())
    found, bare = by_hooks([agent for agent in known if agent.found()])
    told = [(agent.title, agent.state()) for agent in found]
    if bare and not told:
        return f"none in {', '.join(agent.title for agent in bare)}: `recollect watch` captures as it happens"
    if not any(state.hooks for _, state in told):
        return "off: `recollect init` captures conversations as they happen" if told else ""
    words = [f"{title} {'on' if state.hooks else 'off'}" for title, state in told]
    words += [f"none in {agent.title}" for agent in bare]
    todo = any(state.problems for _, state in told)
    return ", ".join(words) + ("; something is left to do: `recollect hook status`" if todo else "")


def print_captured(captured: dict[str, Any], screen: Screen) -> None:
    """The same for a person."""
    if captured["last_ms"]:
        screen.line(one_line(f"last seen: {captured['last_path']}, written {_ago(captured['last_ms'])}"))
    else:
        screen.line("no conversation was seen yet")
    if captured["trouble"]:
        when = _ago(captured["trouble_ms"])
        screen.line(Styled("trouble ", "bold yellow"), one_line(f"{when}: {captured['trouble']}"))
    if captured["missed"]:
        screen.line(Styled("missed ", "bold yellow"), "what hooks could not take: the next look takes it")


def _ago(time_ms: int) -> str:
    passed = age(time_ms, now_ms=time.time_ns() // 1_000_000)
    return "just now" if passed == "now" else f"{passed} ago"
