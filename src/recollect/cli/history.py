"""`blame`, `how` and `fix`: what was done about a file, for a purpose, against an error."""

from __future__ import annotations

import argparse
import time
from typing import Any

from recollect.cli.opening import open_memory
from recollect.cli.screen import Part, Screen, Styled
from recollect.cli.search import hit_head, hit_object, snippet_parts
from recollect.cli.show import call_summary
from recollect.insight.blame import Touch
from recollect.insight.fix import Fix
from recollect.insight.how import Command
from recollect.present.objects import entry_object, session_object
from recollect.values.stored import Session, StoredEntry
from recollect.values.text import age, many, one_line

_HIT_FIELDS = ("id", "score", "kind", "project", "thread", "time_ms", "snippet", "session", "tool")
_WIDTH = 160


def blame(args: argparse.Namespace, screen: Screen) -> int:
    """Who touched this file, and why."""
    with open_memory(args) as memory:
        found = memory.blame(args.path, args.limit)
    if screen.json:
        screen.object("blame", {"path": args.path, "sessions": [_touch_object(each) for each in found]})
        return 0
    for touch in found:
        done = ", ".join(
            many(count, noun) for count, noun in ((touch.changes, "change"), (touch.looks, "look")) if count
        )
        screen.line(*_place(touch.last, touch.session), Styled(f"  {done}", "bold"))
        screen.line("    ", _asked(touch.prompt))
    if not found:
        screen.note("no conversation in the store names this file; the end of its path is enough to find it")
    return 0


def how(args: argparse.Namespace, screen: Screen) -> int:
    """Which commands were run for this."""
    query = " ".join(args.query)
    with open_memory(args) as memory:
        found = memory.how(query, args.limit)
    if screen.json:
        screen.object("how", {"query": query, "commands": [_command_object(each) for each in found]})
        return 0
    for command in found:
        screen.line(Styled(one_line(command.text, 300), "bold"))
        screen.line("    ", _outcome(command), "  ", *_place(command.last, command.session))
    if not found:
        screen.note("no command in the store fits")
    return 0


def fix(args: argparse.Namespace, screen: Screen) -> int:
    """Where this error was met before, and what ended it."""
    error = " ".join(args.error)
    with open_memory(args) as memory:
        found = memory.fix(error, args.limit)
    if screen.json:
        screen.object("fix", {"error": error, "found": [_fix_object(each) for each in found]})
        return 0
    if found and not found[0].exact:
        screen.note("not met word for word; the nearest are:")
    for each in found:
        _print_fix(each, screen)
    if not found:
        screen.note("no such error in the store")
    return 0


# -- as objects ----------------------------------------------------------------------------


def _touch_object(touch: Touch) -> dict[str, Any]:
    return {
        "session": session_object(touch.session),
        "changes": touch.changes,
        "looks": touch.looks,
        "last": touch.last.id,
        "time_ms": touch.last.entry.time_ms or None,
        "prompt": touch.prompt and entry_object(touch.prompt),
    }


def _command_object(command: Command) -> dict[str, Any]:
    return {
        "command": command.text,
        "worked": command.worked,
        "failed": command.failed,
        "unknown": command.unknown,
        "last": command.last.id,
        "session": command.last.session,
        "project": command.session.facts.project,
        "time_ms": command.last.entry.time_ms or None,
        "score": round(command.score, 6),
    }


def _fix_object(each: Fix) -> dict[str, Any]:
    return {
        "hit": hit_object(each.hit, _HIT_FIELDS),
        "times": each.times,
        "exact": each.exact,
        "ended_by": each.ended_by,
        "steps": [entry_object(step) for step in each.steps],
        "answer": each.answer and entry_object(each.answer),
    }


# -- for people ----------------------------------------------------------------------------


def _place(stored: StoredEntry, session: Session) -> list[Part]:
    facts = session.facts
    when = age(stored.entry.time_ms, now_ms=time.time_ns() // 1_000_000) if stored.entry.time_ms else ""
    told = (one_line(facts.project, 40), one_line(facts.slug or facts.title, 48))
    return [Styled(stored.id, "cyan"), "  ", "  ".join(filter(None, told)), Styled(f"  {when}", "dim")]


def _asked(prompt: StoredEntry | None) -> Part:
    if prompt is None:
        return Styled("nothing was asked before", "dim")
    return one_line(prompt.entry.text, _WIDTH)


def _outcome(command: Command) -> Part:
    told = [
        many(command.worked, "time") + " worked" if command.worked else "",
        f"{command.failed:,} failed" if command.failed else "",
        f"{command.unknown:,} without a result" if command.unknown else "",
    ]
    return Styled(", ".join(filter(None, told)), "green" if command.worked >= command.failed else "red")


def _print_fix(each: Fix, screen: Screen) -> None:
    screen.line(*hit_head(each.hit), Styled(f"  {many(each.times, 'time')}", "dim"))
    screen.line("    ", *snippet_parts(each.hit))
    for step in each.steps:
        summary = one_line(call_summary(step.entry.text), _WIDTH)
        screen.line("    ", Styled(f"{step.id}  {one_line(step.entry.tool, 20)}  ", "dim"), summary)
    if each.ended_by:
        screen.line("    ", Styled("then worked: ", "green"), one_line(each.ended_by, _WIDTH))
    else:
        screen.line("    ", Styled("no run that worked follows", "yellow"))
    if each.answer is not None:
        screen.line("    ", Styled("said: ", "dim"), one_line(each.answer.entry.text, _WIDTH))
