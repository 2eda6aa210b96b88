"""What the project of a session is called, by all that sessions and a person say.

A log tells a folder, and some logs a remote. What is learnt of a folder from one session holds for all:

    worktrees        X/.worktrees/1 and X/.AGENT/worktrees/a are X
    the folder       has a remote in some session: it is that remote's in all
    a folder above   has one, and nothing nearer; or git was there, as it is here: one repository
    its name         is that of one known remote alone, and git was there: a clone that is gone; or a note
                     was saved under it

Then comes what the person decided: joined, split, renamed, labelled. An imported log can claim any folder
and any remote, so own sessions learn nothing from imported ones.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from recollect.light.project import FOLDER_CHARS_MAX, LEVELS_MAX, is_home, repository_folder
from recollect.light.sources import MEMORY, is_conversation
from recollect.search.decided import Decided
from recollect.values.close import did_you_mean, near_names
from recollect.values.errors import NotFound, UsageError
from recollect.values.lazy import lazy
from recollect.values.names import checked_name
from recollect.values.projects import (
    JOIN,
    LABEL,
    PROJECT_CHARS_MAX,
    RENAME,
    SPLIT,
    Decision,
    Project,
    checked_label,
)
from recollect.values.records import Flag, Relation
from recollect.values.stored import Called, Clue

if TYPE_CHECKING:
    from recollect.store.contract import SessionClues, View
    from recollect.values.stored import Session

_KNOWN_MAX = 1 << 14
_folder = functools.lru_cache(_KNOWN_MAX)(repository_folder)


class ProjectNames:
    """The projects of all sessions, by what these and a person say of them."""

    def __init__(self, told: SessionClues, decisions: Iterable[Decision] = ()) -> None:
        by_end = sorted(
            zip(told.ended_ms, told.clues, strict=True), key=lambda each: (not each[1].imported, each[0])
        )
        self._clues = [clue for _, clue in by_end if _counts(clue)]
        self._own = _Learnt([clue for clue in self._clues if not clue.imported])
        self._all = _Learnt(self._clues)
        self._decided = Decided(decisions, self._own.became)
        self._known: dict[Clue, str] = {}
        # The newest last: it says how a name is spelt.
        self._spelt = {_own_name(clue).casefold(): _own_name(clue) for clue in self._clues}

    def called(self, clue: Clue) -> Called:
        """What the project of the sessions that say this is called."""
        if not is_conversation(clue.agent):
            return Called(clue.project)
        key = self._key(clue)
        name = self._name(key, clue.folder)
        names = self._aliases if clue.imported else self._own_aliases
        aliases = tuple(each for each in names.get(key, ()) if each != name)
        return Called(name, aliases, self._decided.labels_of(key))

    def projects(self, sessions: Iterable[Session]) -> list[Project]:
        """Those of these sessions, the most recently active first."""
        groups: dict[str, list[Session]] = {}
        for session in sessions:
            if _counts(session.clue) and (key := self._key(session.clue)):
                groups.setdefault(key, []).append(session)
        found = [self._project(key, group) for key, group in groups.items()]
        return sorted(found, key=lambda each: (-each.ended_ms, each.name))

    def _project(self, key: str, group: Sequence[Session]) -> Project:
        facts = [each.facts for each in sorted(group, key=lambda each: -each.facts.ended_ms)]
        return Project(
            name=self._name(key),
            aliases=tuple(each for each in self._names_known(key) if each != self._name(key)),
            labels=self._decided.labels_of(key),
            folders=tuple(dict.fromkeys(each.cwd for each in facts if each.cwd)),
            agents=tuple(sorted({each.agent for each in facts})),
            sessions=len(group),
            entries=sum(each.entries for each in group),
            started_ms=min((each.started_ms for each in facts if each.started_ms), default=0),
            ended_ms=facts[0].ended_ms,
            imported=all(each.imported for each in group),
        )

    def name_at(self, own_name: str, folder: str, host: str, *, in_git: bool) -> str:
        """What the project of a folder on this machine is called, which on its own has this name."""
        clue = Clue("", host, own_name, folder, in_git, imported=False, copied=False)
        return self._name(self._key(clue), folder)

    def by_folder_name(self) -> dict[str, str]:
        """The name of the project that a folder is of of which no more is known than its name, or its remote.

        That is a repository's own folder, and none inside of it. A name of two projects is neither's.
        """
        found: dict[str, str] = {}
        for own in dict.fromkeys(_own_name(clue) for clue in self._clues if not clue.imported):
            keys = self._decided.keys_now(own.casefold())
            known = [self._decided.joined(each) for each in keys if _is_end(each, own.casefold())]
            key = _only(set(known)) if own.casefold() not in keys else self._decided.joined(own.casefold())
            if key in self._own_aliases:
                found[own] = self._name(key)
        return found

    def find(self, part: str) -> str:
        """The name of the one project that is called so, or is the only one with this in a name of it."""
        return self._name(self._find(part))

    def name_decided(self, decision: Decision) -> str:
        """The name of the project that a decision was about, as it is now."""
        key = self._decided.keys_now(decision.project.casefold())[0]
        return self._name(self._decided.joined(key))

    def _find(self, part: str) -> str:
        """Own projects come first: what a person decides is no imported log's, however that calls itself."""
        for named in (self._own_aliases, self._aliases):
            if fitting := self._fitting(part.casefold(), named):
                break
        if len(fitting) == 1:
            return fitting[0]
        if fitting:
            names = sorted(map(self._name, fitting))
            raise NotFound(f"several projects have {part!r} in their name", hint=", ".join(names[:5]))
        known = {name for key, names in self._aliases.items() for name in (self._name(key), *names)}
        asked = did_you_mean(near_names(part, sorted(known)))
        hint = " ".join(filter(None, (asked, "`recollect projects` lists them")))
        raise NotFound(f"no project's name has {part!r} in it", hint=hint)

    def _fitting(self, wanted: str, aliases: Mapping[str, Sequence[str]]) -> list[str]:
        """The one among these projects that this fits best, else all that have it in a name."""
        shown = {key: {self._name(key)} for key in aliases}
        named = {key: shown[key].union(names) for key, names in aliases.items()}
        fitting: list[str] = []
        for known, fits in (
            (shown, str.__eq__),
            (named, str.__eq__),
            (named, _is_end),
            (named, str.__contains__),
        ):
            fitting = [key for key, names in known.items() if any(fits(n.casefold(), wanted) for n in names)]
            if len(fitting) == 1:
                break
        return fitting

    # -- decisions: each checks what is asked, and answers with what is to be noted

    def join(self, into: str, other: str) -> Decision:
        """`other` is from now on part of `into`, whose name stays."""
        one, two = self._find(into), self._find(other)
        if one == two:
            raise UsageError(f"{into!r} and {other!r} are one project already")
        return Decision(JOIN, self._noted(one), self._noted(two))

    def split(self, alias: str) -> Decision:
        """What goes by this other name of a project is one of its own again: a join is undone, else what was
        found to be one is parted.
        """
        wanted = self._decided.key_named(alias.casefold(), self._spelt)
        if not self._decided.is_joined(wanted):
            others = {key: [n for n in names if n.casefold() != key] for key, names in self._aliases.items()}
            if not any(wanted in map(str.casefold, names) for names in others.values()):
                parts = [each for each in others.get(wanted, ()) if each.casefold() in self._spelt]
                hint = (
                    f"its other names: {', '.join(parts[:5])}" if parts else "`recollect projects` lists them"
                )
                raise NotFound(f"{alias!r} is not another name of a project", hint=hint)
        return Decision(SPLIT, self._noted(wanted))

    def rename(self, project: str, name: str) -> Decision:
        """It is called so from now on, wherever a project's name is shown or asked for."""
        key, name = self._find(project), checked_name(name)
        for other, names in (self._own_aliases if key in self._own_aliases else self._aliases).items():
            # What it was once called is free again.
            now = {self._name(other), *names} - (self._decided.given.get(other, set()) - {self._name(other)})
            if other != key and name.casefold() in map(str.casefold, now):
                raise UsageError(
                    f"there is a project {name!r} already", hint="`recollect projects join` makes two one"
                )
        return Decision(RENAME, self._noted(key), name)

    def label(self, project: str, label: str) -> Decision:
        """`key=value` says something of it; `key=` takes that away."""
        key, value = checked_label(label)
        return Decision(LABEL, self._noted(self._find(project)), value, key)

    def _noted(self, key: str) -> str:
        """How a project is called in a decision."""
        name = self._spelling(key)
        if len(name) > PROJECT_CHARS_MAX:
            raise UsageError(
                f"nothing can be decided about a name of more than {PROJECT_CHARS_MAX:,} characters"
            )
        return name

    # -- keys: a project's name before a person gave it another, in lower case

    @lazy
    def _aliases(self) -> dict[str, list[str]]:
        """For each project the names that its sessions have on their own."""
        return self._names_of(self._clues)

    @lazy
    def _own_aliases(self) -> dict[str, list[str]]:
        return self._names_of(each for each in self._clues if not each.imported)

    def _names_of(self, clues: Iterable[Clue]) -> dict[str, list[str]]:
        found: dict[str, set[str]] = {}
        for clue in clues:
            if key := self._key(clue):
                own = _own_name(clue).casefold()
                given = (name for each in (key, own) for name in self._decided.given.get(each, ()))
                found.setdefault(key, set()).update((self._spelling(key), self._spelling(own), *given))
        return {key: sorted(names) for key, names in found.items()}

    def _key(self, clue: Clue) -> str:
        known = self._known.get(clue)
        if known is None:
            own = _own_name(clue).casefold()
            learnt = self._all if clue.imported else self._own
            found = own if self._decided.is_apart(own) else learnt.name_of(own, clue)
            known = self._known[clue] = self._decided.joined(found)
        return known

    def _names_known(self, key: str) -> list[str]:
        """By what it is known; of an own project nothing that imported logs call it."""
        return self._own_aliases.get(key) or self._aliases.get(key, [])

    def _name(self, key: str, folder: str = "") -> str:
        """`folder`: where it is, which no session need have been in."""
        return self._shown.get(key) or _free(self._names_to_show(key, [_folder(folder)]), self._taken)

    @lazy
    def _taken(self) -> set[str]:
        return {name.casefold() for name in self._shown.values()}

    @lazy
    def _shown(self) -> dict[str, str]:
        """What each project is called, no two the same: own ones choose first, and a given name holds."""
        folders: dict[str, set[str]] = {}
        for clue in self._clues:
            key = self._key(clue)
            if not clue.imported or key not in self._own_aliases:
                folders.setdefault(key, set()).add(_folder(clue.folder))
        chosen: dict[str, str] = {}
        taken: set[str] = set()
        for key in sorted(self._aliases, key=self._turn):
            chosen[key] = _free(self._names_to_show(key, sorted(folders.get(key, ()))), taken)
            taken.add(chosen[key].casefold())
        return chosen

    def _turn(self, key: str) -> tuple[bool, bool, bool, str]:
        return key not in self._own_aliases, key not in self._decided.names, "/" not in key, key

    def _names_to_show(self, key: str, folders: Iterable[str]) -> Iterator[str]:
        """What it may be called, the best first; there is always one more."""
        if given := self._decided.names.get(key):
            yield given
        yield self._spelling(key)
        yield from (each for each in folders if 0 < len(each) <= PROJECT_CHARS_MAX)
        yield from (f"{self._spelling(key)} {number}" for number in itertools.count(2))

    def _spelling(self, key: str) -> str:
        return self._spelt.get(key, key)


