"""What hangs together with what: entities, relations between them, and how both may be said.

An entity is known by its name and its aliases, in any case. What was *saved* is what code or a person said;
what is *derived* is what the entries of the logs mention together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from recollect.values.errors import UsageError
from recollect.values.notes import NAME_CHARS_MAX, TAG_CHARS_MAX, checked_name

if TYPE_CHECKING:
    import datetime

    Time = float | datetime.datetime | None

SESSION: Final = "graph"  # where all of it is kept
SAVED: Final = "saved"
DERIVED: Final = "derived"
ORIGINS: Final = (SAVED, DERIVED)
BESIDE: Final = "mentioned with"  # the one relation that is derived
OUT, IN, BOTH = "out", "in", "both"
DIRECTIONS: Final = (BOTH, OUT, IN)
WEIGHT_MAX: Final = 1e9
ALIASES_MAX: Final = 64
EVIDENCE_MAX: Final = 64
DEPTH_MAX: Final = 16


@dataclass(frozen=True, slots=True)
class NewEntity:
    """An entity as it is handed over."""

    name: str
    type: str = ""
    aliases: Sequence[str] = ()
    metadata: Mapping[str, Any] | None = None
    author: str = ""


@dataclass(frozen=True, slots=True)
class NewRelation:
    """A relation as it is handed over: it holds from `time`, or from when it is said, and up to `until`.

    `evidence`: ids of entries or notes that show it.
    """

    source: str
    relation: str
    target: str
    weight: float = 1.0
    time: Time = None
    until: Time = None
    evidence: Sequence[str] = ()
    metadata: Mapping[str, Any] | None = None
    author: str = ""


@dataclass(frozen=True, slots=True)
class GraphEntity:
    """An entity as it is now. `mentions`: how many entries of logs speak of it.

    `origin` is saved for one that anybody said something of, though logs may mention it too. Without an `id`
    nobody described it: it is what relations or logs name.
    """

    name: str
    type: str = ""
    aliases: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    origin: str = SAVED
    mentions: int = 0
    id: str = ""
    author: str = ""
    time_ms: int = 0


@dataclass(frozen=True, slots=True)
class GraphRelation:
    """That one entity is related to another. Of a derived one the two could change places.

    It holds from `from_ms` on, and before `until_ms` where that is not 0. `times`: of a derived one, how many
    entries mention both, of which `evidence` has the latest. `time_ms` is when it was last said.
    """

    source: str
    relation: str
    target: str
    weight: float = 1.0
    from_ms: int = 0
    until_ms: int = 0
    evidence: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    origin: str = SAVED
    times: int = 0
    id: str = ""
    author: str = ""
    time_ms: int = 0

    def holds_at(self, time_ms: int) -> bool:
        return self.from_ms <= time_ms and (not self.until_ms or time_ms < self.until_ms)


@dataclass(frozen=True, slots=True)
class GraphNeighbour:
    """An entity that is so many relations away, and the last of these.

    `direction` is out where the relation leads to it, in where it leads from it, both for a derived one.
    """

    entity: GraphEntity
    relation: GraphRelation
    direction: str
    depth: int = 1


@dataclass(frozen=True, slots=True)
class GraphPath:
    """The entities from one to another, and the relation between each and the next; nothing for no path."""

    entities: tuple[GraphEntity, ...] = ()
    relations: tuple[GraphRelation, ...] = ()


@dataclass(frozen=True, slots=True)
class Subgraph:
    """Some entities, and the relations between them."""

    entities: tuple[GraphEntity, ...] = ()
    relations: tuple[GraphRelation, ...] = ()


@dataclass(frozen=True, slots=True)
class Activated:
    """An entity that activation spread to, and how much arrived."""

    entity: GraphEntity
    activation: float


def folded(name: str) -> str:
    """What names are compared by: two that differ in case, or in blanks, are one."""
    return " ".join(name.split()).casefold()


def checked_entity_name(name: str, what: str = "an entity") -> str:
    """A name as it is kept; UsageError for none, and for what nobody could type, show or find again."""
    made = " ".join(checked_name(name, f"the name of {what}").split())
    if not made:
        raise UsageError(f"{what} has a name")
    return made


def checked_aliases(aliases: Iterable[str], name: str) -> tuple[str, ...]:
    """Aliases, each once, without the name itself."""
    if isinstance(aliases, str):
        raise UsageError("aliases are a list of texts, not one text", hint=f"aliases=[{aliases!r}]")
    named = {folded(made): made for made in (checked_entity_name(each, "an alias") for each in aliases)}
    named.pop(folded(name), None)
    if len(named) > ALIASES_MAX:
        raise UsageError(f"an entity has at most {ALIASES_MAX} aliases")
    return tuple(named.values())


def checked_type(type_: str) -> str:
    return checked_name(type_, "the type of an entity", TAG_CHARS_MAX)


def checked_weight(weight: float) -> float:
    """How strong a relation is; UsageError for what is no such number."""
    if isinstance(weight, bool) or not isinstance(weight, int | float):
        raise UsageError(f"a weight is a number, not {type(weight).__name__}", hint="weight=0.5")
    if not is_weight(weight):
        raise UsageError(f"a weight is a number from 0 to {WEIGHT_MAX:,.0f}", hint="without one it is 1")
    return float(weight)


def is_weight(weight: float) -> bool:
    return 0 <= weight <= WEIGHT_MAX  # NaN is neither


def checked_ids(ids: Iterable[str]) -> tuple[str, ...]:
    """Ids of what shows a relation, each once."""
    if isinstance(ids, str):
        raise UsageError("evidence is a list of ids, not one text", hint=f"evidence=[{ids!r}]")
    found = tuple(dict.fromkeys(checked_name(each, "an id", NAME_CHARS_MAX) for each in ids))
    if len(found) > EVIDENCE_MAX or "" in found:
        raise UsageError(f"a relation has at most {EVIDENCE_MAX} ids as evidence, none of them empty")
    return found


def checked_direction(direction: str) -> str:
    if direction not in DIRECTIONS:
        raise UsageError(f"there is no direction {direction!r}", hint=f"one of {', '.join(DIRECTIONS)}")
    return direction


def checked_origin(origin: str) -> str:
    """Saved, derived, or "" for both."""
    if origin and origin not in ORIGINS:
        raise UsageError(f"there is no origin {origin!r}", hint=f"one of {', '.join(ORIGINS)}")
    return origin


def checked_depth(depth: int) -> int:
    if not 1 <= depth <= DEPTH_MAX:
        raise UsageError(f"a depth is from 1 to {DEPTH_MAX}", hint="1 is what is related to it itself")
    return depth
