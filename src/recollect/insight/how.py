"""How: which commands were run for something, and whether they worked."""

from __future__ import annotations

from collections.abc import Iterator

from recollect.agents.registry import all_tools
from recollect.insight.commands import command_of, is_shell
from recollect.insight.turns import Turns
from recollect.search.query import AllOf, AnyOf, Is
from recollect.search.run import Request, Search
from recollect.values.history import Command
from recollect.values.hits import Hit
from recollect.values.records import Kind
from recollect.values.stored import StoredEntry

CALLS_READ = 120  # shell calls that fit a question
PROMPTS_READ = 8  # prompts that fit it, whose commands count too
PROMPT_WEIGHT = 0.6  # of a command that was only run after a fitting prompt
TURN_ENTRIES = 400  # of what came of such a prompt


def how(search: Search, query: str, limit: int) -> list[Command]:
    """Commands that were run for something, those that fit best first."""
    shells = AnyOf(tuple(Is("tool", name) for name in sorted(all_tools().run)))
    calls = AllOf((Is("kind", "call"), shells))
    fitting = search.run(Request(query, limit=CALLS_READ, collapse=False, only=calls)).hits
    scored = [(hit.stored, hit.score) for hit in fitting if _has_words(hit)]
    asked = Request(query, limit=PROMPTS_READ, only=Is("kind", "prompt"))
    for hit in filter(_has_words, search.run(asked).hits):
        scored += [(each, hit.score * PROMPT_WEIGHT) for each in _run_for(search, hit.stored)]
    return _commands(search, scored)[:limit]


def _has_words(hit: Hit) -> bool:
    """Whether any word was found: what only sounds alike is no recipe."""
    return hit.parts.get("text", 1.0) > 0


def _run_for(search: Search, prompt: StoredEntry) -> Iterator[StoredEntry]:
    """The commands that came of a prompt."""
    rows = search.view.turn_of(prompt.row)[:TURN_ENTRIES]
    columns = search.view.columns_at(rows, "row", "kind")
    calls = columns["row"][(columns["kind"] == Kind.CALL) & (columns["row"] > prompt.row)]
    return filter(lambda each: is_shell(each.entry), search.view.entries_at(calls.tolist()))


def _commands(search: Search, scored: list[tuple[StoredEntry, float]]) -> list[Command]:
    """Each command once. One that fits and was run after a fitting prompt has the score of both."""
    calls = {stored.row: stored for stored, _ in scored}
    turns = Turns(search.view)
    found: dict[str, Command] = {}
    for row, stored in calls.items():
        score = sum(each for other, each in scored if other.row == row)
        text = " ".join(command_of(stored.entry).split())
        if not text:
            continue
        command = found.get(text)
        if command is None:
            session = search.sessions[stored.session_row]
            command = found[text] = Command(text, score, stored, session)
        command.score = max(command.score, score)
        if stored.row > command.last.row:
            command.last, command.session = stored, search.sessions[stored.session_row]
        _count(command, turns, stored)
    return sorted(found.values(), key=lambda each: (-each.score, -each.last.row))


def _count(command: Command, turns: Turns, call: StoredEntry) -> None:
    course = turns[call.session_row]
    result = course.result_of(call.row)
    if result is None:
        command.unknown += 1
    elif course.has_failed(result):
        command.failed += 1
    else:
        command.worked += 1
