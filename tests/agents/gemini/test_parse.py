"""Gemini CLI's chats, as documents and as logs. The fixtures are invented; their shapes are real."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.support import DATA, corpus
from tests.support.memories import open_memory, sources_of

from recollect.agents.gemini.agent import AGENT as GEMINI
from recollect.agents.gemini.paths import folder_of
from recollect.memory import Memory
from recollect.testing.agents import AgentContract
from recollect.values.hits import Hit
from recollect.values.records import Entry, Flag, Framing, Kind, Relation, Role, SourceFile
from recollect.values.stored import StoredEntry, source_bytes

FOLDER = DATA / "gemini"
CHATS = FOLDER / "tmp" / "harbor" / "chats"
DOCUMENT = CHATS / "session-2026-05-01T10-00-aaaa1111.json"
LOG = CHATS / "session-2026-06-01T09-00-bbbb2222.jsonl"


class TestGemini(AgentContract):
    agent = GEMINI
    fixtures = FOLDER
    envelopes = ({"type": "soothsayer", "id": "x"}, {"soothsayer": 1})


def shown(path: Path, session: str) -> list[StoredEntry]:
    with open_memory(path) as memory, memory.view() as view:
        return list(view.entries(view.find_session(session)))


def said(entries: list[StoredEntry]) -> list[tuple[str, str]]:
    told = [e.entry for e in entries if e.entry.kind is not Kind.EVENT and not e.entry.flags & Flag.COPY]
    return [(entry.kind.name, entry.text) for entry in told]


def ingest(store: Path, *paths: Path) -> None:
    with open_memory(store) as memory:
        memory.ingest(list(paths))
        assert memory.check() == []


def found(memory: Memory, query: str) -> list[Hit]:
    """By words: by meaning something is always near."""
    return memory.search(query, mode="text").hits


# -- what is shown ---------------------------------------------------------------------------------


def test_a_document_shows_what_was_said_thought_called_and_answered(tmp_path: Path) -> None:
    ingest(tmp_path / "memory.h5", DOCUMENT)
    entries = shown(tmp_path / "memory.h5", "aaaa1111")
    assert [e.entry.kind.name for e in entries] == (
        [
            "PROMPT",
            "THOUGHT",
            "ANSWER",
            "CALL",
            "RESULT",
            "CALL",
            "RESULT",
            "CALL",
            "RESULT",
            "EVENT",
            "ANSWER",
        ]
    )
    assert entries[0].entry.text == "Why does the tide table of harbor end in March? \u2603 It should not."
    assert [e.entry.tool for e in entries if e.entry.kind is Kind.CALL] == [
        "read_file",
        "replace",
        "run_shell_command",
    ]
    failed = [e for e in entries if e.entry.flags & Flag.ERROR]
    assert [e.entry.tool for e in failed] == ["run_shell_command"]


def test_of_messages_stated_again_the_last_is_shown_and_what_was_rewound_is_not(tmp_path: Path) -> None:
    ingest(tmp_path / "memory.h5", FOLDER)
    entries = said(shown(tmp_path / "memory.h5", "bbbb2222"))
    assert entries == [
        ("CONTEXT", entries[0][1]),
        ("PROMPT", "Paint the lighthouse page blue"),
        ("THOUGHT", "Colours\nBlue is a colour of the sea."),
        ("ANSWER", "I will change the style sheet."),
        ("CALL", entries[4][1]),
        ("RESULT", "Successfully created /home/ada/harbor/page.css"),
        ("PROMPT", "Leave the lamp alone, write the manual"),
        ("CALL", '{"command":"make manual"}'),
        ("RESULT", "error: no rule"),
        ("UNKNOWN", ""),
    ]
    with open_memory(tmp_path / "memory.h5") as memory:
        with memory.view() as view:
            assert view.find_session("bbbb2222").facts.title == "Blue lighthouse page"
        assert len(found(memory, "flicker")) == 0
        assert [hit.stored.entry.kind for hit in found(memory, '"style sheet" kind:answer')] == [Kind.ANSWER]


def test_a_subagent_is_a_session_of_its_own_with_its_parent(tmp_path: Path) -> None:
    ingest(tmp_path / "memory.h5", FOLDER)
    with open_memory(tmp_path / "memory.h5") as memory, memory.view() as view:
        facts = view.find_session("scout-7").facts
    assert (facts.parent, facts.relation) == ("bbbb2222-0000-4000-8000-000000000002", Relation.SUBAGENT)


def test_tokens_are_counted_once_and_the_cache_apart(tmp_path: Path) -> None:
    """However often a message is stated; what was rewound was paid for too."""
    ingest(tmp_path / "memory.h5", FOLDER)
    with open_memory(tmp_path / "memory.h5") as memory, memory.view() as view:
        usage = view.usage()
        totals = {
            name: int(getattr(usage, name).sum()) for name in ("input", "output", "cache_read", "reasoning")
        }
    assert len(usage.input) == 6
    assert totals == {
        "input": 200 + 100 + 1503 + 500 + 100 + 100,
        "output": 65 + 60 + 12 + 40 + 20 + 9,
        "cache_read": 1000 + 1200 + 300 + 800,
        "reasoning": 25 + 10,
    }


def test_blame_how_and_fix_know_its_tools(tmp_path: Path) -> None:
    ingest(tmp_path / "memory.h5", FOLDER)
    with open_memory(tmp_path / "memory.h5") as memory:
        assert [touch.session.facts.id[:8] for touch in memory.blame("/home/ada/harbor/page.css")] == [
            "bbbb2222"
        ]
        assert memory.how("make manual")
        assert memory.fix("ImportError: no module named almanac")


# -- a document saved again ------------------------------------------------------------------------


def versions() -> list[bytes]:
    """The document as it was saved with every message, the last one once more when its tokens were known."""
    whole = json.loads(DOCUMENT.read_bytes())
    saved = []
    for count in range(1, len(whole["messages"]) + 1):
        some = {
            **whole,
            "messages": [*whole["messages"][:count]],
            "lastUpdated": f"2026-05-01T10:0{count}:00.000Z",
        }
        last = {k: v for k, v in some["messages"][-1].items() if k not in ("tokens", "toolCalls")}
        early = {**some, "messages": [*some["messages"][:-1], last]}
        saved += [json.dumps(each, indent=2, ensure_ascii=False).encode() for each in (early, some)]
    return list(dict.fromkeys([*saved, DOCUMENT.read_bytes()]))


@pytest.mark.parametrize("by_journal", [False, True])
def test_a_document_saved_at_every_message_shows_its_conversation_once(
    tmp_path: Path, by_journal: bool
) -> None:
    file = tmp_path / "chats" / DOCUMENT.name
    file.parent.mkdir()
    for data in versions():
        file.write_bytes(data)
        if by_journal:
            capture(tmp_path / "memory.h5", file)
        else:
            ingest(tmp_path / "memory.h5", file)
    ingest(tmp_path / "once.h5", DOCUMENT)
    assert said(shown(tmp_path / "memory.h5", "aaaa")) == said(shown(tmp_path / "once.h5", "aaaa"))
    assert ids(tmp_path / "memory.h5") == ids(tmp_path / "once.h5")
    with open_memory(tmp_path / "memory.h5") as memory:
        with memory.view() as view:
            raw = [b"".join(source_bytes(each, view.lines(each))) for each in view.sources()]
            assert len(view.usage().input) == 3
        assert raw == versions()
        before = ids(tmp_path / "memory.h5")
        hits = [hit.stored.id for hit in found(memory, "table")]
        assert hits
        memory.reparse()
        assert ids(tmp_path / "memory.h5") == before
        memory.compact()
        assert ids(tmp_path / "memory.h5") == before
        assert sorted(hit.stored.id for hit in found(memory, "table")) == sorted(hits)
        assert memory.check() == []


def capture(store: Path, file: Path) -> None:
    """As a hook would: the whole file in one piece."""
    from recollect.values.records import Segment

    with open_memory(store) as memory:
        source = SourceFile("gemini", str(file), framing=Framing.DOCUMENT)
        memory._store.append(Segment(source, "here", 0, file.read_bytes()))
        memory.checkpoint()


def ids(store: Path) -> list[str]:
    return [entry.id for entry in shown(store, "aaaa")]


def test_what_was_indexed_before_it_was_replaced_is_found_no_more(tmp_path: Path) -> None:
    file, store = tmp_path / "chat.json", tmp_path / "memory.h5"
    whole = json.loads(DOCUMENT.read_bytes())
    whole["messages"][4]["content"] = "A draft about xylophones"
    file.write_text(json.dumps(whole))
    with open_memory(store) as memory:
        memory.ingest([file])
        assert len(found(memory, "xylophones")) == 1
        shutil.copy(DOCUMENT, file)
        memory.ingest([file])
        assert found(memory, "xylophones") == []
        assert len(found(memory, "covers the whole year")) >= 1
        whole["messages"] = whole["messages"][:2]
        file.write_text(json.dumps(whole))
        memory.ingest([file])
        assert found(memory, "almanac") == []


def test_a_document_found_half_saved_costs_nothing(tmp_path: Path) -> None:
    file, store = tmp_path / "chat.json", tmp_path / "memory.h5"
    shutil.copy(DOCUMENT, file)
    ingest(store, file)
    before = ids(store)
    file.write_bytes(DOCUMENT.read_bytes()[:700])
    ingest(store, file)
    assert ids(store) == before
    shutil.copy(DOCUMENT, file)
    ingest(store, file)
    assert ids(store) == before
    with open_memory(store) as memory:
        assert sources_of(memory)[str(file)] == DOCUMENT.read_bytes()
        assert [session.entries > 0 for session in memory.sessions()] == [True]
        memory.reparse()
    assert ids(store) == before


def test_a_resumed_document_and_the_log_beside_it_are_one_session_without_doubles(tmp_path: Path) -> None:
    whole = json.loads(DOCUMENT.read_bytes())
    chats = tmp_path / "chats"
    chats.mkdir()
    shutil.copy(DOCUMENT, chats)
    more = {
        "id": "m-6",
        "timestamp": "2026-05-02T10:00:00.000Z",
        "type": "user",
        "content": "And in leap years?",
    }
    meta = {k: v for k, v in whole.items() if k != "messages"}
    log = [meta, *whole["messages"], {"$set": {"sessionId": whole["sessionId"]}}, more]
    (chats / (DOCUMENT.name + "l")).write_text("".join(json.dumps(each) + "\n" for each in log))
    ingest(tmp_path / "memory.h5", chats)
    ingest(tmp_path / "once.h5", DOCUMENT)
    expected = said(shown(tmp_path / "once.h5", "aaaa"))
    assert said(shown(tmp_path / "memory.h5", "aaaa")) == [*expected, ("PROMPT", "And in leap years?")]
    with open_memory(tmp_path / "memory.h5") as memory, memory.view() as view:
        assert len(view.sessions()) == 1
        assert len(view.usage().input) == 3


# -- which project ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["harbor", hashlib.sha256(b"/home/ada/harbor").hexdigest()])
def test_the_folder_is_known_from_the_clients_list_of_projects(tmp_path: Path, name: str) -> None:
    (tmp_path / "projects.json").write_text(
        '{"projects": {"/home/ada/other": "other", "/home/ada/harbor": "harbor"}}'
    )
    assert folder_of(str(tmp_path / "tmp" / name / "chats" / "session-1.json")) == "/home/ada/harbor"
    assert folder_of(str(tmp_path / "tmp" / "stranger" / "chats" / "session-1.json")) == ""
    assert folder_of("/elsewhere/session-1.json") == ""


def test_without_that_list_the_short_name_is_the_project(tmp_path: Path) -> None:
    ingest(tmp_path / "memory.h5", FOLDER)
    with open_memory(tmp_path / "memory.h5") as memory, memory.view() as view:
        assert {session.facts.project for session in view.sessions()} == {"harbor"}


@pytest.mark.corpus
def test_real_documents_hold_nothing_unknown_and_come_back(tmp_path: Path) -> None:
    folder = corpus("gemini")
    if folder is None:
        pytest.skip("there is no folder of real logs here")
    files = sorted(folder.rglob("*.json"))
    ingest(tmp_path / "memory.h5", folder)
    with open_memory(tmp_path / "memory.h5") as memory:
        assert sources_of(memory) == {str(file): file.read_bytes() for file in files}
        with memory.view() as view:
            messages = [m for file in files for m in json.loads(file.read_bytes())["messages"]]
            assert {
                kind: count for kind, (count, _) in view.types().items() if kind in ("user", "gemini")
            } == {kind: sum(m["type"] == kind for m in messages) for kind in ("user", "gemini")}
            assert all(known for _, known in view.types().values())
            counted = [m for m in messages if m.get("tokens")]
            assert int(view.usage().input.sum() + view.usage().cache_read.sum()) == sum(
                m["tokens"]["input"] + m["tokens"]["tool"] for m in counted
            )


# -- as 0.61 writes it -----------------------------------------------------------------------------


def entries(*lines: dict[str, Any], path: str = "/x.jsonl", role: Role = Role.MAIN) -> list[Entry]:
    parser = GEMINI.parser(SourceFile("gemini", path, role, session="s", parent="p" if role > 1 else ""), {})
    return [entry for line in lines for entry in parser.parse(line).entries if entry.kind is not Kind.EVENT]


def message(id_: str, *parts: dict[str, Any], kind: str = "user", **more: Any) -> dict[str, Any]:
    return {"id": id_, "type": kind, "content": list(parts), **more}


def test_a_prompt_is_what_was_typed_and_the_files_it_names_are_context() -> None:
    files = {"text": "\n--- Content from referenced files ---"}, {"text": "\nred"}
    typed = {"text": "Look at @red.txt"}
    shown = entries(message("1", typed, *files, displayContent=[{"text": "Look at @/w/red.txt"}]))
    assert [(entry.kind, entry.text) for entry in shown] == [
        (Kind.PROMPT, "Look at @/w/red.txt"),
        (Kind.CONTEXT, "--- Content from referenced files ---\nred"),
    ]
    assert entries(message("1", typed, *files))[0].text == "Look at @red.txt"


def test_what_a_hook_told_is_context_and_ours_is_not_found_again() -> None:
    ours = {"text": "<hook_context>&lt;recollect-memory id=1&gt;x</hook_context>\n\nGo"}
    theirs = {"text": "<hook_context>The tide is low.</hook_context>"}
    found = entries(message("1", ours), message("2", theirs))
    assert [(entry.kind, entry.flags) for entry in found] == [
        (Kind.CONTEXT, Flag.META | Flag.INJECTED),
        (Kind.PROMPT, 0),
        (Kind.CONTEXT, Flag.META),
    ]
    assert found[1].text == "Go"


def test_in_a_subagents_chat_nobody_is_a_person() -> None:
    found = entries(message("1", {"text": "Count the boats."}), role=Role.SUBAGENT)
    assert [(entry.kind, entry.flags) for entry in found] == [(Kind.CONTEXT, Flag.META)]


def test_a_history_that_states_results_again_gives_no_second_one() -> None:
    response = {"functionResponse": {"id": "c", "name": "ls", "response": {"output": "x"}}}
    call = {"id": "c", "name": "ls", "args": {}, "result": [response], "status": "success"}
    picture = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
    told = message(
        "2", {"text": "Hm.", "thought": True}, {"text": "I look."}, kind="gemini", toolCalls=[call]
    )
    found = entries(told, {"$set": {"messages": [told, message("2_response", response, picture)]}})
    assert [entry.kind.name for entry in found] == ["THOUGHT", "ANSWER", "CALL", "RESULT"]


def test_a_result_is_what_the_tool_said_and_ours_is_known_in_what_the_client_wraps_around_it() -> None:
    memory = "<recollect-memory id=1>\nx\n</recollect-memory>"
    answer = {"response": {"output": f"<untrusted_context>\n{memory}\n</untrusted_context>"}}
    call = {"id": "c", "args": {}, "result": [{"functionResponse": answer}], "status": "success"}
    for tool, flags in (("mcp_recollect_read_memory", Flag.INJECTED), ("read_file", 0)):
        _, result = entries(message("1", kind="gemini", toolCalls=[{**call, "name": tool}]))
        assert (result.text, result.flags) == (memory, flags)


def test_a_result_that_was_too_long_is_whole_in_a_file_of_its_own(tmp_path: Path) -> None:
    outputs = tmp_path / "harbor/tool-outputs/session-5e55"
    outputs.mkdir(parents=True)
    (outputs / "ls__c.txt").write_text("all of it, to the last gull")
    (tmp_path / "harbor/notes.txt").write_text("not of a session")
    ingest(tmp_path / "memory.h5", tmp_path)
    assert said(shown(tmp_path / "memory.h5", "5e55")) == [("RESULT", "all of it, to the last gull")]
    preview = {"functionResponse": {"response": {"output": "Output too large. Showing first 8,000 and"}}}
    call = {"id": "ls__c", "name": "ls", "args": {}, "result": [preview], "status": "success"}
    assert entries(message("1", kind="gemini", toolCalls=[call]))[1].flags == Flag.SPILLED


def test_the_folder_is_known_from_the_projects_own_file(tmp_path: Path) -> None:
    project = tmp_path / "tmp/quay"
    project.mkdir(parents=True)
    (project / ".project_root").write_text("/home/ada/quay\n")
    assert folder_of(str(project / "chats/session-1.jsonl")) == "/home/ada/quay"
