"""One thing that the extension showed: what was said, asked and done, and what a request took.

Nearly all of it stands in the conversation beside it too. What does not: times, tokens, and errors.
"""

from __future__ import annotations

from typing import Any

from recollect.agents.cline.message import moment
from recollect.agents.decode import BadLine, decode
from recollect.agents.fields import (
    BOUNDARY,
    COPY,
    ERROR,
    OpenCalls,
    count_of,
    dict_of,
    json_of,
    list_of,
    text_of,
)
from recollect.values.records import Entry, Kind, Usage

TASK = "task"
_PROMPTS = frozenset({TASK, "user_feedback"})
_ANSWERS = frozenset({"text", "completion_result", "followup", "plan_mode_respond", "act_mode_respond"})
_ERRORS = frozenset(
    {
        "api_req_failed", "auto_approval_max_req_reached", "clineignore_error",
        "command_permission_denied", "condense_context_error", "diff_error", "error", "error_retry",
        "mistake_limit_reached", "rooignore_error",
    }
)  # fmt: skip
_CALLS = frozenset({"browser_action", "browser_action_launch", "command", "tool", "use_mcp_server"})
_RESULTS = {
    "browser_action_result": "browser_action",
    "command_output": "execute_command",
    "mcp_server_response": "use_mcp_server",
}
_SUMMARIES = frozenset({"condense", "condense_context", "summarize_task"})
_USAGE = frozenset({"api_req_started", "subagent_usage"})
_BOOKKEEPING = frozenset(
    {
        "api_req_deleted", "api_req_finished", "api_req_rate_limit_wait", "api_req_retried",
        "api_req_retry_delayed", "checkpoint_created", "checkpoint_saved", "codebase_search_result",
        "conditional_rules_applied", "deleted_api_reqs", "generate_explanation",
        "hook_output_stream", "hook_status", "image", "info", "interactive_app",
        "load_mcp_documentation", "mcp_notification", "mcp_server_request_started", "new_task",
        "report_bug", "resume_completed_task", "resume_task", "shell_integration_warning",
        "shell_integration_warning_with_suggestion", "sliding_window_truncation", "subagent",
        "subtask_result", "task_progress", "too_many_tools_warning", "use_subagents",
        "user_edit_todos", "user_feedback_diff",
    }
)  # fmt: skip
KNOWN = frozenset(
    {"reasoning", *_PROMPTS, *_ANSWERS, *_ERRORS, *_CALLS, *_RESULTS, *_SUMMARIES, *_USAGE, *_BOOKKEEPING}
)
_CHANGED = "HAS_CHANGES"  # behind a closing answer: a button is to be shown


def name_of(shown: dict[str, Any]) -> str:
    """What it is: `say` and `ask` have the same names for the same things."""
    return text_of(shown.get("say")) or text_of(shown.get("ask"))


def entries_of(shown: dict[str, Any], calls: OpenCalls, last: str, *, alone: bool) -> list[Entry]:
    """Its entries, at least one. `last`: the call that a result answers; `alone`: nothing else says it."""
    name, text, time_ms = name_of(shown), text_of(shown.get("text")), moment(shown.get("ts"))
    if name in _ERRORS:
        return [Entry(Kind.EVENT, text, ERROR, time_ms)]
    if name in _BOOKKEEPING or name in _USAGE:
        return [Entry(Kind.EVENT, "", 0, time_ms)]
    if not alone:
        return [Entry(Kind.EVENT, "", COPY, time_ms)]
    found = [_told(name, text, shown, time_ms, calls, last)]
    return found + [Entry(Kind.IMAGE, "", 0, time_ms) for _ in list_of(shown.get("images"))]


def call_of(shown: dict[str, Any]) -> str:
    """The id of the call that this is, or ""."""
    return f"{moment(shown.get('ts'))}" if name_of(shown) in _CALLS else ""


def usage_of(shown: dict[str, Any], session: str, model: str) -> tuple[Usage, ...]:
    """What a request took, which stands as JSON in its text; nothing while it runs."""
    name, time_ms = name_of(shown), moment(shown.get("ts"))
    told = _object(text_of(shown.get("text"))) if name in _USAGE else {}
    if not any(told.get(each) for each in ("tokensIn", "tokensOut", "cacheReads", "cacheWrites")):
        return ()
    return (
        Usage(
            f"cline:{session}:{name}:{time_ms}",
            model,
            time_ms,
            input=count_of(told.get("tokensIn")),
            output=count_of(told.get("tokensOut")),
            cache_read=count_of(told.get("cacheReads")),
            cache_write_5m=count_of(told.get("cacheWrites")),
        ),
    )


def _told(name: str, text: str, shown: dict[str, Any], time_ms: int, calls: OpenCalls, last: str) -> Entry:
    model = text_of(dict_of(shown.get("modelInfo")).get("modelId"))
    if name in _PROMPTS:
        return Entry(Kind.PROMPT, text, 0, time_ms)
    if name in _ANSWERS:
        told = _object(text)
        asked = text_of(told.get("question")) or text_of(told.get("response"))
        return Entry(Kind.ANSWER, asked or text.removesuffix(_CHANGED), 0, time_ms, model=model)
    if name == "reasoning":
        return Entry(Kind.THOUGHT, text_of(shown.get("reasoning")) or text, 0, time_ms, model=model)
    if name in _SUMMARIES:
        summary = text_of(dict_of(shown.get("contextCondense")).get("summary"))
        return Entry(Kind.SUMMARY, summary or text, BOUNDARY, time_ms)
    if name in _RESULTS:
        tool, flags = calls.answered(last, text)
        said = text_of(_object(text).get("logs")) if name == "browser_action_result" else text
        return Entry(Kind.RESULT, said, flags, time_ms, tool or _RESULTS[name], last)
    given: Any = {"command": text} if name == "command" else _object(text)
    tool = "execute_command" if name == "command" else text_of(dict_of(given).get("tool")) or name
    flags = calls.opened(call_of(shown), tool, given)
    return Entry(Kind.CALL, json_of(given) if given else text, flags, time_ms, tool, call_of(shown), model)


def _object(text: str) -> dict[str, Any]:
    """The JSON object that a text is; {} where it is none."""
    try:
        return dict_of(decode(text.encode("utf-8", "surrogatepass"))[0]) if text[:1] == "{" else {}
    except BadLine:
        return {}
