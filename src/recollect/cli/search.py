"""`search`: hits with the words that were found, for people and for agents."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from recollect.cli.hit_lines import (
    asked_cells,
    conclusion_parts,
    hit_head,
    hit_in_session,
    session_head,
    snippet_parts,
)
from recollect.cli.open_memory import open_memory
from recollect.cli.screen import Screen, Styled
from recollect.cli.words import Parser, add_command, count
from recollect.present.hits import HIT_FIELDS, behind_note, fresh_object, hit_object, session_hits_object
from recollect.values.errors import UsageError
from recollect.values.text import many, one_line, tokens
from recollect.values.vocabulary import AUTO, FUSIONS, MODES, STRATEGIES

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from recollect.values.hits import Hit, Results, SessionHits


def add_words(commands: Any) -> None:
    command = add_command(
        commands,
        "search",
        "find anything ever said or done",
        "Words rank, everything else filters. Hits are found by words and by meaning and ranked together; "
        "each has a short id that `show`, `tail` and `--near` take. They are listed by conversation, with "
        "what was asked there and what it came to. The query language is in docs/search.md.",
        (
            "recollect search 'oauth refresh token expiry'",
            "recollect search 'project:api tool:Edit file:token_store.py \"clock skew\" -test last:30d'",
            "recollect search --near 3f2a9c01b7d4 --not-near 90ab12cd34ef",
        ),
    )
    command.add_argument(
        "query", nargs="*", metavar="QUERY", help='words, "phrases", field:value, -not, OR, /regex/'
    )
    _ranking(command)
    _paging(command)
    command.add_argument(
        "--explain", action="store_true", help="say how hits were found and what each score is made of"
    )
    command.add_argument(
        "--fields", metavar="A,B", help="only these fields of each hit, by their names in --json"
    )
    command.add_argument(
        "--max-tokens",
        type=count,
        default=0,
        metavar="N",
        help="stop before the hits take more than about N tokens of a model's context",
    )


def _ranking(command: Parser) -> None:
    command.add_argument(
        "--mode",
        choices=MODES,
        default="hybrid",
        metavar="MODE",
        help="text: by words; vector: by meaning; hybrid: by both (default: hybrid)",
    )
    command.add_argument("--plain", action="store_true", help="take the query as words and nothing else")
    command.add_argument(
        "--near",
        action="append",
        default=[],
        metavar="ID",
        help="more like this entry; several make a centre, ID^2 counts twice",
    )
    command.add_argument("--not-near", action="append", default=[], metavar="ID", help="less like this entry")
    command.add_argument("--recency", action="store_true", help="let a hit's score fade by e^(-0.007 x days)")
    command.add_argument(
        "--spread", action="store_true", help="lift what the graph relates to things that the query names"
    )
    command.add_argument("--boost-project", metavar="P", help="prefer projects whose name contains P")
    command.add_argument(
        "--fusion",
        choices=FUSIONS,
        default="minmax",
        metavar="F",
        help="how both lists become one: minmax (scores) or rrf (ranks) (default: minmax)",
    )
    command.add_argument(
        "--strategy",
        choices=(AUTO, *STRATEGIES),
        default=AUTO,
        metavar="S",
        help=f"how vectors are compared: {AUTO}, {', '.join(STRATEGIES)} "
        f"(default: {AUTO}, by size; gpu needs CUDA with CuPy or PyTorch, and is never chosen by itself)",
    )


def _paging(command: Parser) -> None:
    command.add_argument(
        "-n", "--limit", type=count, default=10, metavar="N", help="how many hits (default: 10)"
    )
    command.add_argument("--offset", type=count, default=0, metavar="N", help="skip the first N hits")
    command.add_argument("--flat", action="store_true", help="list hits one by one, not by conversation")
    command.add_argument(
        "--no-collapse", action="store_true", help="list also hits that repeat another or stand next to it"
    )


def search(args: argparse.Namespace, screen: Screen) -> int:
    """Exit code 0 also when nothing was found: that is an answer."""
    fields = _fields(args.fields)
    by_session = not args.flat and not fields
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
            collapse=not args.no_collapse,
            by_session=by_session,
            spread=args.spread,
        )
    shown = list(_within(results, args.max_tokens))
    if screen.json:
        _print_object(args, results, shown, fields, screen)
        return 0
    for found in _sessions(results, shown):
        _print_session(found, screen, explain=args.explain)
    for hit in () if by_session else shown:
        _print_hit(hit, fields, screen, explain=args.explain)
    if args.explain:
        _print_explain(results, screen)
    print_notes(results, len(shown), args.offset, screen)
    return 0


def _fields(named: str | None) -> tuple[str, ...]:
    if named is None:
        return ()
    fields = tuple(name.strip() for name in named.split(",") if name.strip())
    for name in fields:
        if name not in HIT_FIELDS:
            raise UsageError(f"there is no field {name!r}", hint="fields: " + ", ".join(HIT_FIELDS))
    return fields


def _within(results: Results, tokens_max: int) -> Iterator[Hit]:
    """The first hits that fit a budget with what is said of their sessions; 0 is no budget."""
    spent = 0
    heads = {found.hits[0].id: _session_tokens(found) for found in results.sessions}
    for hit in results.hits:
        spent += tokens(hit.snippet.text) + _HEAD_TOKENS + heads.get(hit.id, 0)
        if tokens_max and spent > tokens_max:
            return
        yield hit


def _session_tokens(found: SessionHits) -> int:
    return _HEAD_TOKENS + tokens(found.conclusion) + (_HEAD_TOKENS if found.prompt else 0)


_HEAD_TOKENS = 40  # about what the line above a snippet takes, or that of what was asked
_HANG = 10  # what it came to goes on below its own beginning


def _sessions(results: Results, shown: Sequence[Hit]) -> Iterator[SessionHits]:
    """The sessions of the hits that are shown, with these alone."""
    kept = {hit.id for hit in shown}
    for found in results.sessions:
        if hits := [hit for hit in found.hits if hit.id in kept]:
            yield replace(found, hits=hits)


def _print_object(
    args: argparse.Namespace, results: Results, shown: Sequence[Hit], fields: tuple[str, ...], screen: Screen
) -> None:
    unasked = () if args.explain else ("parts",)
    fields = fields or tuple(name for name in HIT_FIELDS if name not in (*unasked, "text"))
    found = {
        "query": " ".join(args.query),
        "mode": args.mode,
        "total": results.total if results.total >= 0 else None,
        "left_out": len(results.hits) - len(shown),
        "fresh": fresh_object(results.fresh),
        "notes": list(results.notes),
        "hits": [hit_object(hit, fields) for hit in shown],
        "sessions": [session_hits_object(found) for found in _sessions(results, shown)],
    }
    if args.explain:
        found["explain"] = results.explain
    screen.object("search", found)


# -- for people ----------------------------------------------------------------------------


def _print_session(found: SessionHits, screen: Screen, *, explain: bool) -> None:
    screen.head(*session_head(found.session))
    if asked := asked_cells(found):
        screen.head(*asked, indent=2)
    if concluded := conclusion_parts(found):
        screen.line(*concluded, hang=_HANG)
    for hit in found.hits:
        screen.line(*hit_in_session(hit), hang=4)
        _print_score(hit, screen, explain=explain)


def _print_hit(hit: Hit, fields: tuple[str, ...], screen: Screen, *, explain: bool) -> None:
    if fields:
        made = hit_object(hit, fields)
        screen.line("  ".join(one_line(str(value), 400) for value in made.values()))
        return
    screen.head(*hit_head(hit))
    screen.line("    ", *snippet_parts(hit))
    _print_score(hit, screen, explain=explain)


def _print_score(hit: Hit, screen: Screen, *, explain: bool) -> None:
    if explain and hit.parts:
        screen.line(Styled(f"    score {hit.score:.3f} = {_sum(hit.parts)}", "dim"))


def _sum(parts: dict[str, float]) -> str:
    """The parts of a score: first what is added, then what that is multiplied by."""
    told = {name: f"{name} {value:.3f}" for name, value in parts.items()}
    added = " + ".join(told[name] for name in parts if name in _ADDED)
    return " x ".join([f"({added})", *(told[name] for name in parts if name not in _ADDED)])


_ADDED = ("text", "dense", "neighbours", "session", "complete", "exact", "newer")


def _print_explain(results: Results, screen: Screen) -> None:
    screen.line()
    screen.pairs((name, _value_text(value)) for name, value in results.explain.items())


def _value_text(value: Any) -> str:
    if isinstance(value, dict):
        return "  ".join(f"{name} {_value_text(each)}" for name, each in value.items())
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
