"""What Codex says about the conversation: response items, turn items, tool outputs.

Nearly everything said is written twice, once as a response item (what the model saw) and once
as an event or turn item (what the screen showed), in either order: a prompt's item comes first,
an answer's event comes first. `Twins` pairs them, and whichever comes first carries the text.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from typing import Any, Final

from recollect.agents.fields import (
    COPY,
    ERROR,
    INJECTED,
    META,
    OpenCalls,
    dict_of,
    json_of,
    lines_of,
    list_of,
    text_of,
)
from recollect.agents.injected import is_fenced
from recollect.values.records import Entry, Kind

ITEM: Final = 0
EVENT: Final = 1

_TWINS_MAX: Final = 16
_FAILED_MAX: Final = 16

# What the client puts in the user's place.
_INJECTED: Final = (
    "<environment_context>",
    "<user_instructions>",
    "<INSTRUCTIONS>",
    "# AGENTS.md",
    "<permissions instructions>",
    "<turn_aborted>",
    "<skill>",
    "<image",
    "</image>",
    "<recommended_plugins>",
    "<apps_instructions>",
    "<skills_instructions>",
    "<plugins_instructions>",
    "<collaboration_mode>",
    "<app-context>",
    "<multi_agent_mode>",
    "<personality_spec>",
    "<model_switch>",
    "<subagent_notification>",
    "<user_shell_command>",
    "<user_action>",
    "<hook_prompt",
    "Another language model started to solve this problem",
)

# How a result begins when the client could not do what the call asked for.
_REFUSED: Final = (
    "unsupported call: ",
    "unsupported custom tool call: ",
    "failed to parse function arguments: ",
    "exec_command failed",
    "write_stdin failed",
    "apply_patch verification failed",
    "unable to locate image at ",
)


class Twins:
    """The last few texts that were said once and may yet be said again."""

    __slots__ = ("_waiting",)

    def __init__(self, state: Iterable[Iterable[int]]) -> None:
        self._waiting: list[tuple[int, int]] = [(side, key) for side, key in state]

    def repeats(self, text: str, side: int) -> bool:
        """Whether the other side said this already; if not, remember that this side did."""
        key = _key(text)
        twin = (1 - side, key)
        if twin in self._waiting:
            self._waiting.remove(twin)
            return True
        self._waiting.append((side, key))
        if len(self._waiting) > _TWINS_MAX:
            del self._waiting[0]
        return False

    def state(self) -> list[list[int]]:
        return [list(pair) for pair in self._waiting]


class Reader:
    """Turns items into entries for one session; remembers open calls and unpaired texts."""

    __slots__ = ("calls", "failed", "model", "twins")

    def __init__(self, calls: OpenCalls, twins: Twins, failed: Iterable[str], model: str) -> None:
        self.calls = calls
        self.twins = twins
        self.failed = list(failed)  # calls known to have failed whose output is still to come
        self.model = model

    def item(self, payload: dict[str, Any], time_ms: int) -> list[Entry] | None:
        """The entries of a response item, None when its type is not known."""
        read = _ITEMS.get(text_of(payload.get("type")))
        return None if read is None else read(self, payload, time_ms)

    def turn_item(self, item: dict[str, Any], time_ms: int) -> list[Entry] | None:
        """The entries of a turn item (paginated mode), None when its type is not known."""
        read = _TURN_ITEMS.get(text_of(item.get("type")))
        return None if read is None else read(self, item, time_ms)

    def prompt(self, texts: list[str], side: int, time_ms: int) -> list[Entry]:
        """What stands in the user's place: each text a prompt, context, or a copy."""
        typed = [text for text in texts if not is_context(text)]
        # An event flattens all texts of a prompt into one; an item keeps them apart.
        if len(typed) > 1 and self.twins.repeats("".join(typed), side):
            typed = []
            copies = True
        else:
            copies = False
        entries = []
        for text in texts:
            if is_context(text):
                entries.append(Entry(Kind.CONTEXT, text, META, time_ms))
            elif copies or self.twins.repeats(text, side):
                entries.append(Entry(Kind.EVENT, "", COPY, time_ms))
            else:
                entries.append(Entry(Kind.PROMPT, text, 0, time_ms))
        return entries

    def speech(self, kind: Kind, text: str, side: int, time_ms: int) -> Entry:
        """What the model said or thought, or the copy of it."""
        if text and self.twins.repeats(_inner_text(text), side):
            return Entry(Kind.EVENT, "", COPY, time_ms)
        return Entry(kind, text, 0, time_ms, model=self.model)

    def call_end(self, call: str, *, failed: bool, time_ms: int) -> Entry:
        """How a call ended, as the screen shows it: an output often does not say so itself."""
        if failed and call in self.calls:
            self.failed = [*self.failed, call][-_FAILED_MAX:]
        return Entry(Kind.EVENT, "", COPY | ERROR if failed else COPY, time_ms, call=call)

    # -- response items

    def _message(self, payload: dict[str, Any], time_ms: int) -> list[Entry]:
        content = payload.get("content")
        blocks = [content] if type(content) is str else list_of(content)
        texts = [text for text in map(_block_text, blocks) if text is not None]
        role = payload.get("role")
        if role == "assistant":
            entries = [self.speech(Kind.ANSWER, text, ITEM, time_ms) for text in texts]
        elif role == "user":
            entries = self.prompt(texts, ITEM, time_ms)
        else:
            # What hooks add comes in the developer's name, each hook's text apart.
            own = INJECTED if role == "developer" else 0
            flags = [META | own if is_fenced(text) else META for text in texts]
            entries = [Entry(Kind.CONTEXT, *pair, time_ms) for pair in zip(texts, flags, strict=True)]
        entries += [Entry(Kind.IMAGE, "", 0, time_ms) for block in blocks if _is_image(block)]
        return entries

    def _reasoning(self, payload: dict[str, Any], time_ms: int) -> list[Entry]:
        parts = [text for text in map(_block_text, list_of(payload.get("summary"))) if text]
        if not parts:
            return [Entry(Kind.THOUGHT, lines_of(payload.get("content")), 0, time_ms, model=self.model)]
        # Events come one a part; the item is a copy only when all of them came.
        seen = [self.twins.repeats(part, ITEM) for part in parts]
        if all(seen):
            return [Entry(Kind.EVENT, "", COPY, time_ms)]
        return [Entry(Kind.THOUGHT, "\n".join(parts), 0, time_ms, model=self.model)]

    def _function_call(self, payload: dict[str, Any], time_ms: int) -> list[Entry]:
        return [self._call(payload, _tool(payload), payload.get("arguments"), time_ms)]

    def _custom_tool_call(self, payload: dict[str, Any], time_ms: int) -> list[Entry]:
        return [self._call(payload, _tool(payload), payload.get("input"), time_ms)]

    def _local_shell_call(self, payload: dict[str, Any], time_ms: int) -> list[Entry]:
        return [self._call(payload, "local_shell", payload.get("action"), time_ms)]

    def _tool_search_call(self, payload: dict[str, Any], time_ms: int) -> list[Entry]:
        return [self._call(payload, "tool_search", payload.get("arguments"), time_ms)]

    def _web_search_call(self, payload: dict[str, Any], time_ms: int) -> list[Entry]:
        text = json_of(payload["action"]) if payload.get("action") else ""
        return [Entry(Kind.CALL, text, 0, time_ms, "web_search", "", self.model)]

    def _image_generation_call(self, payload: dict[str, Any], time_ms: int) -> list[Entry]:
        prompt = text_of(payload.get("revised_prompt"))
        call = Entry(Kind.CALL, prompt, 0, time_ms, "image_generation", "", self.model)
        return [call, Entry(Kind.IMAGE, "", 0, time_ms, "image_generation")]

    def _call(self, payload: dict[str, Any], tool: str, given: Any, time_ms: int) -> Entry:
        call = text_of(payload.get("call_id")) or text_of(payload.get("id"))
        flags = self.calls.opened(call, tool, given)
        text = given if type(given) is str else "" if given is None else json_of(given)
        return Entry(Kind.CALL, text, flags, time_ms, tool, call, self.model)

    def _output(self, payload: dict[str, Any], time_ms: int) -> list[Entry]:
        output = payload.get("output")
        failed = False
        if type(output) is dict:  # {content, success} in old logs
            failed = output.get("success") is False
            output = output.get("content")
        text = output if type(output) is str else lines_of(output)
        flags = ERROR if failed or exit_failed(text) or text.startswith(_REFUSED) else 0
        call = text_of(payload.get("call_id"))
        tool, own = self.calls.answered(call, text)
        flags |= own
        if call in self.failed:
            self.failed.remove(call)
            flags |= ERROR
        entries = [Entry(Kind.RESULT, text, flags, time_ms, tool, call)]
        if type(output) is list:
            entries += [Entry(Kind.IMAGE, "", 0, time_ms, tool, call) for part in output if _is_image(part)]
        return entries

    def _tool_search_output(self, payload: dict[str, Any], time_ms: int) -> list[Entry]:
        call = text_of(payload.get("call_id"))
        names = lines_of(payload.get("tools"), "name")
        return [Entry(Kind.RESULT, names, 0, time_ms, self.calls.answered(call)[0], call)]

    def _agent_message(self, payload: dict[str, Any], time_ms: int) -> list[Entry]:
        content = payload.get("content")
        text = content if type(content) is str else lines_of(content)
        return [Entry(Kind.CONTEXT, text, META, time_ms)]

    def _bookkeeping(self, payload: dict[str, Any], time_ms: int) -> list[Entry]:
        return [Entry(Kind.EVENT, "", 0, time_ms)]

    # -- turn items

    def _user_turn(self, item: dict[str, Any], time_ms: int) -> list[Entry]:
        content = list_of(item.get("content"))
        joined = "".join(text_of(dict_of(part).get("text")) for part in content)
        return self.prompt([joined], EVENT, time_ms) if joined else self._bookkeeping(item, time_ms)

    def _agent_turn(self, item: dict[str, Any], time_ms: int) -> list[Entry]:
        texts = [text_of(dict_of(part).get("text")) for part in list_of(item.get("content"))]
        return [self.speech(Kind.ANSWER, text, EVENT, time_ms) for text in texts if text]

    def _plan_turn(self, item: dict[str, Any], time_ms: int) -> list[Entry]:
        return [self.speech(Kind.ANSWER, text_of(item.get("text")), EVENT, time_ms)]

    def _reasoning_turn(self, item: dict[str, Any], time_ms: int) -> list[Entry]:
        parts = [part for part in list_of(item.get("summary_text")) if type(part) is str and part]
        parts = parts or [part for part in list_of(item.get("raw_content")) if type(part) is str and part]
        return [self.speech(Kind.THOUGHT, part, EVENT, time_ms) for part in parts]

    def _hook_turn(self, item: dict[str, Any], time_ms: int) -> list[Entry]:
        return [Entry(Kind.CONTEXT, lines_of(item.get("fragments")), META, time_ms)]

    def _tool_turn(self, item: dict[str, Any], time_ms: int) -> list[Entry]:
        """A tool call as the screen shows it: the call and its output are response items too."""
        failed = item.get("status") == "failed"
        return [self.call_end(text_of(item.get("id")), failed=failed, time_ms=time_ms)]

    def _review_turn(self, item: dict[str, Any], time_ms: int) -> list[Entry]:
        output = dict_of(item.get("review_output"))
        return [Entry(Kind.EVENT, text_of(output.get("overall_explanation")), 0, time_ms)]


