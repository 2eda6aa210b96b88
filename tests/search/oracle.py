"""What a query means, said a second time in plain Python: small stores, query trees, and a judge.

Everything is chosen from short lists, so that filters meet, and nothing here is ranked or
indexed. The words are their own stems. Values that a filter compares come in several cases.
"""

from __future__ import annotations

import datetime
import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import strategies as st

from recollect.store.contract import Writer
from recollect.values.ids import line_key
from recollect.values.records import (
    Cursor,
    Entry,
    Flag,
    Kind,
    Line,
    Parsed,
    Relation,
    SessionFacts,
    SourceFile,
)

NOW = datetime.datetime(2026, 3, 10, 12, 0, tzinfo=datetime.UTC)
DAY_MS = 86_400_000
NOW_MS = int(NOW.timestamp() * 1000)
TODAY_MS = NOW_MS - DAY_MS // 2

WORDS = ("lamp", "fern", "cedar", "cedarwood", "moss", "brook")
PROJECTS = ("", "github.com/ada/Harbor", "github.com/ada/harbor-web", "ferry")
AGENTS = ("claude", "codex")
HOSTS = ("laptop", "Build-7")
BRANCHES = ("", "main", "fix/Retry")
SLUGS = ("", "", "quiet-amber", "loud-teal")
MODELS = ("", "claude-opus-4-6", "claude-sonnet-4-5", "gpt-5.3-Codex")
TOOLS = ("Bash", "Read", "Edit", "apply_patch", "mcp__db__query", "mcp__db__list")
TYPES = ("user", "assistant", "system/api_error", "system/compact_boundary", "system")
FILES = (
    "/home/ada/harbor/src/auth/token_store.py",
    "/home/ada/harbor/src/legacy/token_store.py",
    "/home/ada/harbor/src/auth/store.py",
    "src/Auth/login.ts",
    "README.md",
    "C:\\work\\app\\Main.cs",
)
FLAGS = (Flag.ERROR, Flag.SIDECHAIN, Flag.META, Flag.SPILLED, Flag.BOUNDARY, Flag.COPY, Flag.INJECTED)
SYSTEM = (Kind.IMAGE, Kind.SUMMARY, Kind.CONTEXT, Kind.EVENT, Kind.UNKNOWN)
ROLES = {
    "user": (Kind.PROMPT,),
    "assistant": (Kind.ANSWER, Kind.THOUGHT, Kind.CALL),
    "note": (Kind.NOTE,),
    "tool": (Kind.RESULT,),
    "system": SYSTEM,
}


# -- stores -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tale:
    """One session: what is known of it, and its lines, each with its entries."""

    facts: SessionFacts
    host: str
    lines: tuple[Parsed, ...]


@dataclass(frozen=True)
class Seen:
    """An entry with everything a filter may ask about."""

    id: str
    entry: Entry
    type: str
    image: bool  # its line holds one
    facts: SessionFacts
    host: str
    thread: frozenset[str]  # the ids and slugs of its thread's sessions

    @property
    def words(self) -> list[str]:
        return "".join(each if each.isalnum() else " " for each in self.entry.text).split()

    @property
    def paths(self) -> list[tuple[str, ...]]:
        """The components, lower-cased, of every path a tool call names."""
        if self.entry.kind is not Kind.CALL:
            return []
        return [tuple(_components(path)) for path in _named(self.entry)]


def write(writer: Writer, tales: Sequence[Tale]) -> None:
    for number, tale in enumerate(tales):
        file = SourceFile(tale.facts.agent, f"/logs/{number}.jsonl", session=tale.facts.id)
        lines = [Line(_data(number, n), 0, parsed) for n, parsed in enumerate(tale.lines)]
        writer.take(file, tale.host, lines, Cursor(offset=len(lines)), replace(tale.facts), parser=1)
    writer.commit()


def seen(tales: Sequence[Tale]) -> list[Seen]:
    """Every entry a search may find."""
    found = []
    for number, tale in enumerate(tales):
        thread = _thread(tales, tale)
        for n, parsed in enumerate(tale.lines):
            image = any(entry.kind is Kind.IMAGE for entry in parsed.entries)
            for part, entry in enumerate(parsed.entries):
                if not entry.flags & (Flag.COPY | Flag.INJECTED):
                    id_ = _id(_data(number, n)) + (f".{part}" if part else "")
                    found.append(Seen(id_, entry, parsed.type, image, tale.facts, tale.host, thread))
    return found


