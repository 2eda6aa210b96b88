"""What was done about a file, for a purpose, against an error, as JSON objects; a call on one line."""

from __future__ import annotations

import difflib
import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from recollect.present.hits import hit_object
from recollect.present.sessions import entry_object, session_object
from recollect.values.text import one_line

if TYPE_CHECKING:
    from recollect.values.history import Change, Command, CommitBlame, Fix, Touch, Why


def touch_object(touch: Touch) -> dict[str, Any]:
    return {
        "session": session_object(touch.session),
        "changes": touch.changes,
        "looks": touch.looks,
        "last": touch.last.id,
        "time_ms": touch.last.entry.time_ms or None,
        "prompt": touch.prompt and entry_object(touch.prompt),
        "edits": [{"path": each.path, "old": each.old, "new": each.new} for each in touch.edits],
    }


def commit_object(found: CommitBlame) -> dict[str, Any]:
    known = found.known
    return {
        "asked": found.asked,
        "commit": known and {**asdict(known), "files": list(known.files)},
        "sessions": [
            {
                "session": session_object(each.session),
                "title": each.title,
                "hash": each.commit.hash,
                "subject": each.commit.subject,
                "entry": each.commit.entry,
                "time_ms": each.time_ms or None,
                "by_subject": each.by_subject,
                "prompt": each.prompt and entry_object(each.prompt),
                "decisions": [asdict(decision) for decision in each.decisions],
            }
            for each in found.made
        ],
    }


def why_object(found: Why) -> dict[str, Any]:
    return {
        "path": found.path,
        "line": found.number,
        "text": found.text,
        "found_by": found.found_by,
        "change": found.touch and touch_object(found.touch),
        "reason": found.reason and asdict(found.reason),
        "others": found.others,
        "git_fails": found.git_fails,
        "commit": found.commit and commit_object(found.commit),
    }


def diff_lines(change: Change, words: str = "", limit: int = 12) -> list[str]:
    """A change as the lines of a small diff, those around some words if it is long; `...` for what is cut."""
    compared = difflib.unified_diff(change.old.splitlines(), change.new.splitlines(), lineterm="", n=1)
    lines = [line for line in list(compared)[2:] if not line.startswith("@@")]
    wanted = words.casefold().split()
    counts = [sum(word in line.casefold() for word in wanted) * line.startswith("+") for line in lines]
    at = counts.index(max(counts)) if counts else 0
    start = max(min(at - limit // 3, len(lines) - limit), 0)
    shown = lines[start : start + limit]
    return ["..."] * (start > 0) + shown + ["..."] * (start + limit < len(lines))


def command_object(command: Command) -> dict[str, Any]:
    return {
        "command": command.text,
        "worked": command.worked,
        "failed": command.failed,
        "unknown": command.unknown,
        "told": command.told,
        "variants": command.variants,
        "last": command.last.id,
        "session": command.last.session,
        "project": command.session.facts.project,
        "imported": command.last.imported,
        "time_ms": command.last.entry.time_ms or None,
        "score": round(command.score, 6),
    }


def fix_object(each: Fix) -> dict[str, Any]:
    return {
        "hit": hit_object(each.hit, _HIT_FIELDS),
        "times": each.times,
        "exact": each.exact,
        "ended_by": each.ended_by,
        "steps": [entry_object(step) for step in each.steps],
        "told": each.is_told,
        "quote": each.quote,
        "answer": each.answer and entry_object(each.answer),
    }


_HIT_FIELDS = (
    "id",
    "score",
    "kind",
    "project",
    "thread",
    "time_ms",
    "snippet",
    "session",
    "tool",
    "imported",
)


def call_summary(text: str) -> str:
    """A tool call on one line: its main argument, or its whole input when none stands out."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return one_line(text, _SUMMARY_CELLS)
    if isinstance(value, dict):
        for name in _ARGUMENTS:
            if value.get(name):
                return one_line(_words(value[name]), _SUMMARY_CELLS)
    return one_line(text, _SUMMARY_CELLS)


def _words(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        # ["bash", "-lc", "..."]: what matters is what the shell was told.
        return value[2] if len(value) == 3 and value[1] in ("-lc", "-c") else " ".join(value)
    return json.dumps(value)


_ARGUMENTS = (
    "command",
    "cmd",
    "file_path",
    "notebook_path",
    "pattern",
    "query",
    "path",
    "url",
    "skill",
    "description",
    "prompt",
    "subject",
    "input",
)


_SUMMARY_CELLS = 160  # of a call on its one line
