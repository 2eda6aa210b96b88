"""`usage`: tokens and cost by day, model, project, session or agent, and the lines behind them."""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import TYPE_CHECKING, Any

from recollect.cli.columns import BAR, MODEL, PATH, PROJECT, TITLE, Column
from recollect.cli.open_memory import open_memory
from recollect.cli.screen import Bar, Cell, Part, Screen, Styled
from recollect.cli.words import add_command, count, day
from recollect.present.agents import enumeration, names
from recollect.present.short_ids import short_ids
from recollect.present.usage import usage_object
from recollect.values.errors import UsageError
from recollect.values.text import dollars, many, moment, one_line
from recollect.values.titles import UNTITLED
from recollect.values.usage import UsageFilter
from recollect.values.vocabulary import GROUPINGS

if TYPE_CHECKING:
    from recollect.values.usage import UsageLine, UsageReport, UsageRow


def add_words(commands: Any) -> None:
    command = add_command(
        commands,
        "usage",
        "tokens and cost, every response counted once",
        "Tokens by kind and their cost at list prices. A model without a known price is shown as "
        "unknown, never as zero. --explain names the log lines behind the figures.",
        (
            "recollect usage --last 7d",
            "recollect usage --by project,model --since 2026-03-01 --until 2026-03-31",
            "recollect usage --by day --explain --group 2026-03-02",
        ),
    )
    command.add_argument(
        "--by",
        choices=_Groupings([*GROUPINGS, *map(",".join, permutations(GROUPINGS, 2))]),
        default="day",
        metavar="GROUPING",
        help=f"what to group by: {', '.join(GROUPINGS)}, or two of them, as in project,model; label:KEY "
        "for one label (default: day)",
    )
    command.add_argument(
        "--last", type=_length, metavar="N", help="only the last N days, hours or weeks: 7d, 24h, 4w"
    )
    command.add_argument("--since", type=day, metavar="DAY", help="only from this day on, as in 2026-03-01")
    command.add_argument("--until", type=day, metavar="DAY", help="only up to the end of this day")
    command.add_argument("--project", default="", metavar="P", help="only projects whose name contains P")
    command.add_argument(
        "--label", default="", metavar="L", help="only projects with a label that contains L"
    )
    command.add_argument("--model", default="", metavar="M", help="only models whose name contains M")
    command.add_argument(
        "--agent", default="", metavar="A", help=f"only of this agent: {enumeration(names(), 'or')}"
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
    command.add_argument(
        "--statusline",
        action="store_true",
        help="one line for an agent's status line: today's cost and tokens, and those of the session that "
        "the agent describes on stdin",
    )


# As they are shown, and when each is left out where there is no room.
_KINDS = {"input": 7, "output": 6, "cache_read": 4, "cache_write_5m": 3, "cache_write_1h": 2, "reasoning": 1}
_BAR_DROPS, _RESPONSES_DROPS = 5, 8
_LENGTHS = {"h": "hours", "d": "days", "w": "weeks"}


def usage(args: argparse.Namespace, screen: Screen) -> int:
    if args.statusline:
        from recollect.config import load_config
        from recollect.hooks.statusline import print_line

        return print_line(load_config(args.store), sys.stdin.fileno())
    if args.group is not None and not args.explain:
        raise UsageError("--group goes with --explain", hint="recollect usage --explain --group G")
    return _explain(args, screen) if args.explain else _summary(args, screen)


# -- what counts -----------------------------------------------------------------------------------


class _Groupings(list[str]):
    """What usage can be grouped by; labels by any one key too."""

    def __contains__(self, word: object) -> bool:
        return super().__contains__(re.sub(r"\blabel:[^,]+", "label", str(word)))


def _length(text: str) -> tuple[str, timedelta]:
    found = re.fullmatch(r"(\d{1,4})([hdw])", text, re.ASCII)
    if found is None or not int(found[1]):
        raise argparse.ArgumentTypeError(f"{text!r} is no length of time, such as 7d, 24h or 4w")
    return found[2], timedelta(**{_LENGTHS[found[2]]: int(found[1])})


def _only(args: argparse.Namespace, now: datetime) -> UsageFilter:
    """Which responses are asked for. Days are UTC, and the last of them is today."""
    if args.last is not None and (args.since is not None or args.until is not None):
        raise UsageError("--last goes without --since and --until", hint="recollect usage --last 7d")
    since, until = args.since, args.until and args.until + timedelta(days=1)
    if args.last is not None:
        unit, length = args.last
        tomorrow = now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
        since = (now if unit == "h" else tomorrow) - length
    return UsageFilter(_ms(since), _ms(until), args.project, args.model, args.agent, args.label)


def _ms(time: datetime | None) -> int:
    return 0 if time is None else max(1, int(time.timestamp() * 1000))


# -- in all ----------------------------------------------------------------------------------------


def _summary(args: argparse.Namespace, screen: Screen) -> int:
    only = _only(args, datetime.now(UTC))
    with open_memory(args) as memory:
        report = memory.usage(args.by, only=only)
        titles = (
            {each.facts.id: each.facts.headline for each in memory.sessions()} if "session" in args.by else {}
        )
    if screen.json:
        screen.object(
            "usage",
            {
                "by": report.by,
                "only": asdict(only),
                "prices_as_of": report.prices_as_of,
                "rows": [usage_object(row) for row in report.rows],
                "total": usage_object(report.total),
            },
        )
        return 0
    if not report.rows:
        screen.note("no responses are stored" if only == UsageFilter() else "no responses fit")
        return 0
    _print(report, titles, screen)
    return 0


def _print(report: UsageReport, titles: dict[str, str], screen: Screen) -> None:
    names = short_ids(titles)
    used = [kind for kind in _KINDS if getattr(report.total, kind)]
    groupings = report.by.split(",")
    columns = [
        *(Column(name, gives=PROJECT if name == "project" else 0) for name in groupings),
        Column("responses", right=True, drops=_RESPONSES_DROPS),
        *(Column(kind.replace("_", " "), right=True, drops=_KINDS[kind]) for kind in used),
        Column("cost", right=True),
        Column("", gives=BAR, drops=_BAR_DROPS),
        *([Column("title", gives=TITLE)] if titles else []),
    ]
    most = max(map(_measure, report.rows))
    rows: list[list[Cell]] = [
        [
            *_row(row, used, [names.get(name, name) for name in row.groups]),
            Bar(_measure(row) / (most or 1)),
            *([one_line(_title(row, titles), 72)] if titles else []),
        ]
        for row in report.rows
    ]
    total = _row(report.total, used, ["total", *[""] * (len(groupings) - 1)])
    bold = [Styled(cell.text if isinstance(cell, Styled) else cell, "bold") for cell in total]
    screen.table(columns, [*rows, [*bold, Bar(0), *([""] if titles else [])]])
    zone = "; days are UTC" if "day" in groupings else ""
    screen.note(f"prices as of {report.prices_as_of}; reasoning is part of output{zone}")
    if report.total.unpriced_models:
        missing = ", ".join(report.total.unpriced_models)
        left_out = many(report.total.unpriced_responses, "response")
        screen.note(f"no price is known for {missing}: {left_out} not in the cost")


def _title(row: UsageRow, titles: dict[str, str]) -> str:
    """What the session of a group was about."""
    return next((titles[name] for name in row.groups if name in titles), "") or UNTITLED


def _measure(row: UsageRow) -> int:
    """What a bar is as long as: the cost, or less than any where none is known."""
    return row.cost_microdollars or 0


def _row(row: UsageRow, used: list[str], names: list[str]) -> list[Part]:
    cost = "unknown" if row.cost_microdollars is None else dollars(row.cost_microdollars)
    if row.unpriced_responses and row.cost_microdollars is not None:
        cost += " + unknown"
    counts = (f"{getattr(row, kind):,}" for kind in used)
    return [*(one_line(name, 60) for name in names), f"{row.responses:,}", *counts, cost]


# -- one by one ------------------------------------------------------------------------------------


def _explain(args: argparse.Namespace, screen: Screen) -> int:
    by = args.by if args.group is not None else ""
    only = _only(args, datetime.now(UTC))
    with open_memory(args) as memory:
        lines = memory.usage_lines(by, args.group or "", args.limit or None, only=only)
    if screen.json:
        told = [asdict(each) for each in lines]
        screen.object("usage-lines", {"by": by, "group": args.group, "only": asdict(only), "lines": told})
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
