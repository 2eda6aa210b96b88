"""What an exchange was: eleven classes, each given with the entry that shows it.

What was done decides before what was said: a path that was changed, a command that was run, an error that was
overcome. Words of the prompt and of the closing answer only tell apart what the steps leave open.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from recollect.agents.registry import all_tools
from recollect.agents.tools import changes_in
from recollect.insight.digest import pattern_words as words
from recollect.insight.digest.changes import Touch, project_path, touches
from recollect.insight.digest.checks import FAILED, result_of, test_parts
from recollect.insight.digest.dangers import kinds_of, pastes_secret
from recollect.insight.digest.steps import Exchange, Step
from recollect.insight.digest.troubles import Troubles
from recollect.insight.shell import Simple
from recollect.values.digests import PATTERNS, Pattern

READS_MIN = 8  # reading and searching calls that make a research
FETCHES_MIN = 2
ITEMS_MIN = 3  # of a task list that is a plan

_PROMPT_CHARS = 1_200
_REQUEST_CHARS = 400  # of a prompt, in which what is wanted is said
_ANSWER_CHARS = 5_000
_WRITTEN_CHARS = 20_000
_LAST_ROW = 1 << 62
_CHANGES_SHOWN = frozenset({"git", "jj", "cd", "echo"})
_NO_PARTS = (Simple(("",)),)  # of a tool that is no shell


def patterns_of(exchange: Exchange, folder: str = "") -> list[Pattern]:
    """The classes of an exchange, in the order of `PATTERNS`; paths are told relative to `folder`."""
    look = _Look(exchange, folder)
    found = [(name, rule(look)) for name, rule in _RULES.items()]
    return [Pattern(name, entry) for name, entry in found if entry]


class _Look:
    """An exchange, with what several rules ask of it worked out once."""

    def __init__(self, exchange: Exchange, folder: str) -> None:
        self.exchange, self.steps = exchange, exchange.steps
        self.asked = exchange.asked[:_PROMPT_CHARS]
        self.request = self.asked[:_REQUEST_CHARS]
        self.touched = [
            (step, name, touch)
            for step in self.steps
            for touch in touches(step)
            if (name := project_path(touch.path, folder))
        ]
        gone = {name for _, name, touch in self.touched if touch.is_gone}
        kept = [each for each in self.touched if each[1] not in gone or each[2].is_gone]
        self.code = [each for each in kept if not words.PROSE.search(each[1])]
        self.prose = [each for each in kept if words.PROSE.search(each[1])]
        self.first_change = self.touched[0][0].call.row if self.touched else _LAST_ROW
        said = exchange.closing or (exchange.said[-1] if exchange.said else None)
        self.answer_id, self.answer = (said.id, said.entry.text[:_ANSWER_CHARS]) if said else ("", "")
        self.has_plan = bool(words.PLAN_GIVEN.match(self.asked.lstrip()))
        self.is_reported = bool(words.REPORTED.search(self.asked))
        self.is_review_wanted = bool(words.REVIEW_ASKED.search(self.request))

    def step_where(self, rule: Callable[[Step], object]) -> str:
        return next((step.call.id for step in self.steps if rule(step)), "")

    def commands(self) -> list[tuple[Step, str]]:
        return [(step, " ".join(part.words)) for step in self.steps for part in step.parts]


# -- by what was done ----------------------------------------------------------------------------


def _code(look: _Look) -> str:
    written = (step for step, name, touch in look.code if not touch.is_gone and not _is_version(touch, name))
    return next((step.call.id for step in written), "")


def _is_version(touch: Touch, name: str) -> bool:
    """Whether a change of a manifest is of one line: its version number."""
    return touch.added <= 1 and touch.removed <= 1 and bool(words.MANIFEST.search(name))


def _recovery(look: _Look) -> str:
    troubles = Troubles()
    red: Step | None = None
    for step in look.steps:
        solved = troubles.take(step)
        if solved is not None:
            return solved.entry
        if step.is_ended and test_parts(step):
            if result_of(step) == FAILED:
                red = red or step
            elif red is not None:
                return red.results[-1].id
    return ""


def _danger(look: _Look) -> str:
    if shown := look.step_where(kinds_of):
        return shown
    prompt = look.exchange.prompt
    return prompt.id if prompt is not None and pastes_secret(look.exchange) else ""


def _research(look: _Look) -> str:
    tools = all_tools()
    fetched = [step for step in look.steps if step.tool in tools.fetch or words.WEB_TOOL.search(step.tool)]
    if len(fetched) >= FETCHES_MIN:
        return fetched[0].call.id
    if look.code or any(test_parts(step) for step in look.steps):
        return ""
    if explored := look.step_where(lambda step: step.tool in tools.delegate and _explores(step)):
        return explored
    reads = [step for step in look.steps if step.call.row < look.first_change and _is_research(step)]
    return reads[0].call.id if len(reads) >= READS_MIN else ""


def _explores(step: Step) -> bool:
    return bool(words.EXPLORES.search(step.call.entry.text[:_PROMPT_CHARS]))


def _is_research(step: Step) -> bool:
    """Whether a step reads more than what is about to be committed."""
    return _is_reading(step) and not all(part.program in _CHANGES_SHOWN for part in step.parts or _NO_PARTS)


def _is_reading(step: Step) -> bool:
    tools = all_tools()
    return (
        step.only_reads or step.tool in tools.read or step.tool in tools.look_in or step.tool in tools.fetch
    )


def _deployment(look: _Look) -> str:
    for step, command in look.commands():
        if words.DEPLOYS.search(command):
            return step.call.id
    if shown := next((step for step, name, _ in look.touched if words.DELIVERY_FILE.search(name)), None):
        return shown.call.id
    if words.DEPLOY_ASKED.search(look.request):
        return next((step.call.id for step, command in look.commands() if words.PUSHES.match(command)), "")
    return ""


def _testing(look: _Look) -> str:
    if shown := look.step_where(lambda step: step.is_ended and not step.is_refused and test_parts(step)):
        return shown
    if changed := next((step for step, name, _ in look.code if words.TEST_FILE.search(name)), None):
        return changed.call.id
    # Trying the product counts where it checks a change.
    return look.step_where(lambda step: step.call.row > look.first_change and _tries(step))


def _tries(step: Step) -> bool:
    if words.BROWSER_TOOL.search(step.tool):
        return True
    return any(words.TRIES.match(" ".join(part.words)) for part in step.parts)


# -- by what was asked and answered --------------------------------------------------------------


def _debugging(look: _Look) -> str:
    if look.has_plan or look.is_review_wanted:
        return ""
    is_told = look.is_reported and (words.WHY.search(look.asked) or words.CAUSE.search(look.answer))
    if is_told or "root cause" in look.answer.lower():
        return look.step_where(lambda step: step.command or _is_reading(step)) or look.answer_id
    return ""


def _refactoring(look: _Look) -> str:
    if not look.code:
        return ""
    for step, _, _ in look.code:
        if any(words.MOVES.match(" ".join(part.words[:2])) for part in step.parts):
            return step.call.id
    is_asked = words.REFACTORS.search(look.request) and not look.is_reported
    return look.code[0][0].call.id if is_asked or words.REFACTORED.search(look.answer[:600]) else ""


def _planning(look: _Look) -> str:
    tools = all_tools()
    if shown := look.step_where(lambda step: step.tool in tools.propose or step.tool in tools.prepare):
        return shown
    if look.has_plan:
        return ""
    listed = [step for step in look.steps if step.tool in tools.plan]
    texts = [step.call.entry.text for step in listed if words.MAKES_LIST.search(step.call.entry.text)]
    if sum(len(words.ITEM.findall(text)) for text in texts) >= ITEMS_MIN:
        return listed[0].call.id
    laid_out = (step for step, name, touch in look.prose if _lays_out(step, name, touch))
    if not look.code and (found := next(laid_out, None)):
        return found.call.id
    is_told = words.PLAN_ASKED.search(look.request) or words.PLAN_HEADING.search(look.answer)
    if look.code or not is_told or len(words.LIST_LINE.findall(look.answer)) < ITEMS_MIN:
        return ""
    return look.answer_id


def _lays_out(step: Step, name: str, touch: Touch) -> bool:
    """Whether a file of words that was written is a plan, by its name or its first heading."""
    if touch.is_gone:
        return False
    if words.PLAN_FILE.search(name):
        return True
    return touch.is_whole and bool(words.PLAN_TITLE.search(step.call.entry.text[:_PROMPT_CHARS]))


def _architecture(look: _Look) -> str:
    if look.code or not look.answer or look.has_plan:
        return ""
    if recorded := look.step_where(_records_decision):
        return recorded
    is_choice = bool(words.CHOICE_ASKED.search(look.request))
    if look.is_reported or not (is_choice or not look.steps):
        return ""
    least = 1 if is_choice else 2
    is_weighed = _has_words(words.WEIGHS, look.answer, least)
    about = f"{look.asked}\n{look.answer[:2000]}"
    return look.answer_id if is_weighed and _has_words(words.STRUCTURE, about, least) else ""


def _has_words(rule: re.Pattern[str], text: str, least: int) -> bool:
    """Whether a text has so many different words of a rule."""
    found: set[str] = set()
    for match in rule.finditer(text):
        found.add(match[0].lower())
        if len(found) >= least:
            return True
    return False


def _records_decision(step: Step) -> bool:
    """Whether a step writes a decision down that was not there before."""
    if step.tool not in all_tools().change or step.has_failed or step.is_refused:
        return False
    made = changes_in(all_tools(), step.call.entry.text)
    return any(
        words.PROSE.search(each.path)
        and words.DECISION.search(each.new[:_WRITTEN_CHARS])
        and not words.DECISION.search(each.old[:_WRITTEN_CHARS])
        for each in made
    )


def _review(look: _Look) -> str:
    if look.has_plan:
        return ""
    for step in look.steps:
        if any(words.REVIEWS.search(" ".join(part.words[:4])) for part in step.parts):
            is_asked = words.REVIEW_ASKED.search(look.asked)
            return step.call.id if is_asked or words.FINDINGS.search(look.answer) else ""
    return look.answer_id if look.is_review_wanted else ""


_RULES: dict[str, Callable[[_Look], str]] = dict(
    zip(
        PATTERNS,
        (
            _code,
            _recovery,
            _architecture,
            _danger,
            _research,
            _deployment,
            _testing,
            _debugging,
            _refactoring,
            _planning,
            _review,
        ),
        strict=True,
    )
)
