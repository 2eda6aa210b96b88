"""A written session is one that Claude Code opens whole, whatever the conversation was put together of.

What the real client sends after `--resume` is looked at by tests/agents; here is what can be said of bytes.
"""

from __future__ import annotations

import json
import os
import uuid
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.memories import open_memory, scratch
from tests.support.messages import answer, result, text, turn, use

from recollect.agents.claude.write import render, target, validate
from recollect.export.read import conversation
from recollect.values.conversation import Block, Conversation, Message, Role
from recollect.values.errors import NotFound, RecollectError, UsageError
from recollect.values.fidelity import Fidelity
from recollect.values.records import Relation

SESSION = "3f2a1b4c-0000-4000-8000-00000000000a"
NOW = 1_800_000_000_000

Records = list[dict[str, Any]]


def thought(words: str, signature: str = "c2ln") -> Block:
    return Block({"type": "thinking", "thinking": words, "signature": signature})


def written(*messages: Message, **more: Any) -> tuple[Records, Fidelity]:
    """The records of a conversation, which are such that Claude Code takes them."""
    data, fidelity = render(
        Conversation(messages, **more),
        session_id=SESSION,
        cwd="/srv/harbor",
        version="2.1.197",
        branch="main",
        now_ms=NOW,
    )
    assert validate(data, SESSION) == []
    return [json.loads(line) for line in data.split(b"\n")[:-1]], fidelity


def contents(records: Records) -> list[Any]:
    return [record["message"]["content"] for record in records if "message" in record]