# -- what sessions say ------------------------------------------------------------------------


class _Learnt:
    """Which remotes folders and names have, as far as these clues tell."""

    def __init__(self, clues: Sequence[Clue]) -> None:
        self._clues = clues
        self._of_folder: dict[tuple[str, str], set[str]] = {}
        self._of_name: dict[str, set[str]] = {}
        self._in_git: dict[tuple[str, str], set[str]] = {}
        for clue in clues:
            name, folder = _own_name(clue).casefold(), _folder(clue.folder)
            if "/" in name:
                self._of_name.setdefault(name.rpartition("/")[2], set()).add(name)
                if folder:
                    self._of_folder.setdefault((clue.host, folder), set()).add(name)
            elif clue.in_git and not is_home(folder):  # whose files may be in git, and not all that is below
                self._in_git.setdefault((clue.host, folder), set()).add(name)

    def name_of(self, own: str, clue: Clue) -> str:
        """What a clue comes to, whose name is `own` as long as nothing else is known."""
        if "/" in own:
            return own
        topmost, here = own, _folder(clue.folder)
        for folder in _folders(here):
            remotes = self._of_folder.get((clue.host, folder))
            if remotes and (folder == here or not is_home(folder)):
                # Of several nobody knows which was there then: a folder that many repositories were put into.
                return _only(remotes) or own
            if clue.in_git:
                topmost = _only(self._in_git.get((clue.host, folder), ())) or topmost
        # Who saves a note says a name and has no folder: it means the repository of that name.
        by_name = clue.in_git or clue.agent == MEMORY
        return (_only(self._of_name.get(topmost, ())) if by_name else "") or topmost

    @lazy
    def became(self) -> dict[str, set[str]]:
        """What the projects that were called so are called by now; the name itself where one still is."""
        found: dict[str, set[str]] = {}
        for clue in self._clues:
            own = _own_name(clue).casefold()
            if key := self.whole_of(own, clue):
                found.setdefault(own, set()).add(key)
        return {own: {own} if own in keys else keys for own, keys in found.items()}

    def whole_of(self, own: str, clue: Clue) -> str:
        """What a clue comes to, "" where its folder is no more than a part of that."""
        found = self.name_of(own, clue)
        if own in (found, found.rpartition("/")[2]):
            return found
        has_it = [
            found in self._of_folder.get((clue.host, each), ()) for each in _folders(_folder(clue.folder))
        ]
        return found if any(has_it[:1]) and not any(has_it[1:]) else ""


