"""What Claude Code tells the model or the user besides the conversation itself:
attachments (context the harness injected) and system notices.

Both are families of small record types that grow with every release, so they are
tables: a row says what kind of entry a type is and where its readable text lies.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from recollect.agents.fields import BOUNDARY, ERROR, dict_of, json_of, lines_of, list_of, text_of
from recollect.agents.injected import is_fenced
from recollect.values.records import Kind

_Row = tuple[Kind, int, Callable[[dict[str, Any]], str]]


def attachment_row(name: str) -> _Row | None:
    """How to read an attachment of this type, or None for an unknown one."""
    return _ATTACHMENTS.get(name)


def system_row(name: str) -> _Row | None:
    """How to read a system record of this subtype ("" before 2.0), or None for an unknown one."""
    return _SYSTEM.get(name)


def told_by_hooks(body: dict[str, Any]) -> tuple[str, str]:
    """What our own hook told the model, and what others did: those of one event share an attachment."""
    if body.get("type") not in _HOOKS or body.get("hookEvent") not in _OWN_EVENTS:
        return "", ""
    content = body.get("content")
    texts = [text for text in ([content] if type(content) is str else list_of(content)) if text_of(text)]
    own = [text for text in texts if is_fenced(text)]
    return "\n".join(own), "\n".join(text for text in texts if not is_fenced(text))


def loose_text(body: dict[str, Any]) -> str:
    """The most likely readable text of a record that nobody has seen yet."""
    for key in ("content", "text", "message", "prompt"):
        value = body.get(key)
        if type(value) is str:
            return value
        if type(value) is list and (lines := lines_of(value)):
            return lines
    return ""


def _field(key: str) -> Callable[[dict[str, Any]], str]:
    return lambda body: text_of(body.get(key))


def _lines(key: str, inner: str = "text") -> Callable[[dict[str, Any]], str]:
    return lambda body: lines_of(body.get(key), inner)


def _nothing(body: dict[str, Any]) -> str:
    return ""


def _content(body: dict[str, Any]) -> str:
    """`content` as a string, or as an object that holds the string (nested_memory, file)."""
    content = body.get("content")
    if type(content) is str:
        return content
    holder = dict_of(content)
    return text_of(holder.get("content")) or text_of(dict_of(holder.get("file")).get("content"))


def _hook_error(body: dict[str, Any]) -> str:
    blocking = dict_of(body.get("blockingError"))
    return (
        text_of(blocking.get("blockingError")) or text_of(body.get("stderr")) or text_of(body.get("stdout"))
    )


def _tasks(body: dict[str, Any]) -> str:
    tasks = [dict_of(task) for task in list_of(body.get("content"))]
    subjects = [text_of(task.get("subject")) or text_of(task.get("content")) for task in tasks]
    return "\n".join(subject for subject in subjects if subject)


def _diagnostics(body: dict[str, Any]) -> str:
    files = [dict_of(file).get("diagnostics") for file in list_of(body.get("files"))]
    return "\n".join(text for text in (lines_of(found, "message") for found in files) if text)


def _api_error(body: dict[str, Any]) -> str:
    """The innermost message: the error object wraps the server's answer up to three times."""
    error = body.get("error")
    message = ""
    for _ in range(4):
        message = text_of(dict_of(error).get("message")) or message
        inner = dict_of(error).get("error")
        if type(inner) is not dict:
            break
        error = inner
    return message or text_of(body.get("content")) or (json_of(error) if error else "")


# Where the context that our hook gives at these events is kept.
_HOOKS: Final = ("hook_additional_context", "hook_success")
_OWN_EVENTS: Final = ("SessionStart", "UserPromptSubmit")

_CONTEXT, _EVENT = Kind.CONTEXT, Kind.EVENT

# What the client of 2.1.325 names besides, and was in no log yet.
_ATTACHMENTS_UNSEEN: Final = """
    account_memory_recall advisor_stripped advisor_tool agent_mention already_read_file
    artifact_opening_prefetch async_hook_response_batch at_mention_reference attention_budget
    batching_reminder batching_reminder_sent budget_usd claude_app_notice context_efficiency
    context_sections coordinator_context cowork_memory_context credential_org deferred_tools_record
    dir_sync_notice document dynamic_skill edited_image_file elapsed_time_reminder fork_briefing
    goal_status goals hook_deferred_tool hook_error_during_execution hook_permission_decision
    hook_plugin_listing hook_stopped_continuation image inlined_image_paths instruction_files_not_loaded
    linked_plugin_tools_note max_turns_reached mcp_dropped_tools_delta mcp_resource memory_update
    message_pdf_reads opened_file_in_ide output_limit_note output_token_usage pdf_reference peer_mention
    poll_events prefix_delta proactivity project_doc_reads projects_thread_ask prompt_render_point
    read_truncation_notice relevant_memories repl_mcp_needs_auth sandbox_instructions secondary_reminder
    secondary_reminder_sent selected_lines_in_diff session_cron_carry skill_mention structured_output
    task_status team_context teammate_mailbox teammate_shutdown_batch thinking_drop thinking_stripped
    thread_state token_usage tool_host_result_lines tool_hosts_correction tool_hosts_notice
    tool_results_cut tool_search_usage_reminder ultra_effort_exit ultrathink_effort
    unknown_command_fallback widget_context_hint withheld_memory workflow_keyword_request
    workflow_size_guideline_change
"""

