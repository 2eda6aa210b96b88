"""A briefing tells what was said, in every form, and says what it does not tell."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.support.pages import call, forms, result, text, told

from recollect.export.pages.briefing import Briefing, brief, json_object, markdown, origin, utc
from recollect.export.pages.html import html
from recollect.values.conversation import Block, Conversation, Message
from recollect.values.records import SessionFacts
from recollect.values.stored import Session
from recollect.values.text import ascii_json

CALLS = (
    text("Fix the *tide* table", time_ms=1_772_000_000_000),
    Message(
        "assistant",
        (
            Block({"type": "thinking", "thinking": "Two files.", "signature": "c2lnbmF0dXJl"}, "t1"),
            Block({"type": "thinking", "thinking": "", "signature": "ZW1wdHk="}, "t2"),
            Block({"type": "redacted_thinking", "data": "ZW5jcnlwdGVk"}, "t3"),
            call("Read", "1", file_path="tide.py"),
            call("Bash", "2", command="make\nmake test", timeout=5),
        ),
        "claude",
        "s1",
        1_772_000_001_000,
        "opus",
        "m1",
    ),
    Message(
        "user",
        (result("2", "1 failed", failed=True), result("1", [{"type": "text", "text": "x = 1"}])),
        "claude",
        "s1",
    ),
    text("Done.", "assistant", time_ms=1_772_000_002_000, model="opus"),
)

PAGE = """\
# A title

> Tide tables

- Project: harbor
- Folder: /home/ada/harbor
- Branch: main
- From: 2026-02-25 06:13:20 UTC
- To: 2026-02-25 06:13:22 UTC
- Size: about 120 tokens
- Note: All entries were searched.

Sessions:

1. s1, claude, harbor, 2026-02-25 06:13:20: A title

## User 2026-02-25 06:13:20

> Fix the *tide* table

## Assistant opus 2026-02-25 06:13:21

**Thought**

```
Two files.
```

**Call: Read**

```
file_path: tide.py
```

**Result: Read**

```
x = 1
```

**Call: Bash**

```
command:
  make
  make test
timeout: 5
```

**Result: Bash (error)**

```
1 failed
```

## Assistant opus 2026-02-25 06:13:22

> Done.

---

- Left out: unreadable thought (2)
- Secrets masked: none found
"""


def whole() -> Briefing:
    facts = SessionFacts("claude", "s1", project="harbor", title="A title", started_ms=1_772_000_000_000)
    return told(
        *CALLS,
        description="Tide tables",
        sessions=[origin(Session(facts, "host", 4))],
        tokens=120,
        notes=["All entries were searched."],
    )


def test_a_page_reads_from_the_question_to_the_answer() -> None:
    assert markdown(whole()) == PAGE


def test_an_object_holds_the_same() -> None:
    found = json_object(whole())
    assert found["schema"] == "recollect.briefing/1"
    assert found["sessions"] == [
        {
            "session": "s1",
            "agent": "claude",
            "project": "harbor",
            "title": "A title",
            "time_ms": 1_772_000_000_000,
        }
    ]
    assert [turn["speaker"] for turn in found["turns"]] == ["user", "assistant", "assistant"]
    assert found["turns"][1]["parts"][1:3] == [
        {"kind": "call", "entry": "c1", "tool": "Read", "call": "1", "input": {"file_path": "tide.py"}},
        {"kind": "result", "entry": "r1", "tool": "Read", "call": "1", "failed": False, "text": "x = 1"},
    ]
    assert (found["from_ms"], found["to_ms"]) == (1_772_000_000_000, 1_772_000_002_000)
    assert (found["left_out"], found["masked"]) == ({"unreadable thought": 2}, {})
    assert json.loads(ascii_json(found)) == found


def test_no_signature_and_nothing_encrypted_is_told() -> None:
    for form in forms(told(*CALLS, redacted=False)):
        for hidden in ("c2lnbmF0dXJl", "ZW1wdHk=", "ZW5jcnlwdGVk", "signature"):
            assert hidden not in form


def test_who_speaks_is_said() -> None:
    found = told(
        text("asked"),
        text("put there by a client", meta=True),
        text("from another session", note=True),
        text("instructions", setup=True),
        Message("user", (result("9", "of a call that is not here"),), "claude", "s1"),
    )
    assert [turn.speaker for turn in found.turns] == ["user", "harness", "note", "user"]
    assert found.left_out == {"setup by the client": 1}


def test_what_cannot_be_read_is_counted() -> None:
    odd = tuple(
        Block(body)
        for body in (
            {"type": "hologram"},
            {"type": 5},
            {},
            {"type": "text", "text": 5},
            {"type": "tool_use"},
            {"type": "tool_result", "content": [{"type": "tool_reference"}, 5, None]},
            {"type": "image"},
            {
                "type": "document",
                "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERg=="},
            },
        )
    )
    found = told(Message("user", odd, "claude", "s1"))
    assert found.left_out == {"block of another kind": 3, "part of a result that is no text": 3}
    assert "\\[document, application/pdf, 4 B\\]" in markdown(found)
    assert len(forms(found)) == 3


@pytest.mark.parametrize(("depth", "told_of"), [(100, True), (1000, False)])
def test_an_input_nested_too_deeply_is_left_out(depth: int, told_of: bool) -> None:
    nested: Any = "inmost"
    for _ in range(depth):
        nested = {"a": [nested]}
    found = told(Message("assistant", (call("Bash", "1", command=nested),), "claude", "s1"))
    assert all(("inmost" in form) is told_of for form in forms(found))
    assert found.left_out.total() == (0 if told_of else 1)


def test_a_long_title_is_cut_on_a_page_and_nowhere_else() -> None:
    found = brief(Conversation(()), description="word " * 100)
    assert markdown(found).startswith(f"# {'word ' * 19}word…\n")
    assert json_object(found)["title"] == ("word " * 100).strip()


def test_a_briefing_of_nothing_is_still_a_page() -> None:
    found = brief(Conversation(()))
    assert markdown(found) == "# Briefing\n\n---\n\n- Secrets masked: none found\n"
    assert json_object(found)["from_ms"] is None
    assert "<h1>Briefing</h1>" in html(found)


@pytest.mark.parametrize("time_ms", [0, -1, 10**17, 10**30])
def test_a_time_no_calendar_has_is_not_told(time_ms: int) -> None:
    assert utc(time_ms) == ""


def test_the_same_conversation_gives_the_same_bytes() -> None:
    assert forms(whole()) == forms(whole())
