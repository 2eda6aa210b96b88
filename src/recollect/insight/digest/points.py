"""What was decided in a session and what it leaves open, from what was said and chosen in it.

A decision is settled by the person: an answer to a question of the agent, a plan that was approved, a remark
("let's use httpx instead of requests"). Open is what the agent's last answer, its task list or the session's
end leaves undone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from recollect.agents.registry import all_signs, all_tools
from recollect.insight import preferences
from recollect.insight.digest.steps import Exchange, Step
from recollect.values.digests import Checks, Ending, Outcome, Statement, Trouble

DECISIONS_MAX = 8
OPEN_MAX = 5
_TEXT_CHARS = 240
_PLAN_CHARS = 4_000
_PROMPT_CHARS = preferences.PASTED_CHARS + 1  # more would not be read
_PICK_CHARS = 200
_TAIL_CHARS = 1_500


def decisions(made: Sequence[Exchange]) -> list[Statement]:
    """What was settled, the last ones where there are many."""
    found = [
        each
        for before, exchange in zip([None, *made], made, strict=False)
        for each in _settled(before, exchange)
    ]
    once = {each.text: each for each in found}
    return list(once.values())[-DECISIONS_MAX:]


def _settled(before: Exchange | None, exchange: Exchange) -> Iterator[Statement]:
    if exchange.prompt is not None and not exchange.is_command:
        chosen = _remarked(exchange.asked) or _picked(before, exchange.asked)
        yield from (Statement(_short(each), exchange.prompt.id) for each in chosen[:2])
    for step in exchange.steps:
        yield from _answered(step)


def _remarked(asked: str) -> list[str]:
    """What a prompt settles in a sentence of its own; what is pasted behind it settles nothing."""
    _, settled = preferences.remarks(asked[:_PROMPT_CHARS])
    said = "" if settled else preferences.spoken(asked[:_PROMPT_CHARS])
    if not _CHOOSES.search(said):
        return settled
    return [each for each in preferences.sentences(said) if _CHOOSES.search(each)]


def _picked(before: Exchange | None, asked: str) -> list[str]:
    """A short prompt that picks one of what the agent offered."""
    if before is None or not before.said or len(asked) >= _PICK_CHARS or not _PICKS.search(asked):
        return []
    return [asked] if _OFFERS.search(before.said[-1].entry.text[-_TAIL_CHARS:]) else []


def _answered(step: Step) -> Iterator[Statement]:
    if not step.is_ended or step.is_refused:
        return
    if step.tool in all_tools().ask:
        for question, answer in _REPLY.findall(step.output[:_PLAN_CHARS])[:3]:
            yield Statement(_short(f"{answer} ({question})"), step.results[-1].id)
    elif step.tool in all_tools().propose and not step.has_failed:
        title = _HEADING.search(step.call.entry.text[:_PLAN_CHARS])
        yield Statement(
            _short(f"Plan approved: {title[1]}" if title else "Plan approved"), step.results[-1].id
        )


def open_points(
    made: Sequence[Exchange], ended: Ending, tests: Checks, errors: Sequence[Trouble]
) -> list[Statement]:
    """What is left to do, by the session's end, its last answer and its task list."""
    found: list[Statement] = []
    last = next((each for each in reversed(made) if each.prompt is not None and not each.is_command), None)
    if ended.outcome != Outcome.SUCCESS and last is not None and last.prompt is not None:
        found.append(Statement(_short(last.asked), last.prompt.id))
    if tests.last == "failed":
        found.append(Statement("The last test run failed", tests.entry))
    said = [answer for each in made for answer in each.said[-1:]]
    if said:
        text = preferences.left_open(said[-1].entry.text) or _left_over(said[-1].entry.text)
        found += [Statement(_short(text), said[-1].id)] if text else []
    calls = [step.call for each in made for step in each.steps if step.tool in all_tools().plan]
    tasks = preferences.open_tasks([each.entry for each in calls], all_calls=True)
    found += [Statement(_short(task), calls[-1].id) for task in tasks[:2]]
    return found[:OPEN_MAX]


def interventions(made: Sequence[Exchange]) -> int:
    """How often the person stepped in: prompts behind the first, interrupts, refusals."""
    prompts = sum(each.prompt is not None and not each.is_command for each in made)
    stops = sum(len(each.stops) for each in made)
    refusals = sum(step.is_refused for each in made for step in each.steps)
    return max(prompts - 1, 0) + max(stops, refusals)


def replies(step: Step) -> str:
    """What the person said instead of allowing a call."""
    for sign in all_signs().replied:
        _, found, text = step.output.partition(sign)
        if found:
            return text.strip()
    return ""


def _left_over(answer: str) -> str:
    tail = answer[-_TAIL_CHARS:]
    if (undone := _NOT_YET.search(tail)) is not None:
        begin = max(tail.rfind(mark, 0, undone.start()) for mark in ".!?\n") + 1
        end = _SENTENCE_END.search(tail, undone.end())
        return tail[begin : end.start() if end else None].strip()
    for each in preferences.sentences(answer[-preferences.ANSWER_CHARS :]):
        if _LEFT.search(each):
            return each
    return ""


def _short(text: str) -> str:
    line = " ".join(text[: _TEXT_CHARS * 4].split())
    return line if len(line) <= _TEXT_CHARS else line[: _TEXT_CHARS - 1] + "…"


_REPLY = re.compile(r'"([^"\n]{3,300})"="([^"\n]{1,300})"')
_HEADING = re.compile(r"#\s{1,3}(?:Plan: ?)?([^\n\\\"]{3,160})")
_CHOOSES = re.compile(
    r"\b(?:instead of|rather than|go (?:with|for)|option [a-d1-4]|do (?:both|neither)|keep (?:it|the|both))\b"
    r"|\b(?:i|we) (?:think|want|would like|prefer|like)\b[^.]{0,60}\b(?:should|to be|instead|approach"
    r"|option)\b"
    r"|\bdon['’]?t (?:want|need) (?:to|the|a)\b|\b(?:should|must) (?:be|not|only|use|live|go|stay)\b"
    r"|\b(?:use|add|put|make|move) [^.]{1,80}\b(?:not|instead)\b|にして|ではなく|でいい|方針",
    re.IGNORECASE,
)
_OFFERS = re.compile(r"\?|？|\b(?:option|approach|alternativ)", re.IGNORECASE)
_PICKS = re.compile(
    r"^\W{0,3}(?:\d|[a-d]\b|option|the (?:first|second|third|last)|both|yes,? (?:but|and|use)|no,? )",
    re.IGNORECASE,
)
_NOT_YET = re.compile(r"\bnot (?:yet )?(?:pushed|committed|merged|deployed|tested)\b", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?\n]")
_LEFT = re.compile(
    r"\b(?:out of scope|follow-?up|to be done|untracked|uncommitted|remember to|pre-?existing|later"
    r"|limitation)\b"
    r"|\bnot (?:been )?(?:verified|exercised|checked|run|included|covered|handled)\b|\bknown issue\b"
    r"|\bstill (?:open|missing|fails?|untracked|pending|dirty)\b|\bneeds? (?:to be|a (?:manual|restart"
    r"|rebuild))\b"
    r"|\byou(?:['’]ll| will) need to\b|\bworth (?:checking|verifying|doing)\b|\b(?:could not"
    r"|couldn['’]t|unable to)\b"
    r"|残り|未対応|未実施|次の|別タスク|要確認",
    re.IGNORECASE,
)