_NOTICES: Final = """
    agents_killed cloud_session_delta cloud_session_status file_snapshot memory_saved model_fallback
    model_refusal_no_fallback permission_retry placed rewind_stand_in voice_call_talk
"""

_ATTACHMENTS: Final[dict[str, _Row]] = {
    "agent_listing_delta": (_CONTEXT, 0, _nothing),
    "async_hook_response": (_EVENT, 0, _nothing),
    "auto_mode": (_EVENT, 0, _nothing),
    "auto_mode_exit": (_EVENT, 0, _nothing),
    "bash_output_audience_note": (_CONTEXT, 0, _nothing),
    "command_permissions": (_EVENT, 0, _nothing),
    "compact_file_reference": (_CONTEXT, 0, _field("filename")),
    "critical_system_reminder": (_CONTEXT, 0, _content),
    "date_change": (_EVENT, 0, _nothing),
    "deferred_tools_delta": (_CONTEXT, 0, _nothing),
    "diagnostics": (_CONTEXT, 0, _diagnostics),
    "directory": (_CONTEXT, 0, _content),
    "edited_text_file": (_CONTEXT, 0, _field("snippet")),
    "file": (_CONTEXT, 0, _content),
    "hook_additional_context": (_CONTEXT, 0, _lines("content")),
    "hook_blocking_error": (_CONTEXT, ERROR, _hook_error),
    "hook_cancelled": (_EVENT, 0, _nothing),
    "hook_non_blocking_error": (_EVENT, ERROR, _hook_error),
    "hook_success": (_CONTEXT, 0, _field("content")),
    "hook_system_message": (_EVENT, 0, _field("content")),
    "invoked_skills": (_CONTEXT, 0, _lines("skills", "content")),
    "mcp_instructions_delta": (_CONTEXT, 0, _lines("addedBlocks")),
    "nested_memory": (_CONTEXT, 0, _content),
    "plan_file_reference": (_CONTEXT, 0, _field("planContent")),
    "plan_mode": (_EVENT, 0, _nothing),
    "plan_mode_exit": (_EVENT, 0, _nothing),
    "plan_mode_reentry": (_EVENT, 0, _nothing),
    "selected_lines_in_ide": (_CONTEXT, 0, _content),
    "silent_turn_reminder": (_CONTEXT, 0, _nothing),
    "skill_listing": (_CONTEXT, 0, _content),
    "task_reminder": (_CONTEXT, 0, _tasks),
    "todo_reminder": (_CONTEXT, 0, _tasks),
    "total_tokens_reminder": (_CONTEXT, 0, _nothing),
    "ultra_effort_enter": (_EVENT, 0, _nothing),
    # Since 2.1.3xx what a request begins with is told as attachments: the same in every session.
    "date": (_CONTEXT, 0, _nothing),
    "environment": (_CONTEXT, 0, _nothing),
    "instructions": (_CONTEXT, 0, _lines("files", "content")),
    "language": (_CONTEXT, 0, _nothing),
    "model": (_CONTEXT, 0, _nothing),
    "output_style": (_CONTEXT, 0, _nothing),
    "output_style_instructions": (_CONTEXT, 0, _nothing),
    "prompt_snapshot": (_CONTEXT, 0, _nothing),
    "remote_session_change": (_CONTEXT, 0, _nothing),
    "session_context": (_CONTEXT, 0, _nothing),
    **dict.fromkeys(_ATTACHMENTS_UNSEEN.split(), (_CONTEXT, 0, loose_text)),
}

_SYSTEM: Final[dict[str, _Row]] = {
    "": (_EVENT, 0, _field("content")),
    "api_error": (_EVENT, ERROR, _api_error),
    "away_summary": (Kind.SUMMARY, 0, _field("content")),
    "bridge_status": (_EVENT, 0, _field("content")),
    "compact_boundary": (_EVENT, BOUNDARY, _field("content")),
    "informational": (_EVENT, 0, _field("content")),
    "local_command": (_EVENT, 0, _field("content")),
    "microcompact_boundary": (_EVENT, 0, _field("content")),
    "model_consent_fallback": (_EVENT, 0, _field("content")),
    "model_refusal_fallback": (_EVENT, 0, _field("content")),
    "scheduled_task_fire": (_EVENT, 0, _field("content")),
    "stop_hook_summary": (_EVENT, 0, _lines("hookErrors")),
    "turn_duration": (_EVENT, 0, _nothing),
    **dict.fromkeys(_NOTICES.split(), (_EVENT, 0, _field("content"))),
}