def _data(number: int, n: int) -> bytes:
    return b'{"session":%d,"line":%d}' % (number, n)


def _id(data: bytes) -> str:
    return f"{int.from_bytes(line_key(data)[:8], 'little'):016x}"[:12]


def _named(entry: Entry) -> list[str]:
    """The paths in a call, by the shape that `_call` gave it."""
    if entry.tool == "apply_patch":
        return [line.partition("File: ")[2] for line in entry.text.splitlines() if "File: " in line]
    given = json.loads(entry.text)
    return [given["file_path"]] if "file_path" in given else []


def _components(path: str) -> list[str]:
    """The names of a path; a drive, like a root, is none of them."""
    return [part for part in path.lower().replace("\\", "/").split("/") if part not in ("", ".", "c:")]


def _thread(tales: Sequence[Tale], tale: Tale) -> frozenset[str]:
    """The sessions that share a beginning, a parent or a slug with this one, or with one that does."""
    found = [tale]
    for each in found:
        found += [other for other in tales if other not in found and _names(other) & _names(each)]
    return frozenset(name for each in found for name in (each.facts.id, each.facts.slug))


def _names(tale: Tale) -> set[str]:
    facts = tale.facts
    slug = f"{facts.slug} of {facts.project}" if facts.slug and facts.project else ""
    return {facts.id, facts.root, facts.parent, slug} - {""}


# -- queries ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Leaf:
    """A filter as typed, and what it lets through. Of `ranks` only one has to hold among its like."""

    typed: str
    holds: Callable[[Seen], bool] = field(compare=False)
    ranks: bool = False


@dataclass(frozen=True)
class Both:
    nodes: tuple[Tree, ...]


@dataclass(frozen=True)
class Either:
    nodes: tuple[Tree, ...]


@dataclass(frozen=True)
class Without:
    node: Tree


Tree = Leaf | Both | Either | Without


def typed(tree: Tree, *, inside: bool = False) -> str:
    """The query as a person would type it."""
    if isinstance(tree, Leaf):
        return tree.typed
    if isinstance(tree, Without):
        inner = typed(tree.node, inside=True)
        return f"-({inner})" if isinstance(tree.node, Without) else f"-{inner}"
    joint = " OR " if isinstance(tree, Either) else " "
    text = joint.join(typed(node, inside=True) for node in tree.nodes)
    return f"({text})" if inside else text


def holds(tree: Tree, entry: Seen) -> bool:
    """Whether an entry satisfies a query."""
    if isinstance(tree, Leaf):
        return tree.holds(entry)
    if isinstance(tree, Without):
        return not holds(tree.node, entry)
    if isinstance(tree, Either):
        return any(holds(node, entry) for node in tree.nodes)
    ranking = [node for node in tree.nodes if isinstance(node, Leaf) and node.ranks]
    filters = [node for node in tree.nodes if node not in ranking]
    return all(holds(node, entry) for node in filters) and (
        not ranking or any(node.holds(entry) for node in ranking)
    )


def allows(tree: Tree, entry: Seen) -> bool:
    """Whether an entry may be found by meaning: as `holds`, but no word has to be there."""
    if isinstance(tree, Leaf):
        return tree.ranks or tree.holds(entry)
    if isinstance(tree, Without):
        return not holds(tree.node, entry)
    return (any if isinstance(tree, Either) else all)(allows(node, entry) for node in tree.nodes)


def _contains(name: str, of: Callable[[Seen], str]) -> Callable[[str], Leaf]:
    return lambda value: Leaf(f"{name}:{_quoted(value)}", lambda entry: value.lower() in of(entry).lower())


def _quoted(value: str) -> str:
    return f'"{value}"' if " " in value else value


def _flag(flag: Flag) -> Leaf:
    return Leaf(f"is:{flag.name.lower()}", lambda entry: bool(entry.entry.flags & flag))


def _kinds(typed: str, kinds: Sequence[Kind]) -> Leaf:
    return Leaf(typed, lambda entry: entry.entry.kind in kinds)


def _tool(value: str) -> Leaf:
    name = value.lower()
    if name.endswith("*"):
        return Leaf(f"tool:{value}", lambda entry: entry.entry.tool.lower().startswith(name[:-1]))
    return Leaf(f"tool:{value}", lambda entry: entry.entry.tool.lower() == name)


def _file(value: str) -> Leaf:
    end = tuple(_components(value))
    return Leaf(f"file:{value}", lambda entry: any(path[-len(end) :] == end for path in entry.paths))


