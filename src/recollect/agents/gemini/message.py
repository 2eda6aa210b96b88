"""One message of a chat: what was said, thought, called and answered, and what it cost.

A result is written twice: with the call it answers, and as what the model was sent. The second is a copy.
"""

from __future__ import annotations

import hashlib
import html
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from recollect.agents.fields import (
    CALLS_OPEN_MAX,
    COPY,
    ERROR,
    INJECTED,
    META,
    SPILLED,
    OpenCalls,
    count_of,
    dict_of,
    json_of,
    list_of,
    text_of,
    time_of,
)
from recollect.agents.injected import is_fenced
from recollect.values.records import Entry, Kind, SessionFacts, Usage

_FAILED = ("error", "cancelled")
_EXIT_CODE = re.compile(r"^Exit Code: [1-9]", re.MULTILINE)
# What the harness says in the person's place, at the start of a chat and after cutting it down.
_SETUP = ("<session_context>", "This is the Gemini CLI. We are setting up the context")
_SUMMARY = "<state_snapshot>"
_CONTEXT = (*_SETUP, _SUMMARY, "<hook_context>")
_HOOKED = re.compile(r"\s*<hook_context>(.*?)</hook_context>\s*", re.DOTALL)
_REFERENCED = "\n--- Content from referenced files ---"  # behind a prompt: what it named with @
RESULTS_AGAIN = "_response"  # behind the id of a message: its results, as a resumed chat states them again
_WRAPPED = re.compile(r"\A<untrusted_context>\n(.*)\n</untrusted_context>\Z", re.DOTALL)
_SPILLED = "Output too large. Showing first "


class Calls(OpenCalls):
    """Calls that wait for their answer, and the last answers told with their calls, by short hashes."""

    __slots__ = ("_told",)

    def __init__(self, state: Mapping[str, Any]) -> None:
        super().__init__(state)
        self._told: dict[str, None] = dict.fromkeys(state.get("told", ()))

    def tell(self, call: str, text: str) -> None:
        self._told[short_hash(call + "\0" + text)] = None
        if len(self._told) > CALLS_OPEN_MAX:
            del self._told[next(iter(self._told))]

    def is_told(self, call: str, text: str) -> bool:
        return short_hash(call + "\0" + text) in self._told

    def state(self) -> dict[str, Any]:
        return {**super().state(), "told": list(self._told)}


def short_hash(text: str, size: int = 6) -> str:
    """Enough to tell a few hundred texts of one chat apart."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=size).hexdigest()


def entries_of(message: dict[str, Any], calls: Calls, *, aside: bool = False) -> list[Entry]:
    """Its entries, at least one; `aside`: in a subagent's chat, where no person speaks."""
    time_ms, model = time_of(message.get("timestamp")), text_of(message.get("model"))
    if message.get("type") not in ("user", "gemini"):
        flags = ERROR if message.get("type") == "error" else 0
        return [Entry(Kind.EVENT, _text(message.get("content")), flags, time_ms)]
    found = [
        Entry(
            Kind.THOUGHT,
            thought_text(dict_of(each)),
            0,
            time_of(dict_of(each).get("timestamp")) or time_ms,
            model=model,
        )
        for each in list_of(message.get("thoughts"))
    ]
    if not found:
        found = [
            Entry(Kind.THOUGHT, text_of(part.get("text")), 0, time_ms, model=model)
            for part in map(dict_of, list_of(message.get("content")))
            if part.get("thought") is True
        ]
    if message.get("type") == "user":
        found += _asked(message, time_ms, aside)
    elif text := _text(message.get("content")):
        found.append(Entry(Kind.ANSWER, text, 0, time_ms, model=model))
    found += _parts(message.get("content"), time_ms, model, calls)
    for call in map(dict_of, list_of(message.get("toolCalls"))):
        found += _called(call, time_of(call.get("timestamp")) or time_ms, model, calls)
    return found or [Entry(Kind.EVENT, "", 0, time_ms)]


def said_text(message: dict[str, Any]) -> str:
    """A message's own words, without its thoughts."""
    return _text(message.get("content"))


def without_hooks(text: str) -> str:
    """A prompt without what a hook told before it."""
    return _HOOKED.sub("", text, count=1) if text.lstrip().startswith("<hook_context>") else text


def is_setup(text: str) -> bool:
    """Whether the client says this at the start of every chat."""
    return text.lstrip().startswith(_SETUP)


def is_summary(text: str) -> bool:
    """Whether this is what is left of a chat that was cut down."""
    return text.lstrip().startswith(_SUMMARY)