class TestWhatIsSaid:
    def test_an_answer_is_a_record_a_block_under_one_id_and_results_follow(self) -> None:
        blocks = thought("hm"), text("I look."), use("a"), use("b")
        records, fidelity = written(
            turn(text("Look.")),
            answer(*blocks, id_="msg_1"),
            turn(result("b"), result("a")),
            answer(text("Ok.")),
        )
        assert [record["type"] for record in records] == (
            ["user", *["assistant"] * 4, "user", "user", "assistant", "custom-title"]
        )
        assert {record["message"]["id"] for record in records[1:5]} == {"msg_1"}
        assert [record["message"]["content"] for record in records[1:5]] == [[block.body] for block in blocks]
        assert [record["message"]["content"][0]["tool_use_id"] for record in records[5:7]] == ["a", "b"]
        assert fidelity.object() == {
            "kept": {"answer": 2, "call": 2, "result": 2, "signed thought": 1, "text of the user's side": 1},
            "folded": {},
            "added": {},
            "left_out": {},
        }

    @pytest.mark.parametrize("words", ["", "long\n\u2028 thoughts \u00e9"])
    def test_a_signed_thought_stays_as_it_was(self, words: str) -> None:
        body = {"type": "thinking", "thinking": words, "signature": "EqQB+/=", "more": [1, 1.0, None]}
        records, _ = written(turn(text("x")), answer(Block(body), text("y")))
        assert contents(records)[1] == [body]

    def test_a_thought_without_signature_becomes_text_or_goes(self) -> None:
        bare = Block({"type": "thinking", "thinking": "so"})
        records, fidelity = written(turn(text("x")), answer(bare, thought("", ""), text("y")))
        assert contents(records)[1:] == [[{"type": "text", "text": "[thinking] so"}], [text("y").body]]
        assert (fidelity.folded, fidelity.left_out) == (
            Counter({"thought": 1}),
            Counter({"thought that cannot be read": 1}),
        )

    def test_a_thought_of_another_agent_is_never_passed_off_as_signed(self) -> None:
        codex = Message("assistant", (thought("so"), text("y")), "codex", "c", model="gpt-5", message_id="m")
        records, _ = written(turn(text("x")), codex)
        assert contents(records)[1] == [{"type": "text", "text": "[thinking] so"}]
        assert records[1]["message"]["model"] == "<synthetic>"

    def test_an_answer_that_ends_in_a_thought_loses_it(self) -> None:
        records, fidelity = written(
            turn(text("x")), answer(text("y"), thought("hm")), turn(text("z")), answer(thought("alone"))
        )
        assert contents(records) == ["x", [text("y").body], "z"]
        assert fidelity.left_out["thought without an answer"] == 2

    def test_empty_texts_are_left_out_and_what_is_no_block_of_a_conversation_too(self) -> None:
        odd = Block({"type": "fallback", "from": {}}), Block({}), text(" \n"), Block({"type": "tool_result"})
        records, fidelity = written(turn(text("x"), *odd), answer(text(""), text("y"), use("")))
        assert contents(records) == ["x", [text("y").body]]
        assert fidelity.left_out == Counter(
            {"empty text": 2, "fallback": 1, "block of no type": 1, "tool_use": 1, "tool_result": 1}
        )

    def test_a_call_without_result_is_answered_and_counted(self) -> None:
        _, fidelity = written(turn(text("x")), answer(use("a")))
        assert fidelity.added == Counter({"result for a call without one": 1})
        assert "added: result for a call without one (1)" in fidelity.lines()

    def test_what_begins_with_an_answer_is_given_a_beginning(self) -> None:
        records, fidelity = written(answer(text("y")))
        assert (records[0]["type"], records[0]["isMeta"]) == ("user", True)
        assert fidelity.added["note at the beginning"] == 1

    def test_instructions_of_another_agent_stay_behind(self) -> None:
        setup = Message("user", (text("# AGENTS.md"),), "codex", "c", setup=True)
        records, fidelity = written(setup, turn(text("x")))
        assert contents(records) == ["x"]
        assert fidelity.left_out["instructions of the other agent"] == 1

    def test_ids_and_names_of_other_agents_are_made_to_fit(self) -> None:
        call = Block({"type": "tool_use", "id": "fc.1", "name": "functions.exec", "input": "ls"})
        records, _ = written(turn(text("x")), answer(call), turn(result("fc.1")))
        assert contents(records)[1] == [
            {"type": "tool_use", "id": "fc_1", "name": "functions_exec", "input": {"input": "ls"}}
        ]

    def test_a_reference_to_a_tool_that_may_not_be_here_is_told_in_words(self) -> None:
        body = {**result("a").body, "content": [{"type": "tool_reference", "tool_name": "WebFetch"}]}
        records, _ = written(turn(text("x")), answer(use("a")), turn(Block(body)))
        assert contents(records)[2][0]["content"] == [{"type": "text", "text": "[tool WebFetch]"}]

    def test_an_image_the_api_would_not_take_is_left_out(self) -> None:
        good = {"type": "base64", "media_type": "image/png", "data": "QUI="}
        sources = [
            good,
            {**good, "media_type": "image/tiff"},
            {**good, "data": "?"},
            {"type": "url", "url": "x"},
        ]
        images = [Block({"type": "image", "source": source}) for source in sources]
        shown = Block({**result("a").body, "content": [image.body for image in images]})
        records, fidelity = written(turn(text("x"), *images), answer(use("a")), turn(shown))
        assert contents(records)[0] == [text("x").body, images[0].body]
        assert contents(records)[2][0]["content"] == [images[0].body]
        assert (fidelity.kept["image"], fidelity.left_out["image"]) == (1, 6)

    def test_a_number_that_is_none_becomes_nothing(self) -> None:
        records, _ = written(turn(text("x")), answer(use("a", n=float("nan"))))
        assert contents(records)[1][0]["input"] == {"n": None}

    def test_half_a_character_becomes_the_sign_for_one_and_costs_a_thought_its_signature(self) -> None:
        records, fidelity = written(turn(text("a\ud800b")), answer(thought("\udfff"), text("y")))
        assert contents(records)[0] == "a\ufffdb"
        assert fidelity.folded["thought"] == 1

    def test_where_nothing_was_said_there_is_nothing_to_write(self) -> None:
        with pytest.raises(NotFound, match="no conversation"):
            written(turn(text("")), answer(use("a")))


