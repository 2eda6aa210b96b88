"""A written rollout is one that Codex opens whole, whatever the conversation was put together of.

What the real client sends after `resume` is looked at by tests/agents; here is what can be said of bytes.
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

from recollect.agents.codex.write import OPENAI, new_id, provider, render, target, validate
from recollect.export.read import conversation
from recollect.export.write import write_session
from recollect.values.conversation import NO_RESULT, Block, Conversation, Message, Role, said
from recollect.values.errors import NotFound, RecollectError, UsageError
from recollect.values.fidelity import Fidelity
from recollect.values.records import Relation

SESSION = "019f0000-0000-7000-8000-00000000000a"
ORIGIN = "3f2a1b4c-0000-4000-8000-00000000000a"
NOW = 1_800_000_000_000
FIXED: dict[str, Any] = {
    "session_id": SESSION,
    "cwd": "/srv/harbor",
    "version": "0.166.0",
    "branch": "main",
    "now_ms": NOW,
}
PIXEL = {"type": "base64", "media_type": "image/png", "data": "QUI="}

Item = dict[str, Any]
Records = list[dict[str, Any]]


def written(*messages: Message, **more: Any) -> tuple[Records, Fidelity]:
    """The records of a conversation, which are such that Codex takes them."""
    data, fidelity = render(Conversation(messages, **more), **FIXED)
    assert validate(data, SESSION) == []
    return [json.loads(line) for line in data.split(b"\n")[:-1]], fidelity


def items(*messages: Message) -> list[Item]:
    """What the model would be sent."""
    return of_kind(written(*messages)[0], "response_item")


def of_kind(records: Records, kind: str) -> list[Item]:
    return [record["payload"] for record in records if record["type"] == kind]


def prompt(words: str) -> Item:
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": words}]}


def reply(words: str) -> Item:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": words}]}


def thought(words: str) -> Block:
    return Block({"type": "thinking", "thinking": words, "signature": "c2ln"})


def from_codex(role: Role, *natives: tuple[Item, Item]) -> Message:
    """A turn of a Codex session: bodies, and the items they are of."""
    blocks = tuple(Block(body, native=native) for body, native in natives)
    return Message(role, blocks, "codex", "c")


REASONING = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [],
    "content": None,
    "encrypted_content": "gAAAA+/=",
    "internal_chat_message_metadata_passthrough": {"turn_id": "t"},
}
PATCH = {
    "type": "custom_tool_call",
    "id": "ctc_1",
    "status": "completed",
    "call_id": "p",
    "name": "apply_patch",
    "input": "*** Begin Patch",
}
PATCHED = {"type": "custom_tool_call_output", "call_id": "p", "output": "Done!"}
PATCH_BODY = {"type": "tool_use", "id": "p", "name": "apply_patch", "input": {"input": "*** Begin Patch"}}


class TestWhatClaudeSaid:
    def test_calls_are_functions_with_their_arguments_in_a_string_and_results_follow(self) -> None:
        given = turn(text("Look.")), answer(text("I look."), use("a", path="é"), use("b"))
        records, fidelity = written(*given, turn(result("b", "B"), result("a", "A")), answer(text("Ok.")))
        assert of_kind(records, "response_item") == [
            prompt("Look."),
            reply("I look."),
            {"type": "function_call", "name": "Bash", "arguments": '{"path":"é"}', "call_id": "a"},
            {"type": "function_call", "name": "Bash", "arguments": "{}", "call_id": "b"},
            {"type": "function_call_output", "call_id": "a", "output": "A"},
            {"type": "function_call_output", "call_id": "b", "output": "B"},
            reply("Ok."),
        ]
        kept = {"answer": 2, "call": 2, "result": 2, "text of the user's side": 1}
        assert fidelity.object() == {"kept": kept, "folded": {}, "added": {}, "left_out": {}}

    def test_a_thought_becomes_text_and_its_signature_stays_behind(self) -> None:
        sealed = Block({"type": "redacted_thinking", "data": "x"})
        records, fidelity = written(turn(text("x")), answer(thought("so"), thought(""), sealed, text("y")))
        assert of_kind(records, "response_item")[1:] == [reply("[thinking] so"), reply("y")]
        assert "c2ln" not in json.dumps(records)
        assert (fidelity.folded["thought"], fidelity.left_out["thought that cannot be read"]) == (1, 2)

    def test_images_stay_images_in_prompts_and_results(self) -> None:
        image = Block({"type": "image", "source": {**PIXEL, "data": "QU\nI="}})
        shown = Block({**result("a").body, "content": [text("see").body, image.body]})
        found = items(turn(text("x"), image), answer(use("a")), turn(shown))
        url = {"type": "input_image", "image_url": "data:image/png;base64,QUI="}
        assert found[0]["content"] == [{"type": "input_text", "text": "x"}, url]
        assert found[2]["output"] == [{"type": "input_text", "text": "see"}, url]

    def test_an_image_the_api_would_not_take_is_left_out(self) -> None:
        bad = [{**PIXEL, "media_type": "image/tiff"}, {**PIXEL, "data": "QU?I="}, {"type": "url", "url": "x"}]
        images = [Block({"type": "image", "source": source}) for source in [*bad, None]]
        records, fidelity = written(turn(text("x")), turn(*images))
        assert of_kind(records, "response_item") == [prompt("x")]
        assert fidelity.left_out["image"] == 4

    def test_documents_and_references_are_told_in_words(self) -> None:
        plain = Block({"type": "document", "title": "T", "source": {"type": "text", "data": "words"}})
        scan = Block({"type": "document", "source": {"type": "base64", "data": "QUI="}})
        parts = [{"type": "tool_reference", "tool_name": "WebFetch"}, text("b").body, text(" ").body]
        body = {**result("a").body, "content": parts}
        records, fidelity = written(turn(plain, scan), turn(text("x")), answer(use("a")), turn(Block(body)))
        found = of_kind(records, "response_item")
        assert [part["text"] for part in found[0]["content"]] == ["[document T]\nwords", "[document]"]
        assert found[3]["output"] == "[tool WebFetch]\nb"
        assert fidelity.folded == Counter({"document": 2, "reference to a tool": 1})

    def test_that_a_call_failed_cannot_cross_and_is_counted(self) -> None:
        failed = Block({**result("a").body, "is_error": True})
        assert written(turn(text("x")), answer(use("a")), turn(failed))[1].left_out == Counter(
            {"mark of a failed result": 1}
        )

    def test_a_patch_that_came_from_codex_goes_back_as_one(self) -> None:
        found = items(turn(text("x")), answer(Block(PATCH_BODY)), turn(result("p")))
        assert found[1:] == [
            {"type": "custom_tool_call", "call_id": "p", "name": "apply_patch", "input": "*** Begin Patch"},
            {"type": "custom_tool_call_output", "call_id": "p", "output": "done"},
        ]

    def test_any_other_call_with_an_input_is_a_function(self) -> None:
        call = {**PATCH_BODY, "name": "Skill"}
        assert items(turn(text("x")), answer(Block(call)))[1]["arguments"] == '{"input":"*** Begin Patch"}'

    def test_ids_and_names_are_made_to_fit(self) -> None:
        long = "x" * 65
        call = {"type": "tool_use", "name": "a b.c" + "d" * 200, "input": "ls"}
        given = answer(Block({**call, "id": long}), Block({**call, "id": ""}))
        found = items(turn(text("x")), given, turn(result(long)))
        assert found[1]["name"] == ("a_b_c" + "d" * 200)[:128]
        assert found[1]["arguments"] == '"ls"'
        assert found[1]["call_id"] == found[3]["call_id"] != found[2]["call_id"] == found[4]["call_id"]
        assert [found[3]["output"], found[4]["output"]] == ["done", NO_RESULT]

    def test_what_no_file_can_hold_is_mended(self) -> None:
        found = items(turn(text("a\ud800b\0")), answer(use("a", n=float("nan"), s="\udfff\0")))
        assert found[0] == prompt("a\ufffdb\0")
        assert json.loads(found[1]["arguments"]) == {"n": None, "s": "\ufffd\0"}

    def test_what_is_no_part_of_a_conversation_is_left_out_and_counted(self) -> None:
        odd = Block({"type": "fallback", "from": {}}), Block({}), text(" \n")
        given = turn(text("x"), *odd, use("a")), answer(text("y"), Block({"type": "image", "source": PIXEL}))
        records, fidelity = written(*given)
        assert of_kind(records, "response_item") == [prompt("x"), reply("y")]
        assert fidelity.left_out == Counter(
            {"fallback": 1, "block of no type": 1, "empty text": 1, "tool_use": 1, "image": 1}
        )

    def test_a_call_without_result_is_answered_and_counted(self) -> None:
        _, fidelity = written(turn(text("x")), answer(use("a")))
        assert fidelity.added == Counter({"result for a call without one": 1})
        assert not +fidelity.left_out

    def test_a_result_without_call_and_a_call_said_twice_are_counted(self) -> None:
        given = turn(text("x"), result("lost", "L")), answer(use("a")), answer(use("a")), turn(result("a"))
        records, fidelity = written(*given)
        assert [part["text"] for part in of_kind(records, "response_item")[0]["content"]] == [
            "x",
            "[result] L",
        ]
        assert fidelity.folded == Counter({"result without its call": 1})
        assert fidelity.left_out == Counter({"call said twice": 1})

    def test_where_nothing_was_said_there_is_nothing_to_write(self) -> None:
        with pytest.raises(NotFound, match="no conversation"):
            written(turn(text("")), answer(use("a")))


class TestWhatCodexSaid:
    def test_items_stay_as_they_were_without_what_only_their_session_knows(self) -> None:
        thinking = {"type": "thinking", "thinking": ""}
        search = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"query": "q"}}
        made = from_codex(
            "assistant",
            (thinking, REASONING),
            (text("[web search]").body, search),
            (text("So.").body, {**reply("So."), "id": "msg_1", "phase": "commentary"}),
            (PATCH_BODY, PATCH),
        )
        back = from_codex("user", (result("p").body, PATCHED))
        records, fidelity = written(turn(text("x")), made, back, answer(text("y")))
        assert of_kind(records, "response_item")[1:-1] == [
            {"type": "reasoning", "summary": [], "content": None, "encrypted_content": "gAAAA+/="},
            {"type": "web_search_call", "status": "completed", "action": {"query": "q"}},
            {**reply("So."), "phase": "commentary"},
            {key: value for key, value in PATCH.items() if key != "id"},
            PATCHED,
        ]
        assert fidelity.kept["encrypted thought"] == fidelity.kept["web search call"] == 1
        assert not +fidelity.left_out

    def test_a_summary_that_only_codex_can_read_stays(self) -> None:
        item = {"type": "compaction", "encrypted_content": "gAAA"}
        compacted = from_codex("user", ({"type": "compaction"}, item))
        assert items(turn(text("x")), compacted, turn(text("y"))) == [prompt("x"), item, prompt("y")]

    def test_an_image_that_was_made_keeps_its_id(self) -> None:
        item = {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": "QUI="}
        made = from_codex("assistant", (text("[image]").body, item), (text("y").body, reply("y")))
        assert items(turn(text("x")), made)[1] == item

    @pytest.mark.parametrize(
        "lacking", [{"encrypted_content": None}, {"encrypted_content": ""}, {"summary": None}]
    )
    def test_a_thought_that_codex_would_pass_over_becomes_text(self, lacking: Item) -> None:
        body = {"type": "thinking", "thinking": "so"}
        made = from_codex("assistant", (body, {**REASONING, **lacking}), (text("y").body, reply("y")))
        assert items(turn(text("x")), made)[1:] == [reply("[thinking] so"), reply("y")]

    def test_thoughts_that_lead_nowhere_are_left_out(self) -> None:
        body = {"type": "thinking", "thinking": ""}
        made = from_codex("assistant", (text("y").body, reply("y")), (body, REASONING), (body, REASONING))
        records, fidelity = written(turn(text("x")), made, turn(text("z")))
        assert of_kind(records, "response_item") == [prompt("x"), reply("y"), prompt("z")]
        assert fidelity.left_out["thought without an answer"] == 2

    @pytest.mark.parametrize(
        "native",
        [
            {"type": "function_call", "name": "x", "arguments": {"a": 1}, "call_id": "a"},
            {"type": "local_shell_call", "action": {"type": "exec", "command": ["ls"]}, "call_id": "a"},
            {
                "type": "local_shell_call",
                "status": "completed",
                "action": {"command": ["ls"]},
                "call_id": "a",
            },
            {"type": "tool_search_call", "arguments": {}, "execution": "server", "call_id": None},
        ],
    )
    def test_a_call_that_codex_would_pass_over_is_made_anew(self, native: Item) -> None:
        old = {"type": "function_call_output", "call_id": "a", "output": {"content": "k", "success": True}}
        made = from_codex("assistant", (use("a", b=1).body, native))
        found = items(turn(text("x")), made, from_codex("user", (result("a", "k").body, old)))
        assert found[1:] == [
            {"type": "function_call", "name": "Bash", "arguments": '{"b":1}', "call_id": "a"},
            {"type": "function_call_output", "call_id": "a", "output": "k"},
        ]

    def test_every_kind_of_call_has_a_result_of_its_kind(self) -> None:
        shell = {"type": "local_shell_call", "status": "completed", "call_id": "s"}
        calls = [
            {**shell, "action": {"type": "exec", "command": ["ls"]}},
            {"type": "tool_search_call", "call_id": "t", "execution": "client", "arguments": {"query": "q"}},
            PATCH,
        ]
        made = from_codex("assistant", *[(use(call["call_id"]).body, call) for call in calls])
        assert [item["type"] for item in items(turn(text("x")), made)[4:]] == [
            "function_call_output",
            "tool_search_output",
            "custom_tool_call_output",
        ]

    def test_instructions_and_environment_are_given_anew(self) -> None:
        setup = Message("user", (text("# AGENTS.md"),), "codex", "c", setup=True)
        records, fidelity = written(setup, turn(text("x")))
        assert of_kind(records, "response_item") == [prompt("x")]
        assert fidelity.left_out["instructions that are given anew"] == 1


class TestTheRecords:
    def test_the_first_introduces_the_session(self) -> None:
        records, _ = written(turn(text("x"), session=ORIGIN), title="Tea\x1b[31m")
        assert records[0] == {
            "timestamp": "2027-01-15T08:00:00.000Z",
            "type": "session_meta",
            "payload": {
                "id": SESSION,
                "timestamp": "2027-01-15T08:00:00.000Z",
                "cwd": "/srv/harbor",
                "originator": "recollect",
                "cli_version": "0.166.0",
                "source": "cli",
                "model_provider": "openai",
                "forked_from_id": ORIGIN,
                "git": {"branch": "main"},
            },
        }
        assert records[-1]["payload"]["thread_name"] == "Tea\\x1b[31m"

    def test_of_several_sessions_the_first_is_the_origin(self) -> None:
        given = said("from here"), turn(text("x"), session=ORIGIN), turn(text("y"), session=SESSION)
        assert written(*given)[0][0]["payload"]["forked_from_id"] == ORIGIN
        assert "forked_from_id" not in written(turn(text("x"), session="agent-1"))[0][0]["payload"]
        assert written(turn(text("x"), session="agent-1"))[0][0]["payload"]["writtenFrom"] == "agent-1"

    def test_what_people_and_the_model_said_is_shown_and_nothing_else(self) -> None:
        given = said("from here"), turn(text("x"), text("y")), answer(text("z"), use("a"))
        shown = of_kind(written(*given)[0], "event_msg")
        assert [(event["type"], event["message"]) for event in shown] == [
            ("user_message", "x\ny"),
            ("agent_message", "z"),
        ]

    def test_something_of_the_user_is_always_shown(self) -> None:
        noted = of_kind(written(said("from here"), said("and here"))[0], "event_msg")
        assert [event["message"] for event in noted] == ["from here"]
        records, fidelity = written(answer(text("y")))
        assert [event["type"] for event in of_kind(records, "event_msg")] == ["user_message", "agent_message"]
        assert fidelity.added == Counter({"note at the beginning": 1})

    @pytest.mark.parametrize("parts", [False, True])
    def test_codex_is_told_not_to_cut_a_long_result(self, parts: bool) -> None:
        image = {"type": "image", "source": PIXEL}
        content = [text("é" * 5_000).body, image] if parts else "é" * 5_000
        long, short = Block({**result("a").body, "content": content}), result("b", "x" * 8_000)
        records, _ = written(turn(text("x")), answer(use("a"), use("b")), turn(long, short))
        told = [record.get("metadata") for record in records if "output" in record["payload"]]
        assert told == [{"fallback_token_limit_override": 10_000}, None]

    def test_times_stay_and_unknown_ones_are_those_before(self) -> None:
        early = Message("user", (text("x"),), "claude", "s", time_ms=1_700_000_000_123)
        records, _ = written(turn(text("w")), early, answer(text("y")))
        stamps = [record["timestamp"] for record in records if record["type"] == "response_item"]
        assert stamps == ["2027-01-15T08:00:00.000Z", *["2023-11-14T22:13:20.123Z"] * 2]

    def test_the_same_conversation_gives_the_same_bytes(self) -> None:
        talk = Conversation((turn(text("x")), answer(text("y"))))
        assert render(talk, **FIXED)[0] == render(talk, **FIXED)[0]

    def test_what_was_written_is_read_back_and_written_again_the_same(self, folder: Path) -> None:
        image = Block({"type": "image", "source": PIXEL})
        made = from_codex("assistant", ({"type": "thinking", "thinking": ""}, REASONING), (PATCH_BODY, PATCH))
        given = turn(text("x"), image), made, from_codex("user", (result("p").body, PATCHED))
        more = answer(use("a"), thought("so")), turn(result("a", "é" * 9_000)), answer(text("y"))
        data, _ = render(Conversation((*given, *more), title="Tea"), **FIXED)
        write_session(data, target(folder, {}, SESSION, NOW), lambda found: validate(found, SESSION))
        with open_memory(folder / "m.h5") as memory:
            memory.ingest([folder / ".codex"])
            with memory.view() as view:
                session = view.find_session(SESSION)
                assert (session.facts.title, session.facts.cwd) == ("Tea", "/srv/harbor")
                again, fidelity = render(conversation(view, session), **FIXED)
        assert _items(again) == _items(data)
        assert not +fidelity.left_out


def _items(data: bytes) -> list[Item]:
    return of_kind([json.loads(line) for line in data.split(b"\n")[:-1]], "response_item")


class TestTheTarget:
    def test_it_is_in_the_folder_of_the_local_date(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setattr("time.localtime", lambda _: (2027, 1, 5, 8, 9, 0, 1, 5, 0))
        found = target(tmp_path, {}, SESSION, NOW)
        name = f"rollout-2027-01-05T08-09-00-{SESSION}.jsonl"
        assert found == tmp_path / ".codex/sessions/2027/01/05" / name
        moved = target(tmp_path, {"CODEX_HOME": "/else"}, SESSION, NOW)
        assert moved == Path("/else/sessions/2027/01/05") / name

    @pytest.mark.parametrize("id_", ["", "../../etc/passwd", "a" * 36, SESSION + "/x", SESSION + "\n"])
    def test_an_id_that_is_no_uuid_is_refused(self, id_: str, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="cannot be a session's id"):
            target(tmp_path, {}, id_, NOW)
        with pytest.raises(UsageError, match="cannot be a session's id"):
            render(Conversation(()), **{**FIXED, "session_id": id_})

    def test_a_folder_is_named_whole(self) -> None:
        with pytest.raises(UsageError, match="whole path"):
            render(Conversation(()), **{**FIXED, "cwd": "work"})

    @given(st.integers(0, 2**48 - 1), st.binary())
    def test_an_id_is_of_version_7_and_in_order_of_time(self, now_ms: int, seed: bytes) -> None:
        made = uuid.UUID(new_id(now_ms, seed))
        assert (made.version, made.variant) == (7, uuid.RFC_4122)
        assert made.int >> 80 == now_ms
        assert new_id(now_ms, seed) == str(made) != new_id(now_ms, seed + b"x")

    @pytest.mark.parametrize(
        ("settings", "expected"),
        [
            ('model_provider = "local"\n[model_providers.local]\nname = "x"', "local"),
            ('[profiles.a]\nmodel_provider = "local"', OPENAI),
            ("model_provider = 3", OPENAI),
            ("model_provider = ", OPENAI),
            (None, OPENAI),
        ],
    )
    def test_the_provider_is_the_one_codex_is_set_to(
        self, settings: str | None, expected: str, tmp_path: Path
    ) -> None:
        if settings is not None:
            (tmp_path / "config.toml").write_text(settings)
        assert provider("/none", {"CODEX_HOME": str(tmp_path)}) == expected


def _good() -> Records:
    """Lines: 1 session, 2 prompt, 3 its event, 4 thought, 5 call, 6 result, 7 answer, 8 its event."""
    made = from_codex("assistant", ({"type": "thinking", "thinking": ""}, REASONING), (PATCH_BODY, PATCH))
    back = from_codex("user", (result("p").body, PATCHED))
    return written(turn(text("x"), session=ORIGIN), made, back, answer(text("y"), session=ORIGIN))[0]


def _lines(records: Records) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def _set(number: int, **fields: Any) -> Callable[[Records], None]:
    return lambda records: records[number - 1].update(fields)


def _put(number: int, **fields: Any) -> Callable[[Records], None]:
    return lambda records: records[number - 1]["payload"].update(fields)


def _without(number: int) -> Callable[[Records], None]:
    return lambda records: records.__delitem__(number - 1)


def _again(number: int) -> Callable[[Records], None]:
    return lambda records: records.append(records[number - 1])


def _swapped(first: int, second: int) -> Callable[[Records], None]:
    def swap(records: Records) -> None:
        records[first - 1], records[second - 1] = records[second - 1], records[first - 1]

    return swap


class TestTheCheck:
    @pytest.mark.parametrize(
        ("change", "complaint"),
        [
            (_without(1), "not introduced once"),
            (_again(1), "not introduced once"),
            (_put(1, id=ORIGIN), "line 1: the id of another session"),
            (_put(1, cwd="harbor"), "line 1: no folder"),
            (_put(1, timestamp=""), "line 1: no time"),
            (_put(1, originator=""), "line 1: no originator"),
            (_put(1, model_provider=None), "line 1: no model_provider"),
            (_put(1, forked_from_id="../x"), "line 1: forked from what is no session"),
            (_set(2, timestamp="yesterday"), "line 2: no time"),
            (_set(2, type="turn_context"), "line 2: a record of type 'turn_context'"),
            (_put(2, role="developer"), "line 2: a message of nobody"),
            (_put(7, phase="last words"), "line 7: a message of no phase"),
            (_put(2, content=[]), "line 2: a message of nobody, or one that says nothing"),
            (_put(2, content=["x"]), "line 2: a part of type None"),
            (_put(2, content=[{"type": "output_text", "text": "x"}]), "line 2: a part of type 'output_text'"),
            (_put(2, content=[{"type": "input_text", "text": " "}]), "line 2: an empty text"),
            (_put(2, content=[{"type": "input_image", "image_url": "/etc/x"}]), "an image that is nowhere"),
            (_put(3, message=""), "line 3: an event of type 'user_message'"),
            (_put(3, type="task_started"), "line 3: an event of type 'task_started'"),
            (_without(3), "no prompt is shown"),
            (_put(4, encrypted_content=""), "line 4: an item of type 'reasoning'"),
            (_put(4, summary=None), "line 4: an item of type 'reasoning'"),
            (_put(4, type="ghost_snapshot"), "line 4: an item of type 'ghost_snapshot'"),
            (_put(5, input=None), "line 5: an item of type 'custom_tool_call'"),
            (_put(5, call_id="x" * 65), "line 5: a call without a proper id"),
            (_put(5, name="a b"), "line 5: a call without a proper name"),
            (_put(5, call_id="q"), "line 6: a result that no call waits for"),
            (_put(6, output=[{"type": "text"}]), "line 6: an item of type 'custom_tool_call_output'"),
            (_put(6, type="function_call_output"), "line 6: a result that no call waits for"),
            (_swapped(2, 6), "line 2: a result that no call waits for"),
            (_swapped(2, 5), "line 2: call p has no result"),
            (_without(6), "line 5: call p has no result"),
            (_without(5), "line 4: a thought that leads nowhere"),
            (_again(4), "line 9: a thought that leads nowhere"),
            (_again(5), "line 9: a call's id for the second time"),
            (_again(6), "line 9: a result that no call waits for"),
        ],
    )
    def test_every_rule_is_one(self, change: Callable[[Records], None], complaint: str) -> None:
        records = _good()
        assert validate(_lines(records), SESSION) == []
        change(records)
        found = validate(_lines(records), SESSION)
        assert any(complaint in each for each in found), found

    @pytest.mark.parametrize(
        ("data", "complaint"),
        [
            (b"", "newline"),
            (b"\n", "line 1: no JSON"),
            (b"[]\n", "line 1: no record"),
            (b'{"payload": 1}\n', "line 1: no record"),
            (b'{"payload": {"a": NaN}}\n', "line 1: no JSON"),
            (b'{"a": "\xff"}\n', "half of a character"),
            (b'{"a": "\\ud800"}\n', "half of a character"),
            (b"[" * 100_000 + b"\n", "line 1: no JSON"),
        ],
    )
    def test_what_is_no_rollout_is_none(self, data: bytes, complaint: str) -> None:
        assert any(complaint in each for each in validate(data, SESSION))

    def test_without_a_newline_at_its_end_the_next_record_would_be_glued_on(self) -> None:
        assert validate(_lines(_good())[:-1], SESSION) == ["the file does not end with a newline"]


_TEXT = st.text(st.characters(exclude_categories=()), max_size=6)
_PARTS = st.sampled_from(["input_text", "text"])
_LOOSE: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.integers(),
    st.floats(),
    _TEXT,
    st.lists(_TEXT, max_size=2),
    st.lists(st.builds(lambda kind, words: {"type": kind, "text": words}, _PARTS, _TEXT), max_size=2),
)
_IDS = st.sampled_from(["a", "b", "c.d", "x" * 70, ""])
_BODIES = st.one_of(
    st.builds(lambda words: {"type": "text", "text": words}, _TEXT | st.none()),
    st.builds(lambda a, b: {"type": "thinking", "thinking": a, "signature": b}, _TEXT, _TEXT | st.none()),
    st.builds(lambda a, b, c: {"type": "tool_use", "id": a, "name": b, "input": c}, _IDS, _TEXT, _LOOSE),
    st.builds(lambda a, b: {"type": "tool_result", "tool_use_id": a, "content": b}, _IDS, _LOOSE),
    st.builds(lambda a: {"type": "image", "source": a}, st.just(PIXEL) | _LOOSE),
    st.builds(lambda a: {"type": "document", "source": a}, st.just({"type": "text", "data": ""}) | _LOOSE),
    st.dictionaries(st.sampled_from(["type", "text", "id"]), _LOOSE, max_size=3),
)
_KINDS = (
    "reasoning",
    "message",
    "function_call",
    "function_call_output",
    "custom_tool_call",
    "compaction",
    "custom_tool_call_output",
    "local_shell_call",
    "tool_search_call",
    "tool_search_output",
    "other",
    "web_search_call",
    "image_generation_call",
)
_NATIVES = st.none() | st.fixed_dictionaries(
    {"type": st.sampled_from(_KINDS)},
    optional={
        "id": _IDS,
        "call_id": _IDS,
        "name": _TEXT,
        "summary": st.just([]),
        "encrypted_content": _TEXT,
        "arguments": st.just("{}") | st.just({}),
        "input": _TEXT,
        "output": _LOOSE,
        "tools": st.just([]),
        "status": st.just("completed"),
        "execution": st.sampled_from(["client", "server"]),
        "action": st.just({"type": "exec", "command": []}) | st.just({}),
        "result": _TEXT,
        "phase": st.just("final_answer") | _LOOSE,
    },
)
_ROLES: st.SearchStrategy[Role] = st.sampled_from(["user", "assistant"])
_BLOCKS = st.builds(lambda body, native: Block(body, native=native), _BODIES, _NATIVES)
_MESSAGES = st.builds(
    Message,
    _ROLES,
    st.lists(_BLOCKS, max_size=4).map(tuple),
    st.sampled_from(["claude", "codex"]),
    st.sampled_from(["s", ORIGIN]),
    st.integers(0, NOW * 2),
    message_id=st.sampled_from(["", "m", "n"]),
    note=st.booleans(),
    meta=st.booleans(),
    setup=st.booleans(),
)


@given(st.lists(_MESSAGES, max_size=8).map(tuple), _TEXT)
def test_whatever_is_put_together_codex_takes_it_or_it_is_refused(
    messages: tuple[Message, ...], title: str
) -> None:
    try:
        data, _ = render(Conversation(messages, title=title), **FIXED)
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
                facts = session.facts
                if facts.relation is not Relation.SUBAGENT and facts.agent in ("claude", "codex"):
                    fate[_fate(conversation(view, session))] += 1
    share = fate["passes"] / (fate["passes"] + fate["fails"])
    print(f"\n{share:.2%} of the sessions that hold a conversation pass: {dict(fate)}")
    assert fate["passes"] > 100
    assert share >= 0.99


def _fate(talk: Conversation) -> str:
    try:
        data, _ = render(talk, **FIXED)
    except RecollectError as error:
        spoken = any(block.text.strip() for message in talk.messages for block in message.blocks)
        return "fails" if spoken else str(error)
    return "passes" if validate(data, SESSION) == [] else "fails"