def _dir(value: str) -> Leaf:
    end = tuple(_components(value))

    def inside(path: tuple[str, ...]) -> bool:
        return any(path[stop - len(end) : stop] == end for stop in range(len(end), len(path)))

    return Leaf(f"dir:{value}", lambda entry: any(map(inside, entry.paths)))


def _tag(value: str) -> Leaf:
    return Leaf(f"tag:raw:{value}", lambda entry: entry.type == value or entry.type.startswith(value + "/"))


def _between(typed: str, start_ms: int, stop_ms: int) -> Leaf:
    """A time nobody knows (0) is in no span."""
    return Leaf(typed, lambda entry: entry.entry.time_ms > 0 and start_ms <= entry.entry.time_ms < stop_ms)


def _session(prefix: str) -> Leaf:
    return Leaf(f"session:{prefix}", lambda entry: entry.facts.id.startswith(prefix))


def _word(word: str) -> Leaf:
    return Leaf(word, lambda entry: word in entry.words, ranks=True)


def _prefix(start: str) -> Leaf:
    return Leaf(start + "*", lambda entry: any(each.startswith(start) for each in entry.words), ranks=True)


def _phrase(words: Sequence[str]) -> Leaf:
    wanted = list(words)

    def stands(entry: Seen) -> bool:
        return any(entry.words[n : n + len(wanted)] == wanted for n in range(len(entry.words)))

    return Leaf(f'"{" ".join(wanted)}"', stands)


def pattern(words: Sequence[str]) -> Leaf:
    """A regular expression; it may stand beside other things, not inside an OR."""
    found = f"{words[0]}|{words[1]}.{words[2]}"
    return Leaf(
        f"/{found}/",
        lambda entry: words[0] in entry.entry.text or f"{words[1]} {words[2]}" in entry.entry.text,
    )


def _times() -> Iterator[Leaf]:
    end = 1 << 53
    for days in (-2, -1, 0):
        start = TODAY_MS + days * DAY_MS
        date = f"{NOW + datetime.timedelta(days=days):%Y-%m-%d}"
        yield _between(f"on:{date}", start, start + DAY_MS)
        yield _between(f"before:{date}", 0, start)
        yield _between(f"after:{date}", start, end)
        yield _between(f"time:>{date}", start + DAY_MS, end)
    yield _between("on:yesterday", TODAY_MS - DAY_MS, TODAY_MS)
    yield _between("last:2d", NOW_MS - 2 * DAY_MS, end)
    yield _between("last:12h", NOW_MS - DAY_MS // 2, end)
    yield _between(
        "on:2026-02",
        int(datetime.datetime(2026, 2, 1, tzinfo=datetime.UTC).timestamp() * 1000),
        int(datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC).timestamp() * 1000),
    )


def _thread_filters() -> Iterator[Leaf]:
    for slug in ("quiet-amber", "loud-teal"):
        yield Leaf(f"thread:{slug}", lambda entry, slug=slug: slug in entry.thread)
    for prefix in ("aaaa", "aaab", "aa", "bbbb", "cccc"):
        yield Leaf(
            f"thread:{prefix}",
            lambda entry, prefix=prefix: any(each.startswith(prefix) for each in entry.thread),
        )


# -- what hypothesis chooses from ---------------------------------------------------------------

Choose = Callable[[Sequence[Any]], Any]

IDS = ("aaaa0001", "aaab0002", "bbbb0003", "cccc0004", "dddd0005", "eeee0006")
EDGES = [TODAY_MS - days * DAY_MS - ms for days in range(3) for ms in (0, 1)]
TIMES = (0, 1, NOW_MS, NOW_MS - 2 * DAY_MS, TODAY_MS - 20 * DAY_MS, *EDGES)

