"""How: which commands were run or told for something, and whether they worked."""

from __future__ import annotations

import datetime
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from recollect.agents.registry import all_tools
from recollect.insight.commands import command_of, is_piped, is_shell, only_reads
from recollect.insight.cure import shows_failure
from recollect.insight.turns import Turns
from recollect.insight.variants import PROGRAMS, plain_form, told_commands, variant_key
from recollect.search.query import QUERY_CHARS_MAX, AllOf, AnyOf, Is, parse, words_of
from recollect.search.run import Request, Search
from recollect.values.history import Command
from recollect.values.hits import Hit
from recollect.values.records import Kind
from recollect.values.stop_words import STOP_WORDS
from recollect.values.stored import StoredEntry

CALLS_READ = 160  # shell calls that fit a question
PROMPTS_READ = 8  # prompts that fit it, whose commands count too
ANSWERS_READ = 60  # answers that fit it, whose commands count too
PROMPT_WEIGHT, ANSWER_WEIGHT = 0.6, 0.7  # of a command that was only run after, or only told in, what fits
TURN_ENTRIES = 400  # of what came of such a prompt
UNNAMED_WEIGHT = 0.35  # of a command that has none of the words itself
READING_WEIGHT = 0.5  # of one that only shows something
FAILED_WEIGHT = 0.6  # of one that never worked
WORKED_WEIGHT, HALF_LIFE_MS = 0.2, 90 * 86_400_000  # how much it counts that it worked, and for how long


def how(search: Search, query: str, limit: int) -> list[Command]:
    """Commands that were run or told for something: those that fit, worked often and lately first."""
    finding = _Finding(search, query[:QUERY_CHARS_MAX])
    finding.take_calls()
    finding.take_turns()
    finding.take_answers()
    return finding.commands()[:limit]


@dataclass(slots=True)
class _Group:
    """The variants of one command."""

    calls: dict[int, StoredEntry] = field(default_factory=dict)
    answers: dict[int, StoredEntry] = field(default_factory=dict)
    fits: dict[int, float] = field(default_factory=dict)  # by row, of calls and answers
    forms: list[tuple[int, str]] = field(default_factory=list)


