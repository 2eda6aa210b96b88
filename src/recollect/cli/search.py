"""`search`: hits with the words that were found, for people and for agents."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from typing import Any

from recollect.cli.opening import open_memory
from recollect.cli.screen import Part, Screen, Styled
from recollect.present.objects import flag_names
from recollect.values.errors import UsageError
from recollect.values.hits import Fresh, Hit, Results
from recollect.values.records import Flag
from recollect.values.text import age, many, one_line, short, tokens

FIELDS = (
    "id", "score", "kind", "project", "thread", "time_ms", "snippet", "matches", "session", "agent", "host",
    "branch", "tool", "model", "flags", "tokens", "folded", "similar", "parts", "text",
)  # fmt: skip


def search(args: argparse.Namespace, screen: Screen) -> int:
    """Exit code 0 also when nothing was found: that is an answer."""
    fields = _fields(args.fields)
    with open_memory(args) as memory:
        results = memory.search(
            " ".join(args.query),
            mode=args.mode,
            limit=args.limit,
            offset=args.offset,
            plain=args.plain,
            near=args.near,
            not_near=args.not_near,
            fusion=args.fusion,
            strategy=args.strategy,
            recency=args.recency,
            project_boost=args.boost_project or "",
            rerank=args.rerank,
            collapse=not args.no_collapse,
        )
    shown = list(_within(results.hits, args.max_tokens))
    if screen.json:
        _print_object(args, results, shown, fields, screen)
        return 0
    for hit in shown:
        _print_hit(hit, fields, screen, explain=args.explain)
    if args.explain:
        _print_explain(results, screen)
    print_notes(results, len(shown), args.offset, screen)
    return 0


def hit_object(hit: Hit, fields: Sequence[str] = FIELDS) -> dict[str, Any]:
    """A hit's fields by name; docs/json.md explains each."""
    made = _all_fields(hit)
    return {name: made[name] for name in fields}


def _all_fields(hit: Hit) -> dict[str, Any]:
    entry, facts = hit.stored.entry, hit.session.facts
    return {
        "id": hit.id,
        "score": round(hit.score, 6),
        "kind": entry.kind.name.lower(),
        "project": facts.project,
        "thread": facts.slug or facts.title,
        "time_ms": entry.time_ms or None,
        "snippet": hit.snippet.text,
        "matches": _matches(hit),
        "session": hit.stored.session,
        "agent": facts.agent,
        "host": hit.session.host,
        "branch": facts.branch,
        "tool": entry.tool,
        "model": entry.model,
        "flags": flag_names(entry.flags),
        "tokens": hit.tokens,
        "folded": hit.folded,
        "similar": list(hit.similar),
        "parts": {name: round(value, 6) for name, value in hit.parts.items()},
        "text": entry.text,
    }


def _matches(hit: Hit) -> list[list[int]]:
    found, at = [], 0
    for part, marked in hit.snippet.parts:
        if marked:
            found.append([at, at + len(part)])
        at += len(part)
    return found


def _fields(named: str | None) -> tuple[str, ...]:
    if named is None:
        return ()
    fields = tuple(name.strip() for name in named.split(",") if name.strip())
    for name in fields:
        if name not in FIELDS:
            raise UsageError(f"there is no field {name!r}", hint="fields: " + ", ".join(FIELDS))
    return fields


def _within(hits: Sequence[Hit], tokens_max: int) -> Iterator[Hit]:
    """The first hits whose snippets fit a budget; 0 is no budget."""
    spent = 0
    for hit in hits:
        spent += tokens(hit.snippet.text) + _HEAD_TOKENS
        if tokens_max and spent > tokens_max:
            return
        yield hit


_HEAD_TOKENS = 40  # about what the line above a snippet takes


def _print_object(
    args: argparse.Namespace, results: Results, shown: Sequence[Hit], fields: tuple[str, ...], screen: Screen
) -> None:
    unasked = () if args.explain else ("parts",)
    fields = fields or tuple(name for name in FIELDS if name not in (*unasked, "text"))
    found = {
        "query": " ".join(args.query),
        "mode": args.mode,
        "total": results.total if results.total >= 0 else None,
        "left_out": len(results.hits) - len(shown),
        "fresh": fresh_object(results.fresh),
        "notes": list(results.notes),
        "hits": [hit_object(hit, fields) for hit in shown],
    }
    if args.explain:
        found["explain"] = results.explain
    screen.object("search", found)


