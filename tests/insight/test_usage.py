"""Tokens and cost: everything adds up, unknown stays unknown, every figure leads back to its lines."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import DATA

from recollect.insight.usage import (
    TOKEN_KINDS,
    check_prices,
    explain,
    price_of,
    price_table,
    session_usage,
    summarise,
)
from recollect.intake.discover import discover
from recollect.intake.ingest import Ingest
from recollect.store.contract import UsageColumns, View
from recollect.store.hdf5.engine import Hdf5Store
from recollect.values.errors import NotFound, UsageError
from recollect.values.records import Cursor, Relation, SessionFacts, SourceFile
from recollect.values.stored import Session, Source
from recollect.values.usage import UsageFilter, UsageLine
from recollect.values.vocabulary import GROUPINGS

DAY_MS = 86_400_000
COUNTED = (*TOKEN_KINDS, "reasoning")
AGENTS = ("claude", "codex", "gemini")  # whose lines are looked into
MODELS = ("claude-sonnet-4-5-20250929", "claude-opus-4-6", "gpt-5-codex", "gpt-5.5", "mystery-1", "")


def columns(rows: Sequence[Mapping[str, Any]]) -> UsageColumns:
    """Columns of hand-made responses: `model` by name, `session` by number, everything else 0."""
    names = sorted({str(row.get("model", MODELS[0])) for row in rows})
    kinds = {k: np.array([row.get(k, 0) for row in rows], "<u4") for k in COUNTED}
    agents = ("codex", "claude")
    facts = [SessionFacts(agents[n % 2], f"{n:04d}-id", project=f"p{n // 2}") for n in range(8)]
    return UsageColumns(
        sessions={row: Session(fact, "host", 1) for row, fact in enumerate(facts)},
        models=names,
        session=np.array([row.get("session", 0) for row in rows], "<u4"),
        model=np.array([names.index(str(row.get("model", MODELS[0]))) for row in rows], np.int64),
        time=np.array([row.get("time", 1) for row in rows], "<i8"),
        line=np.arange(len(rows), dtype="<u8"),
        **kinds,
    )


responses = st.lists(
    st.fixed_dictionaries(
        {
            "model": st.sampled_from(MODELS),
            "session": st.integers(0, 7),
            "time": st.sampled_from([0, -5, 1, DAY_MS - 1, DAY_MS, 40 * DAY_MS, 1 << 62]),
        }
        | {kind: st.one_of(st.integers(0, 9), st.integers(0, 2**32 - 1)) for kind in COUNTED}
    ),
    max_size=40,
)


def exact_cost(row: Mapping[str, Any], prices: Mapping[str, Mapping[str, float]]) -> int | None:
    """The cost by the rule as it is written in the docs, one response at a time, in fractions."""
    price: Mapping[str, Any] = price_of(str(row["model"]), prices)
    prompt = sum(row[kind] for kind in TOKEN_KINDS if kind != "output")
    if "long" in price and prompt > price["long"]["prompt_tokens_over"]:
        price = price["long"]
    if any(row[kind] and kind not in price for kind in TOKEN_KINDS):
        return None
    dollars = sum(
        (row[k] * Fraction(str(price[k])) / 1_000_000 for k in TOKEN_KINDS if row[k]), start=Fraction(0)
    )
    return int(dollars * 1_000_000 + Fraction(1, 2))


class TestSessions:
    @given(rows=responses, number=st.integers(0, 7))
    def test_a_session_is_told_as_by_session(self, rows: list[dict[str, Any]], number: int) -> None:
        taken = columns(rows)
        by_session = {row.group: row for row in summarise(taken, "session", {}).rows}
        told = session_usage(taken, f"{number:04d}-id", {})
        listed = by_session.get(f"{number:04d}-id")
        assert told.own.responses == (listed.responses if listed else 0)
        assert listed is None or replace(told.own, group=listed.group, groups=listed.groups) == listed
        assert (told.subagents, told.inside.responses) == (0, 0)

    def test_what_subagents_took_is_told_apart_whoever_started_them(self) -> None:
        taken = columns([{"session": n, "input": 10**n} for n in range(5)])
        parents = {1: "0000-id", 2: "0001-id", 3: "0000-id", 4: "elsewhere"}
        kinds = {1: Relation.SUBAGENT, 2: Relation.SUBAGENT, 3: Relation.FORK, 4: Relation.SUBAGENT}
        related = {
            row: replace(
                each, facts=replace(each.facts, parent=parents.get(row, ""), relation=kinds.get(row, 0))
            )
            for row, each in cast("dict[int, Session]", taken.sessions).items()
        }
        told = session_usage(replace(taken, sessions=related), "0000-id", {})
        assert (told.own.input, told.inside.input, told.subagents) == (1, 110, 2)

    def test_a_session_that_is_its_own_parent_is_counted_once(self) -> None:
        taken = columns([{"session": 0, "input": 5}])
        known = cast("dict[int, Session]", taken.sessions)
        own = replace(known[0].facts, parent="0000-id", relation=Relation.SUBAGENT)
        told = session_usage(
            replace(taken, sessions={**known, 0: replace(known[0], facts=own)}), "0000-id", {}
        )
        assert (told.own.input, told.inside.input, told.subagents) == (5, 0, 0)


class TestSums:
    @given(rows=responses)
    def test_every_grouping_adds_up_to_the_same_total(self, rows: list[dict[str, Any]]) -> None:
        taken = columns(rows)
        whole = summarise(taken, "", {}).total
        for by in ("", *GROUPINGS):
            report = summarise(taken, by, {})
            assert report.total == whole
            for figure in ("responses", "unpriced_responses", *COUNTED):
                assert sum(getattr(r, figure) for r in report.rows) == getattr(whole, figure)
            known = [r.cost_microdollars for r in report.rows if r.cost_microdollars is not None]
            assert (sum(known) if known or not rows else None) == whole.cost_microdollars
            assert {m for r in report.rows for m in r.unpriced_models} == set(whole.unpriced_models)

    @given(rows=responses)
    def test_the_cost_is_that_of_each_response_rounded_on_its_own(self, rows: list[dict[str, Any]]) -> None:
        own = {"gpt-5.5": {"cache_write_5m": 0.1}, "mystery-1": {"input": 9_999.999999, "output": 0.000001}}
        expected = [exact_cost(row, own) for row in rows]
        total = summarise(columns(rows), "", own).total
        assert total.unpriced_responses == expected.count(None)
        known = [cost for cost in expected if cost is not None]
        assert total.cost_microdollars == (sum(known) if known or not rows else None)

    def test_half_a_microdollar_rounds_up_in_each_response_before_they_are_summed(self) -> None:
        own = {"mystery-1": {"input": 0.5}}
        taken = columns([{"model": "mystery-1", "input": 1}] * 3)
        assert summarise(taken, "", own).total.cost_microdollars == 3  # not 1.5, not 2

    def test_reasoning_is_part_of_the_output_and_not_paid_for_again(self) -> None:
        plain = summarise(columns([{"output": 1000}]), "", {}).total
        thinking = summarise(columns([{"output": 1000, "reasoning": 900}]), "", {}).total
        assert thinking.cost_microdollars == plain.cost_microdollars == 15_000
        assert thinking.tokens == plain.tokens == 1000
        assert thinking.reasoning == 900

    def test_an_empty_store_cost_nothing(self) -> None:
        for by in ("", *GROUPINGS):
            report = summarise(columns([]), by, {})
            assert report.total.cost_microdollars == 0
            assert report.total.responses == 0

    def test_counts_beyond_64_bits_of_money_are_still_exact(self) -> None:
        row = {"model": "mystery-1"} | dict.fromkeys(TOKEN_KINDS, 2**32 - 1)
        own = {"mystery-1": dict.fromkeys(TOKEN_KINDS, 10_000)}
        total = summarise(columns([row]), "", own).total
        assert total.cost_microdollars == 5 * (2**32 - 1) * 10_000 == exact_cost(row, own)

    def test_a_long_prompt_is_paid_at_the_price_for_long_prompts(self) -> None:
        at_limit = {"input": 100_000, "cache_read": 100_000, "output": 10}
        over = at_limit | {"input": 100_001}
        assert summarise(columns([at_limit]), "", {}).total.cost_microdollars == 330_150
        assert summarise(columns([over]), "", {}).total.cost_microdollars == 660_231


class TestGroups:
    def test_days_are_utc_and_in_order(self) -> None:
        march = 1_772_409_600_000  # 2026-03-02T00:00:00Z
        taken = columns([{"time": march}, {"time": march - 1}, {"time": 0}, {"time": march + DAY_MS - 1}])
        days = [(row.group, row.responses) for row in summarise(taken, "day", {}).rows]
        assert days == [("2026-03-01", 1), ("2026-03-02", 2), ("unknown", 1)]

    def test_other_groups_come_dearest_first_and_unknown_costs_last(self) -> None:
        taken = columns(
            [
                {"model": "mystery-1", "output": 10**9},
                {"model": "gpt-5-codex", "output": 10},
                {"model": "claude-opus-4-6", "output": 10},
                {"model": "mystery-2", "output": 2 * 10**9},
            ]
        )
        groups = [row.group for row in summarise(taken, "model", {}).rows]
        assert groups == ["claude-opus-4-6", "gpt-5-codex", "mystery-2", "mystery-1"]

    def test_sessions_of_one_project_and_of_one_agent_are_summed(self) -> None:
        taken = columns([{"session": n, "input": 10**n} for n in range(4)])
        by = {by: {r.group: r.input for r in summarise(taken, by, {}).rows} for by in ("", *GROUPINGS)}
        assert by["project"] == {"p0": 11, "p1": 1100}
        assert by["agent"] == {"codex": 101, "claude": 1010}
        assert by["session"] == {"0000-id": 1, "0001-id": 10, "0002-id": 100, "0003-id": 1000}
        assert by[""] == {"total": 1111}

    def test_an_unknown_grouping_names_the_choices(self) -> None:
        with pytest.raises(UsageError) as caught:
            summarise(columns([]), "month", {})
        assert "month" in str(caught.value)
        assert "day, model, project, label, session, agent" in caught.value.hint


class TestUnknownPrices:
    def test_an_unknown_price_is_never_zero(self) -> None:
        row = summarise(columns([{"model": "mystery-1", "output": 5}]), "model", {}).rows[0]
        assert row.cost_microdollars is None
        assert (row.unpriced_responses, row.unpriced_models) == (1, ("mystery-1",))

    def test_a_group_with_both_sums_the_known_and_says_what_it_leaves_out(self) -> None:
        taken = columns([{"output": 100}, {"model": "mystery-1", "output": 5}, {"model": "", "output": 5}])
        total = summarise(taken, "", {}).total
        assert total.cost_microdollars == 1500
        assert (total.unpriced_responses, total.unpriced_models) == (2, ("mystery-1", "unknown"))

    def test_a_kind_of_token_without_a_price_makes_only_its_responses_unknown(self) -> None:
        taken = columns([{"model": "gpt-5-codex", "input": 8}, {"model": "gpt-5-codex", "cache_write_5m": 1}])
        total = summarise(taken, "", {}).total
        assert (total.cost_microdollars, total.unpriced_responses) == (10, 1)

    def test_a_prompt_longer_than_the_price_holds_for_is_unknown(self) -> None:
        rows = [{"model": "gpt-5.5", "input": tokens} for tokens in (272_000, 272_001)]
        assert [summarise(columns([row]), "", {}).total.unpriced_responses for row in rows] == [0, 1]


class TestPrices:
    @pytest.mark.parametrize(
        "name",
        [
            "claude-sonnet-4-5",
            "claude-sonnet-4-5-20250929",
            "claude-sonnet-4-5@20250929",
            "claude-sonnet-4-5-20250929[1m]",
            "anthropic/claude-sonnet-4-5",
            "openrouter/anthropic/claude-sonnet-4.5",
            "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
            "bedrock/eu.anthropic.claude-sonnet-4-5-20250929-v1:0",
        ],
    )
    def test_a_model_is_known_by_every_name_providers_give_it(self, name: str) -> None:
        assert price_of(name, {}) == price_table()["models"]["claude-sonnet-4-5"]

    @pytest.mark.parametrize(
        ("name", "known_as"),
        [
            ("claude-3-5-sonnet-v2@20241022", "claude-3-5-sonnet"),
            ("claude-3-5-sonnet-latest", "claude-3-5-sonnet"),
            ("gpt-5-2025-08-07", "gpt-5"),
            ("openai/gpt-5-codex", "gpt-5-codex"),
            ("codex-mini-latest", "codex-mini-latest"),
        ],
    )
    def test_dates_and_prefixes_are_left_off(self, name: str, known_as: str) -> None:
        assert price_of(name, {}) == price_table()["models"][known_as]

    @pytest.mark.parametrize("name", ["", "claude", "claude-opus", "gpt-5-turbo", "gpt-5.1-codex-x", "opus"])
    def test_a_name_that_only_resembles_one_has_no_price(self, name: str) -> None:
        assert price_of(name, {}) == {}

    def test_own_prices_replace_one_by_one_at_every_length(self) -> None:
        own = {"claude-sonnet-4-5": {"input": 1.0}}
        price = price_of("claude-sonnet-4-5-20250929", own)
        assert (price["input"], price["output"], price["long"]["input"]) == (1.0, 15, 1.0)
        exact = {"claude-sonnet-4-5-20250929": {"input": 2.0}, **own}
        assert price_of("claude-sonnet-4-5-20250929", exact)["input"] == 2.0

    def test_own_prices_make_an_unknown_model_known(self) -> None:
        taken = columns([{"model": "mystery-1", "input": 1_000_000}])
        assert summarise(taken, "", {"mystery-1": {"input": 2.5}}).total.cost_microdollars == 2_500_000

    @pytest.mark.parametrize(
        ("own", "key"),
        [
            ({"m": {"input": -1}}, 'prices."m".input'),
            ({"m": {"input": "3"}}, 'prices."m".input'),
            ({"m": {"output": True}}, 'prices."m".output'),
            ({"m": {"output": float("nan")}}, 'prices."m".output'),
            ({"m": {"output": float("inf")}}, 'prices."m".output'),
            ({"m": {"cache_write": 1}}, 'prices."m".cache_write'),
            ({"m": 3}, 'prices."m"'),
            ([1], "prices"),
        ],
    )
    def test_a_bad_price_is_named(self, own: Any, key: str) -> None:
        with pytest.raises(UsageError) as caught:
            summarise(columns([]), "", own)
        assert str(caught.value).startswith(key + ":")
        assert caught.value.hint

    def test_the_package_s_table_is_complete_and_plausible(self) -> None:
        table = price_table()
        assert summarise(columns([]), "", {}).prices_as_of == table["as_of"]
        for name, price in table["models"].items():
            check_prices({name: {k: v for k, v in price.items() if k != "long"}})
            assert {"input", "output"} <= price.keys()
            assert 0 < price.get("cache_read", 0.001) < price["input"] < price["output"]
            if name.startswith("claude") and name != "claude-3-sonnet":
                assert price.keys() >= set(TOKEN_KINDS)
            if "long" in price:
                assert price["long"].keys() <= {*TOKEN_KINDS, "prompt_tokens_over"}


class FakeView:
    """Says where lines are, and nothing else."""

    def locate_many(self, lines: Sequence[int]) -> list[tuple[Source, int]]:
        files = [SourceFile("claude", f"/logs/{line % 3}.jsonl") for line in lines]
        return [(Source(f, "host", Cursor(), "", 1, 1), n + 1) for f, n in zip(files, lines, strict=True)]


def explained(taken: UsageColumns, **choice: Any) -> list[UsageLine]:
    return explain(cast(View, FakeView()), taken, {}, **choice)


class TestExplain:
    @given(rows=responses, by=st.sampled_from(("", *GROUPINGS)))
    def test_the_lines_add_up_to_the_figure(self, rows: list[dict[str, Any]], by: str) -> None:
        taken = columns(rows)
        for row in summarise(taken, by, {}).rows:
            lines = explained(taken, by=by, group=row.group if by else "", limit=None)
            assert len(lines) == row.responses
            for kind in COUNTED:
                assert sum(getattr(line, kind) for line in lines) == getattr(row, kind)
            known = [line.cost_microdollars for line in lines if line.cost_microdollars is not None]
            assert (sum(known) if known or not lines else None) == row.cost_microdollars
            assert known == sorted(known, reverse=True)
            assert [line.cost_microdollars is None for line in lines] == sorted(
                line.cost_microdollars is None for line in lines
            )

    def test_the_dearest_come_first_up_to_the_limit(self) -> None:
        taken = columns([{"output": n, "session": n} for n in (1, 7, 3)])
        lines = explained(taken, limit=2)
        assert [(line.output, line.session, line.line_number) for line in lines] == [
            (7, "0007-id", 2),
            (3, "0003-id", 3),
        ]

    def test_a_session_may_be_named_by_the_start_of_its_id(self) -> None:
        taken = columns([{"session": 1}, {"session": 2}])
        assert explained(taken, by="session", group="0002")[0].session == "0002-id"
        for group in ("000", "9"):
            with pytest.raises(NotFound):
                explained(taken, by="session", group=group)

    def test_other_groups_are_named_in_full(self) -> None:
        with pytest.raises(NotFound):
            explained(columns([{}]), by="model", group="claude")


class TestOnAStore:
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Hdf5Store]:
        store = Hdf5Store.open(tmp_path / "memory.h5", create=True)
        with store.writer() as writer:
            Ingest(writer, "host").sweep(discover([DATA / agent for agent in AGENTS]).found)
            writer.commit()
        yield store
        store.close()

    def test_every_explained_line_holds_the_numbers(self, store: Hdf5Store) -> None:
        with store.view() as view:
            taken = view.usage()
            lines = explain(view, taken, {}, limit=None)
            assert len(lines) == summarise(taken, "", {}).total.responses > 5
        for line in lines:
            if line.path.endswith(".json"):  # a document has no lines: its records are counted
                continue
            record = json.loads(Path(line.path).read_bytes().split(b"\n")[line.line_number - 1])
            if "message" in record:
                assert record["message"]["usage"]["output_tokens"] == line.output
            elif "tokens" in record:
                assert record["tokens"]["output"] + record["tokens"]["thoughts"] == line.output
            elif "payload" in record:
                payload = record["payload"]
                numbers = payload["usage"] if "usage" in payload else payload["info"]["last_token_usage"]
                assert numbers["output_tokens"] == line.output
            else:
                assert str(line.output) in json.dumps(record)

    def test_many_lines_are_located_as_each_one_is(self, store: Hdf5Store) -> None:
        with store.view() as view:
            count = view.info().lines
            wanted = [*range(count), 0, count - 1]
            assert view.locate_many(wanted) == [view.locate(line) for line in wanted]
            assert view.locate_many([]) == []
            with pytest.raises(NotFound):
                view.locate_many([0, count])

    def test_lines_keep_their_numbers_when_sources_grow_in_turns(self, tmp_path: Path) -> None:
        """Two files that grow by turns lie in many short runs; numbers count through all runs before."""
        records = [_answer(n) for n in range(12)]
        files = [tmp_path / f"{n:08d}-1111-4aaa-8bbb-000000000001.jsonl" for n in range(2)]
        store = Hdf5Store.open(tmp_path / "memory.h5", create=True)
        for n, record in enumerate(records):
            with files[n % 2].open("a") as file:
                file.write(json.dumps(record) + "\n")
            with store.writer() as writer:
                Ingest(writer, "host").sweep(discover(f for f in files if f.exists()).found)
                writer.commit()
        with store.view() as view:
            lines = explain(view, view.usage(), {}, limit=None)
        store.close()
        assert {line.output: (line.path, line.line_number) for line in lines} == {
            100 + n: (str(files[n % 2]), n // 2 + 1) for n in range(12)
        }

    def test_a_line_of_several_files_is_placed_in_the_first(self, tmp_path: Path) -> None:
        files = [tmp_path / f"{n:08d}-1111-4aaa-8bbb-000000000001.jsonl" for n in range(3)]
        store = Hdf5Store.open(tmp_path / "memory.h5", create=True)
        for file in files:
            file.write_text(json.dumps(_answer(0)) + "\n")
            with store.writer() as writer:
                Ingest(writer, "host").sweep(discover([file]).found)
                writer.commit()
        with store.view() as view:
            assert view.info().lines == 1
            assert view.locate(0)[0].file.path == str(files[0])
        store.close()


def _answer(n: int) -> dict[str, Any]:
    """An assistant record of its own response, recognisable by its output tokens."""
    message = {
        "id": f"msg_{n}",
        "role": "assistant",
        "model": "claude-opus-4-6",
        "content": [],
        "usage": {"input_tokens": 1, "output_tokens": 100 + n},
    }
    return {
        "type": "assistant",
        "uuid": f"u{n}",
        "parentUuid": None,
        "requestId": f"req_{n}",
        "version": "2.1.0",
        "sessionId": f"{n % 2:08d}-1111-4aaa-8bbb-000000000001",
        "timestamp": "2026-03-02T10:00:00.000Z",
        "isSidechain": False,
        "userType": "external",
        "cwd": "/work",
        "message": message,
    }


# -- some of it, and by two things -------------------------------------------------------------------


@given(responses, st.permutations(GROUPINGS))
def test_two_groupings_add_up_to_either(rows: list[dict[str, Any]], names: list[str]) -> None:
    first, second = names[:2]
    made = columns(rows)
    both = summarise(made, f"{first},{second}", {})
    for number, by in enumerate((first, second)):
        found: dict[str, list[int]] = {}
        for row in both.rows:
            sums = found.setdefault(row.groups[number], [0, 0, 0])
            for at, value in enumerate((row.responses, row.tokens, row.cost_microdollars or 0)):
                sums[at] += value
        alone = summarise(made, by, {}).rows
        assert found == {row.group: [row.responses, row.tokens, row.cost_microdollars or 0] for row in alone}
    assert both.total == summarise(made, "", {}).total
    kept = [row.groups[0] for row in both.rows]
    assert all(kept.index(name) + kept.count(name) == len(kept) - kept[::-1].index(name) for name in kept)


FILTERS = st.builds(
    UsageFilter,
    since_ms=st.sampled_from([0, 1, 2, DAY_MS]),
    until_ms=st.sampled_from([0, 1, DAY_MS, 41 * DAY_MS]),
    project=st.sampled_from(["", "P1", "p", "harbor"]),
    model=st.sampled_from(["", "GPT", "opus", "unknown"]),
    agent=st.sampled_from(["", "codex", "claude", "nobody"]),
)


@given(responses, FILTERS)
def test_what_is_left_out_is_as_if_it_never_was(rows: list[dict[str, Any]], only: UsageFilter) -> None:
    def fits(row: dict[str, Any]) -> bool:
        session, time = row["session"], row["time"]
        return (
            (not only.since_ms or time >= only.since_ms)
            and (not only.until_ms or 0 < time < only.until_ms)
            and only.project.lower() in f"p{session // 2}"
            and only.model.lower() in (row["model"] or "unknown")
            and only.agent in ("", ("codex", "claude")[session % 2])
        )

    kept = list(filter(fits, rows))
    for by in ("", *GROUPINGS):
        found, expected = summarise(columns(rows), by, {}, only), summarise(columns(kept), by, {})
        assert (found.rows, found.total) == (expected.rows, expected.total)


@pytest.mark.parametrize("by", ["day,day", "day,model,agent", "day,", ",", "weather"])
def test_groupings_that_are_none_are_refused(by: str) -> None:
    with pytest.raises(UsageError):
        summarise(columns([{}]), by, {})


@pytest.mark.parametrize(
    ("only", "kept"),
    [
        (UsageFilter(), 15),
        (UsageFilter(since_ms=DAY_MS), 12),
        (UsageFilter(until_ms=DAY_MS), 1),
        (UsageFilter(since_ms=DAY_MS, until_ms=DAY_MS + 1), 4),
        (UsageFilter(project="P0"), 9),
        (UsageFilter(model="OPUS"), 5),
        (UsageFilter(agent="codex"), 3),
        (UsageFilter(project="harbor"), 0),
    ],
)
def test_each_filter_keeps_what_fits(only: UsageFilter, kept: int) -> None:
    rows = [
        {"output": 1, "time": DAY_MS - 1, "session": 0, "model": "claude-opus-4-6"},
        {"output": 2, "time": 0, "session": 2, "model": "gpt-5-codex"},
        {"output": 4, "time": DAY_MS, "session": 3, "model": "claude-opus-4-6"},
        {"output": 8, "time": 9 * DAY_MS, "session": 1, "model": "gpt-5-codex"},
    ]
    assert summarise(columns(rows), "", {}, only).total.output == kept
