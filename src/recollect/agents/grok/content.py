"""What stands in Grok's updates: blocks of text and pictures, calls, what came of them, what a turn cost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from recollect.agents.fields import ERROR, META, OpenCalls, count_of, dict_of, json_of, list_of, text_of
from recollect.values.records import Entry, Kind, Usage

# What the model was told of a result, by the names that Grok's tools give it.
_FOR_MODEL: Final = (
    "output_for_prompt",
    "tool_output_for_prompt",
    "summary_for_prompt",
    "content",
    "OkayOutput",  # of an MCP server
)
_PUT_IN: Final = ("<system-reminder>", "<system_reminder>", "<user_info>")
_KNOWN: Final = ("text", "image", "audio", "resource", "resource_link")


def block_entry(content: Any, kind: Kind, flags: int, time_ms: int, model: str = "") -> Entry:
    """One block of a message, in which `kind` says who speaks."""
    block = dict_of(content)
    told = text_of(block.get("type"))
    if told == "text":
        return Entry(kind, text_of(block.get("text")), flags, time_ms, model=model)
    if told == "image":
        return Entry(Kind.IMAGE, "", flags, time_ms)
    if told not in _KNOWN:
        return Entry(Kind.UNKNOWN, text_of(block.get("text")), flags, time_ms)
    inner = dict_of(block.get("resource")) or block
    text = text_of(inner.get("text")) or text_of(inner.get("uri")) or text_of(inner.get("name"))
    return Entry(Kind.CONTEXT, text, flags | META, time_ms)


def prompt_entry(update: dict[str, Any], time_ms: int) -> Entry:
    """A block in the person's place: said by them, a command of the client, or put in by it."""
    content, told = dict_of(update.get("content")), dict_of(update.get("_meta"))
    entry = block_entry(content, Kind.PROMPT, 0, time_ms)
    if entry.kind is not Kind.PROMPT:
        return entry
    if told.get("hostTurn") is True:
        return Entry(Kind.EVENT, entry.text, META, time_ms)
    metas = (told, content.get("_meta"), content.get("meta"))
    hidden = any(dict_of(each).get("hideFromScrollback") is True for each in metas)
    if hidden or entry.text.lstrip().startswith(_PUT_IN):
        return Entry(Kind.CONTEXT, entry.text, META, time_ms)
    return entry


def call_entry(update: dict[str, Any], time_ms: int, model: str, calls: OpenCalls) -> Entry:
    """A call. One of an MCP server's tools goes through `use_tool` and is named as other agents name it."""
    call, given = text_of(update.get("toolCallId")), update.get("rawInput")
    tool = text_of(dict_of(dict_of(update.get("_meta")).get("x.ai/tool")).get("name"))
    tool = tool or text_of(update.get("title"))
    inner = dict_of(given)
    if tool == "use_tool" and type(inner.get("tool_name")) is str:
        tool = f"mcp__{inner['tool_name']}"
        flags = calls.opened(call, tool, inner.get("tool_input"))
    else:
        flags = calls.opened(call, tool, given)
    return Entry(Kind.CALL, json_of(given), flags, time_ms, tool, call, model)


def result_entries(update: dict[str, Any], time_ms: int, calls: OpenCalls) -> list[Entry]:
    """What the model was told of a call that is over, then each picture in it."""
    call, output = text_of(update.get("toolCallId")), dict_of(update.get("rawOutput"))
    blocks = [dict_of(dict_of(each).get("content")) for each in list_of(update.get("content"))]
    shown = "\n".join(text_of(block.get("text")) for block in blocks if block.get("type") == "text")
    text = next(_told_model(output), "") or shown or text_of(output.get("message"))
    tool, flags = calls.answered(call, text)
    if update.get("status") == "failed" or _failed(output):
        flags |= ERROR
    pictures = sum(block.get("type") == "image" for block in blocks)
    return [
        Entry(Kind.RESULT, text, flags, time_ms, tool, call),
        *[Entry(Kind.IMAGE, "", 0, time_ms, tool, call)] * pictures,
    ]


def usages_of(update: dict[str, Any], model: str, time_ms: int) -> tuple[Usage, ...]:
    """What a turn cost, by model: what was sent counts what the cache held and took in."""
    told, prompt = dict_of(update.get("usage")), text_of(update.get("prompt_id"))
    by_model = dict_of(told.get("modelUsage")) or {model: told}
    made = (_usage(f"grok:{prompt}:{name}", name, time_ms, dict_of(one)) for name, one in by_model.items())
    return tuple(usage for usage in made if usage.input or usage.output or usage.cache_read)


def _usage(key: str, model: str, time_ms: int, told: dict[str, Any]) -> Usage:
    read, written = count_of(told.get("cachedReadTokens")), count_of(told.get("cacheCreationTokens"))
    return Usage(
        key,
        model,
        time_ms,
        input=max(count_of(told.get("inputTokens")) - read - written, 0),
        output=count_of(told.get("outputTokens")),
        cache_read=read,
        cache_write_5m=written,
        reasoning=count_of(told.get("reasoningTokens")),
    )


def _told_model(output: dict[str, Any]) -> Iterator[str]:
    """Texts that may be what the model was told, the likeliest first: they stand in it, or one step below."""
    for told in (output, *map(dict_of, output.values())):
        yield from filter(None, (text_of(told.get(name)) for name in _FOR_MODEL))
        if printed := _decoded(told.get("stdout")):
            yield printed


def _decoded(numbers: Any) -> str:
    """A text that is written as the numbers of its bytes."""
    if type(numbers) is not list or not all(type(each) is int and 0 <= each < 256 for each in numbers):
        return ""
    return bytes(numbers).decode("utf-8", "backslashreplace")


def _failed(output: dict[str, Any]) -> bool:
    code = output.get("exit_code", output.get("exitCode"))
    return (type(code) is int and code != 0) or output.get("timed_out") is True
