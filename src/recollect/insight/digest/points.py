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
_PICK_CHARS = 300  # of a prompt that answers; a longer one is a task of its own
_ASKED_CHARS = 500
_PROPOSAL_CHARS = 45  # of a question that says what is proposed
_ROUTINE_CHARS = 20  # of a prompt that is no more than "commit it"
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
    said = preferences.spoken(asked[:_PROMPT_CHARS])
    _, settled = preferences.remarks(said)
    every = preferences.sentences(said) if settled or _CHOOSES.search(said) else []
    chosen = [
        n
        for n, each in enumerate(every)
        if any(each.endswith(one) for one in settled)
        or (_CHOOSES.search(each) and not _ASKS.search(each) and not _HEDGES.search(each))
    ]
    return [_with_reason(every, n) for n in chosen]


def _with_reason(said: Sequence[str], n: int) -> str:
    """A sentence, and the next one where that is why."""
    because = n + 1 < len(said) and _REASON.search(said[n + 1])
    return f"{said[n]} {said[n + 1]}" if because else said[n]


def _picked(before: Exchange | None, asked: str) -> list[str]:
    """What a short prompt says to an offer of the agent: which option it is, or yes to what was proposed."""
    said = preferences.spoken(asked[:_PROMPT_CHARS]).strip()
    if before is None or not before.said or not said or len(said) >= _PICK_CHARS or _ASKS.search(said):
        return []
    text = before.said[-1].entry.text[-_TAIL_CHARS:]
    if (number := _NUMBER.match(said)) is not None:
        options = re.findall(rf"(?m)^\W{{0,6}}{number[1]}[.):*]+\s*(\S[^\n]{{2,200}})", text)
        chosen = f"{said} ({preferences.bare(options[-1])})" if options else said
        return [chosen] if _OFFERS.search(text) else []
    question = _last_question(text)
    if _ALTERNATIVES.search(question) and not (len(said) < _ROUTINE_CHARS and _ROUTINE.search(said)):
        return [f"{said} ({question})"] if _answers(said, question, text) else []
    proposed = _proposed(text, question) if _AGREES.match(said) else ""
    return [f"{said} ({proposed})"] if proposed else []


def _answers(said: str, question: str, text: str) -> bool:
    """Whether what was said answers a question: it begins so, or has a word of it or of what led to it."""
    if _ANYTHING.search(question):
        return False
    asked = {word.casefold() for word in _WORD.findall(text[-_ASKED_CHARS:])}
    return bool(_AGREES.match(said)) or any(word.casefold() in asked for word in _WORD.findall(said))


def _last_question(text: str) -> str:
    """What an answer asks in its last lines, "" for nothing."""
    asked = [each for each in _QUESTION.findall(preferences.bare(text)[-_ASKED_CHARS:]) if len(each) > 8]
    return _SENTENCE_START.split(asked[-1])[-1].strip(" -*#>") if asked else ""


def _proposed(text: str, question: str) -> str:
    """What a yes is said to: the question, or where that says little what the answer recommends."""
    if _ROUTINE.search(question):
        return ""
    if len(question) >= _PROPOSAL_CHARS:
        return question
    ending = preferences.sentences(text[-_ASKED_CHARS:])
    recommended = [each for each in ending if _RECOMMENDS.search(each)]
    return recommended[-1] if recommended else ""


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
    r"|\b(?:use|add|put|make|move) [^.]{1,80}\b(?:not|instead)\b"
    r"|\b(?:do not|don['’]t|never) \w[^.?]{3,80}\b(?:as|because|since)\b"
    r"|にして|ではなく|で(?:いい|良い|よい)|方針|不要|使わないで|廃止|経由で",
    re.IGNORECASE,
)
_ASKS = re.compile(  # which is no choice
    r"[?？]\W*$|\bwhether\b|^\W*(?:also )?(?:investigate|check|review|see if|find out)\b"
    r"|^\W*(?:can|could|would|will|do|does|did|is|are) (?:you|we|i|it|they|this|that|there)\b"
    r"|^\W*(?:what|why|how|where|which|who|when)\b",
    re.IGNORECASE,
)
_HEDGES = re.compile(  # what is only thought of
    r"\b(?:maybe|perhaps|ideally|i(?:['’]m| am) thinking|i thought|i think i|not sure|i wonder|might)\b"
    r"|かもしれ",
    re.IGNORECASE,
)
_ANYTHING = re.compile(
    r"\banything (?:else|specific)|what (?:else|next|would you)|\belse you\b|他に", re.IGNORECASE
)
_WORD = re.compile("[^\\W\\d_]{4,}|[\u3400-\u9fff\u30a0-\u30ff]{2,}")
_REASON = re.compile(
    r"^\W*(?:because|since|otherwise|(?:that|this) way|so that|the reason|as (?:it|that|this|the|we)\b)"
    r"|ため|ので|から[。、]",
    re.IGNORECASE,
)
_OFFERS = re.compile(r"\?|？|\b(?:option|approach|alternativ)", re.IGNORECASE)
_NUMBER = re.compile(r"^\W{0,3}(?:option |the )?(\d|[a-d])(?=[).:,]|\W*$)", re.IGNORECASE)
# Only from where a sentence begins: a long text that asks nothing is read in linear time.
_QUESTION = re.compile(r"(?<![^!?。！？\n])[^!?。！？\n]++(?<=[^\W\d]|\))[?？]")
_SENTENCE_START = re.compile(r"(?<=[a-z\d`)][.:])\s+(?=\S{1,40}\s)")
_ALTERNATIVES = re.compile(r"\bor\b|それとも|か、", re.IGNORECASE)
_AGREES = re.compile(
    r"\W{0,3}(?:y|yes|yep|yeah|ok|okay|sure|agreed?|definitely|perfect|great|go(?: ahead)?"
    r"|do (?:it|that|all|both|the)|please do|let['’]?s|sounds good|fix it|はい|お願い|それで|進めて)\b",
    re.IGNORECASE,
)
_RECOMMENDS = re.compile(
    r"\b(?:instead of|rather than|recommend\w*|cleanest|(?:better|best|simplest) (?:setup|option|approach|way"
    r"|fix))\b",
    re.IGNORECASE,
)
_ROUTINE = re.compile(
    r"\b(?:commit|push|merge|deploy|proceed|continue|pr|pull request|run|start|anything|next|help"
    r"|questions?|look|ready)\b",
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
    r"|\byou(?:['’]ll| will) need to\b|\bworth (?:checking|verifying|doing|watching)\b"
    r"|\b(?:won['’]t|not) take effect\b|\b(?:could not"
    r"|couldn['’]t|unable to)\b"
    r"|残り|未対応|未実施|次の|別タスク|要確認",
    re.IGNORECASE,
)
