"""A call of the editor and what came of it, which are one bubble.

No one field says whether it went well: a command that failed, or was not allowed, is `completed`.
"""

from __future__ import annotations

from typing import Any

from recollect.agents.cursor.rows import value_in
from recollect.agents.fields import ERROR, OpenCalls, dict_of, json_of, text_of
from recollect.values.records import Entry, Kind

_FAILED = ("cancelled", "error", "rejected", "skipped")
_DONE = ("completed", "success", *_FAILED)
_ERRORS = ("clientVisibleErrorMessage", "modelVisibleErrorMessage", "message")
_OUTPUTS = ("output", "contents")  # of a command, of a file
_OWN = "recollect"
_SERVER_TOOLS = ("mcp-", "mcp_", "CallMcpTool")


def call_in(tool: dict[str, Any], key: str, model: str, time_ms: int, calls: OpenCalls) -> list[Entry]:
    """The call, and its result once there is one; nothing where no tool is named."""
    name = text_of(tool.get("name"))
    if not name:
        return []
    id_, given = text_of(tool.get("toolCallId")) or key, _given(tool)
    flags = calls.opened(id_, own_name(name, given), given)
    text = given if type(given) is str else json_of(given)
    found = [Entry(Kind.CALL, text, flags, time_ms, name, id_, model)]
    result = value_in(tool.get("result"))
    if tool.get("status") in _DONE or result:
        failed = _has_failed(tool, dict_of(result))
        text = _result_text(tool, result)
        _, flags = calls.answered(id_, text)
        found.append(Entry(Kind.RESULT, text, flags | (ERROR if failed else 0), time_ms, name, id_))
    return found


def own_name(tool: str, given: Any) -> str:
    """The name under which a call of our own server is known, however the client puts it."""
    if not tool.startswith(_SERVER_TOOLS):
        return tool
    named = f"{tool} {text_of(dict_of(given).get('server'))}"
    return f"{_OWN}_{tool}" if _OWN in named else tool


def _given(tool: dict[str, Any]) -> Any:
    """The arguments: as the model wrote them, or where that is empty, as the client took them."""
    return value_in(tool.get("rawArgs")) or value_in(tool.get("params")) or {}


def _has_failed(tool: dict[str, Any], result: dict[str, Any]) -> bool:
    code = result.get("exitCode")
    return (
        tool.get("status") in _FAILED
        or dict_of(tool.get("additionalData")).get("status") in _FAILED
        or result.get("rejected") is True
        or (type(code) is int and code != 0)
    )


def _result_text(tool: dict[str, Any], result: Any) -> str:
    told = dict_of(result)
    for name in _OUTPUTS:
        if text := text_of(told.get(name)):
            return text
    error = value_in(tool.get("error"))
    if text := text_of(error):
        return text
    for name in _ERRORS:
        if text := text_of(dict_of(error).get(name)):
            return text
    return text_of(tool.get("result")) or json_of(result)
