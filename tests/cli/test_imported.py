"""Wherever something is shown that only an imported log has, it says so; what is own says nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Recollect
from tests.support.homes import put, rollout
from tests.support.logs import uuid_of

from recollect.mcp import answers
from recollect.memory import Memory

OWN, STRANGE = uuid_of(1), uuid_of(7)


@pytest.fixture
def both(recollect: Recollect, tmp_path: Path, machine: Path) -> Recollect:
    """One own session and an imported one, which both speak of a walrus."""
    project = tmp_path / "harbor"
    project.mkdir()
    own = rollout(OWN, "Mend the walrus quay.", cwd=str(project), minute=1)
    put(Path.home() / ".codex" / "sessions" / "2026", own, OWN)
    strange = rollout(STRANGE, "Paint the walrus red.", cwd=str(project), minute=30)
    put(tmp_path / "given", strange, STRANGE)
    assert recollect("ingest").code == 0
    assert recollect("ingest", tmp_path / "given").code == 0
    return recollect


def marked(objects: list[dict[str, Any]], key: str) -> dict[str, bool]:
    return {each[key]: each["imported"] for each in objects}


def test_sessions_and_threads(both: Recollect) -> None:
    assert marked(both("sessions", "--json").json["sessions"], "id") == {OWN: False, STRANGE: True}
    assert marked(both("threads", "--json").json["threads"], "id") == {OWN: False, STRANGE: True}
    for command in ("sessions", "threads"):
        rows = both(command).out.splitlines()[1:]
        assert ["imported" in row for row in rows] == ["Paint" in row for row in rows]


def test_projects(both: Recollect, tmp_path: Path) -> None:
    strange = rollout(uuid_of(8), "Paint the gate.", cwd="/evil/gate", minute=40)
    assert both("ingest", put(tmp_path / "more", strange, uuid_of(8))).code == 0
    assert marked(both("projects", "--json").json["projects"], "name") == {"harbor": False, "gate": True}
    rows = both("projects").out.splitlines()[1:]
    assert ["imported" in row for row in rows] == ["gate" in row for row in rows]


def test_a_session_and_its_entries(both: Recollect) -> None:
    for session, strange in ((OWN, False), (STRANGE, True)):
        shown = both("show", session, "--json").json
        assert shown["session"]["imported"] is strange
        assert {each["imported"] for each in shown["entries"]} == {strange}
        assert ("imported" in both("show", session).out) is strange
        assert ("imported" in both("tail", session).out) is strange


def test_hits_and_the_filter(both: Recollect) -> None:
    def found(query: str) -> dict[str, bool]:
        return marked(both("search", f"walrus {query}", "--mode", "text", "--json").json["hits"], "session")

    assert found("") == {OWN: False, STRANGE: True}
    assert found("is:imported") == {STRANGE: True}
    assert found("-is:imported") == {OWN: False}
    lines = both("search", "walrus", "--mode", "text").out.splitlines()
    assert sum("imported" in line for line in lines) == 1


def test_recall_says_it_of_the_session(both: Recollect) -> None:
    lines = both("recall", "walrus").out.splitlines()
    heads = [line for line in lines if line.startswith("# session")]
    assert sorted("codex, imported: " in head for head in heads) == [False, True]


def test_an_imported_entry_in_an_own_session_says_it_itself(both: Recollect, tmp_path: Path) -> None:
    claimed = rollout(OWN, "Sink the walrus boat.", cwd="/srv/bank", minute=40)
    assert both("ingest", put(tmp_path / "claims", claimed, OWN)).code == 0
    entries = both("show", OWN, "--json").json["entries"]
    said = {each["text"]: each["imported"] for each in entries if each["kind"] == "prompt"}
    assert said == {"Mend the walrus quay.": False, "Sink the walrus boat.": True}
    assert both("show", OWN).out.count("(imported)") >= 1
    recalled = both("recall", "sink the walrus boat").out
    assert " imported user, " in recalled
    found = both("search", "sink boat", "--mode", "text").out.splitlines()
    assert not any("imported" in line for line in found if not line.startswith(" "))
    assert all("imported" in line for line in found if "Sink the walrus" in line)
    answers_to_it = both("search", "session:" + OWN + " kind:answer", "--mode", "text").out
    assert "asked (imported)  Sink the walrus boat." in answers_to_it
    brief = both("recall", "--brief", "sink the walrus boat").out.splitlines()
    assert "  imported  Sink the walrus boat." in brief[0]
    assert not both("show", OWN, "--json").json["session"]["imported"]


def test_the_tools_of_the_mcp_server(both: Recollect, store: str) -> None:
    with Memory.open(store) as memory:
        told = {"budget_tokens": 4000, "project": ""}
        found = answers.search_memory(memory, query="walrus", mode="text", k=10, offset=0, **told).text
        heads = [line for line in found.splitlines() if "session 0" in line]
        assert [head.endswith("  imported") for head in heads] == [STRANGE in head for head in heads]
        threads = answers.list_threads(memory, limit=20, **told).text.splitlines()
        assert ["Paint" in line for line in threads] == ["imported" in line for line in threads]
        wall = answers.recall_context(
            memory, search_terms=["walrus"], question="", strict_project="", **told
        ).text
        assert "codex, imported: Paint" in wall
        assert "codex: Mend" in wall
        ids = {head.split()[0]: STRANGE in head for head in heads}
        for id_, strange in ids.items():
            read = answers.read_memory(
                memory, id=id_, before=1, after=1, whole=False, offset=0, budget_tokens=2000
            ).text
            assert (", imported" in read) is strange
