"""Which files a session changed, and by how many lines as far as its calls say.

Edits that failed or were refused changed nothing. A shell writes by `>`, `tee`, `sed -i`, `mv`, `rm`; what it
writes on other machines and in temporary folders, what came and went within the session, and what only tells
of the work (plans and notes of a client) is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from recollect.agents.registry import all_tools
from recollect.agents.tools import changes_in
from recollect.insight.digest.steps import Step, once
from recollect.insight.shell import Simple
from recollect.values.digests import Changed
from recollect.values.history import Change

_LINES_MAX = 20_000  # of one change, that are compared


@dataclass(frozen=True, slots=True)
class Touch:
    """What a step did to a path. `is_whole`: all of it was written, `is_gone`: it was deleted."""

    path: str
    added: int = 0
    removed: int = 0
    is_whole: bool = False
    is_gone: bool = False


def changed_files(steps: Iterable[Step], folder: str) -> list[Changed]:
    """The files that the steps changed, in the order they were first changed; paths relative to `folder`."""
    found: dict[str, Changed] = {}
    whole: set[str] = set()  # all of it is from here
    for step in steps:
        for touch in touches(step):
            name = project_path(touch.path, folder)
            known = found.get(name)
            if not name:
                continue
            if touch.is_gone and name in whole:
                del found[name]
                whole.discard(name)
                continue
            if known is None and touch.is_whole:
                whole.add(name)
            before = (known.added, known.removed) if known else (0, 0)
            found[name] = Changed(name, before[0] + touch.added, before[1] + touch.removed, step.call.id)
    return list(found.values())


@once
def touches(step: Step) -> list[Touch]:
    """What a step changed; nothing for one that did not come to pass."""
    if not step.is_ended or step.is_refused:
        return []
    if step.tool in all_tools().change:
        return [] if step.has_failed else _edited(step)
    # One part of a command may fail behind another that wrote: only a write that stands alone tells.
    if not step.command or (step.has_failed and len(step.parts) < 2):
        return []
    patched = _edited(step) if "*** Begin Patch" in step.command else []
    return patched + [touch for part in step.parts for touch in written_by(part)]


def is_change(step: Step) -> bool:
    """Whether a step changes files, done or not."""
    return step.tool in all_tools().change or any(True for part in step.parts for _ in written_by(part))


def written_by(part: Simple) -> Iterator[Touch]:
    """What a simple command writes, moves or deletes on this machine."""
    if part.host:
        return
    yield from (Touch(path, is_whole=True) for path in part.writes if _is_path(path))
    program, given = part.program, [word for word in part.arguments if _is_path(word)]
    if program == "git" and part.arguments[:1] in (("mv",), ("rm",)):
        program, given = part.arguments[0], given[1:]
    if program in ("rm", "unlink"):
        recursive = any(_RECURSIVE.match(word) for word in part.words)
        yield from (
            Touch(path, is_gone=True) for path in given if not recursive or "." in path.rpartition("/")[2][1:]
        )
    elif program in ("tee", "touch"):
        yield from (Touch(path, is_whole=True) for path in given)
    elif program == "mv":
        yield from map(Touch, given)
    elif program == "cp":
        yield from map(Touch, given[-1:] if len(given) > 1 else [])
    elif program in ("sed", "gsed", "perl") and any(_IN_PLACE.match(word) for word in part.words):
        yield from map(Touch, given[1:] if len(part.arguments) == len(given) else given)


def project_path(path: str, folder: str) -> str:
    """A path as it is named inside a project's folder, "" for one that is no part of the work."""
    path, folder = path.replace("\\", "/"), folder.replace("\\", "/").rstrip("/")
    if folder and path.lower().startswith(folder.lower() + "/"):
        path = path[len(folder) + 1 :]
    while path.startswith("./"):
        path = path[2:]
    return "" if _ASIDE.search(path) or path.endswith("/") else path


def _edited(step: Step) -> list[Touch]:
    changes = changes_in(all_tools(), step.call.entry.text)
    told = [_touch(each) for each in changes if each.path]
    named = {each.path for each in told}
    patched = [path for find in all_tools().patched for path in find(step.call.entry.text)]
    return told + [Touch(path) for path in dict.fromkeys(patched) if path not in named]


def _touch(change: Change) -> Touch:
    """How many lines a change adds and removes: those of one side that the other has not, as a bag."""
    old, new = change.old.splitlines()[:_LINES_MAX], change.new.splitlines()[:_LINES_MAX]
    if change.is_whole or not old:
        return Touch(change.path, len(new), 0, change.is_whole)
    left: dict[str, int] = {}
    for line in old:
        left[line] = left.get(line, 0) + 1
    added = 0
    for line in new:
        if left.get(line):
            left[line] -= 1
        else:
            added += 1
    return Touch(change.path, added, sum(left.values()))


def _is_path(word: str) -> bool:
    return bool(word) and len(word) < 300 and not _NO_PATH.search(word)


_IN_PLACE = re.compile(r"-[a-z]*i|--in-place")
_RECURSIVE = re.compile(r"-[a-zA-Z]*[rR]|--recursive")
_NO_PATH = re.compile(r"[\s$*?{}()|<>=,;\"'`!]|^[-&/]?$|^/dev/|^\d+$|^-")
_ASIDE = re.compile(
    r"^(?:[a-z]:)?(?:/private)?/(?:tmp|var/folders|dev)/|/appdata/local/temp/"
    r"|(?:^|/)\.\w[\w-]*/(?:plans|projects|memor(?:y|ies)|sessions|todos)/|(?:^|/)(?:scratchpad|\.git)/"
    r"|^tmp/",
    re.IGNORECASE,
)
