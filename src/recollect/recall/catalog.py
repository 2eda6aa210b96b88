"""The catalog: what a new conversation is told of a project's past, made from the store alone.

    overview   how much there is, and since when
    threads    what was worked on last, and how it ended
    remarks    what the person wants, and what was decided (rules in `insight/preferences`)
    facts      notes tagged as facts, and what a model extracted where the person had one asked
    open       what was left undone
    files      what was changed most
    words      what was spoken of

At most `budget_tokens` for the whole text, fence included; what does not fit goes in the order of `TRIM`.
Every quotation carries the id of its entry. What tools gave back is never quoted, and imported logs do not
count unless asked for: it is text of strangers, and this one reaches a model unasked. Times are dates, not
ages, because a hook may show a catalog long after it was made.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

from recollect.agents.registry import all_tools
from recollect.insight.digest.kept import Digests
from recollect.insight.facts import is_named, saved_facts
from recollect.insight.preferences import agreed, bare, gist, left_open, open_tasks, remarks, spoken
from recollect.insight.project_past import FAILED, STOPPED, UNANSWERED, ProjectPast, Talk, project_past
from recollect.recall.fence import fenced
from recollect.search.digest_rows import DigestRows
from recollect.search.projects import worked_out
from recollect.search.text.fields import files_of
from recollect.store.contract import View
from recollect.values.budgets import CATALOG_TOKENS
from recollect.values.facts import Origin
from recollect.values.recalled import Catalog
from recollect.values.records import Entry
from recollect.values.stop_words import EVERYDAY
from recollect.values.stored import Session, StoredEntry
from recollect.values.text import many, moment, one_line, short, tokens
from recollect.values.titles import UNTITLED, bare_title, telling

MORE = (
    "More: search_memory and recall_context, or `recollect search WORDS`; "
    "read_memory or `recollect show` for an [id]."
)
HEADINGS = {
    "threads": "Recent threads:",
    "remarks": "Said about how to work:",
    "facts": "Kept on purpose:",
    "open": "Open ends:",
    "files": "Changed most: ",
    "words": "Spoken of: ",
}
PROMPTS_COUNTED = 12  # of a thread, for its words
LINES_MAX = {"threads": 8, "remarks": 8, "facts": 8, "open": 5, "files": 8, "words": 20}
# First each loses its last lines down to so many, in this order; then each goes whole, in this order.
TRIM = {"words": 8, "files": 4, "threads": 4, "remarks": 4, "facts": 4, "open": 3}
TITLE_CELLS, STATE_CELLS, REMARK_CELLS, OPEN_CELLS, PATH_CELLS = 64, 100, 120, 120, 60
GIST_CHARS, TELLING_CHARS, ALIKE_CHARS = 50, 15, 40
THREADS_OPEN = 5  # the newest: what was left undone before them was done since, or given up
PROMPT_CHARS, WORDS_CHARS = 1000, 500  # of one text, that are looked at
NOTES_READ = 200  # of a session of notes
HALF_LIFE_MS = 14 * 86_400_000
STATES = {
    UNANSWERED: "the last prompt got no answer",
    FAILED: "ended in an error",
    STOPPED: "stopped half-way",
}


def catalog(
    view: View, project: str, *, budget_tokens: int = CATALOG_TOKENS, now_ms: int, imported: bool = False
) -> Catalog:
    """The catalog of the project of exactly this name; with `imported`, of what strangers' logs say too."""
    past = project_past(view, project, imported=imported)
    if not past.talks:
        return Catalog("", project, 0, now_ms)
    digests = _Kept(view)
    whole = {
        "overview": _overview(past, now_ms),
        "threads": _thread_lines(past.talks, digests),
        "remarks": _remark_lines(past.talks),
        "facts": _fact_lines(view, project),
        "open": _open_lines(past.talks, digests),
        "files": _files(past),
        "words": _words(past),
    }
    sections = {name: tuple(lines[: LINES_MAX.get(name)]) for name, lines in whole.items()}
    return _fitted(sections, project, budget_tokens, now_ms)