def usage_of(message: dict[str, Any], facts: SessionFacts) -> list[Usage]:
    """What a message cost: its input counts what came from the cache, its output not what was thought."""
    tokens, id_ = dict_of(message.get("tokens")), text_of(message.get("id"))
    if not tokens or not id_:
        return []
    cached, thought = count_of(tokens.get("cached")), count_of(tokens.get("thoughts"))
    return [
        Usage(
            f"gemini:{facts.id}:{id_}",
            text_of(message.get("model")) or facts.model,
            time_of(message.get("timestamp")),
            input=max(count_of(tokens.get("input")) - cached, 0) + count_of(tokens.get("tool")),
            output=count_of(tokens.get("output")) + thought,
            cache_read=cached,
            reasoning=thought,
        )
    ]


def _asked(message: dict[str, Any], time_ms: int, aside: bool) -> list[Entry]:
    """What a person typed, and what the client put before and behind it."""
    text = _text(message.get("content"))
    if not text:
        return []
    hooked = _HOOKED.match(text)
    said = text[hooked.end() :] if hooked else text
    if aside or not said or said.lstrip().startswith(_CONTEXT):
        return [_told(text, time_ms)]
    typed, mark, referenced = said.partition(_REFERENCED)
    if shown := _text(message.get("displayContent")):
        typed = _HOOKED.sub("", shown, count=1)
    found = [_told(hooked[0].strip(), time_ms)] if hooked else []
    found.append(Entry(Kind.PROMPT, typed, 0, time_ms))
    return [*found, _told((mark + referenced).strip(), time_ms)] if mark else found


def _told(text: str, time_ms: int) -> Entry:
    """What no person typed; Recollect's own, where our hook told it."""
    hooked = _HOOKED.fullmatch(text)
    own = INJECTED if hooked and is_fenced(html.unescape(hooked[1])) else 0
    return Entry(Kind.CONTEXT, text, META | own, time_ms)


def _parts(content: Any, time_ms: int, model: str, calls: Calls) -> list[Entry]:
    found = []
    for part in map(dict_of, list_of(content)):
        if "inlineData" in part or "fileData" in part:
            found.append(Entry(Kind.IMAGE, "", 0, time_ms))
        if asked := dict_of(part.get("functionCall")):
            found.append(_call(asked, time_ms, model, calls))
        if "functionResponse" in part:
            result = _result({"result": [part]}, time_ms, calls)
            copied = COPY if calls.is_told(result.call, result.text) else 0
            found.append(replace(result, flags=result.flags | copied))
    return found


def _called(call: dict[str, Any], time_ms: int, model: str, calls: Calls) -> list[Entry]:
    """A call, and its result where there is one yet."""
    found = [_call(call, time_ms, model, calls)]
    if list_of(call.get("result")) or call.get("resultDisplay") or call.get("status") in _FAILED:
        found.append(_result(call, time_ms, calls))
        calls.tell(found[-1].call, found[-1].text)
    return found


def _call(call: dict[str, Any], time_ms: int, model: str, calls: Calls) -> Entry:
    id_, tool, given = text_of(call.get("id")), text_of(call.get("name")), call.get("args")
    flags = calls.opened(id_, tool, given)
    return Entry(Kind.CALL, json_of(given), flags, time_ms, tool, id_, model)


def _result(call: dict[str, Any], time_ms: int, calls: Calls) -> Entry:
    answers = [
        dict_of(dict_of(part).get("functionResponse"))
        for part in list_of(call.get("result"))
        if "functionResponse" in dict_of(part)
    ]
    given = [dict_of(each.get("response")) for each in answers]
    text = "\n".join(filter(None, map(response_text, given))) or text_of(call.get("resultDisplay"))
    text = _WRAPPED.sub(r"\1", text)  # the client's word to the model, not the tool's
    id_ = text_of(call.get("id")) or next((text_of(each.get("id")) for each in answers), "")
    named = text_of(call.get("name")) or next((text_of(each.get("name")) for each in answers), "")
    tool, flags = calls.answered(id_, text)
    failed = call.get("status") in _FAILED or any("error" in each for each in given)
    if failed or _EXIT_CODE.search(text):
        flags |= ERROR
    if text.startswith(_SPILLED):
        flags |= SPILLED
    return Entry(Kind.RESULT, text, flags, time_ms, named or tool, id_)


def response_text(given: dict[str, Any]) -> str:
    """What a tool said: its output or its error, else all of it."""
    for name in ("output", "error"):
        if text := text_of(given.get(name)):
            return text
    return json_of(given) if given else ""


def thought_text(thought: dict[str, Any]) -> str:
    return "\n".join(filter(None, (text_of(thought.get("subject")), text_of(thought.get("description")))))


def _text(content: Any) -> str:
    """A message's text, which is one string or in parts that follow on one another."""
    if type(content) is str:
        return content
    return "".join(
        part if type(part) is str else text_of(dict_of(part).get("text"))
        for part in list_of(content)
        if dict_of(part).get("thought") is not True
    )
