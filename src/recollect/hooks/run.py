"""One event of an agent: capture what is new, tell a new conversation what there is to know.

At most one JSON object goes to stdout; nothing ever goes to stderr; a second is the end,
whatever is under way. What goes wrong is kept for `recollect status`.
"""

from __future__ import annotations

import os
import sys

from recollect.hooks import state as states
from recollect.light import locks
from recollect.light.agents import hooks_of
from recollect.light.capture import Capture, Refused, main_of
from recollect.light.missed import is_hooked, is_missed, note_first, note_missed
from recollect.light.own_files import open_own
from recollect.light.processes import spawn_python
from recollect.light.stdlib import dumps, loads, suppress
from recollect.values.errors import RecollectError

TYPE_CHECKING = False  # as `typing` has it; importing that costs a hook milliseconds
if TYPE_CHECKING:
    from typing import Any

HARD_STOP_SECONDS = 0.9
CAPTURE_SECONDS = 0.6
QUIET_SECONDS = 0.5  # without a byte on stdin: nobody is going to write there
PAYLOAD_BYTES_MAX = 32 << 20
EVENTS = ("SessionStart", "UserPromptSubmit", "Stop", "SubagentStop", "PreCompact", "SessionEnd")

# A conversation that goes on has been told already.
_TOLD_AT = ("startup", "clear", "compact")


def run(argv: list[str]) -> None:
    """Handle one event: AGENT STORE STATE [HOST] [what the agent told as a word]."""
    if os.environ.get("RECOLLECT_HOOKS", "").lower() in ("off", "0", "false"):
        return
    agent, store, state = argv[:3]
    _end_in_time(state)
    host = argv[3] if len(argv) > 3 and not argv[3].startswith("{") else _host()
    payload = _payload(agent, argv)
    event = payload.get("hook_event_name")
    if event not in EVENTS:
        states.note_trouble(state, f"{agent} told nothing that could be read")
        payload, event = {}, ""
    _tell(agent, event, _news(agent, state, payload, event))
    if not is_hooked(state):
        note_first(state)
    in_time = True
    with _Troubles(state, event) as troubles:
        in_time = _capture(agent, store, state, host, payload, event)
    if troubles.missed or not event:
        note_missed(state)
        return
    if event in ("SessionStart", "SessionEnd") or not in_time or is_missed(state):
        _settle(store, state, host)


def main() -> None:
    """`recollect-hook AGENT`, for older copies of the plugin: finds the store by the settings."""
    try:
        from recollect.config import load_config
        from recollect.hooks.command import hook_words

        agent, *rest = sys.argv[1:]
        run([*hook_words(agent, load_config())[4:], *rest])
    except BaseException:
        pass
    os._exit(0)


def _end_in_time(state: str) -> None:
    """Leave after a second, even from inside a read that never returns."""

    def leave(*_: object) -> None:
        note_missed(state)
        states.note_trouble(state, f"stopped after {HARD_STOP_SECONDS} s")
        os._exit(0)

    # Without the enumerations that `signal` makes of its numbers.
    import _signal as signal  # type: ignore[import-not-found]

    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, leave)
        signal.setitimer(signal.ITIMER_REAL, HARD_STOP_SECONDS)


# -- what was said ---------------------------------------------------------------------------


def _payload(agent: str, argv: list[str]) -> dict[str, Any]:
    hooks, home = hooks_of(agent), os.path.expanduser("~")
    if len(argv) > 3 and argv[-1].startswith("{") and hooks is not None:
        return hooks.payload(argv[-1], home, os.environ) or {}
    said, heard = read_object(0), getattr(hooks, "heard", None)
    return heard(said, home, os.environ) if heard is not None else said


def read_object(fd: int) -> dict[str, Any]:
    """The object on stdin. Not everybody closes it, so it is read until it is whole."""
    import select

    data = bytearray()
    while len(data) < PAYLOAD_BYTES_MAX and select.select([fd], [], [], QUIET_SECONDS)[0]:
        piece = os.read(fd, 1 << 20)
        data += piece
        if not piece or data[-64:].rstrip()[-1:] == b"}":
            try:
                value = loads(data)
            except (ValueError, RecursionError):
                if not piece:
                    break
            else:
                return value if isinstance(value, dict) else {}
    return {}


# -- what is done ----------------------------------------------------------------------------


