"""Threads as graphs and as stories: JSON objects, and what ties two sessions in a few words."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from recollect.present.digests import commit_statements
from recollect.present.sessions import thread_object
from recollect.present.usage import usage_object
from recollect.values.history import JOINED, How
from recollect.values.records import Relation
from recollect.values.text import many
from recollect.values.titles import UNTITLED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from recollect.values.history import Link, ThreadStory, ThreadTree
    from recollect.values.stored import Session

_WORDS = {
    How.SUBAGENT: "subagent",
    How.FORK: "forked",
    How.CONTINUATION: "continued",
    How.SLUG: "same slug",
    How.PLAN: "carries out the plan",
    How.HANDOVER: "told to read it",
    How.REQUEST: "asked again",
    How.ISSUE: "same issue",
    How.DOCUMENT: "same plan document",
    How.BRANCH: "same branch",
    How.FOLLOW_UP: "follows up",
    How.COMPACTION: "compacted",
    How.REWIND: "taken back",
}
_PLANS_MAX, _ASKED_MAX, _FILES_MAX, _FOLDERS_MAX, _COMMITS_MAX, _OPEN_MAX = 4, 8, 7, 6, 5, 4
_PICTURES_MAX = 2
_DROPPED_MAX = 3  # of what a compaction dropped, in a tree
_ALIKE_CHARS = 40  # of what subagents were told, by which they do the same

# What says most about how a session came about, where several things tie it.
_TELLING = (
    How.SUBAGENT,
    How.FORK,
    How.CONTINUATION,
    How.PLAN,
    How.HANDOVER,
    How.REQUEST,
    How.ISSUE,
    How.DOCUMENT,
    How.BRANCH,
    How.FOLLOW_UP,
    How.SLUG,
)


_GUESSED = (How.DOCUMENT, How.BRANCH, How.FOLLOW_UP)  # what needs its reason told


@dataclass(frozen=True, slots=True)
class TreeLine:
    """A line of a drawn tree: the lines to its left, which session or entry it shows, what it says."""

    branch: str
    session: Session | None
    entry: str
    text: str


def tree_lines(tree: ThreadTree, names: Mapping[str, str]) -> list[TreeLine]:
    """A thread drawn line by line: below each session what came out of it, and what became of its context."""
    origins = _origins(tree)
    lines: list[TreeLine] = []

    def draw(session: Session, branch: str, inner: str) -> None:
        id_ = session.facts.id
        came = origins.get(id_)
        title = session.facts.headline or UNTITLED
        is_sure = came is not None and came.how not in _GUESSED
        told = (link_words(replace(came, why=title) if is_sure else came)) if came else title
        lines.append(TreeLine(branch, session, came.entry if came else "", told))
        own = [each for each in tree.links if each.earlier == each.later == id_]
        own += [each for each in tree.links if each.later == id_ != each.earlier and each.confidence < JOINED]
        below = [each for each in tree.sessions if (o := origins.get(each.facts.id)) and o.earlier == id_]
        groups = _alike(below, origins)
        for n, link in enumerate(own):
            is_last = n + 1 == len(own) and not groups
            other = "" if link.earlier == link.later else f" {names.get(link.earlier, link.earlier)}"
            corner, edge = ("└ ", "  ") if is_last else ("├ ", "│ ")
            lines.append(TreeLine(inner + corner, None, link.entry, link_words(link, other)))
            lines.extend(_dropped(link, inner + edge))
        for n, group in enumerate(groups):
            corner, edge = ("└ ", "  ") if n + 1 == len(groups) else ("├ ", "│ ")
            if len(group) == 1:
                draw(group[0], inner + corner, inner + edge)
            else:
                told = f"{many(len(group), 'subagent')} that no call started: {group[0].facts.headline}"
                lines.append(TreeLine(inner + corner, None, "", told))

    for root in tree.sessions:
        if root.facts.id not in origins:
            draw(root, "", "")
    return lines


def _alike(below: Sequence[Session], origins: Mapping[str, Link]) -> list[list[Session]]:
    """Sessions in order; what a client started by itself, again and again with the same words, together.

    Without a call of theirs they are no work of the conversation: suggestions, summaries.
    """
    groups: dict[str, list[Session]] = {}
    for each in below:
        link = origins[each.facts.id]
        is_own = link.how != How.SUBAGENT or link.entry or not each.facts.headline
        groups.setdefault(each.facts.id if is_own else each.facts.headline[:_ALIKE_CHARS], []).append(each)
    return list(groups.values())


def _dropped(link: Link, inner: str) -> list[TreeLine]:
    """What a compaction's summary does not have, the first ones."""
    told = [
        TreeLine(
            f"{inner}{'└' if n + 1 == len(link.dropped) else '├'} ",
            None,
            each.entry,
            f"not in it: {each.text}",
        )
        for n, each in enumerate(link.dropped[:_DROPPED_MAX])
    ]
    if (more := len(link.dropped) - _DROPPED_MAX) > 0:
        told.append(TreeLine(f"{inner}└ ", None, "", f"nor {more:,} more"))
    return told


