"""One line for an agent's status line: what today costs, and what the session that it tells of does.

Agents ask for it after every answer and wait for it, so nothing is counted here: today's figures lie ready in
the state folder, and when they are a minute old a process that nobody waits for counts again. Those of the
session are the agent's own.
"""

from __future__ import annotations

import os
import sys
import time

from recollect.hooks.run import read_object
from recollect.light.own_files import read_own
from recollect.light.processes import spawn_python
from recollect.light.stdlib import loads, suppress
from recollect.values.errors import FileRefused

TYPE_CHECKING = False  # as `typing` has it; importing that costs milliseconds
if TYPE_CHECKING:
    from typing import Any

    from recollect.config import Config

FRESH_SECONDS = 60
_DAY_SECONDS = 86_400


def print_line(config: Config, stdin: int) -> int:
    """Say it, and have today counted again if that is due; an agent's line is never broken by us."""
    given = {} if os.isatty(stdin) else read_object(stdin)
    state = str(config.state)
    known = read_today(state)
    if time.time() - (_number(known.get("made")) or 0) > FRESH_SECONDS and _is_first(state):
        with suppress(OSError):
            spawn_python("recollect.hooks.today", config.url, str(config.cache), extra={})
    today = _amounts(known) if known.get("day") == int(time.time()) // _DAY_SECONDS else "not counted yet"
    sys.stdout.write(" · ".join(filter(None, (f"today {today}", _session(given)))) + "\n")
    return 0


def today_path(state: str) -> str:
    """The file that holds what today has cost so far."""
    return os.path.join(state, "today")


def read_today(state: str) -> dict[str, Any]:
    """What today has cost, as far as it was counted: `day` since 1970, `made` in seconds, cost and tokens."""
    try:
        known = loads(read_own(today_path(state), 1 << 12))
    except (OSError, ValueError, FileRefused):
        return {}
    return _object(known)


def _is_first(state: str) -> bool:
    """Whether nobody else has just asked for the count."""
    path = today_path(state) + "-asked"
    try:
        os.makedirs(state, 0o700, exist_ok=True)
        if time.time() - os.stat(path).st_mtime < FRESH_SECONDS:
            return False
        os.utime(path)
    except FileNotFoundError:
        with suppress(OSError):
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_NOFOLLOW, 0o600))
    except OSError:
        return False
    return True


def _session(given: dict[str, Any]) -> str:
    """What the agent says of its session, as far as it says anything."""
    spent = _number(_object(given.get("cost")).get("total_cost_usd"))
    context = _object(given.get("context_window"))
    tokens = sum(_number(context.get(f"total_{kind}_tokens")) or 0 for kind in ("input", "output"))
    if spent is None and not tokens:
        return ""
    return "session " + _amounts({"microdollars": spent and spent * 1_000_000, "tokens": tokens})


def _amounts(known: dict[str, Any]) -> str:
    """Money and tokens, as far as they are known."""
    from recollect.values.text import dollars, short

    money, tokens = _number(known.get("microdollars")), _number(known.get("tokens"))
    cost = "" if money is None else dollars(round(money)) + ("+" if known.get("unpriced") else "")
    return ", ".join(filter(None, (cost, f"{short(round(tokens))} tokens" if tokens else ""))) or "nothing"


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _number(value: Any) -> float | None:
    """A count or an amount that somebody else wrote down."""
    return value if type(value) in (int, float) and 0 <= value < 1e15 else None