class TestTheRecords:
    def test_they_are_a_chain_of_this_session_alone(self) -> None:
        own = Block({"type": "text", "text": "y"}, "e1", uuid="u-1")
        records, _ = written(turn(text("x"), session="old"), answer(own, session="old"), title="Tea\x1b[31m")
        first, second, title = records
        assert (first["parentUuid"], second["parentUuid"]) == (None, first["uuid"])
        assert first["uuid"] == str(uuid.uuid5(uuid.UUID(SESSION), "0"))
        assert {record["sessionId"] for record in records} == {SESSION}
        assert (second["cwd"], second["version"], second["gitBranch"]) == ("/srv/harbor", "2.1.197", "main")
        assert second["forkedFrom"] == {"sessionId": "old", "messageUuid": "u-1"}
        assert {record["writtenBy"] for record in records} == {"recollect"}
        assert title["customTitle"] == "Tea\\x1b[31m"
        assert "requestId" not in second
        assert set(second["message"]["usage"].values()) == {0}

    def test_times_stay_and_the_last_record_is_the_newest(self) -> None:
        early = Message("user", (text("x"),), "claude", "s", time_ms=1_700_000_000_123)
        records, _ = written(early, answer(text("y")), answer(text("z")))
        stamps = [record["timestamp"] for record in records[:3]]
        assert stamps == ["2023-11-14T22:13:20.123Z", "2023-11-14T22:13:20.123Z", "2027-01-15T08:00:00.000Z"]

    def test_what_no_person_typed_says_so(self) -> None:
        meta = Message("user", (text("skill"),), "claude", "s", meta=True)
        records, _ = written(turn(text("x")), meta)
        assert [record.get("isMeta") for record in records[:2]] == [None, True]

    def test_an_answer_in_two_places_gets_two_ids(self) -> None:
        records, _ = written(
            turn(text("x")), answer(text("y"), id_="m"), turn(text("x")), answer(text("z"), id_="m")
        )
        assert records[1]["message"]["id"] == "m" != records[3]["message"]["id"]

    def test_the_same_conversation_gives_the_same_bytes(self) -> None:
        talk = Conversation((turn(text("x")), answer(text("y"))))
        fixed = {"session_id": SESSION, "cwd": "/w", "version": "2", "branch": "", "now_ms": NOW}
        assert render(talk, **fixed)[0] == render(talk, **fixed)[0]  # type: ignore[arg-type]


class TestTheTarget:
    def test_it_is_the_folder_of_the_real_path(self, tmp_path: Path) -> None:
        (tmp_path / "a b_\u00e9\U0001f600").mkdir()
        (tmp_path / "link").symlink_to(tmp_path / "a b_\u00e9\U0001f600")
        found = target(tmp_path, {}, str(tmp_path / "link"), SESSION)
        assert found.parent.parent == tmp_path / ".claude/projects"
        assert found.parent.name.endswith("-a-b----")
        assert found.name == f"{SESSION}.jsonl"

    def test_settings_of_the_agent_move_it(self, tmp_path: Path) -> None:
        moved = {"CLAUDE_CONFIG_DIR": str(tmp_path / "c"), "CLAUDE_CODE_PROJECT_DIR_NAME": "one"}
        assert target("/h", moved, "/srv", SESSION).parent == tmp_path / "c/projects/one"
        tricked = {**moved, "CLAUDE_CODE_PROJECT_DIR_NAME": "../up"}
        assert target("/h", tricked, "/srv", SESSION).parent == tmp_path / "c/projects/-srv"
        alone = {"CLAUDE_CODE_PROJECT_DIR_NAME": "one"}
        assert target("/h", alone, "/srv", SESSION).parent == Path("/h/.claude/projects/-srv")

    def test_a_long_path_is_cut_where_the_agent_cuts_it(self, tmp_path: Path) -> None:
        cwd = "/long" + "/folder" * 40
        name = target(tmp_path, {}, cwd, SESSION).parent.name
        assert name == ("-long" + "-folder" * 40)[:200] + "-h3qzpx"
        other = tmp_path / ".claude/projects" / (name[:201] + "theirs")
        other.mkdir(parents=True)
        assert target(tmp_path, {}, cwd, SESSION).parent == other

    @pytest.mark.parametrize("id_", ["", "../../etc/passwd", "a" * 36, SESSION + "/x", SESSION + "\n"])
    def test_an_id_that_is_no_uuid_is_refused(self, id_: str, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="cannot be a session's id"):
            target(tmp_path, {}, "/srv", id_)
        with pytest.raises(UsageError, match="cannot be a session's id"):
            render(Conversation(()), session_id=id_, cwd="/w", version="2", branch="", now_ms=NOW)

    def test_a_folder_is_named_whole(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="whole path"):
            target(tmp_path, {}, "work", SESSION)


