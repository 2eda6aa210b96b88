"""Tokens and what they cost: responses summed by day, model, project, session or agent.

Money is whole micro-dollars. Each response is priced and rounded on its own and only then
summed, so every grouping adds up to the same total to the last digit. A response without
a known price is left out of the cost and counted as left out: unknown is never zero.
"""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from importlib import resources
from typing import Any

import numpy as np

from recollect.store.contract import Array, UsageColumns, View
from recollect.values.errors import NotFound, UsageError
from recollect.values.records import Relation
from recollect.values.stored import Session
from recollect.values.usage import SessionUsage, UsageFilter, UsageLine, UsageReport, UsageRow
from recollect.values.vocabulary import GROUPINGS

TOKEN_KINDS = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h")
UNKNOWN = "unknown"  # the group of what has no time, model or project
TOTAL = "total"
LABELLED = ":"  # between `label` and the key to group by
BETWEEN = " · "  # the names of a group's two groupings
DOLLARS_PER_MILLION_MAX = 10_000  # keeps every cost within 64 bits, and catches a slipped unit

_GROUPINGS_MAX = 2
_COUNTED = (*TOKEN_KINDS, "reasoning")
_DAY_MS = 86_400_000
_DAYS_TO_1970 = date(1970, 1, 1).toordinal()
_DAYS_MAX = date.max.toordinal() - _DAYS_TO_1970
_MILLION = 1_000_000
_DENSE_MAX = 4_000_000


def summarise(
    columns: UsageColumns,
    by: str,
    prices: Mapping[str, Mapping[str, float]],
    only: UsageFilter = UsageFilter(),  # noqa: B008 - a frozen value
) -> UsageReport:
    """Tokens and cost of every response by `by`; `prices` are the person's own, over the package's."""
    columns = _chosen(columns, only)
    labels, groups = _grouped(columns, by)
    costs, priced = _costs(columns, prices)
    size, unpriced = len(labels), np.flatnonzero(~priced)
    responses = np.bincount(groups, minlength=size).tolist()
    unknown = np.bincount(groups[unpriced], minlength=size).tolist()
    models = _models(columns, groups[unpriced], columns.model[unpriced], size)
    sums = [_sums(groups, values, size) for values in (*(getattr(columns, k) for k in _COUNTED), costs)]
    rows = list(map(_row, labels, responses, unknown, models, *sums))
    every = tuple(sorted(set().union(*models)))
    total = _row((TOTAL,), sum(responses), sum(unknown), every, *map(sum, sums))
    return UsageReport(by, _ordered(rows, by), total, prices_as_of())


def session_usage(columns: UsageColumns, id_: str, prices: Mapping[str, Mapping[str, float]]) -> SessionUsage:
    """What the session of an id took, and those of its subagents, whoever started them."""
    every = {row: session.facts for row, session in columns.sessions.items()}
    own = {row for row, facts in every.items() if facts.id == id_}
    started = [(row, facts) for row, facts in every.items() if facts.relation == Relation.SUBAGENT]
    ids, inside = {id_}, set[int]()
    while found := {row for row, facts in started if facts.parent in ids} - inside - own:
        inside |= found
        ids |= {every[row].id for row in found}
    took, took_inside = (_total(_of_rows(columns, each), prices) for each in (own, inside))
    return SessionUsage(took, took_inside, len(inside))


def _of_rows(columns: UsageColumns, sessions: set[int]) -> UsageColumns:
    return _those(columns, np.isin(columns.session, np.fromiter(sessions, np.int64)))


def _total(columns: UsageColumns, prices: Mapping[str, Mapping[str, float]]) -> UsageRow:
    return summarise(columns, "", prices).total


def explain(
    view: View,
    columns: UsageColumns,
    prices: Mapping[str, Mapping[str, float]],
    *,
    by: str = "",
    group: str = "",
    limit: int | None = 20,
    only: UsageFilter = UsageFilter(),  # noqa: B008 - a frozen value
) -> list[UsageLine]:
    """The responses behind one group's figures, or with no `group` behind the total; dearest first.

    Those without a price come last, most tokens first. With no `limit` the lines add up to the group's row.
    """
    columns = _chosen(columns, only)
    labels, groups = _grouped(columns, by)
    costs, priced = _costs(columns, prices)
    chosen = np.flatnonzero(groups == _named(labels, by, group)) if group else np.arange(len(groups))
    tokens = np.sum([getattr(columns, kind)[chosen] for kind in TOKEN_KINDS], axis=0, dtype=np.int64)
    order = np.lexsort((columns.time[chosen], -tokens, -costs[chosen], ~priced[chosen]))
    chosen = chosen[order][:limit]
    places = view.locate_many(columns.line[chosen].tolist())
    ids = {row: columns.sessions[row].facts.id for row in set(columns.session[chosen].tolist())}
    return [
        UsageLine(
            time_ms=int(columns.time[n]),
            model=columns.models[columns.model[n]] or UNKNOWN,
            session=ids[int(columns.session[n])],
            **{kind: int(getattr(columns, kind)[n]) for kind in _COUNTED},
            cost_microdollars=int(costs[n]) if priced[n] else None,
            path=source.file.path,
            line_number=number,
        )
        for n, (source, number) in zip(chosen.tolist(), places, strict=True)
    ]


