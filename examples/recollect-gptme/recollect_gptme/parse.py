"""A message of gptme as entries.

A system's message is what the harness puts in front of the model, except behind an answer: there it is what
a tool gave back. Calls stand in the text of an answer, as `@shell(call-1): {"command": "ls"}`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from recollect.agents.fields import (
    ERROR,
    META,
    OpenCalls,
    count_of,
    dict_of,
    facts_restored,
    facts_state,
    json_of,
    list_of,
    not_an_object,
    note_answers,
    text_of,
    time_of,
    unknown,
)
from recollect.values.records import Entry, Kind, Parsed, SessionFacts, SourceFile, Usage
from recollect.values.titles import TITLE_PROMPT

_CALL = re.compile(r"^@(\w+)\(([\w-]+)\):[ \t]*(?=\{)", re.MULTILINE)
_THOUGHT = re.compile(r"<think(?:ing)?>(.*?)</think(?:ing)?>\s*", re.DOTALL)
_FAILED = re.compile(r"\s*(?:error|failed)\b", re.IGNORECASE)
_decode = json.JSONDecoder().raw_decode


class GptmeParser:
    """Reads one conversation in file order."""

    def __init__(self, source: SourceFile, state: Mapping[str, Any]) -> None:
        first = SessionFacts("gptme", source.session, root=source.session)
        self.facts = facts_restored(state["facts"]) if state else first
        self._calls = OpenCalls(state)
        self._is_answered: bool = state.get("answered", False)  # whether the last speaker was the model

    def state(self) -> dict[str, Any]:
        return {"facts": facts_state(self.facts), "answered": self._is_answered, **self._calls.state()}

    def parse(self, record: Any, /) -> Parsed:
        if type(record) is not dict:
            return not_an_object(record)
        role, text = text_of(record.get("role")), text_of(record.get("content"))
        time_ms = time_of(record.get("timestamp"))
        self.facts.saw(time_ms)
        if role == "user":
            return self._prompt(text, time_ms, record)
        if role == "assistant":
            return self._answer(text, time_ms, dict_of(record.get("metadata")))
        if role == "system":
            return Parsed(role, (self._put_in(text, time_ms, record),))
        return unknown(role, time_ms, text)

    def document(self, data: bytes, /) -> Parsed:
        """A conversation is never one piece."""
        return unknown("document")

    def _prompt(self, text: str, time_ms: int, record: dict[str, Any]) -> Parsed:
        self._is_answered = False
        self.facts.title_from(text, TITLE_PROMPT)
        attached = [Entry(Kind.IMAGE, "", 0, time_ms) for _ in list_of(record.get("files"))]
        return Parsed("user", (Entry(Kind.PROMPT, text, 0, time_ms), *attached))

    def _answer(self, text: str, time_ms: int, metadata: dict[str, Any]) -> Parsed:
        self._is_answered = True
        model = text_of(metadata.get("model"))
        self.facts.model = model or self.facts.model
        entries = [
            Entry(Kind.THOUGHT, thought, 0, time_ms, model=model) for thought in _THOUGHT.findall(text)
        ]
        said, calls = _split(_THOUGHT.sub("", text))
        if said:
            entries.append(Entry(Kind.ANSWER, said, 0, time_ms, model=model))
        for tool, call, given in calls:
            flags = self._calls.opened(call, tool, given)
            entries.append(Entry(Kind.CALL, json_of(given), flags, time_ms, tool, call, model))
        note_answers(self.facts, entries)
        made = tuple(entries) or (Entry(Kind.EVENT, "", 0, time_ms),)
        return Parsed("assistant", made, usages=self._usage(metadata, time_ms, model))

    def _put_in(self, text: str, time_ms: int, record: dict[str, Any]) -> Entry:
        call = text_of(record.get("call_id"))
        if not call and not self._is_answered:
            return Entry(Kind.CONTEXT, text, META, time_ms)
        tool, flags = self._calls.answered(call, text)
        tool = tool or text_of(dict_of(record.get("metadata")).get("tool"))
        failed = ERROR if _FAILED.match(text) else 0
        return Entry(Kind.RESULT, text, flags | failed, time_ms, tool, call)

    def _usage(self, metadata: dict[str, Any], time_ms: int, model: str) -> tuple[Usage, ...]:
        """What a response cost. It has no id: of one conversation, its time is one."""
        spent = dict_of(metadata.get("usage")) or metadata  # older ones have the counts beside the model
        counts = {
            "input": count_of(spent.get("input_tokens")),
            "output": count_of(spent.get("output_tokens")),
            "cache_read": count_of(spent.get("cache_read_tokens")),
            "cache_write_5m": count_of(spent.get("cache_creation_tokens")),
        }
        if not any(counts.values()):
            return ()
        reasoning = count_of(spent.get("reasoning_tokens"))
        return (Usage(f"gptme:{self.facts.id}:{time_ms}", model, time_ms, **counts, reasoning=reasoning),)


def _split(text: str) -> tuple[str, list[tuple[str, str, Any]]]:
    """What an answer says, and the calls in it: tool, id, arguments."""
    said, calls, at = [], [], 0
    for (start, end), call in _found(text):
        if start >= at:
            said.append(text[at:start])
            calls.append(call)
            at = end
    return "".join([*said, text[at:]]).strip(), calls


def _found(text: str) -> Iterator[tuple[tuple[int, int], tuple[str, str, Any]]]:
    for found in _CALL.finditer(text):
        try:
            given, end = _decode(text, found.end())
        except (ValueError, RecursionError):
            continue  # cut off by a limit, or an example in a text: it stays where it is
        yield (found.start(), end), (found[1], found[2], given)
