"""The words that people choose from, each list once: parsers offer them, the code below takes them."""

from __future__ import annotations

from recollect.values.digests import PATTERNS, Outcome
from recollect.values.records import Kind
from recollect.values.text import hyphenated

MODES = ("hybrid", "text", "vector")  # of a search
FUSIONS = ("minmax", "rrf")  # of what was found by words and by meaning
STRATEGIES = ("exact", "fastscan", "ivfpq", "gpu")  # of comparing vectors; AUTO chooses one
AUTO = "auto"
KINDS = tuple(kind.name.lower() for kind in Kind)  # of an entry
GROUPINGS = ("day", "model", "project", "label", "session", "agent")  # of usage
PAGES = ("markdown", "html", "json")  # that a conversation can be written as
FORMS = ("raw", "jsonl", *PAGES)  # that a session can be exported in

# Fields of the query language: what a session or an entry is, what it has, when it was.
TEXT_FIELDS = (
    "agent",
    "branch",
    "channel",
    "dir",
    "entity",
    "file",
    "host",
    "kind",
    "label",
    "model",
    "project",
    "role",
    "session",
    "tag",
    "thread",
    "tool",
)
FLAG_FIELDS = {"is": ("error", "imported", "meta", "sidechain", "spilled"), "has": ("image",)}
# What only a session's digest tells.
DIGEST_FIELDS = {"outcome": tuple(map(str, Outcome)), "pattern": tuple(map(hyphenated, PATTERNS))}
TIME_FIELDS = ("after", "before", "last", "on", "time")
QUERY_FIELDS = (*TEXT_FIELDS, *FLAG_FIELDS, *DIGEST_FIELDS, *TIME_FIELDS)