def is_context(text: str) -> bool:
    """Whether text in the user's place was put there by the client."""
    return text[:1] in "<#A \n\t\r" and text.lstrip().startswith(_INJECTED)


def exit_failed(text: str) -> bool:
    """Whether a tool output tells of an exit status other than 0 (three eras of saying so)."""
    if text.startswith("Exit code: "):
        return not text.startswith(("Exit code: 0\n", "Exit code: 0\r")) and text != "Exit code: 0"
    if text.startswith("Chunk ID: "):
        head = text[:400].partition("\nOutput:")[0]
        code = head.partition("\nProcess exited with code ")[2].partition("\n")[0]
        return code not in ("", "0")
    if text.startswith('{"output":'):
        tail = text[-120:].rpartition('"exit_code":')[2]
        return tail[:1] not in ("0", "") and '"exit_code":' in text[-120:]
    return False


def _key(text: str) -> int:
    return len(text) << 32 | zlib.crc32(text.encode("utf-8", "surrogatepass"))


def _inner_text(text: str) -> str:
    """A plan is an item of its own, and the same text in tags in the message after it."""
    if text.startswith("<proposed_plan>"):
        return text.removeprefix("<proposed_plan>").strip().removesuffix("</proposed_plan>").strip()
    return text.strip()


def _tool(payload: dict[str, Any]) -> str:
    """A tool's name; those of a namespace (mcp__server) as other agents write them."""
    name, namespace = text_of(payload.get("name")), text_of(payload.get("namespace"))
    return f"{namespace.rstrip('_')}__{name.lstrip('_')}" if namespace else name