def _free(names: Iterable[str], taken: Container[str]) -> str:
    """The first name that is not taken, in any case."""
    return next(each for each in names if each.casefold() not in taken)


def _is_end(name: str, part: str) -> bool:
    return f"/{name}".endswith(f"/{part}")


def _only(names: Collection[str]) -> str:
    """The one name among these, "" for none or several."""
    return next(iter(names)) if len(names) == 1 else ""


def _folders(folder: str) -> Iterator[str]:
    """A folder and those above it that are looked at, without the root."""
    for _ in range(LEVELS_MAX if len(folder) <= FOLDER_CHARS_MAX else 0):
        if folder:
            yield folder
        folder = folder.rpartition("/")[0]


def _counts(clue: Clue) -> bool:
    """Whether anything is learnt of it: that a copy was written says nothing new."""
    return is_conversation(clue.agent) and not clue.copied


def _own_name(clue: Clue) -> str:
    return _name_alone(clue.project, clue.folder)


@functools.lru_cache(_KNOWN_MAX)
def _name_alone(project: str, folder: str) -> str:
    """What a session's project is called by that session alone."""
    if "/" in project and project.rpartition("/")[2].strip("."):
        return project
    base = _folder(folder)
    is_folders = "/" in project or project == folder.replace("\\", "/").rstrip("/").rpartition("/")[2]
    return base.rpartition("/")[2] if base and is_folders else project


def counted(view: View) -> Iterator[Session]:
    """All sessions, their entries without what they have of others: copied into them, or shared by a fork."""
    for row, session in view.session_rows().items():
        if session.facts.relation is Relation.FORK:
            flags = view.session_columns(row, "flags")["flags"]
            yield replace(session, entries=int(np.count_nonzero(flags & Flag.COPY == 0)))
        else:
            yield session
