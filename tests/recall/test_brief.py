"""A brief: at most three whole sentences of what was said, the one that answers first."""

from __future__ import annotations

import json
import time
from argparse import Namespace
from collections.abc import Iterator
from typing import Any

import pytest
from tests.support.claude_talk import Talk
from tests.support.memories import open_memory, scratch

from recollect.cli.recall import recall as command
from recollect.cli.screen import Screen
from recollect.memory import Memory
from recollect.values.errors import UsageError

ANSWER = "The token store now allows 30 seconds of clock skew."
WHY = "Clocks of the identity provider run ahead, so tokens seemed expired."
ERROR = "pelican.NestError: twig 7 is wet"


@pytest.fixture(scope="module", autouse=True)
def utc() -> Iterator[None]:
    """Dates are those of the person's own zone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


@pytest.fixture(scope="module")
def memory() -> Iterator[Memory]:
    harbor = Talk(1, "/home/ada/harbor")
    harbor.user("Make the token store honour clock skew. How much clock skew is there?")
    harbor.assistant("Let me look at the clock skew of the token store first.")
    harbor.call("Read", "clock skew = 0\nclock skew of the token store", file_path="/w/token_store.py")
    harbor.assistant(
        f"All done.\n\n- {ANSWER}\n- {WHY}\n\nThe lamp is lit.\n\n{'clock skew ' * 80}\n\nBye now."
    )
    harbor.user("Say it of the quay, too")
    harbor.assistant(f"{ANSWER}\n\nThe quay is of stone.")
    nest = Talk(3, "/home/ada/nest")
    nest.user("Build the nest")
    nest.call("Bash", f"12 twigs\n{ERROR}\nmore", failed=True, command="build")
    nest.assistant("Run this once:\n```sh\ndry --twig 7\n```")
    nest.user("Who eats what, and is everyone fed?")
    nest.assistant("- Is the otter of the pier fed?\n- The otter of the pier is fed.")
    nest.user("And the others?")
    nest.assistant(
        "- The stork has a clam at dawn in the reed.\n"
        "- In the reed at dawn has the stork a clam.\n"
        "- The frog has a pond."
    )
    nest.user("heron heron heron?")
    nest.call("Bash", "heron heron", command="heron heron")
    with scratch() as folder:
        for talk in (harbor, nest):
            talk.write(folder / "logs")
        with open_memory(folder / "memory.h5") as made:
            made.ingest([folder / "logs"])
            yield made


def said(memory: Memory, question: str, *terms: str, **how: Any) -> list[str]:
    return [each.text for each in memory.brief(terms, question, **how).sentences]


def test_the_sentence_that_answers_is_first_and_there_are_three_at_most(memory: Memory) -> None:
    told = said(memory, "how much clock skew does the token store allow")
    assert told[0] == ANSWER
    assert len(told) == len(set(told)) == 3


def test_each_sentence_stands_in_the_entry_it_is_said_to_be_of(memory: Memory) -> None:
    found = memory.brief([], "how much clock skew does the token store allow")
    assert found.hits
    for each in found.sentences:
        assert each.text in each.stored.entry.text
        assert each.session.facts.id == each.stored.session
        assert memory.find(each.stored.id)[1] == each.stored


def test_narration_tool_results_and_lines_without_an_end_are_no_sentences_to_show(memory: Memory) -> None:
    told = said(memory, "clock skew token store")
    assert not any(each.startswith(("Let me", "clock skew")) for each in told)


def test_a_statement_counts_more_than_a_question(memory: Memory) -> None:
    assert said(memory, "otter pier fed")[0] == "The otter of the pier is fed."


def test_an_error_that_was_asked_for_is_quoted_and_a_result_that_only_has_the_words_is_not(
    memory: Memory,
) -> None:
    assert ERROR in said(memory, ERROR)
    assert "heron heron" not in said(memory, "heron")


def test_what_follows_a_colon_belongs_to_the_sentence(memory: Memory) -> None:
    assert "Run this once: dry --twig 7" in said(memory, "how to dry a wet twig")


def test_a_second_sentence_adds_to_the_first(memory: Memory) -> None:
    first, second, _ = said(memory, "stork clam dawn reed frog pond")
    assert "stork" in first
    assert second == "The frog has a pond."


def test_only_the_project_that_was_named_is_looked_at(memory: Memory) -> None:
    assert ANSWER not in said(memory, "clock skew", strict_project="nest")
    assert ANSWER in said(memory, "clock skew", strict_project="harbor")


def test_terms_are_looked_for_as_well(memory: Memory) -> None:
    assert said(memory, "", "skew", "allows")[0] == ANSWER
    with pytest.raises(UsageError):
        memory.brief([], " ")


def asked(memory: Memory, *question: str, **given: Any) -> Namespace:
    names = {"term": [], "budget_tokens": 0, "project": "", "strict": False, "brief": True}
    names |= {"store": memory.config.store, "config": None}
    return Namespace(question=list(question), **{**names, **given})


@pytest.fixture
def face(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.cli.recall.open_memory", lambda args: _Kept(memory))


class _Kept:
    """A memory that outlives the command that asks it."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def __enter__(self) -> Memory:
        return self._memory

    def __exit__(self, *_: object) -> None: ...


@pytest.mark.usefixtures("face")
def test_a_person_sees_id_date_and_sentence_and_nothing_else(
    memory: Memory, capsys: pytest.CaptureFixture[str]
) -> None:
    question = "how much clock skew does the token store allow"
    assert command(asked(memory, question), Screen(json=False, color=False, quiet=False)) == 0
    shown = capsys.readouterr()
    first, *_ = memory.brief([], question).sentences
    lines = shown.out.splitlines()
    assert len(lines) == 3
    assert lines[0] == f"{first.stored.id}  2026-03-02  imported  {ANSWER}"
    assert shown.err == ""


@pytest.mark.usefixtures("face")
def test_nothing_found_is_said_to_be_that(memory: Memory, capsys: pytest.CaptureFixture[str]) -> None:
    args = asked(memory, "clock", project="nowhere", strict=True)
    assert command(args, Screen(json=False, color=False, quiet=False)) == 0
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "nothing found" in shown.err


@pytest.mark.usefixtures("face")
def test_json_has_each_sentence_with_where_it_is_from(
    memory: Memory, capsys: pytest.CaptureFixture[str]
) -> None:
    question = "how much clock skew does the token store allow"
    assert command(asked(memory, question), Screen(json=True, color=False, quiet=False)) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["schema"] == "recollect.recall-brief/1"
    assert made["question"] == question
    first = made["sentences"][0]
    assert (first["text"], first["kind"], first["project"]) == (ANSWER, "answer", "harbor")
    assert first["imported"] is True
    assert memory.find(first["id"])[1] is not None
