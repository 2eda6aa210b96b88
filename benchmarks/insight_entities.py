"""What is mentioned, against hand-labelled entries: precision and recall, strict, by type.

Rules were made while looking at one half of the labels, by a hash of their ids. Beside ours stands what one
pattern a type finds: the types that claw-memory names, whose rules are not known, and errors by the words
that session_memory goes by.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks.insight_lab import HELD, TUNED, Lab, drawn
from benchmarks.report import Row
from recollect.agents.registry import agent_of
from recollect.insight.entities.extract import mentions_of
from recollect.intake.parsing import parse_lines
from recollect.values.records import Entry, Framing, Kind, SourceFile

PRECISION_LEAST, RECALL_LEAST, TYPE_RECALL_LEAST = 0.90, 0.75, 0.5
TYPE_LABELS = 10  # of types with more labels than this each has a mark of its own

_KINDS = {"prompt": Kind.PROMPT, "answer": Kind.ANSWER, "call": Kind.CALL, "result": Kind.RESULT}

Counts = dict[str, list[int]]  # by type: found, wrong, missed


def entities(lab: Lab) -> Iterator[Row]:
    """Precision and recall of all, then recall by type."""
    scorer, every = lab.scorer("score"), lab.rows("entities", halves=lambda row: _half_of(row["id"]))
    entries = list(labelled_entries(every, lab.corpus, scorer))
    ours, plain = _counted(entries, predicted, lab, scorer), _counted(entries, plainly_predicted, lab, scorer)
    for place, what, least in ((1, "precision", PRECISION_LEAST), (2, "recall", RECALL_LEAST)):

        def measure(rows: Sequence[Any], place: int = place) -> float:
            return _share(ours, rows, place)

        peers = [_share(plain, entries, place)]
        yield drawn(f"entities, {what}", entries, measure, least, peers)
    for kind in scorer.TYPES:
        found, wrong, missed = _sum(ours, entries, kind)
        if not found + missed:
            continue
        recall, is_marked = found / (found + missed), found + missed > TYPE_LABELS
        yield Row(
            what=f"  {kind}",
            ours=f"{recall:.3f}  {found} found, {wrong} wrong, {missed} missed",
            mark=f">= {TYPE_RECALL_LEAST:.2f}" if is_marked else "",
            met=recall >= TYPE_RECALL_LEAST if is_marked else None,
        )


def _counted(
    entries: Sequence[Labelled],
    predict: Callable[[Labelled], list[dict[str, str]]],
    lab: Lab,
    scorer: ModuleType,
) -> dict[str, Counts]:
    """The counts by type of each labelled entry."""
    told: dict[str, Counts] = {}
    for each in entries:
        said = {key: each.label[key] for key in ("file", "line", "block")} | {"entities": predict(each)}
        counts, _ = scorer.score_entities([each.label], [said], str(lab.corpus))
        told[each.label["id"]] = {kind: list(counts[kind]) for kind in scorer.TYPES}
    return told


def _sum(counts: dict[str, Counts], entries: Sequence[Labelled], kind: str = "") -> list[int]:
    of = [counts[each.label["id"]] for each in entries]
    chosen = [each[kind] for each in of] if kind else [part for each in of for part in each.values()]
    return [sum(column) for column in zip(*chosen, strict=True)]


def _share(counts: dict[str, Counts], entries: Sequence[Labelled], place: int) -> float:
    """Of what was found, with what is wrong (1) or with what was missed (2) beside it."""
    total = _sum(counts, entries)
    return total[0] / max(total[0] + total[place], 1)


def _half_of(name: str) -> str:
    return HELD if hashlib.sha256(name.encode()).digest()[0] % 2 else TUNED


@dataclass(frozen=True)
class Labelled:
    """An entry that somebody labelled, as the product reads it."""

    label: dict[str, Any]
    entry: Entry
    call: Entry | None
    root: str


def labelled_entries(
    labels: Iterable[dict[str, Any]], corpus: Path, scorer: ModuleType
) -> Iterator[Labelled]:
    """The entries of labels, each with the call it answers and its session's folder."""
    by_file: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for label in labels:
        by_file[label["file"]].append(label)
    for name, wanted in by_file.items():
        lines = (corpus / name).read_bytes().split(b"\n")
        agent = agent_of(name.partition("/")[0])
        source = SourceFile(agent.name, str(corpus / name))
        parser = agent.parser(source, {})
        calls: dict[str, Entry] = {}
        for number, line in enumerate(lines[: max(each["line"] for each in wanted)], 1):
            for parsed in parse_lines(parser, Framing.LINES, line, 0):
                for entry in parsed.parsed.entries if parsed.parsed else ():
                    if entry.kind == Kind.CALL and entry.call:
                        calls[entry.call] = entry
            for label in wanted:
                if label["line"] == number:
                    entry = _entry(line, label, agent.parser(source, {}), name.partition("/")[0], scorer)
                    call = calls.get(entry.call) if entry.kind == Kind.RESULT else None
                    yield Labelled(label, entry, call, parser.facts.cwd)


def _entry(line: bytes, label: dict[str, Any], parser: Any, agent: str, scorer: ModuleType) -> Entry:
    """The entry that a labelled block is: the same one among those of its kind."""
    kind = _KINDS[label["kind"]]
    told = [block for of, block, _ in scorer.blocks(agent, json.loads(line)) if of == label["kind"]]
    parsed = parse_lines(parser, Framing.LINES, line, 0)[0].parsed
    assert parsed is not None
    same = {kind} if kind != Kind.PROMPT else {Kind.PROMPT, Kind.CONTEXT, Kind.EVENT, Kind.SUMMARY}
    entries = [entry for entry in parsed.entries if entry.kind in same]
    return replace(entries[told.index(label["block"])], kind=kind)


def predicted(found: Labelled) -> list[dict[str, str]]:
    """What the product mentions of an entry, as the scorer reads it."""
    return [
        {"type": each.type, "surface": each.written, "canonical": each.name}
        for each in mentions_of(found.entry, found.call, found.root)
    ]


# -- plain rules ----------------------------------------------------------------------------------------

_PLAIN = {
    "file": re.compile(r"(?:[\w.@~-]*/)*[\w.-]+\.(?:py|[jt]sx?|rs|go|md|json|ya?ml|toml|sh|css|html|sql)\b"),
    "function": re.compile(r"\b(?:def|fn|func|function) (\w+)|\b(\w+)\(\)"),
    "api_endpoint": re.compile(r"(?:GET|POST|PUT|PATCH|DELETE) (/\S+)|(/api/[\w/:{}-]+)"),
    "error": re.compile(r"^.*(?:[Ee]rror|[Ff]ailed|[Ee]xception|Traceback|fatal|non-zero).*$", re.MULTILINE),
    "person": re.compile(r"[\w.+-]+@[\w-]+\.[\w.]+"),
    "library": re.compile(r"^(?:import|from) (\w+)", re.MULTILINE),
}  # fmt: skip


def plainly_predicted(found: Labelled) -> list[dict[str, str]]:
    """What one pattern a type finds."""
    text = found.entry.text
    return [
        {"type": kind, "surface": "".join(hit) if isinstance(hit, tuple) else hit}
        for kind, pattern in _PLAIN.items()
        for hit in pattern.findall(text)
    ]