def _origins(tree: ThreadTree) -> dict[str, Link]:
    """What each session came out of: of what ties it to another of the thread, that which says most."""
    ids = {each.facts.id for each in tree.sessions}
    tied = [each for each in tree.links if each.how in _TELLING and each.confidence >= JOINED]
    found: dict[str, Link] = {}
    for link in sorted(tied, key=lambda each: _TELLING.index(each.how)):
        above = link.earlier
        while above in found and above != link.later:
            above = found[above].earlier
        if {link.earlier, link.later} <= ids and link.later not in found and above != link.later:
            found[link.later] = link
    return found


def link_words(link: Link, other: str = "") -> str:
    """What ties two sessions: a word, how sure that is where it is not certain, and why."""
    sure = "" if link.confidence >= 1 else f" ({link.confidence:.2f})"
    perhaps = "perhaps " if link.confidence < JOINED else ""
    return f"{perhaps}{_WORDS[link.how]}{other}{sure}" + (f": {link.why}" if link.why else "")


def tree_object(tree: ThreadTree, names: Mapping[str, str]) -> dict[str, Any]:
    """A thread as a graph: its sessions are nodes, what ties them are edges."""
    return {
        **thread_object(tree.thread, names[tree.thread.id]),
        "nodes": [_node(each) for each in tree.sessions],
        "edges": [_edge(each) for each in tree.links],
    }


def story_object(story: ThreadStory, names: Mapping[str, str]) -> dict[str, Any]:
    """A thread with what happened in it."""
    return {
        **tree_object(story.tree, names),
        "plans": [asdict(each) for each in story.plans],
        "outcomes": [
            {
                "session": session.facts.id,
                "title": made.title,
                "outcome": str(made.ending.outcome),
                "why": made.ending.why,
                "entry": made.ending.entry,
            }
            for session, made in story.parts
        ],
        "asked": [asdict(each) for _, made in story.parts for each in made.asked],
        "files": [asdict(each) for each in story.files],
        "folders": story.folders,
        "branches": story.branches,
        "commits": [asdict(each) for each in story.commits],
        "open": [asdict(each) for each in story.parts[-1][1].open],
        "patterns": [{"name": name, "count": count} for name, count in story.patterns],
        "screenshots": story.screenshots,
        "pictures": [asdict(each) for each in story.pictures],
        "active_ms": story.active_ms,
        "usage": usage_object(story.usage),
    }


def story_statements(story: ThreadStory, names: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """What, text and entry of each statement that is shown of a thread: at most 40."""
    for plan in story.plans[:_PLANS_MAX]:
        yield "plan", plan.text, plan.entry
    share = max(_ASKED_MAX // len(story.parts), 1)
    told: set[str] = set()
    for session, made in story.parts[:_ASKED_MAX]:
        name = names.get(session.facts.id, session.facts.id)
        new = [asked for asked in made.asked if asked.text not in told]  # a fork repeats what was asked
        told |= {asked.text for asked in new}
        for asked in new[:share]:
            yield "asked", asked.text, asked.entry
        yield str(made.ending.outcome), f"{name}: {made.ending.why}", made.ending.entry
    files = story.files
    for file in files[:_FILES_MAX]:
        lines = "".join(
            f" {sign}{count}" for sign, count in (("+", file.added), ("-", file.removed)) if count
        )
        yield "changed", f"{file.path}{lines}", file.entry
    if len(files) > _FILES_MAX:
        yield "changed", f"and {many(len(files) - _FILES_MAX, 'more file')}", files[-1].entry
    if story.folders:
        yield "in", ", ".join(story.folders[:_FOLDERS_MAX]), ""
    for picture in story.pictures[-_PICTURES_MAX:]:
        yield "shown", picture.text or "a picture", picture.entry
    for commit in list(commit_statements(story.commits))[-_COMMITS_MAX:]:
        yield "commit", commit.text, commit.entry
    for point in story.parts[-1][1].open[:_OPEN_MAX]:
        yield "open", point.text, point.entry


def _node(session: Session) -> dict[str, Any]:
    facts = session.facts
    return {
        "id": facts.id,
        "kind": "subagent" if facts.relation == Relation.SUBAGENT else "session",
        "agent": facts.agent,
        "title": facts.headline,
        "started_ms": facts.started_ms or None,
        "ended_ms": facts.ended_ms or None,
        "entries": session.entries,
        "imported": session.imported,
    }


def _edge(link: Link) -> dict[str, Any]:
    return {
        "from": link.earlier,
        "to": link.later,
        "how": str(link.how),
        "confidence": link.confidence,
        "why": link.why,
        "entry": link.entry,
        "answer": link.answer,
        "tokens": link.tokens or None,
        "kept": [asdict(each) for each in link.kept],
        "dropped": [asdict(each) for each in link.dropped],
    }