class _Kept:
    """What digests tell of talks, where one is kept of all that was said: none is made for a catalog.

    A digest also knows what tools gave back and what was imported into a session, and its title may be of
    that: taken is only how it ended, and what is shown by an answer that was read of the talk.
    """

    def __init__(self, view: View) -> None:
        self._digests, self._rows = worked_out(view, Digests), worked_out(view, DigestRows)

    def bad_end(self, talk: Talk) -> str:
        """How it ended, where that was not well."""
        return self._rows.bad_end(_newest(talk))

    def left(self, talk: Talk) -> tuple[str, StoredEntry] | None:
        """What an answer left undone, and that answer."""
        session = _newest(talk)
        told = self._digests.of(session).open if self._digests.row_of(session) is not None else ()
        said = {each.id: each for each in (talk.last, *talk.answers)}
        return next(((each.text, said[each.entry]) for each in told if each.entry in said), None)


def _newest(talk: Talk) -> Session:
    """The session in which the last thing was said."""
    return next(each for each in talk.thread.sessions if each.facts.id == talk.last.session)


# -- sections --------------------------------------------------------------------------------


def _overview(past: ProjectPast, now_ms: int) -> list[str]:
    sessions = many(len(past.sessions), "session")
    if past.subagents:
        sessions += f" and {many(past.subagents, 'subagent')}"
    days = past.days
    when = f" on {many(len(days), 'day')}, {' to '.join(dict.fromkeys((days[0], days[-1])))}" if days else ""
    made = moment(now_ms, "%Y-%m-%d %H:%M")
    return [
        f"What is remembered of {one_line(past.project, TITLE_CELLS)}, as of {made}.",
        f"{sessions}{when}; {', '.join(past.agents)}; {short(past.entries)} entries.",
        MORE,
    ]


def _thread_lines(talks: Sequence[Talk], digests: _Kept) -> list[str]:
    """Each title once: a name carries over to a conversation that nothing else ties to the one before."""
    titled: dict[str, list[Talk]] = {}
    for talk in talks:
        title = _title(talk)
        titled.setdefault(talk.thread.id if title == UNTITLED else title, []).append(talk)
    return [_thread_line(_title(same[0]), same, digests) for same in titled.values()]


def _thread_line(title: str, same: Sequence[Talk], digests: _Kept) -> str:
    newest, sessions = same[0], sum(len(talk.thread.sessions) for talk in same)
    said = newest.last if newest.ended else _telling(newest.answers or (newest.last,))
    state = STATES.get(newest.ended) or one_line(gist(said.entry.text, GIST_CHARS), STATE_CELLS) or "answered"
    bad_end = "" if newest.ended else digests.bad_end(newest)
    parts = ", ".join(filter(None, (f"{sessions} sessions" if sessions > 1 else "", bad_end)))
    return f"- {_day(newest.thread.ended_ms)} {title}{f' ({parts})' if parts else ''}: {state}{_id(said)}"


def _telling(said: Sequence[StoredEntry]) -> StoredEntry:
    """The last thing said, or one shortly before it, if that was no more than a word or two."""
    return next((each for each in reversed(said[-4:]) if len(each.entry.text) >= TELLING_CHARS), said[-1])


def _title(talk: Talk) -> str:
    asked = (each.entry.text for each in talk.prompts if telling(each.entry.text))
    return one_line(bare(talk.thread.title or bare_title(next(asked, ""))), TITLE_CELLS) or UNTITLED


