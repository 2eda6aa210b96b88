"""`facts`: what is known of a project, with what shows it; `facts extract` asks a model for more."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from recollect.cli.open_memory import open_memory
from recollect.cli.progress import Progress
from recollect.cli.screen import Screen, Styled, is_terminal
from recollect.cli.words import add_command, limit
from recollect.present.agents import enumeration, names
from recollect.present.facts import extracted_object, fact_object, plan_object, told_by
from recollect.present.projects import unknown_project_note
from recollect.values.errors import UsageError
from recollect.values.facts import TAGS
from recollect.values.text import dollars, many, one_line

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from recollect.memory import Memory
    from recollect.values.facts import Extracted, ExtractionPlan, Fact

_SHOWN = 3  # entries that show a fact
_BUDGET = 1.0


def add_words(commands: Any) -> None:
    able = names("asker")
    command = add_command(
        commands,
        "facts",
        "decisions, preferences, gotchas of a project, each with what shows it",
        "Without words it lists what rules find in conversations, notes that are tagged as facts, and what a "
        "model was asked for, marked as such: decisions, preferences, gotchas, config, architecture, and "
        "what is true of the project, each with the ids of entries that show it. "
        f"extract asks a client of yours ({enumeration(able, 'or')}) to read what none has read: it says "
        "first how much that is and what it may cost, and asks. It gets no tools, no hooks see it, nothing "
        "of it is logged, secrets are masked, and a fact whose citation does not hold is dropped. "
        "edit ID TEXT and delete ID change what was saved or extracted.",
        (
            "recollect facts --project harbor",
            "recollect facts --tag preference",
            "recollect facts extract --project harbor --budget-usd 0.50",
            "recollect facts edit 3f2a90c1 'we install with uv'",
            "recollect facts delete 3f2a90c1",
        ),
    )
    command.add_argument("words", nargs="*", metavar="WORD", help="extract; edit ID TEXT; delete ID")
    command.add_argument("--project", default="", metavar="P", help="only projects whose name contains P")
    command.add_argument("--tag", default="", metavar="T", help=f"only one tag: {', '.join(TAGS)}")
    command.add_argument(
        "--agent", default="", metavar="A", help=f"extract: whom to ask (default: {able[0]})"
    )
    command.add_argument(
        "--model", default="", metavar="M", help="extract: which model, as the client calls it"
    )
    command.add_argument(
        "--budget-usd",
        type=float,
        default=_BUDGET,
        metavar="D",
        help=f"extract: stop when the answers have cost D dollars (default: {_BUDGET:.2f})",
    )
    command.add_argument("--yes", action="store_true", help="extract: begin without asking")
    command.add_argument("--dry-run", action="store_true", help="extract: say what it would read, ask nobody")
    limit(command, 20, "facts of each tag; extract: conversations that are read, 0 for all")


_TAKES: dict[str, tuple[str, ...]] = {"extract": (), "edit": ("ID", "TEXT"), "delete": ("ID",)}


def facts(args: argparse.Namespace, screen: Screen) -> int:
    """Without words all of them, else what the first word says."""
    action, given = (args.words[0], args.words[1:]) if args.words else ("", [])
    if action and action not in _TAKES:
        raise UsageError(f"facts has no action {action!r}", hint="actions: " + ", ".join(_TAKES))
    if action and len(given) != len(_TAKES[action]):
        raise UsageError(
            f"facts {action} takes {many(len(_TAKES[action]), 'word')}, not {len(given)}",
            hint=f"recollect facts {action} {' '.join(_TAKES[action])}".strip() + "; a text stands in quotes",
        )
    with open_memory(args) as memory:
        if action == "extract":
            return _extract(memory, args, screen)
        if not action:
            return _list(memory, args, screen)
        changed = memory.edit_fact(*given) if action == "edit" else memory.delete_fact(given[0])
    if screen.json:
        screen.object("fact", {"fact": fact_object(changed), "deleted": action == "delete"})
    else:
        said = "deleted" if action == "delete" else "now"
        screen.line(f"{said} {changed.id}: {one_line(changed.text, 200)}")
    return 0


# -- listing -------------------------------------------------------------------------------------


def _list(memory: Memory, args: argparse.Namespace, screen: Screen) -> int:
    found = memory.facts(project=args.project, tag=args.tag)
    note = "" if found else unknown_project_note(args.project, memory.sessions())
    by_tag = {tag: [each for each in found if each.tag == tag] for tag in TAGS}
    shown = {tag: each[: args.limit or None] for tag, each in by_tag.items()}
    if screen.json:
        told = [fact_object(each) for group in shown.values() for each in group]
        screen.object("facts", {"total": len(found), "facts": told})
        return 0
    several = len({each.project for each in found}) > 1
    for tag, group in shown.items():
        if group:
            _print(tag, group, len(by_tag[tag]), screen, several=several)
    if not found:
        screen.note(note or "no facts yet; `recollect remember TEXT --tag decision` keeps one")
    return 0


def _print(tag: str, group: Sequence[Fact], total: int, screen: Screen, *, several: bool) -> None:
    more = f"  {len(group)} of {total}" if len(group) < total else ""
    screen.line(Styled(tag, "bold"), Styled(more, "dim"))
    for fact in group:
        place = fact.project.rpartition("/")[2] if several else ""
        marks = [one_line(place, 24), told_by(fact), fact.id if fact.id else "", "imported" * fact.imported]
        screen.line(f"  {one_line(fact.text, 400)}", hang=4)
        shown = "  ".join(one_line(each, 40) for each in fact.entries[:_SHOWN])
        said = "  ".join(filter(None, marks))
        screen.line("    ", Styled(shown, "cyan"), Styled(f"  {said}" if said else "", "dim"))


# -- extraction ----------------------------------------------------------------------------------


def _extract(memory: Memory, args: argparse.Namespace, screen: Screen) -> int:
    if not 0 < args.budget_usd <= 10_000:
        raise UsageError("a budget is a number of dollars", hint="--budget-usd 1.00")
    plan = memory.plan_facts(args.agent, model=args.model, project=args.project, sessions=args.limit)
    if not screen.json or not plan.chunks or args.dry_run:
        _print_plan(plan, args, screen)
    if not plan.chunks or args.dry_run:
        if screen.json:
            screen.object("facts_extracted", {"plan": plan_object(plan), "done": None})
        return 0
    if not args.yes and not _confirmed(screen):
        screen.note("nothing was asked")
        return 0
    progress = Progress(screen, "reading", unit="parts")
    with progress.running():
        done = memory.extract_facts(plan, budget_dollars=args.budget_usd, progress=progress)
    if screen.json:
        screen.object("facts_extracted", {"plan": plan_object(plan), "done": extracted_object(done)})
    else:
        _print_done(done, screen)
    return 0


def _print_plan(plan: ExtractionPlan, args: argparse.Namespace, screen: Screen) -> None:
    if not plan.chunks:
        screen.note("there is nothing that was not read already")
        return
    price = "unknown" if plan.dollars is None else f"about {dollars(round(plan.dollars * 1e6))}"
    asked = f"{plan.agent}{f' ({plan.model})' if plan.model else ''}"
    screen.note(
        f"{many(plan.sessions, 'conversation')} in {many(len(plan.chunks), 'part')}, about {plan.tokens:,} "
        f"tokens, would be read by {asked}; price at list: {price}; budget: ${args.budget_usd:.2f}"
    )
    if plan.dollars is None:
        screen.note("no price of this model is known, so the budget may not hold: --limit bounds it")
    if plan.left:
        screen.note(f"{many(plan.left, 'conversation')} more are left for another time: --limit")


def _confirmed(screen: Screen) -> bool:
    if screen.json or not is_terminal(sys.stdin):
        raise UsageError("a model is asked only when you say so", hint="--yes")
    try:
        return input("ask it? [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        return False


def _print_done(done: Extracted, screen: Screen) -> None:
    for fact in done.facts:
        screen.line(f"{fact.tag}: {one_line(fact.text, 400)}", Styled(f"  {fact.id}", "dim"), hang=4)
    cost = f"; {dollars(round(done.dollars * 1e6))}" if done.dollars else ""
    screen.note(
        f"{many(done.chunks, 'part')} read, {many(len(done.facts), 'fact')} kept, {done.repeated} known "
        f"already, {done.superseded} superseded, {sum(done.dropped.values())} dropped{cost}"
    )
    for reason, times in done.dropped.items():
        screen.note(f"dropped: {reason} ({times:,})")
    for reason, times in done.failed.items():
        screen.note(f"not read: {one_line(reason, 200)} ({times:,})")
    if done.stopped:
        screen.note(f"stopped: {one_line(done.stopped, 200)}; the next run goes on from here")