def _good() -> Records:
    blocks = thought("hm"), use("a")
    return written(turn(text("x")), answer(*blocks, id_="m"), turn(result("a")), answer(text("y")))[0]


def _lines(records: Records) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def _set(number: int, **fields: Any) -> Callable[[Records], None]:
    return lambda records: records[number].update(fields)


def _message(number: int, **fields: Any) -> Callable[[Records], None]:
    return lambda records: records[number]["message"].update(fields)


def _drop(number: int, *path: str) -> Callable[[Records], None]:
    def drop(records: Records) -> None:
        inside: Any = records[number]
        for key in path[:-1]:
            inside = inside[key]
        del inside[path[-1]]

    return drop


def _without(number: int) -> Callable[[Records], None]:
    """A file in which a record is missing and the chain is mended."""

    def without(records: Records) -> None:
        records[number + 1]["parentUuid"] = records[number]["parentUuid"]
        del records[number]

    return without


class TestTheCheck:
    @pytest.mark.parametrize(
        ("change", "complaint"),
        [
            (_set(1, parentUuid=str(uuid.uuid4())), "line 2: does not hang on"),
            (_set(1, uuid="no"), "line 2: no uuid"),
            (_set(0, isSidechain=True), "line 1: said inside a subagent"),
            (_set(1, sessionId=str(uuid.uuid4())), "line 2: the id of another session"),
            (_set(1, slug="three-small-words"), "line 2: slug"),
            (_set(1, sourceToolAssistantUUID="x"), "line 2: sourceToolAssistantUUID"),
            (_set(1, type="progress"), "line 2: a record of type 'progress'"),
            (_set(1, timestamp="yesterday"), "line 2: no time"),
            (_set(1, cwd=""), "line 2: no cwd"),
            (_set(0, timestamp="2099-01-01T00:00:00.000Z"), "not the newest"),
            *[
                (_drop(1, "message", name), f"no {name}")
                for name in ("stop_reason", "stop_sequence", "usage")
            ],
            (_drop(1, "message", "usage", "input_tokens"), "usage without tokens"),
            (_message(1, content="text"), "no list"),
            (_message(1, content=[]), "nothing is said"),
            (_message(1, id=""), "without type, id or model"),
            (_message(1, role="user"), "no message of the assistant"),
            (_message(4, content=[{"type": "text", "text": " "}]), "an empty text"),
            (_message(1, content=[{"type": "thinking", "thinking": "x"}]), "a thought without signature"),
            (_message(1, content=[{"type": "redacted_thinking"}]), "a thought without signature"),
            (_message(0, content=[{"type": "tool_use"}]), "a block of type 'tool_use' on the user's side"),
            (_message(2, content=[{"type": "tool_use", "id": "a b", "name": "x", "input": {}}]), "proper id"),
            (_message(2, content=[{"type": "tool_use", "id": "a", "name": "x", "input": ""}]), "no object"),
            (_message(4, content=[{"type": "image"}]), "a block of type 'image'"),
            (_message(0, content=[{"type": "image"}]), "no source of the image"),
            (_message(4, content=[thought("x").body]), "line 5: ends in a thought"),
            (_without(2), "the answer before ends in a thought"),
            (_without(3), "call a has no result"),
            (_without(0), "begins with an answer"),
            (_message(3, content=[result("b").body]), "a result that no call waits for"),
            (_message(4, content=[use("a").body]), "a call's id for the second time"),
            (_message(4, id="m"), "an answer in two places"),
        ],
    )
    def test_every_rule_is_one(self, change: Callable[[Records], None], complaint: str) -> None:
        records = _good()
        change(records)
        found = validate(_lines(records), SESSION)
        assert any(complaint in each for each in found), found

    @pytest.mark.parametrize(
        ("data", "complaint"),
        [
            (b"", "newline"),
            (b"\n", "line 1: no JSON"),
            (b"[]\n", "line 1: no record"),
            (b'{"a": NaN}\n', "line 1: no JSON"),
            (b'{"a": "\xff"}\n', "half of a character"),
            (b'{"a": "\\ud800"}\n', "half of a character"),
            (b'{"type":"custom-title","sessionId":"%s"}\n' % SESSION.encode(), "nothing is said in it"),
            (b"[" * 100_000 + b"\n", "line 1: no JSON"),
        ],
    )
    def test_what_is_no_session_is_none(self, data: bytes, complaint: str) -> None:
        assert any(complaint in each for each in validate(data, SESSION))

    def test_without_a_newline_at_its_end_the_next_record_would_be_glued_on(self) -> None:
        assert validate(_lines(_good())[:-1], SESSION) == ["the file does not end with a newline"]