# -- prices ----------------------------------------------------------------------------------


@functools.cache
def price_table() -> dict[str, Any]:
    """The package's own prices, read when first asked for; `docs/usage.md` explains its fields."""
    packaged = resources.files("recollect.insight").joinpath("prices.json")
    table: dict[str, Any] = json.loads(packaged.read_bytes())
    return table


def prices_as_of() -> str:
    """The day the package's prices were last checked."""
    return str(price_table()["as_of"])


def price_of(model: str, own: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
    """Dollars per million tokens of each kind; a kind that is not there has no known price.

    `long` holds the prices of a prompt over a length. The person's own figures replace
    the package's one by one, and hold at every length.
    """
    names, known = _spellings(model), price_table()["models"]
    listed: dict[str, Any] = next((known[name] for name in names if name in known), {})
    mine: Mapping[str, float] = next((own[name] for name in names if name in own), {})
    longer = {"long": {**listed["long"], **mine}} if "long" in listed else {}
    return {**listed, **mine, **longer}


def check_prices(own: Mapping[str, Mapping[str, float]]) -> None:
    """Raise UsageError for the first entry of a config's `prices` that is no price."""
    if not isinstance(own, Mapping):
        raise UsageError("prices: not a table", hint=_PRICE_HINT)
    for model, price in own.items():
        if not isinstance(price, Mapping):
            raise UsageError(f'prices."{model}": not a table', hint=_PRICE_HINT)
        for kind, dollars in price.items():
            name = f'prices."{model}".{kind}'
            if kind not in TOKEN_KINDS:
                raise UsageError(f"{name}: no such price", hint=f"there are {', '.join(TOKEN_KINDS)}")
            if type(dollars) not in (int, float) or not 0 <= dollars <= DOLLARS_PER_MILLION_MAX:
                raise UsageError(
                    f"{name}: {dollars!r} is not a number of dollars per million tokens",
                    hint=f"give a number from 0 to {DOLLARS_PER_MILLION_MAX}, such as 3.75",
                )


_PRICE_HINT = 'write [prices."model-name"] and below it lines such as input = 3.0'

# What providers and gateways put around a model's own name.
_PREFIX = re.compile(r"^(?:[a-z0-9_.-]+/)*(?:(?:us|eu|apac|jp|au|global|us-gov)\.)?(?:anthropic\.|openai\.)?")
_SUFFIX = re.compile(r"(?:-v\d+(?::\d+)?)?(?:\[1m\])?$")
_DATE = re.compile(r"(?:[-@]\d{8}|-\d{4}-\d{2}-\d{2}|@default|-latest)$")


def _spellings(model: str) -> list[str]:
    """Names a price may stand under, the most exact first: as given, unwrapped, without its date."""
    bare = _SUFFIX.sub("", _PREFIX.sub("", model.lower()))
    if bare.startswith(tuple(price_table()["dots_are_dashes"])):
        bare = bare.replace(".", "-")
    return list(dict.fromkeys((model, bare, _SUFFIX.sub("", _DATE.sub("", bare)))))


def _costs(columns: UsageColumns, own: Mapping[str, Mapping[str, float]]) -> tuple[Array, Array]:
    """Micro-dollars of every response, and whether they are known; 0 where they are not.

    A response is priced when every kind of token it has is priced at its prompt's length.
    """
    check_prices(own)
    size = len(columns.models)
    table = np.full((len(TOKEN_KINDS), 2 * size), -1, np.int64)
    limits = np.full(size, np.iinfo(np.int64).max)
    for n, model in enumerate(columns.models):
        price = price_of(model, own)
        table[:, n] = [_microdollars(price.get(kind)) for kind in TOKEN_KINDS]
        if "long" in price:
            limits[n] = price["long"]["prompt_tokens_over"]
            table[:, size + n] = [_microdollars(price["long"].get(kind)) for kind in TOKEN_KINDS]
    tokens = [getattr(columns, kind) for kind in TOKEN_KINDS]
    at = columns.model.astype(np.int64)
    # The longest prompt alone tells whether the second half of the table is needed at all.
    longest = sum(int(column.max(initial=0)) for column in tokens)
    if longest > limits.min(initial=longest):
        prompt = np.zeros(len(at), np.int64)
        for kind in TOKEN_KINDS:
            if kind != "output":
                prompt += getattr(columns, kind)
        at += size * (prompt > limits[at])
    return _priced(tokens, table, at)


def _priced(tokens: Sequence[Array], table: Array, at: Array) -> tuple[Array, Array]:
    """The sum over the kinds of tokens times price, rounded half up to whole micro-dollars."""
    largest = max(int(column.max(initial=0)) for column in tokens)
    # Beyond 64 bits only with absurd counts; numpy then computes with Python's own integers.
    exact = np.int64 if len(tokens) * largest * int(table.max(initial=1)) < 2**62 else object
    known = np.ones(len(at), bool)
    cost: Array = np.full(len(at), _MILLION // 2, exact)
    for column, prices in zip(tokens, table, strict=True):
        price = prices.astype(exact)[at]
        if (prices < 0).any():
            known &= (prices >= 0)[at] | (column == 0)
        price *= column
        cost += price
    cost = (cost // _MILLION).astype(np.int64)
    cost *= known
    return cost, known


def _microdollars(dollars: float | None) -> int:
    return -1 if dollars is None else math.floor(dollars * _MILLION + 0.5)


# -- groups ----------------------------------------------------------------------------------


def _chosen(columns: UsageColumns, only: UsageFilter) -> UsageColumns:
    """The responses that count."""
    if only == UsageFilter():
        return columns
    fits = np.ones(len(columns.time), bool)
    if only.since_ms:
        fits &= columns.time >= only.since_ms
    if only.until_ms:
        fits &= (columns.time < only.until_ms) & (columns.time > 0)
    if only.model:
        wanted = [only.model.casefold() in (model or UNKNOWN).casefold() for model in columns.models]
        fits &= np.array(wanted, bool)[columns.model]
    if only.project or only.agent or only.label:
        rows, at = _distinct(columns.session)
        wanted = [_is_wanted(columns.sessions[row], only) for row in rows.tolist()]
        fits &= np.array(wanted, bool)[at]
    return _those(columns, fits)


def _those(columns: UsageColumns, fits: Array) -> UsageColumns:
    kept = {name: getattr(columns, name)[fits] for name in ("session", "model", "time", "line", *_COUNTED)}
    return replace(columns, **kept)


def _is_wanted(session: Session, only: UsageFilter) -> bool:
    by_agent = not only.agent or only.agent == session.facts.agent
    return (
        by_agent
        and session.is_of_project(only.project)
        and (not only.label or session.is_labelled(only.label))
    )


def _grouped(columns: UsageColumns, by: str) -> tuple[list[tuple[str, ...]], Array]:
    """The groups' names, and for every response the position of its group among them."""
    if not by:
        return [(TOTAL,)], np.zeros(len(columns.model), np.int64)
    words = by.split(",")
    if len(words) > _GROUPINGS_MAX or len(set(words)) < len(words):
        raise UsageError(f"usage by {by!r}: at most two groupings, each once", hint="such as project,model")
    labels, at = _grouped_once(columns, words[0])
    if len(words) == 1:
        return [(label,) for label in labels], at
    others, within = _grouped_once(columns, words[1])
    pairs, at = _distinct(at * len(others) + within)
    return [(labels[pair // len(others)], others[pair % len(others)]) for pair in pairs.tolist()], at


def _grouped_once(columns: UsageColumns, by: str) -> tuple[list[str], Array]:
    if by.partition(LABELLED)[0] not in GROUPINGS or (LABELLED in by and not by.startswith("label")):
        raise UsageError(f"usage by {by!r}: no such grouping", hint=f"there are {', '.join(GROUPINGS)}")
    if by == "day":
        return _days(columns.time)
    if by == "model":
        return _merged([model or UNKNOWN for model in columns.models], columns.model)
    rows, at = _distinct(columns.session)
    sessions = dict(columns.sessions.items())
    return _merged([_group_of(sessions[row], by) or UNKNOWN for row in rows.tolist()], at)


def _group_of(session: Session, by: str) -> str:
    """A session's group; by label all of its labels together, so that nothing counts twice."""
    if not by.startswith("label"):
        return str(getattr(session.facts, "id" if by == "session" else by))
    key = by.partition(LABELLED)[2]
    return ", ".join(label for label in session.labels if not key or label.startswith(f"{key}="))


def _days(times: Array) -> tuple[list[str], Array]:
    days = times // _DAY_MS
    days = np.where((times > 0) & (days <= _DAYS_MAX), days, -1)
    found, at = _distinct(days)
    names = [date.fromordinal(_DAYS_TO_1970 + d).isoformat() if d >= 0 else UNKNOWN for d in found.tolist()]
    return names, at


def _distinct(values: Array) -> tuple[Array, Array]:
    """The values that occur, sorted, and each value's place among them."""
    if not len(values):
        return values, np.zeros(0, np.int64)
    low = int(values.min())
    if int(values.max()) - low > _DENSE_MAX:
        return np.unique(values, return_inverse=True)
    # Counting is ten times as fast as the sort in `unique`, and days and rows lie close together.
    offsets = values.astype(np.int64) - low
    present = np.bincount(offsets) > 0
    return np.flatnonzero(present) + low, (np.cumsum(present) - 1)[offsets]


def _merged(names: Sequence[str], at: Array) -> tuple[list[str], Array]:
    """Groups of the same name made one, and those nothing falls into left out."""
    used = np.bincount(at, minlength=len(names)) > 0
    places: dict[str, int] = {}
    moved = [places.setdefault(name, len(places)) if used[n] else 0 for n, name in enumerate(names)]
    return list(places), np.array(moved, np.int64)[at]


def _named(labels: Sequence[tuple[str, ...]], by: str, group: str) -> int:
    """A group by its name; a session also by the start of its id, if no other starts so."""
    names = [BETWEEN.join(label) for label in labels]
    if group in names:
        return names.index(group)
    fits = [n for n, name in enumerate(names) if by == "session" and group and name.startswith(group)]
    if len(fits) != 1:
        raise NotFound(
            f"no single {by} in the usage is called {group!r}", hint=f"`recollect usage --by {by}` lists them"
        )
    return fits[0]


def _sums(groups: Array, values: Array, size: int) -> list[int]:
    if size == 1:
        return [int(values.sum(dtype=np.int64))]
    sums = np.zeros(size, np.int64)
    np.add.at(sums, groups, values.astype(np.int64))
    total: list[int] = sums.tolist()
    return total


def _models(columns: UsageColumns, groups: Array, models: Array, size: int) -> list[tuple[str, ...]]:
    """The names of the models in each group, sorted."""
    names = sorted({model or UNKNOWN for model in columns.models})
    place = np.array([names.index(model or UNKNOWN) for model in columns.models], np.int64)
    found: list[list[str]] = [[] for _ in range(size)]
    for pair in _distinct(groups * len(names) + place[models])[0].tolist():
        found[pair // len(names)].append(names[pair % len(names)])
    return [tuple(models) for models in found]


def _row(
    groups: tuple[str, ...],
    responses: int,
    unpriced: int,
    models: tuple[str, ...],
    fresh: int,
    output: int,
    read: int,
    write_5m: int,
    write_1h: int,
    reasoning: int,
    cost: int,
) -> UsageRow:
    known = cost if unpriced < responses or not responses else None
    tokens = fresh, output, read, write_5m, write_1h, reasoning
    return UsageRow(BETWEEN.join(groups), responses, *tokens, known, unpriced, models, groups)


def _ordered(rows: list[UsageRow], by: str) -> list[UsageRow]:
    """Days in order, anything else dearest first; of two groupings the second within the first."""
    if by.split(",")[0] == "day":
        return sorted(rows, key=lambda row: (row.groups[0] == UNKNOWN, row.groups[0], _by_cost(row)))
    ranked = sorted(rows, key=_by_cost)
    if "," not in by:
        return ranked
    spent: dict[str, int] = {}
    for row in ranked:
        spent[row.groups[0]] = spent.get(row.groups[0], 0) + (row.cost_microdollars or 0)
    place = {name: n for n, name in enumerate(sorted(spent, key=lambda name: (-spent[name], name)))}
    return sorted(ranked, key=lambda row: place[row.groups[0]])


def _by_cost(row: UsageRow) -> tuple[bool, int, int, str]:
    return row.cost_microdollars is None, -(row.cost_microdollars or 0), -row.tokens, row.group
