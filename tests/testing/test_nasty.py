"""The generator of nasty inputs, and that the contract of agents notices who cannot take them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from importlib import metadata
from pathlib import Path, PurePath
from types import SimpleNamespace
from typing import Any

import pytest
from tests.support import ROOT

from recollect.agents import registry
from recollect.agents.contract import Agent
from recollect.agents.fields import facts_restored, facts_state, not_an_object, text_of
from recollect.agents.head import Head
from recollect.testing import AgentContract, nasty_inputs
from recollect.values.records import Entry, Kind, Parsed, SessionFacts, SourceFile, Usage

RECORDS = (
    {"role": "user", "text": "Where is the ☃ key?", "number": 1},
    {"role": "owl", "text": "Under the mat.", "number": 2, "tokens": {"in": 10}},
)


def write_samples(folder: Path) -> Path:
    log = "".join(json.dumps(record) + "\n" for record in RECORDS).encode()
    files = {
        "a/nights.owl.jsonl": log,
        "b.owl.jsonl": log.replace(b"mat", b"doormat"),
        "whole.json": json.dumps({"list": RECORDS}, indent=1).encode(),
        "kept.db": b"SQLite format 3\0and pages",
    }
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


# -- the generator ---------------------------------------------------------------------------------


def test_every_kind_of_damage_is_there_and_damages(tmp_path: Path) -> None:
    folder = write_samples(tmp_path)
    found = {nasty.name: nasty.files for nasty in nasty_inputs(folder)}
    assert {
        "torn", "truncated", "interleaved", "duplicated", "nul-bytes", "invalid-utf8", "deeply-nested",
        "huge-numbers", "reordered", "unknown-types", "spliced", "copied", "other-values", "missing-fields",
    } <= set(found)  # fmt: skip
    log = (folder / "a/nights.owl.jsonl").read_bytes()
    same = {name for name, files in found.items() if files["a/nights.owl.jsonl"] == log}
    assert same == {"copied"}
    assert found == {nasty.name: nasty.files for nasty in nasty_inputs(folder)}, "not the same a second time"
    for files in found.values():
        assert files.keys() >= {"a/nights.owl.jsonl", "b.owl.jsonl", "whole.json", "kept.db"}


def test_damage_is_what_its_name_says(tmp_path: Path) -> None:
    folder = write_samples(tmp_path)
    log = (folder / "a/nights.owl.jsonl").read_bytes()
    first, second, _ = log.split(b"\n")
    damaged = {nasty.name: nasty.files["a/nights.owl.jsonl"] for nasty in nasty_inputs(folder)}
    assert log.startswith(damaged["torn"])
    assert damaged["torn"].startswith(first + b"\n" + second[:9])
    assert damaged["duplicated"].split(b"\n") == [first, first, second, second, b""]
    assert damaged["reordered"].split(b"\n") == [second, first, b""]
    assert b"\0" in damaged["nul-bytes"]
    with pytest.raises(UnicodeDecodeError):
        damaged["invalid-utf8"].decode()
    assert str(10**400).encode() in damaged["huge-numbers"]
    assert damaged["unknown-types"].count(b'"role": "soothsayer"') == 2
    assert damaged["interleaved"].split(b"\n")[:3] == [first, first, second]
    assert b"[" * 20_000 in damaged["deeply-nested"]
    assert b'"number": 1' in damaged["missing-fields"]
    assert b'"role": "user", "number": 1}' in damaged["missing-fields"]


def test_a_document_stays_one_and_a_database_is_damaged_only_as_bytes(tmp_path: Path) -> None:
    folder = write_samples(tmp_path)
    found = {nasty.name: nasty.files for nasty in nasty_inputs(folder)}
    reordered = json.loads(found["reordered"]["whole.json"])
    assert reordered == {"list": list(RECORDS[::-1])}
    assert found["reordered"]["kept.db"] == (folder / "kept.db").read_bytes()
    assert found["truncated"]["kept.db"] == (folder / "kept.db").read_bytes()[:12]


def test_a_variant_is_written_below_a_folder(tmp_path: Path) -> None:
    folder = write_samples(tmp_path / "samples")
    nasty = next(nasty_inputs(folder))
    nasty.write(tmp_path / "made")
    written = {
        str(p.relative_to(tmp_path / "made")): p.read_bytes() for p in (tmp_path / "made").rglob("*.*")
    }
    assert written == nasty.files


def test_the_page_about_adapters_names_every_variant(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "adapters.md").read_text("utf-8")
    table = page.partition("### What the contract tries")[2].partition("###")[0]
    rows = [row.split("|")[1] for row in table.splitlines() if row.startswith("| `")]
    named = re.findall(r"`([\w-]+)`", " ".join(rows))
    assert sorted(named) == sorted(nasty.name for nasty in nasty_inputs(write_samples(tmp_path)))


# -- who cannot take them --------------------------------------------------------------------------


class OwlParser:
    """Right, unless `wrong` makes something else of a record."""

    def __init__(self, source: SourceFile, state: Mapping[str, Any], wrong: str) -> None:
        self.facts = facts_restored(state["facts"]) if state else SessionFacts("owl", source.session)
        self._wrong = wrong
        self._count: int = state.get("count", 0)

    def state(self) -> dict[str, Any]:
        return {"facts": facts_state(self.facts), "count": self._count}

    def parse(self, record: Any, /) -> Parsed:
        if type(record) is not dict:
            return not_an_object(record)
        self._count += 1
        role = record["role"] if self._wrong == "trusts a field" else text_of(record.get("role"))
        if role not in ("user", "owl"):
            return Parsed(role, (Entry(Kind.UNKNOWN),), known=False)
        text = record.get("text") if self._wrong == "trusts a type" else text_of(record.get("text"))
        kind = Kind.PROMPT if role == "user" else Kind.ANSWER
        paid = self._count if self._wrong == "counts lines" else text_of(record.get("text"))
        usages = (Usage(f"owl:{self.facts.id}:{paid}", "", 0, input=10),) if "tokens" in record else ()
        return Parsed(role, (Entry(kind, text or ""),), usages=usages)

    def document(self, data: bytes, /) -> Parsed:
        return not_an_object(None)


class Owl(Agent):
    name, title, version = "owl", "Owl", 1
    wrong = ""

    def roots(self, home: PurePath, environ: Mapping[str, str]) -> list[PurePath]:
        return [home / ".owl"]

    def recognise(self, path: PurePath, head: Head) -> SourceFile | None:
        if not path.name.endswith(".owl.jsonl"):
            return None
        session = str(path) if self.wrong == "named by its path" else path.name
        return SourceFile(self.name, str(path), session=session)

    def parser(self, source: SourceFile, state: Mapping[str, Any]) -> OwlParser:
        return OwlParser(source, state, self.wrong)


@pytest.fixture
def owl(monkeypatch: pytest.MonkeyPatch) -> Iterator[Owl]:
    agent = Owl()
    point = SimpleNamespace(name="owl", value="owl:AGENT", load=lambda: agent)
    monkeypatch.setattr(metadata, "entry_points", lambda *, group: [point])
    registry._installed.cache_clear()
    yield agent
    registry._installed.cache_clear()


@pytest.fixture
def contract(owl: Owl, tmp_path: Path) -> AgentContract:
    made = AgentContract()
    made.agent = owl  # type: ignore[misc]
    made.fixtures = write_samples(tmp_path / "samples")  # type: ignore[misc]
    for name in ("whole.json", "kept.db"):
        (made.fixtures / name).unlink()
    return made


TESTS: tuple[Callable[[AgentContract, Path], None], ...] = (
    lambda contract, _: contract.test_nasty_input_parses(),
    AgentContract.test_every_byte_of_nasty_logs_is_kept,
    AgentContract.test_a_second_copy_of_a_log_says_nothing_new,
    AgentContract.test_lines_written_twice_are_paid_for_once,
)


@pytest.mark.parametrize("test", TESTS)
def test_a_careful_agent_takes_them(contract: AgentContract, tmp_path: Path, test: Any) -> None:
    test(contract, tmp_path)


@pytest.mark.parametrize(
    ("wrong", "test", "error"),
    [
        ("trusts a field", TESTS[0], KeyError),
        ("trusts a type", TESTS[0], AssertionError),
        ("trusts a field", TESTS[1], KeyError),
        ("named by its path", TESTS[2], AssertionError),
        ("counts lines", TESTS[3], AssertionError),
    ],
)
def test_one_that_is_not_is_told_so(
    contract: AgentContract, tmp_path: Path, wrong: str, test: Any, error: type[Exception]
) -> None:
    contract.agent.wrong = wrong  # type: ignore[attr-defined]
    with pytest.raises(error) as raised:
        test(contract, tmp_path)
    if test is TESTS[0]:
        assert "nights.owl.jsonl" in "".join(raised.value.__notes__), "which of them is not said"
