"""What a session touched beside its files: branches, by what git prints, and pictures it was shown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from recollect.insight.digest.steps import Step
from recollect.insight.shell import Simple
from recollect.search.text.fields import files_of
from recollect.values.digests import Statement
from recollect.values.records import Kind
from recollect.values.stored import StoredEntry
from recollect.values.text import one_line

BRANCHES_MAX = 12
PICTURES_MAX = 8
_OUTPUT_CHARS = 8_000
_TEXT_CHARS = 120


def branches(steps: Iterable[Step]) -> list[Statement]:
    """The branches that were switched to, made, committed on or pushed, in order."""
    found: dict[str, Statement] = {}
    for step in steps:
        git = [part for part in step.parts if part.program == "git" and not part.host]
        if not git or not step.is_ended or step.is_refused:
            continue
        output = step.output[-_OUTPUT_CHARS:]
        names = [*_printed(_BRANCH, output), *(() if step.has_failed else _made(git))]
        if any(part.arguments[:1] == ("push",) for part in git):
            names += _printed(_PUSHED, output)
        for name in names:
            found.setdefault(name, Statement(name, step.results[-1].id))
    return list(found.values())[:BRANCHES_MAX]


def pictures(entries: Sequence[StoredEntry], steps: Iterable[Step]) -> list[Statement]:
    """The pictures, the last ones where there are many, each with what was said or called when it came."""
    shown = [each for each in entries if each.entry.kind == Kind.IMAGE][-PICTURES_MAX:]
    if not shown:
        return []
    said = {_line(each): each.entry.text for each in reversed(entries) if each.entry.is_said}
    calls = {step.call.entry.call: step for step in steps if step.call.entry.call}
    return [
        Statement(said.get(_line(each), "")[:_TEXT_CHARS] or _called(calls.get(each.entry.call)), each.id)
        for each in shown
    ]


def _line(stored: StoredEntry) -> str:
    """The id of the line that an entry is a part of."""
    return stored.id.partition(".")[0]


def _called(step: Step | None) -> str:
    if step is None:
        return ""
    return one_line(" ".join((step.call.entry.tool, *files_of(step.call.entry)[:1])), _TEXT_CHARS)


def _printed(pattern: re.Pattern[str], output: str) -> Iterator[str]:
    for found in pattern.finditer(output):
        yield next(filter(None, found.groups()))


def _made(git: Iterable[Simple]) -> Iterator[str]:
    """Those that a command makes, which prints nothing where it was told to be quiet."""
    for part in git:
        if part.arguments[:1] in (("checkout",), ("switch",), ("worktree",)):
            for option, name in zip(part.words, part.words[1:], strict=False):
                if option in ("-b", "-B", "-c", "-C", "--create") and _NAME.fullmatch(name):
                    yield name


_NAME = re.compile(r"[\w][\w./#@+-]{0,150}")
_BRANCH = re.compile(
    r"^\[([\w./#@+-]{1,150})(?: \(root-commit\))? [0-9a-f]{7,40}\] "
    r"|^Switched to (?:a new )?branch '([\w./#@+-]{1,150})'"
    r"|^Already on '([\w./#@+-]{1,150})'"
    r"|^Preparing worktree \((?:new branch|checking out) '([\w./#@+-]{1,150})'\)",
    re.MULTILINE,
)
_PUSHED = re.compile(
    r"^ (?:\* \[new branch\]|[ +] ?[0-9a-f]{7,40}\.{2,3}[0-9a-f]{7,40}) {1,20}[\w./#@+-]{1,150} -> "
    r"([\w./#@+-]{1,150})(?: \(forced update\))?$",
    re.MULTILINE,
)
