"""One part of a message: what was said, thought, called and answered, and what a step cost."""

from __future__ import annotations

from typing import Any

from recollect.agents.fields import (
    BOUNDARY,
    ERROR,
    META,
    OpenCalls,
    count_of,
    dict_of,
    json_of,
    list_of,
    text_of,
)
from recollect.values.records import Entry, Kind, Usage

USER, ASSISTANT, SUMMARY = ("user", "assistant", "summary")  # whose a message is; the last: of all before it

_DONE = ("completed", "error")
# Parts that only say how far the client is.
_BOOKKEEPING = ("agent", "patch", "snapshot", "step-finish", "step-start")
KNOWN = (*_BOOKKEEPING, "compaction", "file", "reasoning", "retry", "subtask", "text", "tool")


def entries_of(
    part: dict[str, Any], key: str, role: str, model: str, time_ms: int, calls: OpenCalls
) -> list[Entry]:
    """Its entries, at least one; none for a type that is not known."""
    kind = text_of(part.get("type"))
    time_ms = moment(dict_of(part.get("time")).get("start")) or time_ms
    if kind == "text":
        return [_said(part, role, model, time_ms)]
    if kind == "reasoning":
        return [Entry(Kind.THOUGHT, text_of(part.get("text")), 0, time_ms, model=model)]
    if kind == "tool":
        return _called(part, key, model, time_ms, calls)
    if kind == "file":
        seen = text_of(part.get("mime")).startswith(("image/", "application/pdf"))
        name = text_of(part.get("filename"))
        return [Entry(Kind.IMAGE, "", 0, time_ms) if seen else Entry(Kind.CONTEXT, name, META, time_ms)]
    if kind == "subtask":
        return [Entry(Kind.CONTEXT, text_of(part.get("prompt")), META, time_ms)]
    if kind == "compaction":
        return [Entry(Kind.EVENT, "", BOUNDARY, time_ms)]
    if kind == "retry":
        return [Entry(Kind.EVENT, error_text(part.get("error")), ERROR, time_ms)]
    if kind == "patch":
        files = [each for each in list_of(part.get("files")) if type(each) is str]
        return [Entry(Kind.EVENT, "\n".join(files), 0, time_ms)]
    return [Entry(Kind.EVENT, "", 0, time_ms)] if kind in _BOOKKEEPING else []


def usage_of(part: dict[str, Any], key: str, model: str, time_ms: int) -> tuple[Usage, ...]:
    """What a step cost; its message says the same of the last one."""
    tokens = dict_of(part.get("tokens"))
    if part.get("type") != "step-finish" or not tokens or not key:
        return ()
    cache, thought = dict_of(tokens.get("cache")), count_of(tokens.get("reasoning"))
    return (
        Usage(
            f"opencode:{key}",
            model,
            time_ms,
            input=count_of(tokens.get("input")),
            output=count_of(tokens.get("output")) + thought,
            cache_read=count_of(cache.get("read")),
            cache_write_5m=count_of(cache.get("write")),
            reasoning=thought,
        ),
    )


def error_text(error: Any) -> str:
    """An error's name and what it says."""
    data = dict_of(dict_of(error).get("data"))
    told = (text_of(dict_of(error).get("name")), text_of(data.get("message")))
    return ": ".join(filter(None, told))


def moment(value: Any) -> int:
    """Milliseconds since 1970, as OpenCode writes all times."""
    return count_of(value)


def _said(part: dict[str, Any], role: str, model: str, time_ms: int) -> Entry:
    text = text_of(part.get("text"))
    # Of a part alone, without its message: only what a model says takes time.
    role = role or (ASSISTANT if "time" in part else USER)
    if role == ASSISTANT:
        return Entry(Kind.ANSWER, text, 0, time_ms, model=model)
    if role == SUMMARY:
        return Entry(Kind.SUMMARY, text, 0, time_ms, model=model)
    if part.get("synthetic") is True:
        return Entry(Kind.CONTEXT, text, META, time_ms)
    if part.get("ignored") is True:  # shown to the person, not sent to the model
        return Entry(Kind.EVENT, text, META, time_ms)
    return Entry(Kind.PROMPT, text, 0, time_ms)


def _called(part: dict[str, Any], key: str, model: str, time_ms: int, calls: OpenCalls) -> list[Entry]:
    """A call, and its result where there is one yet: one part, whose own id no two calls share."""
    state = dict_of(part.get("state"))
    id_, tool, given = key or text_of(part.get("callID")), text_of(part.get("tool")), state.get("input")
    times = dict_of(state.get("time"))
    asked_ms = moment(times.get("start")) or time_ms
    flags = calls.opened(id_, tool, given)
    found = [Entry(Kind.CALL, json_of(given), flags, asked_ms, tool, id_, model)]
    if state.get("status") in _DONE:
        failed = state.get("status") == "error"
        text = text_of(state.get("error" if failed else "output"))
        _, flags = calls.answered(id_, text)
        exit_code = dict_of(state.get("metadata")).get("exit")
        if failed or (type(exit_code) is int and exit_code):
            flags |= ERROR
        found.append(Entry(Kind.RESULT, text, flags, moment(times.get("end")) or asked_ms, tool, id_))
        pictures = [each for each in list_of(state.get("attachments")) if dict_of(each).get("type") == "file"]
        found += [Entry(Kind.IMAGE, "", 0, asked_ms) for _ in pictures]
    return found
