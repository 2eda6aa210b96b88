"""Codex response items as content blocks, each with the item it is as `native`.

Pure: an item in, blocks out. All blocks of one item share one `native`, and what has no shape of its
own on the other side (a web search, a summary only Codex can read) is still a block, so that it
survives on the way from Codex to Codex.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from recollect.agents.codex.parse_items import is_context
from recollect.agents.fields import dict_of, json_of, lines_of, list_of, text_of
from recollect.values.conversation import Block, Message

Item = dict[str, Any]

# What Codex tells each conversation anew.
_SETUP: Final = (
    "<environment_context>",
    "<user_instructions>",
    "<INSTRUCTIONS>",
    "# AGENTS.md",
    "<permissions instructions>",
    "<recommended_plugins>",
    "<apps_instructions>",
    "<skills_instructions>",
    "<plugins_instructions>",
    "<collaboration_mode>",
    "<app-context>",
    "<multi_agent_mode>",
    "<personality_spec>",
    "<model_switch>",
)
_SUMMARY: Final = "Another language model started to solve this problem"
_IMAGE = re.compile(r"data:([\w.+-]+/[\w.+-]+);base64,([A-Za-z0-9+/=\s]+)")
_PASSED_OVER: Final = frozenset({"ghost_snapshot", "other", "compaction_trigger", "additional_tools"})


def is_typed(item: Item) -> bool:
    """Whether an item begins a turn: what a person wrote, not what the client put in their place."""
    if item.get("type") != "message" or item.get("role") != "user":
        return False
    return not _is_told([text_of(part.get("text")) for part in _parts(item)])


def message_of_item(
    item: Item, session: str, *, entry: str, time_ms: int, model: str, part: int | None = None
) -> Message | None:
    """An item as a message, or only a part of one; None for what is no part of a conversation.

    `entry` is the id of the first entry of the item's line, `part` the number of the one that is meant.
    """
    kind = text_of(item.get("type"))
    if kind in _PASSED_OVER or not kind:
        return None
    blocks = tuple(
        Block(body, f"{entry}.{at}" if at and entry else entry, item, text_of(item.get("id")), time_ms)
        for at, body in _blocks_of(item)
        if part is None or at == part or kind != "message"
    )
    if not blocks:
        return None
    answers = kind not in _USER and (kind != "message" or item.get("role") == "assistant")
    texts = [block.text for block in blocks if block.type == "text"]
    told = kind == "message" and not answers
    return Message(
        "assistant" if answers else "user",
        blocks,
        "codex",
        session,
        time_ms,
        model if answers else "",
        note=kind in _SUMMARIES or any(text.startswith(_SUMMARY) for text in texts),
        meta=kind == "agent_message" or (told and (item.get("role") != "user" or _is_told(texts))),
        setup=told and (item.get("role") != "user" or _is_setup(texts)),
    )


def _is_told(texts: list[str]) -> bool:
    """Whether all that is said in the user's place comes from the client."""
    said = [text for text in texts if text]
    return bool(said) and all(map(is_context, said))


def _is_setup(texts: list[str]) -> bool:
    return bool(texts) and all(text.lstrip().startswith(_SETUP) for text in texts)


def _blocks_of(item: Item) -> Iterator[tuple[int, dict[str, Any]]]:
    """The bodies of an item's blocks, each with the number of the entry the adapter made of it."""
    if item.get("type") != "message":
        for body in _bodies(item):
            yield 0, body
        return
    parts = _parts(item)
    texts = sum(type(part.get("text")) is str for part in parts)
    text, image = 0, texts  # the adapter numbers all texts first
    for part in parts:
        if type(part.get("text")) is str:
            yield text, {"type": "text", "text": part["text"]}
            text += 1
        elif part.get("type") in _IMAGES:
            if body := _image(part):
                yield image, body
            image += 1


