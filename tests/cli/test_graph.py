"""`recollect graph`: looking around, finding a way, stating and taking back, exporting; at 80 columns too."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
from tests.support.terminals import on_terminal

from recollect.memory import Memory
from recollect.values.text import cells


@pytest.fixture
def stated(recollect: Any) -> Any:
    for words in (
        ("harbor", "installs with", "uv", "--weight", "0.9"),
        ("uv", "is written in", "Rust", "--from", "2026-01-01"),
        ("crane", "is part of", "harbor", "--until", "2026-02-01"),
    ):
        assert recollect("graph", "relate", *words).code == 0
    assert recollect("graph", "add", "harbor", "--type", "project", "--alias", "Harbor Project").code == 0
    return recollect


def test_a_name_shows_what_is_around_it(stated: Any) -> None:
    found = stated("graph", "harbor PROJECT")
    lines = [" ".join(line.split()) for line in found.out.splitlines()]
    assert lines[0] == "harbor project, also Harbor Project"
    assert lines[1] == "relation entity weight holds shown by"
    assert lines[2].startswith("← is part of crane 1")
    assert lines[3].startswith("→ installs with uv 0.9 from ")
    assert "Rust" not in found.out
    deep = stated("graph", "show", "harbor", "--depth", "2").out
    assert "  → is written in  Rust" in deep
    assert "crane" not in stated("graph", "harbor", "--direction", "out").out
    assert "the first 1 relations" in stated("graph", "harbor", "-n", "1").err
    assert "nothing that fits" in stated("graph", "harbor", "--origin", "derived").err


def test_a_path_reads_from_one_end_to_the_other(stated: Any) -> None:
    lines = [line.split() for line in stated("graph", "path", "crane", "rust").out.splitlines()]
    assert [line[0] for line in lines] == ["crane", "→", "→", "→"]
    assert [line[-2] for line in lines[1:]] == ["harbor", "uv", "Rust"]
    back = stated("graph", "path", "rust", "crane").out
    assert "← is written in uv" in back
    assert "no such way" in stated("graph", "path", "crane", "rust", "--depth", "2").err


def test_without_words_it_lists_what_was_stated(stated: Any) -> None:
    found = stated("graph").out
    assert [word in found for word in ("installs with", "is written in", "is part of")] == [True] * 3
    listed = stated("graph", "--json", "-n", "2").json
    assert (listed["total"], len(listed["relations"])) == (3, 2)


def test_stating_again_changes_and_taking_back_takes_back(stated: Any) -> None:
    first = stated("graph", "--json").json["relations"]
    again = stated("graph", "relate", "harbor", "installs with", "uv", "--weight", "0.5", "--json").json[
        "relation"
    ]
    assert (again["weight"], again["author"]) == (0.5, "person")
    assert again["id"] in {each["id"] for each in first}
    assert stated("graph", "unrelate", "harbor", "installs with", "uv").out == "taken back: 1 statement\n"
    assert stated("graph", "delete", first[0]["id"], "--json").json["deleted"] == 1
    assert stated("graph", "--json").json["total"] == 1
    assert stated("graph", "undo", first[0]["id"]).out == "as it was before\n"
    assert stated("graph", "undo", again["id"], "--json").json["relation"]["weight"] == 0.5
    assert stated("graph", "--json").json["total"] == 3
    stated("graph", "delete", first[0]["id"])
    assert stated("graph", "delete", first[0]["id"]).code == 3


def test_a_note_is_evidence(recollect: Any) -> None:
    id_ = recollect("remember", "we install with uv", "--json").json["note"]["id"]
    assert recollect("graph", "relate", "harbor", "installs with", "uv", "--evidence", id_).code == 0
    assert id_ in recollect("graph", "harbor").out
    wrong = recollect("graph", "relate", "harbor", "installs with", "pip", "--evidence", "ffffffffffff")
    assert (wrong.code, "ffffffffffff" in wrong.err) == (3, True)


def test_a_search_may_spread(recollect: Any) -> None:
    recollect("remember", "uv sync before anything else")
    recollect("graph", "relate", "harbor", "installs with", "uv")
    plain, spread = (
        recollect("search", "packages of harbor", "--mode", "text", *more).out for more in ([], ["--spread"])
    )
    assert ("uv sync" in plain, "uv sync" in spread) == (False, True)


def test_what_was_a_while_ago(stated: Any) -> None:
    assert "crane" in stated("graph", "harbor", "--at", "2026-01-31").out
    assert stated("graph", "uv", "--at", "2025-12-31").code == 3
    assert "Rust" in stated("graph", "uv", "--at", "2026-01-01").out


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["relate", "a", "b"], 2, "takes 3 words, not 2"),
        (["relate", "a", "b", "A"], 2, "related to itself"),
        (["relate", "a", "b", "c", "--weight", "nan"], 2, "a weight is"),
        (["relate", "a", "b", "c", "--weight", "x"], 2, "invalid float"),
        (["nobody"], 3, "nothing called 'nobody'"),
        (["harber"], 3, "harbor"),
        (["dance", "with", "me"], 2, "no action 'dance'"),
        (["export"], 2, "needs a form and a file"),
        (["harbor", "--depth", "0"], 2, "a depth is"),
        (["unrelate", "harbor", "eats", "uv"], 3, "nobody said"),
    ],
)
def test_what_is_wrong_is_one_sentence_and_a_next_step(
    stated: Any, words: list[str], code: int, said: str
) -> None:
    before = stated("graph", "--json").json
    found = stated("graph", *words)
    assert (found.code, found.out) == (code, "")
    assert said in found.err
    assert "try:" in found.err
    assert stated("graph", "--json").json == before


def test_what_logs_mention_together_is_marked(filled: Any) -> None:
    assert filled("index", "--quiet").code == 0
    found = filled("graph", "pytest", "--json").json
    derived = [each for each in found["neighbours"] if each["relation"]["origin"] == "derived"]
    assert derived
    assert found["entity"]["origin"] == "derived"
    for each in derived:
        relation = each["relation"]
        assert (relation["relation"], each["direction"]) == ("mentioned with", "both")
        assert relation["times"] >= 2
        assert filled("show", relation["evidence"][0]).code == 0
    assert "· mentioned with" in filled("graph", "pytest").out
    assert "times" in filled("graph", "pytest").out


def test_the_whole_graph_as_a_file(stated: Any, tmp_path: Path) -> None:
    target = tmp_path / "memory.graphml"
    assert "as graphml" in stated("graph", "export", "--to", "graphml", "-o", target).out
    root = ElementTree.fromstring(target.read_bytes())
    assert len(list(root.iter("{http://graphml.graphdrawing.org/xmlns}edge"))) == 3
    assert stated("graph", "export", "--to", "graphml", "-o", target).code != 0
    told = stated("graph", "export", "--to", "json", "-o", target, "--force", "--json").json
    assert told["bytes"] == len(target.read_bytes())
    assert {each["name"] for each in json.loads(target.read_bytes())["entities"]} == {
        "harbor", "uv", "Rust", "crane",
    }  # fmt: skip
    out = stated("graph", "export", "--to", "json", "-o", "-", "--origin", "saved").out
    assert len(json.loads(out)["relations"]) == 3


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.on_disk("another process prints it")
def test_long_names_fit_a_terminal(stated: Any, store: str, width: int) -> None:
    with Memory.open(store) as memory:
        memory.graph.relate("harbor", "is the long forgotten cousin twice removed of", "名" * 200)
        memory.graph.relate("x" * 300, "y" * 300, "harbor")
    for words in (["harbor"], [], ["path", "x" * 300, "名" * 200]):
        text = on_terminal(["graph", *words, "--no-color"], width=width)
        assert "名" in text
        assert all(cells(line) <= width for line in text.splitlines())