LEAVES: list[Leaf] = [
    *map(_flag, (Flag.ERROR, Flag.SIDECHAIN, Flag.META, Flag.SPILLED)),
    Leaf("has:image", lambda entry: entry.image),
    *(_kinds(f"kind:{kind.name.lower()}", [kind]) for kind in Kind),
    *(_kinds(f"role:{role}", kinds) for role, kinds in ROLES.items()),
    *map(_tool, ("Bash", "bash", "READ", "edit", "apply_patch", "mcp__*", "mcp__db__q*", "db", "Rea")),
    *map(_contains("model", lambda entry: entry.entry.model), ("opus", "CLAUDE", "codex", "4-", "none")),
    *map(_contains("project", lambda entry: entry.facts.project), ("harbor", "ADA/", "Ferry", "-web")),
    *map(_contains("agent", lambda entry: entry.facts.agent), ("claude", "Codex", "cod", "none")),
    *map(_contains("host", lambda entry: entry.host), ("laptop", "build", "7", "none")),
    *map(_contains("branch", lambda entry: entry.facts.branch), ("main", "fix/", "RETRY", "none")),
    *map(_session, ("aaaa0001", "aaa", "bbbb", "cccc0004", "ffff")),
    *_thread_filters(),
    *map(
        _file,
        (
            "token_store.py",
            "TOKEN_STORE.PY",
            "auth/token_store.py",
            "src/legacy/token_store.py",
            "store.py",
            "/home/ada/harbor/src/auth/store.py",
            "login.ts",
            "./README.md",
            "app/main.cs",
            r"C:\work\app\main.cs",
            "_store.py",
            "harbor",
            "src/token_store.py",
        ),
    ),
    *map(
        _dir,
        ("src", "src/auth", "AUTH", "harbor/src/legacy", "/home/ada", "home", "work/app", "store.py", "rc"),
    ),
    *map(_tag, ("user", "system", "system/api_error", "system/api", "none")),
    *_times(),
]
RANKING = [*map(_word, WORDS), _prefix("ced"), _prefix("cedarw"), _prefix("zzz")]


def trees() -> st.SearchStrategy[Tree]:
    """Queries of a few filters, words and phrases, nested."""
    phrases = st.lists(st.sampled_from(WORDS), min_size=2, max_size=3).map(_phrase)
    leaves = st.one_of(st.sampled_from(LEAVES), st.sampled_from(LEAVES), st.sampled_from(RANKING), phrases)
    nested: st.SearchStrategy[Tree] = st.recursive(leaves, _nested, max_leaves=6)
    patterns = st.lists(st.sampled_from(WORDS), min_size=3, max_size=3).map(pattern)
    beside = st.tuples(nested, st.one_of(patterns, patterns.map(Without))).map(Both)
    return st.one_of(nested, nested, nested, beside)


def _nested(inner: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    several = st.lists(inner, min_size=2, max_size=3).map(tuple)
    return st.one_of(several.map(Both), several.map(Either), inner.map(Without))


@st.composite
def tales(draw: st.DrawFn) -> list[Tale]:
    """One to six sessions of a few lines each."""

    def choose(options: Sequence[Any]) -> Any:
        return draw(st.sampled_from(options))

    return [_tale(choose, id_, choose(range(1, 7))) for id_ in IDS[: choose(range(1, len(IDS) + 1))]]


def many_tales() -> list[Tale]:
    """Six long sessions, the same ones every time, in which every filter finds something to do."""
    choose = random.Random(2).choice
    return [_tale(choose, id_, 60) for id_ in IDS]


def _tale(choose: Choose, id_: str, lines: int) -> Tale:
    facts = SessionFacts(
        choose(AGENTS),
        id_,
        project=choose(PROJECTS),
        branch=choose(BRANCHES),
        slug=choose(SLUGS),
        root=choose((*[id_] * 6, *IDS)),
    )
    if facts.root != id_:
        facts.parent, facts.relation = facts.root, Relation.FORK
    return Tale(facts, choose(HOSTS), tuple(_line(choose) for _ in range(lines)))


def _line(choose: Choose) -> Parsed:
    return Parsed(choose(TYPES), tuple(_entry(choose) for _ in range(choose((1, 1, 2, 3)))))


def _entry(choose: Choose) -> Entry:
    kind = choose((*Kind, Kind.CALL))
    text = " ".join(choose(WORDS) for _ in range(choose(range(6))))
    tool = choose(TOOLS) if kind in (Kind.CALL, Kind.RESULT) else ""
    if kind is Kind.CALL:
        text = _call(tool, choose(FILES), text)
    flags = choose((0, 0, *FLAGS)) | choose((0, 0, 0, *FLAGS[:5]))
    return Entry(kind, "" if kind is Kind.IMAGE else text, flags, choose(TIMES), tool, model=choose(MODELS))


def _call(tool: str, path: str, words: str) -> str:
    """A call's input, in the shape its tool takes."""
    if tool == "apply_patch":
        return f"*** Begin Patch\n*** Update File: {path}\n+{words}\n*** End Patch"
    if tool in ("Read", "Edit"):
        return json.dumps({"file_path": path, "new_string": words})
    return json.dumps({"command": words})