def _parts(item: Item) -> list[dict[str, Any]]:
    content = item.get("content")
    if type(content) is str:
        return [{"type": "text", "text": content}]
    return [{"text": part} if type(part) is str else dict_of(part) for part in list_of(content)]


def _bodies(item: Item) -> list[dict[str, Any]]:
    kind = item["type"]
    if kind == "reasoning":
        text = lines_of(item.get("summary")) or lines_of(item.get("content"))
        return [{"type": "thinking", "thinking": text}]
    if kind in _CALLS:
        return [{"type": "tool_use", "id": _call_id(item), "name": _tool(item), "input": _input(item)}]
    if kind in _OUTPUTS:
        return [_result(item)]
    if kind == "agent_message":
        content = item.get("content")
        return [{"type": "text", "text": content if type(content) is str else lines_of(content)}]
    if kind == "web_search_call":
        return [{"type": "text", "text": f"[web search] {json_of(item.get('action'))}"}]
    if kind == "image_generation_call":
        return [{"type": "text", "text": f"[image] {text_of(item.get('revised_prompt'))}"}]
    return [{"type": kind}]


def _call_id(item: Item) -> str:
    return text_of(item.get("call_id")) or text_of(item.get("id"))


def _tool(item: Item) -> str:
    """A tool's name; one of a namespace as other agents write it."""
    fixed = {"local_shell_call": "local_shell", "tool_search_call": "tool_search"}.get(item["type"])
    name, namespace = text_of(item.get("name")), text_of(item.get("namespace"))
    return fixed or (f"{namespace.rstrip('_')}__{name.lstrip('_')}" if namespace else name)


def _input(item: Item) -> dict[str, Any]:
    """What a call was given: an object, or a text as the one field of it."""
    given = item.get(
        {"custom_tool_call": "input", "local_shell_call": "action"}.get(item["type"], "arguments")
    )
    if type(given) is str and item["type"] != "custom_tool_call":
        try:
            value = json.loads(given)
        except (ValueError, RecursionError):
            value = given
        given = value if type(value) is dict else given
    return given if type(given) is dict else {"input": given}


def _result(item: Item) -> dict[str, Any]:
    body: dict[str, Any] = {"type": "tool_result", "tool_use_id": _call_id(item)}
    output = item.get("output")
    if item["type"] == "tool_search_output":
        return {**body, "content": lines_of(item.get("tools"), "name")}
    if type(output) is dict:  # {content, success} in old logs
        if output.get("success") is False:
            body["is_error"] = True
        output = output.get("content")
    if type(output) is not list:
        return {**body, "content": text_of(output)}
    parts = [
        {"type": "text", "text": part["text"]} if type(part.get("text")) is str else _image(part)
        for part in map(dict_of, output)
    ]
    return {**body, "content": [part for part in parts if part]}


def _image(part: dict[str, Any]) -> dict[str, Any]:
    """An image block; {} for what is none."""
    if part.get("type") == "local_image":
        return {"type": "text", "text": f"[image {text_of(part.get('path'))}]"}
    if part.get("type") not in _IMAGES:
        return {}
    url = part.get("image_url")
    url = text_of(dict_of(url).get("url")) or text_of(url)
    if found := _IMAGE.fullmatch(url):
        source = {"type": "base64", "media_type": found[1], "data": "".join(found[2].split())}
    else:
        source = {"type": "url", "url": url}
    return {"type": "image", "source": source} if url else {}


_IMAGES: Final = ("input_image", "image", "local_image")
_CALLS: Final = frozenset({"function_call", "custom_tool_call", "local_shell_call", "tool_search_call"})
_SUMMARIES: Final = frozenset({"compaction", "compaction_summary", "context_compaction"})
_OUTPUTS: Final = frozenset(
    {"custom_tool_call_output", "function_call_output", "local_shell_call_output", "tool_search_output"}
)
_USER: Final = _OUTPUTS | _SUMMARIES | {"agent_message"}