_TEXT = st.text(st.characters(exclude_categories=()), max_size=6)
_LOOSE: st.SearchStrategy[Any] = st.one_of(st.none(), st.integers(), _TEXT, st.lists(_TEXT, max_size=2))
_IDS = st.sampled_from(["a", "b", "c.d"])
_BODIES = st.one_of(
    st.builds(lambda words: {"type": "text", "text": words}, _TEXT | st.none()),
    st.builds(lambda a, b: {"type": "thinking", "thinking": a, "signature": b}, _TEXT, _TEXT | st.none()),
    st.builds(lambda a: {"type": "redacted_thinking", "data": a}, _LOOSE),
    st.builds(lambda a, b: {"type": "tool_use", "id": a, "name": "Bash", "input": b}, _IDS, _LOOSE),
    st.builds(lambda a, b: {"type": "tool_result", "tool_use_id": a, "content": b}, _IDS, _LOOSE),
    st.builds(lambda a: {"type": "image", "source": a}, st.just({"type": "url", "url": "x"}) | _LOOSE),
    st.dictionaries(st.sampled_from(["type", "text", "id"]), _LOOSE, max_size=3),
)
_ROLES: st.SearchStrategy[Role] = st.sampled_from(["user", "assistant"])
_MESSAGES = st.builds(
    Message,
    _ROLES,
    st.lists(_BODIES.map(Block), max_size=4).map(tuple),
    st.sampled_from(["claude", "codex"]),
    st.sampled_from(["s", "t"]),
    st.integers(0, NOW * 2),
    model=_TEXT,
    message_id=st.sampled_from(["", "m", "n"]),
    note=st.booleans(),
    meta=st.booleans(),
    setup=st.booleans(),
)


@given(st.lists(_MESSAGES, max_size=8).map(tuple), _TEXT)
def test_whatever_is_put_together_claude_code_takes_it_or_it_is_refused(
    messages: tuple[Message, ...], title: str
) -> None:
    try:
        data, _ = render(
            Conversation(messages, title=title),
            session_id=SESSION,
            cwd="/w",
            version="2",
            branch="",
            now_ms=NOW,
        )
    except NotFound:
        return
    assert validate(data, SESSION) == []


@pytest.mark.corpus
@pytest.mark.skipif(not os.environ.get("RECOLLECT_CORPUS"), reason="RECOLLECT_CORPUS names no corpus")
def test_every_real_conversation_can_be_written() -> None:
    corpus = Path(os.environ["RECOLLECT_CORPUS"])
    fate: Counter[str] = Counter()
    with scratch() as folder, open_memory(folder / "m.h5") as memory:
        memory.ingest([corpus / "claude", corpus / "codex"])
        with memory.view() as view:
            for session in view.sessions():
                if session.facts.relation is Relation.SUBAGENT or session.facts.agent not in (
                    "claude",
                    "codex",
                ):
                    continue
                fate[_fate(conversation(view, session))] += 1
    share = fate["passes"] / (fate["passes"] + fate["fails"])
    print(f"\n{share:.2%} of the sessions that hold a conversation pass: {dict(fate)}")
    assert fate["passes"] > 100
    assert share >= 0.99


def _fate(talk: Conversation) -> str:
    try:
        data, _ = render(talk, session_id=SESSION, cwd="/w", version="2", branch="", now_ms=NOW)
    except RecollectError as error:
        said = any(block.text.strip() for message in talk.messages for block in message.blocks)
        return "fails" if said else str(error)
    return "passes" if validate(data, SESSION) == [] else "fails"