def _remark_lines(talks: Sequence[Talk]) -> list[str]:
    """What the person wants and what was decided, mixed, each the newest first and once."""
    wanted: list[tuple[StoredEntry, str]] = []
    settled: list[tuple[StoredEntry, str]] = []
    for talk in talks:
        for prompt in talk.prompts:
            wants, decides = remarks(prompt.entry.text)
            wanted += [(prompt, each) for each in wants]
            settled += [(prompt, each) for each in decides]
        for answer in talk.answers:
            settled += [(answer, each) for each in agreed(answer.entry.text)]
    asked, decided = _remarks_of(wanted, "wants"), _remarks_of(settled, "decided")
    return asked[:3] + decided[:2] + asked[3:6] + decided[2:]


def _remarks_of(found: Sequence[tuple[StoredEntry, str]], label: str) -> list[str]:
    ordered = sorted(found, key=lambda each: (-each[0].entry.time_ms, each[0].id))
    once: dict[str, tuple[StoredEntry, str]] = {}
    for stored, text in ordered:
        once.setdefault(text[:ALIKE_CHARS].casefold().rstrip(".! "), (stored, text))
    return [
        f"- {_day(stored.entry.time_ms)} {label}: {one_line(text, REMARK_CELLS)}{_id(stored)}"
        for stored, text in once.values()
    ]


def _fact_lines(view: View, project: str) -> list[str]:
    """What was saved of the project, a person's notes before what a model told, each the newest first."""
    found = saved_facts(view, lambda name: is_named(name, project), NOTES_READ)
    ordered = sorted(found, key=lambda each: (each.origin is Origin.MODEL, -each.time_ms, each.id))
    return [
        f"- {_day(each.time_ms)} {each.tag}{' (told by a model)' if each.origin is Origin.MODEL else ''}: "
        f"{one_line(bare(each.text[:PROMPT_CHARS]), REMARK_CELLS)} [{each.entries[0]}]"
        for each in ordered
    ]


def _open_lines(talks: Sequence[Talk], digests: _Kept) -> list[str]:
    return [line for talk in talks[:THREADS_OPEN] if (line := _open_line(talk, digests))]


def _open_line(talk: Talk, digests: _Kept) -> str:
    """The one thing most worth picking up of a thread, "" if it seems done."""
    day, bad_end = _day(talk.thread.ended_ms), digests.bad_end(talk)
    if (talk.ended or bad_end) and talk.prompts:
        prompt = _telling(talk.prompts)
        label = {UNANSWERED: "unanswered", FAILED: "failed", STOPPED: "unfinished"}.get(talk.ended, bad_end)
        return f"- {day} {label}: {one_line(bare(prompt.entry.text[:PROMPT_CHARS]), OPEN_CELLS)}{_id(prompt)}"
    calls = (each.entry for each in talk.calls if each.session == talk.last.session)
    tasks = open_tasks(calls, all_calls=talk.all_calls)
    if tasks:
        more = f" (and {len(tasks) - 1} more)" if len(tasks) > 1 else ""
        return f"- {day} task: {one_line(tasks[0], OPEN_CELLS)}{more}{_id(talk.last)}"
    if left := left_open(talk.last.entry.text):
        return f"- {day} left: {one_line(left, OPEN_CELLS)}{_id(talk.last)}"
    told = digests.left(talk)
    return f"- {day} left: {one_line(bare(told[0]), OPEN_CELLS)}{_id(told[1])}" if told else ""


def _files(past: ProjectPast) -> list[str]:
    """Files by how often they were changed; a change counts half for every fortnight since."""
    folders = sorted({_slashed(each.facts.cwd) for each in past.sessions if each.facts.cwd}, key=len)
    newest = max((session.facts.ended_ms for session in past.sessions), default=0)
    weights: Counter[str] = Counter()
    for talk in past.talks:
        for call in talk.calls:
            if _changes(call.entry):
                age_ms = max(newest - call.entry.time_ms, 0)
                for path in filter(None, (_inside(name, folders) for name in files_of(call.entry))):
                    weights[path] += 0.5 ** (age_ms / HALF_LIFE_MS)
    ordered = sorted(weights, key=lambda path: (-weights[path], path))
    return [_short_path(path) for path in ordered[: LINES_MAX["files"]]]