def _tell(agent: str, event: str, text: str) -> None:
    if text:
        answer = getattr(hooks_of(agent), "answer", _answer)
        said = answer(event, text)
        with suppress(OSError):  # nobody listens; what was said is captured all the same
            os.write(1, dumps(said).encode("ascii"))


def _answer(event: str, text: str) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}


def _news(agent: str, state: str, payload: dict[str, Any], event: str) -> str:
    """The catalog, at a conversation's start.

    One that begins while another that has just ended is put in order would not be told of that: where its
    client hears hooks with prompts too, it is told with its next one, the first in most cases. Nobody waits.
    """
    session = payload.get("session_id")
    if not isinstance(session, str):
        session = ""
    if event == "SessionEnd":
        states.note_told(state, session)
    source = payload.get("source", "startup")
    if event == "SessionStart" and source in _TOLD_AT:
        # After a compaction it may be long until somebody says something.
        may_wait = session and source != "compact" and getattr(hooks_of(agent), "TOLD_WITH_PROMPTS", False)
        if may_wait and _is_settling(state):
            states.note_untold(state, session)
            if states.is_untold(state, session):
                return ""
    elif event != "UserPromptSubmit" or not states.is_untold(state, session):
        return ""
    text = _catalog(state, payload)
    if text:
        states.note_told(state, session)
    return text


def _is_settling(state: str) -> bool:
    """Whether the process that makes catalogs is at work."""
    try:
        fd = open_own(os.path.join(state, "settle"), os.O_RDWR)
    except (OSError, RecollectError):
        return False
    try:
        return not locks.acquire(fd, locks.WRITER, shared=True)
    finally:
        os.close(fd)


def _catalog(state: str, payload: dict[str, Any]) -> str:
    from recollect.light.project import project_of

    cwd = payload.get("cwd")
    return states.read_catalog(state, project_of(cwd)) if isinstance(cwd, str) and cwd else ""


def _capture(agent: str, store: str, state: str, host: str, payload: dict[str, Any], event: str) -> bool:
    """Take what is new in the session that was told of, then in all others; False when time was short."""
    home = os.path.expanduser("~")
    capture = Capture(store, state, host, home, os.environ, seconds=CAPTURE_SECONDS)
    try:
        try:
            for key in ("transcript_path", "agent_transcript_path"):
                path = payload.get(key)
                if isinstance(path, str) and path:
                    _follow(capture, agent, path, ended=event == "SessionEnd" and key == "transcript_path")
        finally:
            capture.rest()
    finally:
        capture.close()
    if not capture.followed:
        raise OSError("nothing can be written to the state folder")
    return capture.in_time


def _follow(capture: Capture, agent: str, path: str, *, ended: bool) -> None:
    try:
        capture.follow(agent, path, ended=ended)
    except Refused:
        # What belongs to a session, such as a subagent's transcript, is taken with the session.
        if main_of(agent, path) in ("", path):
            raise


def _host() -> str:
    return os.uname().nodename if hasattr(os, "uname") else os.environ.get("COMPUTERNAME", "localhost")


class _Troubles:
    """Keeps what goes wrong inside, and lets nothing out. `missed`: so that something was not taken."""

    def __init__(self, state: str, event: str) -> None:
        self._state, self._event = state, event
        self.missed = False

    def __enter__(self) -> _Troubles:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if isinstance(error, Refused):
            what = f"not a transcript of this agent: {str(error)[:500]!r}"
            states.note_trouble(self._state, f"{self._event}: {what}")
        elif error is not None:
            self.missed = True
            name = "" if isinstance(error, RecollectError) else f"{type(error).__name__}: "
            states.note_trouble(self._state, f"{self._event}: {name}{str(error)[:500]}")
        return True


def _settle(store: str, state: str, host: str) -> None:
    """Let a process of its own fold the journal and make catalogs: one at a time, gone when it is done.

    It is given the lock together with the open file, so that no second one is ever started.
    """
    if not hasattr(os, "posix_spawn") or not (os.path.exists(store + "-wal") or is_missed(state)):
        return
    fd = -1
    try:
        fd = open_own(os.path.join(state, "settle"), os.O_RDWR | os.O_CREAT)
        if locks.acquire(fd, locks.WRITER):
            os.set_inheritable(fd, True)
            spawn_python("recollect.hooks.settle", store, state, host, extra={"RECOLLECT_HOOKS": "off"})
    except (OSError, RecollectError) as error:
        states.note_trouble(state, f"could not settle: {error}")
    finally:
        if fd >= 0:
            os.close(fd)