def _block_text(block: Any) -> str | None:
    if type(block) is str:
        return block
    text = dict_of(block).get("text")
    return text if type(text) is str else None


def _is_image(block: Any) -> bool:
    return dict_of(block).get("type") in ("input_image", "image", "local_image")


_Read = Callable[[Reader, dict[str, Any], int], list[Entry]]

_ITEMS: Final[dict[str, _Read]] = {
    "message": Reader._message,
    "reasoning": Reader._reasoning,
    "function_call": Reader._function_call,
    "function_call_output": Reader._output,
    "custom_tool_call": Reader._custom_tool_call,
    "custom_tool_call_output": Reader._output,
    "local_shell_call": Reader._local_shell_call,
    "local_shell_call_output": Reader._output,
    "tool_search_call": Reader._tool_search_call,
    "tool_search_output": Reader._tool_search_output,
    "web_search_call": Reader._web_search_call,
    "image_generation_call": Reader._image_generation_call,
    "agent_message": Reader._agent_message,
    "additional_tools": Reader._bookkeeping,
    "compaction": Reader._bookkeeping,
    "compaction_summary": Reader._bookkeeping,
    "compaction_trigger": Reader._bookkeeping,
    "context_compaction": Reader._bookkeeping,
    "ghost_snapshot": Reader._bookkeeping,
    "other": Reader._bookkeeping,
}

_TURN_ITEMS: Final[dict[str, _Read]] = {
    "UserMessage": Reader._user_turn,
    "AgentMessage": Reader._agent_turn,
    "Plan": Reader._plan_turn,
    "Reasoning": Reader._reasoning_turn,
    "HookPrompt": Reader._hook_turn,
    "CollabAgentToolCall": Reader._tool_turn,
    "CommandExecution": Reader._tool_turn,
    "DynamicToolCall": Reader._tool_turn,
    "FileChange": Reader._tool_turn,
    "ImageGeneration": Reader._tool_turn,
    "ImageView": Reader._tool_turn,
    "McpToolCall": Reader._tool_turn,
    "WebSearch": Reader._tool_turn,
    "ContextCompaction": Reader._bookkeeping,
    "EnteredReviewMode": Reader._bookkeeping,
    "ExitedReviewMode": Reader._review_turn,
    "Sleep": Reader._bookkeeping,
    "SubAgentActivity": Reader._bookkeeping,
}