def _changes(call: Entry) -> bool:
    """Whether a call changes files: by its tool, or by a patch in what it was given."""
    tools = all_tools()
    return call.tool.lower() in tools.change or any(patched(call.text) for patched in tools.patched)


def _inside(path: str, folders: Sequence[str]) -> str:
    """A path as seen from the project's own folder, "" for one that lies elsewhere."""
    for folder in folders:
        if path.lower().startswith(folder.lower() + "/"):
            return path[len(folder) + 1 :]
    return "" if path.startswith(("/", "~", "..")) or path[1:2] == ":" else path.removeprefix("./")


def _short_path(path: str) -> str:
    """The end of a path tells files apart."""
    line = one_line(path[-4 * PATH_CELLS :])
    return line if len(line) <= PATH_CELLS else "…" + line[1 - PATH_CELLS :]


def _slashed(folder: str) -> str:
    return folder.replace("\\", "/").rstrip("/")


def _words(past: ProjectPast) -> list[str]:
    """Words of titles and prompts, those first that many threads here use and titles elsewhere do not."""
    elsewhere: Counter[str] = Counter()
    for title in past.titles_elsewhere:
        elsewhere.update(_terms(title))
    threads: Counter[str] = Counter()
    weights: Counter[str] = Counter()
    for talk in past.talks:
        texts = [_title(talk), *(spoken(prompt.entry.text) for prompt in talk.prompts[-PROMPTS_COUNTED:])]
        counts = Counter(term for text in texts for term in _terms(text))
        threads.update(list(counts))
        weights.update({term: 1 + math.log(count) for term, count in counts.items()})
    titles, own = 1 + len(past.titles_elsewhere), _terms(past.project.replace("/", " "))
    rarity = {term: math.log(1 + titles / (1 + elsewhere[term])) for term in threads}
    found = [term for term, count in threads.items() if count > 1 and term not in own]
    return sorted(found, key=lambda term: (-weights[term] * rarity[term], term))[: LINES_MAX["words"]]


def _terms(text: str) -> set[str]:
    plain = _PLACE.sub(" ", text[:WORDS_CHARS])
    return {word for each in _WORD.findall(plain) if (word := each.lower()) not in EVERYDAY}


def _id(stored: StoredEntry) -> str:
    return f" [{stored.id} imported]" if stored.imported else f" [{stored.id}]"


def _day(time_ms: int) -> str:
    return moment(time_ms, "%Y-%m-%d")


# -- the budget ------------------------------------------------------------------------------


def _fitted(sections: dict[str, tuple[str, ...]], project: str, budget: int, now_ms: int) -> Catalog:
    """The text of as much as fits: a line less at a time, in the order of `TRIM`."""
    kept, trimmed = dict(sections), list[str]()
    for name, least in (*TRIM.items(), *dict.fromkeys(TRIM, 0).items()):
        while len(kept[name]) > least and tokens(_text(kept, project)) > budget:
            kept[name] = kept[name][:-1]
            trimmed.append(name)
    text = _text(kept, project)
    if tokens(text) > budget:
        return Catalog("", project, 0, now_ms, tuple(sections))
    shown = {name: lines for name, lines in kept.items() if lines}
    return Catalog(text, project, tokens(text), now_ms, tuple(dict.fromkeys(trimmed)), shown)


def _text(sections: dict[str, tuple[str, ...]], project: str) -> str:
    lines = list(sections["overview"])
    for name, heading in HEADINGS.items():
        if sections[name] and heading.endswith(":"):
            lines += [heading, *sections[name]]
        elif sections[name]:
            lines.append(heading + ", ".join(sections[name]))
    return fenced("\n".join(lines), kind="catalog", project=project)


_PLACE = re.compile(r"\S*[/\\]\S*")  # a path, an address
_WORD = re.compile(r"(?<![\w-])[^\W\d_\u3040-\U0003ffff](?:-|[^\W\u3040-\U0003ffff]){2,23}(?![\w-])")