def fresh_object(fresh: Fresh) -> dict[str, int | str]:
    """How much of the store was searched."""
    return {
        "entries": fresh.entries,
        "text_indexed": fresh.text,
        "vectors_indexed": fresh.vectors,
        "waiting": fresh.waiting,
        "stopped": fresh.stopped,
    }


# -- for people ----------------------------------------------------------------------------


def _print_hit(hit: Hit, fields: tuple[str, ...], screen: Screen, *, explain: bool) -> None:
    if fields:
        made = hit_object(hit, fields)
        screen.line("  ".join(one_line(str(value), 400) for value in made.values()))
        return
    screen.line(*hit_head(hit))
    screen.line("    ", *snippet_parts(hit))
    if explain and hit.parts:
        screen.line(Styled(f"    score {hit.score:.3f} = {_sum(hit.parts)}", "dim"))


def _sum(parts: dict[str, float]) -> str:
    """The parts of a score: first what is added, then what that is multiplied by."""
    told = {name: f"{name} {value:.3f}" for name, value in parts.items()}
    added = " + ".join(told[name] for name in parts if name in _ADDED)
    return " x ".join([f"({added})", *(told[name] for name in parts if name not in _ADDED)])


_ADDED = ("text", "dense", "neighbours", "session", "exact")


def hit_head(hit: Hit) -> list[Part]:
    """Id, kind, project, thread, age: one line."""
    entry, facts = hit.stored.entry, hit.session.facts
    kind = entry.kind.name.lower() + (f" {one_line(entry.tool, 30)}" if entry.tool else "")
    failed = [Styled(" (error)", "red")] if entry.flags & Flag.ERROR else []
    place = "  ".join(filter(None, (one_line(facts.project, 40), one_line(facts.slug or facts.title, 48))))
    when = age(entry.time_ms, now_ms=time.time_ns() // 1_000_000) if entry.time_ms else ""
    more = f"+{hit.folded} folded" if hit.folded else ""
    return [
        Styled(hit.id, "cyan"),
        "  ",
        Styled(kind, "bold"),
        *failed,
        "  ",
        place,
        Styled("  ".join(("", *filter(None, (when, more)))), "dim"),
    ]


def snippet_parts(hit: Hit) -> Iterator[Part]:
    """The snippet, its matches marked on a terminal."""
    before, behind = hit.snippet.cut
    if before:
        yield "... "
    for part, marked in hit.snippet.parts:
        yield Styled(part, "bold yellow") if marked else part
    if behind:
        yield " ..."


def _print_explain(results: Results, screen: Screen) -> None:
    screen.line()
    screen.pairs((name, _told(value)) for name, value in results.explain.items())


def _told(value: Any) -> str:
    if isinstance(value, dict):
        return "  ".join(f"{name} {_told(each)}" for name, each in value.items())
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def print_notes(results: Results, shown: int, offset: int, screen: Screen) -> None:
    """What a reader should know of an answer: how much more there is, and what it could not see."""
    fresh = results.fresh
    if not results.hits:
        screen.note("no hits from there on" if offset else "nothing found")
    elif not shown:
        screen.note(f"{many(len(results.hits), 'hit')}, and not one fits --max-tokens")
    elif shown < len(results.hits):
        screen.note(f"{many(len(results.hits) - shown, 'hit')} more would not fit --max-tokens")
    elif results.total > offset + shown + sum(hit.folded for hit in results.hits):
        screen.note(f"of {many(results.total, 'entry', 'entries')}; --offset {offset + shown} shows the next")
    for note in results.notes:
        screen.note(note)
    if fresh.unindexed or fresh.waiting:
        screen.note(behind_note(fresh))


def behind_note(fresh: Fresh) -> str:
    """What the index does not hold yet, and what to do about it."""
    waiting = f" and {many(fresh.waiting, 'append')} still in the journal" if fresh.waiting else ""
    return (
        f"{short(fresh.unindexed)} of {short(fresh.entries)} entries are not indexed yet{waiting}; "
        "each search does some, `recollect index` does all"
    )
