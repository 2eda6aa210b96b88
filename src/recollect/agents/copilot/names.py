"""The events of a session's file, by name, as far as nothing but a line of text is to be had of them.

Copilot CLI has some 160 kinds of events (1.0.102); those it calls ephemeral are never written to a file. The
rest is here or has a method of its own in `parse`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

# What happened: the field of `data` that says it to people, "" where none does.
EVENTS: Final[Mapping[str, str]] = {
    "abort": "reason",
    "assistant.fusion_phase_completed": "content",
    "assistant.turn_end": "",
    "assistant.turn_start": "",
    "human_response.recorded": "",
    "mcp.oauth_recovery_completed": "serverName",
    "permission.assentDetected": "",
    "permission.carriedForward": "",
    "permission.completed": "",
    "permission.contextualAuthorization": "",
    "permission.messageAuthorization": "",
    "permission.messageAuthorizationDegraded": "",
    "permission.messageAuthorizationRead": "",
    "permission.requested": "",
    "session.auto_mode_resolved": "chosenModel",
    "session.autopilot_objective_changed": "status",
    "session.binary_asset": "description",
    "session.canvas.recorded": "title",
    "session.canvas.removed": "",
    "session.compaction_start": "",
    "session.completion_receipt": "stopReason",
    "session.fusion_change_checkpoint": "",
    "session.fusion_commit_started": "",
    "session.fusion_completed": "outcome",
    "session.fusion_handoff": "message",
    "session.fusion_resolved": "",
    "session.info": "message",
    "session.mode_changed": "newMode",
    "session.model_deselected": "reason",
    "session.permission_recovery": "reason",
    "session.permissions_changed": "",
    "session.plan_changed": "operation",
    "session.remote_steerable_changed": "",
    "session.request_body_compression_disabled": "",
    "session.schedule_cancelled": "",
    "session.schedule_created": "prompt",
    "session.schedule_rearmed": "",
    "session.session_limits_changed": "",
    "session.task_complete": "summary",
    "session.truncation": "",
    "session.warning": "message",
    "session.workspace_file_changed": "path",
    "skill.context_delivered_ref": "",
    "skill.invoked_ref": "name",
    "subagent.completed": "agentDisplayName",
    "subagent.configured": "",
    "subagent.deselected": "",
    "subagent.selected": "agentDisplayName",
    "subagent.started": "agentDisplayName",
    "tool_search.activated": "",
}
# What went wrong.
ERRORS: Final[Mapping[str, str]] = {
    "assistant.fusion_phase_failed": "errorMessage",
    "session.error": "message",
    "session.fusion_route_failed": "errorMessage",
    "subagent.failed": "error",
}
# What was put before the model, which no person typed.
CONTEXTS: Final[Mapping[str, str]] = {
    "session.mode_notice_delivered": "content",
    "skill.context_delivered": "content",
    "skill.invoked": "content",
    "system.notification": "content",
}
# What repeats other events: a call that is begun, a hook's input, the request that made a summary.
COPIES: Final = frozenset(
    {
        "external_tool.requested",
        "hook.start",
        "model.message",
        "model.messages_snapshot",
        "model.model_call_failure",
        "model.model_call_started",
        "model.model_call_success",
        "model.response",
        "model.turn_ended",
        "model.turn_started",
    }
)
# What `parse` reads more of.
READ: Final = frozenset(
    {
        "assistant.message",
        "assistant.reasoning",
        "hook.end",
        "session.compaction_complete",
        "session.context_changed",
        "session.context_cleared",
        "session.handoff",
        "session.model_change",
        "session.resume",
        "session.shutdown",
        "session.start",
        "session.usage_checkpoint",
        "session.usage_record",
        "system.message",
        "tool.execution_complete",
        "tool.execution_start",
        "tool.user_requested",
        "user.message",
    }
)


def is_known(name: str) -> bool:
    return any(name in names for names in (READ, EVENTS, ERRORS, CONTEXTS, COPIES))
