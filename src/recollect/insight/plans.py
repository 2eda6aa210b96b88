"""Plans: what a person was asked to approve, and what the next conversation then began with."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from recollect.agents.registry import all_tools
from recollect.insight.digest.steps import Exchange, Step
from recollect.values.digests import Statement
from recollect.values.text import one_line

PLAN_CHARS = 300  # what is shorter is no plan
_HEAD_CHARS = 300
_NAME_CELLS = 120


def plans(made: Sequence[Exchange]) -> list[Statement]:
    """The plans that a session begins with or proposes, each by what it is called, once."""
    first = next((each.prompt for each in made if each.prompt is not None and not each.is_command), None)
    begun = begun_plan(first.entry.text) if first is not None else ""
    told = [(begun, first.id)] if begun and first is not None else []
    told += [(text, step.call.id) for each in made for step in each.steps if (text := proposed_plan(step))]
    named = [(one_line(plan_name(text), _NAME_CELLS), entry) for text, entry in told]
    return [Statement(name, entry) for name, entry in dict(reversed(named)).items()][::-1]


def proposed_plan(step: Step) -> str:
    """The plan that a step puts before the person, or writes down as one; "" for any other step."""
    text = step.call.entry.text
    if step.tool in all_tools().propose:
        found = _longest(text)
    elif step.tool in all_tools().change and _PLAN_FILE.search(text[:_HEAD_CHARS]):
        found = _longest(text)
        found = found if found.startswith("# ") else ""  # else only a part of one was edited
    else:
        return ""
    return found if len(found) >= PLAN_CHARS else ""


def begun_plan(prompt: str) -> str:
    """The plan that a prompt hands over: from a heading near its beginning on, where enough is behind it."""
    heading = _HEADING.search(prompt[:_HEAD_CHARS])
    return prompt[heading.start() :] if heading and len(prompt) - heading.start() >= PLAN_CHARS else ""


def plan_name(text: str) -> str:
    """What a plan is called: its heading, or how it begins."""
    return " ".join((heading_of(text) or text[:_HEAD_CHARS]).split())


def heading_of(text: str) -> str:
    """The first heading near the beginning of a text, "" for none."""
    heading = _HEADING.search(text[:_HEAD_CHARS])
    return heading[1] if heading else ""


def _longest(text: str) -> str:
    """The longest of the strings that a call gives."""
    try:
        given = json.loads(text) if text.startswith("{") else {}
    except (ValueError, RecursionError):
        return ""
    return max((each for each in given.values() if isinstance(each, str)), key=len, default="")


_HEADING = re.compile(r"^#{1,3} +(\S[^\n]{2,200})$", re.MULTILINE)
_PLAN_FILE = re.compile(r"[/\\]plans[/\\][^/\\\"]{1,100}\.md")
