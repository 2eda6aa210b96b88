"""Every call is answered as chroma-mcp 0.2.6 answers it, which `benchmarks.chroma --record` wrote down."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from benchmarks.chroma_calls import Answer, calls, different, digest, read_answer
from benchmarks.chroma_servers import theirs
from tests.support import ROOT

from recollect.chroma.opening import open_database
from recollect.chroma.tools import TOOLS, call
from recollect.config import Config

RECORD: dict[str, Any] = json.loads((ROOT / "tests/data/chroma/answers.json").read_text("ascii"))
ANSWERS = [read_answer(each) for each in RECORD["answers"]]


def test_the_answers_are_to_these_calls_and_to_every_tool() -> None:
    assert RECORD["calls"] == digest(), "record them anew: python -m benchmarks.chroma --record FILE"
    assert {tool for tool, _ in calls()} >= {tool.name for tool in TOOLS}
    assert sum(each.is_error for each in ANSWERS) > 100
    assert sum(not each.is_error for each in ANSWERS) > 300


@pytest.mark.parametrize("kept", ["in the store", "by processes that come and go", "nowhere"])
def test_every_call_is_answered_alike(config: Config, folder: Path, kept: str) -> None:
    def opened() -> Any:
        return open_database(config, folder / "chroma", fleeting=kept == "nowhere")

    database, wrong = opened(), []
    for number, (each, expected) in enumerate(zip(calls(), ANSWERS, strict=True)):
        if kept == "by processes that come and go" and number % 75 == 74:
            database = opened()
        if told := different(each, Answer(*call(database, *each)), expected):
            wrong.append(f"{each}: {told}")
    assert wrong == []


def test_another_answer_would_be_noticed() -> None:
    """The test of the test: no answer passes for one that means something else."""
    found = {
        "ids": [["a", "b"]],
        "documents": None,
        "metadatas": [[{"x": 1}, None]],
        "included": [],
        "distances": [[0.1, 0.2]],
    }

    def answer(**changes: Any) -> Answer:
        return Answer([json.dumps({**found, **changes})], is_error=False)

    query = ("chroma_query_documents", dict[str, Any]())
    assert different(query, answer(), answer()) == ""
    assert different(query, answer(distances=[[0.100001, 0.2]]), answer()) == ""
    assert different(query, answer(ids=[["a", "c"]]), answer())
    assert different(query, answer(ids=[["a"]], metadatas=[[{"x": 1}]], distances=[[0.1]]), answer())
    assert different(query, answer(distances=[[0.11, 0.2]]), answer())
    assert different(query, answer(metadatas=[[{"x": 2}, None]]), answer())
    assert different(query, answer(ids=[["b", "a"]]), answer())
    assert different(query, Answer(["x"], is_error=True), Answer(["x"], is_error=False))
    assert different(query, Answer(["x"], is_error=True), Answer(["y"], is_error=True))


@pytest.mark.skipif(
    not os.environ.get("RECOLLECT_CHROMA_MCP"),
    reason="RECOLLECT_CHROMA_MCP names no environment with chroma-mcp",
)
def test_chroma_mcp_itself_answers_what_was_recorded(folder: Path) -> None:
    with theirs(Path(os.environ["RECOLLECT_CHROMA_MCP"]), folder) as client:
        wrong = [
            told
            for each, expected in zip(calls(), ANSWERS, strict=True)
            if (told := different(each, client.call(*each), expected))
        ]
    assert wrong == []
