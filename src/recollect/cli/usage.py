"""`usage`: tokens and cost by day, model, project, session or agent, and the lines behind them."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from recollect.cli.columns import MODEL, PATH, PROJECT, Column
from recollect.cli.open_memory import open_memory
from recollect.cli.screen import Part, Screen, Styled
from recollect.cli.words import add_command, count
from recollect.present.short_ids import short_ids
from recollect.present.usage import usage_object
from recollect.values.errors import UsageError
from recollect.values.text import dollars, many, moment, one_line
from recollect.values.vocabulary import GROUPINGS

if TYPE_CHECKING:
    import argparse

    from recollect.values.usage import UsageLine, UsageReport, UsageRow


def add_words(commands: Any) -> None:
    command = add_command(
        commands,
        "usage",
        "tokens and cost, every response counted once",
        "Tokens by kind and their cost at list prices. A model without a known price is shown as "
        "unknown, never as zero. --explain names the log lines behind the figures.",
        (
            "recollect usage",
            "recollect usage --by model",
            "recollect usage --by day --explain --group 2026-03-02",
        ),
    )
    command.add_argument(
        "--by",
        choices=GROUPINGS,
        default="day",
        metavar="GROUPING",
        help=f"what to group by: {', '.join(GROUPINGS)} (default: day)",
    )
    command.add_argument(
        "--explain", action="store_true", help="list the responses behind the figures, dearest first"
    )
    command.add_argument(
        "--group",
        metavar="G",
        help="with --explain: only this group, named as in the table (default: everything)",
    )
    command.add_argument(
        "--limit",
        type=count,
        default=20,
        metavar="N",
        help="with --explain: at most N lines, 0 for all (default: 20)",
    )


_GIVES = {"project": PROJECT, "model": MODEL}
# As they are shown; where there is no room, the last is left out first.
_KINDS = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h", "reasoning")


def usage(args: argparse.Namespace, screen: Screen) -> int:
    if args.group is not None and not args.explain:
        raise UsageError("--group goes with --explain", hint="recollect usage --explain --group G")
    return _explain(args, screen) if args.explain else _summary(args, screen)


def _summary(args: argparse.Namespace, screen: Screen) -> int:
    with open_memory(args) as memory:
        report = memory.usage(args.by)
        ids = [each.facts.id for each in memory.sessions()] if args.by == "session" else []
    if screen.json:
        screen.object(
            "usage",
            {
                "by": report.by,
                "prices_as_of": report.prices_as_of,
                "rows": [usage_object(row) for row in report.rows],
                "total": usage_object(report.total),
            },
        )
        return 0
    if not report.rows:
        screen.note("no responses are stored")
        return 0
    _print(report, short_ids(ids), screen)
    return 0


def _print(report: UsageReport, names: dict[str, str], screen: Screen) -> None:
    used = [kind for kind in _KINDS if getattr(report.total, kind)]
    columns = [Column(report.by, gives=_GIVES.get(report.by, 0)), Column("responses", right=True, drops=7)]
    columns += [
        Column(kind.replace("_", " "), right=True, drops=len(_KINDS) - at)
        for at, kind in enumerate(_KINDS)
        if kind in used
    ]
    columns.append(Column("cost", right=True))
    rows = [_row(row, used, names.get(row.group, row.group)) for row in report.rows]
    total = [
        Styled(cell.text if isinstance(cell, Styled) else cell, "bold")
        for cell in _row(report.total, used, "total")
    ]
    screen.table(columns, [*rows, total])
    zone = "; days are UTC" if report.by == "day" else ""
    screen.note(f"prices as of {report.prices_as_of}; reasoning is part of output{zone}")
    if report.total.unpriced_models:
        missing = ", ".join(report.total.unpriced_models)
        left_out = many(report.total.unpriced_responses, "response")
        screen.note(f"no price is known for {missing}: {left_out} not in the cost")


def _row(row: UsageRow, used: list[str], name: str) -> list[Part]:
    cost = "unknown" if row.cost_microdollars is None else dollars(row.cost_microdollars)
    if row.unpriced_responses and row.cost_microdollars is not None:
        cost += " + unknown"
    return [one_line(name, 60), f"{row.responses:,}", *(f"{getattr(row, k):,}" for k in used), cost]


def _explain(args: argparse.Namespace, screen: Screen) -> int:
    by = args.by if args.group is not None else ""
    with open_memory(args) as memory:
        lines = memory.usage_lines(by, args.group or "", args.limit or None)
    if screen.json:
        told = [asdict(each) for each in lines]
        screen.object("usage-lines", {"by": by, "group": args.group, "lines": told})
        return 0
    columns = [
        Column("time"),
        Column("model", gives=MODEL, drops=5),
        Column("input", right=True, drops=3),
        Column("output", right=True, drops=4),
        Column("cache read", right=True, drops=2),
        Column("cache write", right=True, drops=1),
        Column("cost", right=True),
        Column("line", gives=PATH),
    ]
    screen.table(columns, [_line(each) for each in lines])
    return 0


def _line(line: UsageLine) -> list[Part]:
    written = line.cache_write_5m + line.cache_write_1h
    return [
        Styled(moment(line.time_ms), "dim"),
        one_line(line.model, 40),
        f"{line.input:,}",
        f"{line.output:,}",
        f"{line.cache_read:,}",
        f"{written:,}",
        "unknown" if line.cost_microdollars is None else dollars(line.cost_microdollars),
        one_line(f"{line.path}:{line.line_number}"),
    ]