class _Finding:
    """One question on its way to commands."""

    def __init__(self, search: Search, query: str) -> None:
        self._search, self._query = search, query
        self._turns = Turns(search.view)
        self._groups: dict[str, _Group] = {}
        words = " ".join(words_of(parse(query, datetime.datetime.now())))
        stems = set(self._stems(words))
        wanted = stems - set(self._stems(" ".join(STOP_WORDS))) or stems
        self._wanted = {stem: search.text.rarity("body", stem) for stem in wanted}

    def take_calls(self) -> None:
        """Commands that have the words."""
        shells = AnyOf(tuple(Is("tool", name) for name in sorted(all_tools().run)))
        calls = AllOf((Is("kind", "call"), shells))
        request = Request(self._query, limit=CALLS_READ, collapse=False, only=calls)
        for hit, fit in _fitting(self._search.run(request).hits):
            self._take_call(hit.stored, fit)

    def take_turns(self) -> None:
        """Commands that came of a prompt that has them."""
        request = Request(self._query, limit=PROMPTS_READ, only=Is("kind", "prompt"))
        for hit, fit in _fitting(self._search.run(request).hits):
            for call in self._run_for(hit.stored):
                self._take_call(call, fit * PROMPT_WEIGHT)

    def take_answers(self) -> None:
        """Commands that stand in an answer that closes a turn and has them."""
        programs = PROGRAMS | {key.split(" ", 1)[0] for key in self._groups}
        request = Request(self._query, limit=ANSWERS_READ, collapse=False, only=Is("kind", "answer"))
        for hit, fit in _fitting(self._search.run(request).hits):
            if hit.stored.row in self._turns[hit.stored.session_row].closing_answers():
                for told, prose in told_commands(hit.stored.entry.text, programs):
                    self._take_told(hit.stored, told, prose, fit * ANSWER_WEIGHT)

    def commands(self) -> list[Command]:
        times = [each.entry.time_ms for group in self._groups.values() for each in group.calls.values()]
        newest_ms = max(times, default=0)
        found = [self._command(group, newest_ms) for group in self._groups.values()]
        return sorted(found, key=lambda each: (-each.score, -each.last.row))

    # -- gathering -----------------------------------------------------------------------------

    def _take_call(self, stored: StoredEntry, fit: float) -> None:
        command = command_of(stored.entry)
        form = plain_form(command, self._search.sessions[stored.session_row].facts.cwd)
        key = variant_key(form)
        if key:
            group = self._groups.setdefault(key, _Group())
            group.calls[stored.row] = stored
            shown = READING_WEIGHT if only_reads(command) else 1.0
            self._add(group, stored.row, form, fit * shown * self._named(f"{key} {_purpose(stored)}"))

    def _take_told(self, stored: StoredEntry, told: str, prose: str, fit: float) -> None:
        form = plain_form(told)
        key = variant_key(form)
        if key:
            group = self._groups.setdefault(key, _Group())
            group.answers[stored.row] = stored
            self._add(group, stored.row, form, fit * self._named(f"{key} {prose}"))

    def _add(self, group: _Group, row: int, form: str, fit: float) -> None:
        group.fits[row] = group.fits.get(row, 0.0) + fit
        group.forms.append((row, form))

    def _run_for(self, prompt: StoredEntry) -> Iterator[StoredEntry]:
        """The commands that came of a prompt."""
        view = self._search.view
        rows = view.turn_of(prompt.row)[:TURN_ENTRIES]
        columns = view.columns_at(rows, "row", "kind")
        calls = columns["row"][(columns["kind"] == Kind.CALL) & (columns["row"] > prompt.row)]
        return filter(lambda each: is_shell(each.entry), view.entries_at(calls.tolist()))

    def _named(self, text: str) -> float:
        """How much of what is wanted a command names itself: from `UNNAMED_WEIGHT` to 1."""
        total = sum(self._wanted.values())
        held = sum(self._wanted[stem] for stem in self._wanted.keys() & set(self._stems(text)))
        return UNNAMED_WEIGHT + (1 - UNNAMED_WEIGHT) * (held / total if total else 1.0)

    def _stems(self, text: str) -> list[str]:
        return self._search.text.analyze("body", text)

    # -- judging -------------------------------------------------------------------------------

    def _command(self, group: _Group, newest_ms: int) -> Command:
        outcomes = {row: self._outcome(call) for row, call in group.calls.items()}
        worked = [row for row, outcome in outcomes.items() if outcome == "worked"]
        last = max((group.calls or group.answers).values(), key=lambda each: each.row)
        ages = [max(newest_ms - group.calls[row].entry.time_ms, 0) for row in worked]
        support = sum(math.pow(0.5, age / HALF_LIFE_MS) for age in ages)
        score = max(group.fits.values()) * (1 + WORKED_WEIGHT * math.log2(1 + support))
        counts = Counter(outcomes.values())
        return Command(
            _shown_form(group, set(worked)),
            score if worked or not counts["failed"] else score * FAILED_WEIGHT,
            last,
            self._search.sessions[last.session_row],
            counts["worked"],
            counts["failed"],
            counts["unknown"],
            len({each.entry.text for each in group.answers.values()}),
            len({form for _, form in group.forms}),
        )

    def _outcome(self, call: StoredEntry) -> str:
        """How a run ended; behind a pipe that is told by its result alone."""
        course = self._turns[call.session_row]
        result = course.result_of(call.row)
        if result is None:
            return "unknown"
        if course.has_failed(result):
            return "failed"
        if is_piped(command_of(call.entry)):
            text = self._search.view.entries_at([result])[0].entry.text
            return "failed" if shows_failure(text) else "worked"
        return "worked"


def _fitting(hits: list[Hit]) -> Iterator[tuple[Hit, float]]:
    """Hits that have any of the words, each with how well it fits beside the best: what only sounds alike is
    no recipe."""
    best = max((hit.score for hit in hits), default=0.0)
    return ((hit, hit.score / best) for hit in hits if best > 0 and hit.parts.get("text", 1.0) > 0)


def _purpose(call: StoredEntry) -> str:
    """What a call says it is for, beside its command."""
    text = call.entry.text
    _, found, said = text.partition('"description":"')
    return said.partition('"')[0] if found else ""


def _shown_form(group: _Group, worked: set[int]) -> str:
    """The variant that worked most often, of several the shortest: it says least of a single case."""
    forms = [each for each in group.forms if each[0] in worked] or group.forms
    counts = Counter(form for _, form in set(forms))
    return max(forms, key=lambda each: (counts[each[1]], -len(each[1]), each[0]))[1]
