"""A conversation as a briefing for people: masked once, then written as Markdown, HTML or JSON.

`brief` is the way to one, and it masks secrets unless told not to: the forms see nothing else. All texts
go through the redactor together, so that a secret known by its name in one place is masked in every
other. Of a thought only its text is told, never its signature, and pictures are only in the HTML. Times
are UTC, so that a briefing is the same bytes wherever it is made.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar, cast

from recollect.export.pages.markdown import fenced, plain, quoted
from recollect.export.pages.turns import Kind, Part, Turn, turns
from recollect.redact import redact, redact_object
from recollect.values.text import many, one_line, printable, size

if TYPE_CHECKING:
    from recollect.values.conversation import Conversation
    from recollect.values.stored import Session

SCHEMA = "recollect.briefing/1"

TITLE_CELLS = 100  # of a title on a page; cut only once it is masked, as half a secret is not known as one


@dataclass(frozen=True, slots=True)
class Origin:
    """A session that a briefing was made of."""

    session: str
    agent: str = ""
    project: str = ""
    title: str = ""
    time_ms: int = 0


@dataclass(frozen=True, slots=True)
class Briefing:
    """What is told, in order. `masked`: the secrets by kind; None where nobody looked for any."""

    title: str
    turns: tuple[Turn, ...]
    description: str = ""
    project: str = ""
    folder: str = ""
    branch: str = ""
    sessions: tuple[Origin, ...] = ()
    tokens: int = 0
    notes: tuple[str, ...] = ()
    left_out: Counter[str] = field(default_factory=Counter)
    masked: Counter[str] | None = None

    @property
    def span_ms(self) -> tuple[int, int]:
        """When its first and its last turn were; zeros where no time is known."""
        times = [turn.time_ms for turn in self.turns if turn.time_ms > 0]
        return (min(times), max(times)) if times else (0, 0)


def brief(
    conversation: Conversation,
    *,
    title: str = "",
    description: str = "",
    sessions: Sequence[Origin] = (),
    tokens: int = 0,
    notes: Sequence[str] = (),
    redacted: bool = True,
) -> Briefing:
    """A conversation to be told. `notes`: sentences that limit it, such as how much was searched."""
    left_out = Counter(conversation.left_out)
    told = tuple(turns(conversation.messages, left_out))
    briefing = Briefing(
        title or conversation.title or one_line(description) or "Briefing",
        told,
        description,
        conversation.project,
        conversation.cwd,
        conversation.branch,
        tuple(sessions) or tuple(map(Origin, conversation.sessions)),
        tokens,
        tuple(notes),
        left_out,
    )
    return _masked(briefing) if redacted else briefing


def origin(session: Session) -> Origin:
    """A stored session as what a briefing is made of."""
    facts = session.facts
    return Origin(facts.id, facts.agent, facts.project, facts.headline, facts.started_ms)


# -- masking --------------------------------------------------------------------------------------

_Value = TypeVar("_Value")
_STRINGS = re.compile(rb"[\x20-\x7e]{16,}")  # as short as a secret can be that is known without its name


def _masked(briefing: Briefing) -> Briefing:
    texts: list[Any] = []
    _walked(briefing, texts.append)
    clean, found = redact_object(texts)
    remaining = iter(clean)
    masked = _walked(briefing, lambda _: next(remaining))
    shown = tuple(
        replace(turn, parts=tuple(_without_told(part, found) for part in turn.parts)) for turn in masked.turns
    )
    return replace(masked, turns=shown, masked=Counter(found))


def _walked(value: _Value, each: Callable[[Any], Any]) -> _Value:
    """The value with every text in it, and every input of a call, replaced by what `each` says.

    It goes by the fields that there are, so that no field can be forgotten.
    """
    if isinstance(value, str | dict | list) and not isinstance(value, Counter):
        return cast(_Value, each(value))
    if isinstance(value, tuple):
        return cast(_Value, tuple(_walked(one, each) for one in value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        return replace(value, **{one.name: _walked(getattr(value, one.name), each) for one in fields})
    return value


def _without_told(part: Part, found: Counter[str]) -> Part:
    """A part without its picture if words in that tell a secret; what is drawn in it nobody reads."""
    told = redact("\n".join(run.decode("ascii") for run in _STRINGS.findall(part.data))).found
    found.update(told)
    return replace(part, data=b"") if told else part


# -- words that the forms share -------------------------------------------------------------------


def utc(time_ms: int) -> str:
    """A moment as every form writes it; "" for one that is not known, or that no calendar reaches."""
    try:
        when = datetime.fromtimestamp(time_ms / 1000, UTC) if time_ms > 0 else None
    except (OverflowError, ValueError, OSError):
        when = None
    return when.strftime("%Y-%m-%d %H:%M:%S") if when else ""


def facts(briefing: Briefing) -> list[tuple[str, str]]:
    """What is told of the whole, by name; what is not known is not there."""
    first, last = map(utc, briefing.span_ms)
    told = (
        ("Project", briefing.project),
        ("Folder", briefing.folder),
        ("Branch", briefing.branch),
        ("From", f"{first} UTC" if first else ""),
        ("To", f"{last} UTC" if last else ""),
        ("Size", f"about {many(briefing.tokens, 'token')}" if briefing.tokens else ""),
        *(("Note", note) for note in briefing.notes),
    )
    return [(name, value) for name, value in told if value]


def heading(title: str) -> str:
    """A title as a page shows it."""
    return one_line(title, TITLE_CELLS)


def ending(briefing: Briefing) -> list[tuple[str, str]]:
    """What is not in it: left out, and masked."""
    left_out = [("Left out", _listed(briefing.left_out))] if +briefing.left_out else []
    if briefing.masked is None:
        return [*left_out, ("Secrets", "not looked for; every text is as it was logged")]
    return [*left_out, ("Secrets masked", _listed(briefing.masked) or "none found")]


def arguments(given: Any) -> str:
    """The input of a call as people read it: a line for each argument, longer texts below their name."""
    if type(given) is not dict:
        return given if type(given) is str else _json(given)
    return "\n".join(_argument(name, value) for name, value in given.items())


def label(part: Part) -> str:
    """What a part is, where that must be said: `Call: Bash`, `Result: Bash (error)`."""
    name = "Thought" if part.kind == "thinking" else part.kind.capitalize()
    return name + (f": {part.tool}" if part.tool else "") + (" (error)" if part.failed else "")


def placeholder(part: Part) -> str:
    """A picture or a file that is not shown, in words."""
    told = (part.kind, part.media_type, size(part.size_bytes) if part.size_bytes else "")
    return f"[{', '.join(word for word in told if word)}]"


def body(part: Part) -> str:
    """The text of a part, of a call its arguments."""
    return arguments(part.input) if part.kind == "call" else part.text


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{kind} ({count:,})" for kind, count in sorted((+counts).items()))


def _argument(name: str, value: Any) -> str:
    text = value if type(value) is str else _json(value)
    if "\n" not in text:
        return f"{name}: {text}"
    return f"{name}:\n" + "\n".join(f"  {line}" for line in text.split("\n"))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


# -- Markdown -------------------------------------------------------------------------------------


def markdown(briefing: Briefing) -> str:
    """The briefing as a page of Markdown, without pictures."""
    blocks = [f"# {plain(heading(briefing.title))}\n"]
    if briefing.description.strip():
        blocks.append(quoted(briefing.description))
    if told := facts(briefing):
        blocks.append(_list(told))
    if briefing.sessions:
        numbered = (f"{n}. {plain(_line(each))}\n" for n, each in enumerate(briefing.sessions, 1))
        blocks += ["Sessions:\n", "".join(numbered)]
    blocks += map(_section, briefing.turns)
    blocks += ["---\n", _list(ending(briefing))]
    return "\n".join(blocks)


def _section(turn: Turn) -> str:
    words = (turn.speaker.capitalize(), plain(turn.model), utc(turn.time_ms))
    return "\n".join([f"## {' '.join(filter(None, words))}\n", *map(_part, turn.parts)])


def _part(part: Part) -> str:
    if part.kind == "text":
        return quoted(part.text)
    if part.kind in ("image", "document") and not part.text:
        return f"{plain(placeholder(part))}\n"
    text = printable(body(part)).strip("\n")
    return f"**{plain(label(part))}**\n\n{fenced(text)}"


def _list(told: Sequence[tuple[str, str]]) -> str:
    return "".join(f"- {name}: {plain(value)}\n" for name, value in told)


def _line(origin: Origin) -> str:
    told = (origin.session, origin.agent, origin.project, utc(origin.time_ms))
    return ", ".join(filter(None, told)) + (f": {heading(origin.title)}" if origin.title else "")


# -- JSON -----------------------------------------------------------------------------------------

_FIELDS: dict[Kind, tuple[str, ...]] = {
    "text": ("kind", "entry", "text"),
    "thinking": ("kind", "entry", "text"),
    "call": ("kind", "entry", "tool", "call", "input"),
    "result": ("kind", "entry", "tool", "call", "failed", "text"),
    "image": ("kind", "entry", "media_type", "size_bytes"),
    "document": ("kind", "entry", "media_type", "size_bytes", "text"),
}


def json_object(briefing: Briefing) -> dict[str, Any]:
    """The briefing as JSON, without pictures; docs/briefings.md lists the fields."""
    first, last = briefing.span_ms
    return {
        "schema": SCHEMA,
        "title": briefing.title,
        "description": briefing.description,
        "project": briefing.project,
        "folder": briefing.folder,
        "branch": briefing.branch,
        "from_ms": first or None,
        "to_ms": last or None,
        "tokens": briefing.tokens or None,
        "notes": list(briefing.notes),
        "sessions": [
            dataclasses.asdict(each) | {"time_ms": each.time_ms or None} for each in briefing.sessions
        ],
        "turns": list(map(_turn_object, briefing.turns)),
        "left_out": dict(sorted((+briefing.left_out).items())),
        "masked": None if briefing.masked is None else dict(sorted((+briefing.masked).items())),
    }


def _turn_object(turn: Turn) -> dict[str, Any]:
    return {
        "speaker": turn.speaker,
        "agent": turn.agent,
        "session": turn.session,
        "model": turn.model,
        "time_ms": turn.time_ms or None,
        "parts": [{name: getattr(part, name) for name in _FIELDS[part.kind]} for part in turn.parts],
    }
