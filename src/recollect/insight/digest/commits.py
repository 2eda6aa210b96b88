"""Commits and pull requests of a session, from what the commands that made them print.

`[main 50d8160] Subject` is printed by nothing but a commit. A commit whose output was shortened by a wrapper
still counts where its command did not fail; a log that lists commits makes none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from recollect.insight.digest.steps import Step
from recollect.insight.shell import COMMAND_CHARS_MAX, Simple, parted
from recollect.values.digests import Commit, Statement

OUTPUT_CHARS = 40_000
SUBJECT_CHARS = 120


def commits(steps: Iterable[Step]) -> list[Commit]:
    """The commits that were made, in order; one that was amended counts once, as it is in the end."""
    made: list[Commit] = []
    for step in steps:
        wanted = [part for part in step.parts if _is_commit(part)]
        if not wanted and "commit" not in step.command and "push" not in step.command:
            continue
        if not step.is_ended or step.is_refused or _SCRATCH.search(step.command):
            continue
        for commit, amends in _made_by(step, wanted):
            if amends and made:
                made[-1] = replace(commit, subject=commit.subject or made[-1].subject)
            else:
                made.append(commit)
    return _once(made)


def _made_by(step: Step, wanted: list[Simple]) -> Iterator[tuple[Commit, bool]]:
    entry = step.results[-1].id
    text = step.output[-OUTPUT_CHARS:]
    amends = [part.has("--amend") for part in wanted]
    found = list(_PRINTED.finditer(text))
    for n, printed in enumerate(found):
        yield Commit(printed[1], printed[2][:SUBJECT_CHARS].strip(), entry), n < len(amends) and amends[n]
    if found or not wanted:
        return
    hashes = [each for part in wanted if part.program == "jj" for each in _JJ.findall(text)[:1]]
    if hashes:
        yield Commit(hashes[0], _subject(wanted[0], step.command), entry), False
    elif not step.has_failed and not _NOTHING.search(text):
        if any(part.piped for part in wanted) and not _DONE.search(text):
            return
        yield Commit("", _subject(wanted[0], step.command), entry), amends[0]


def pull_requests(steps: Iterable[Step]) -> list[Statement]:
    """The pull requests that were opened."""
    found: dict[str, Statement] = {}
    for step in steps:
        opens = any(_opens_request(part) for part in step.parts) or _OPENING_TOOL.search(step.tool)
        if opens and step.is_ended and not step.has_failed:
            for address in _REQUEST.findall(step.output[-OUTPUT_CHARS:])[-1:]:
                found.setdefault(address, Statement(address, step.results[-1].id))
    return list(found.values())


def _is_commit(part: Simple) -> bool:
    words = [word for word in part.words[1:] if not word.startswith("-")]
    if part.program == "git":
        return "commit" in words[:2] and not part.has("--dry-run", "--help")
    if part.program == "jj":
        return words[:1] == ["commit"]
    return part.program == "gt" and words[:1] in (["create"], ["modify"])


def _opens_request(part: Simple) -> bool:
    return part.program in ("gh", "glab") and part.arguments[:2] in (("pr", "create"), ("mr", "create"))


def _subject(part: Simple, command: str) -> str:
    """The first line of the message that a commit was given: in a word, or in a text that it reads."""
    for option, text in zip(part.words, part.words[1:], strict=False):
        if option in ("-m", "-am", "--message") and not text.startswith("$("):
            return text.partition("\n")[0][:SUBJECT_CHARS]
    given = (text.strip() for before, text in parted(command[:COMMAND_CHARS_MAX])[1] if "commit" in before)
    return next(given, "").partition("\n")[0][:SUBJECT_CHARS]


def _once(made: list[Commit]) -> list[Commit]:
    """Without what a later output shows again."""
    seen: dict[str, Commit] = {}
    for n, commit in enumerate(made):
        seen.setdefault(commit.hash[:7] or f"#{n}", commit)
    return list(seen.values())


_PRINTED = re.compile(r"^\[[^\[\]\n]{1,200}? ([0-9a-f]{7,40})\] ?([^\n]{0,200})", re.MULTILINE)
_JJ = re.compile(r"^Parent commit \(@-\)\s{0,8}: \w{4,40} ([0-9a-f]{7,40})", re.MULTILINE)
_NOTHING = re.compile(
    r"nothing (?:added )?to commit|no changes added to commit|^error:|^fatal:|running in background",
    re.M | re.I,
)
_DONE = re.compile(r"files? changed|create mode|\d+ insertions?", re.IGNORECASE)
_SCRATCH = re.compile(
    r"(?:\bcd|-C)\s{1,4}[\"']?(?:/tmp/|/private/tmp/|/var/folders/|\$\(mktemp|\$TMP)|mktemp -d"
)
_REQUEST = re.compile(r"https://[\w.-]{1,100}/[\w./-]{1,200}/(?:pull|merge_requests)/\d{1,9}")
_OPENING_TOOL = re.compile(r"create_(?:pull|merge)_request$")
