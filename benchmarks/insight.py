"""Understanding measured: `python -m benchmarks.insight entities|speed --corpus DIR --evaldata DIR`.

The hand-labelled sets are in EVALDATA/labels, with the rules by which they were labelled and their scorer,
which is used as it is; what is predicted goes through the product's own parsers. The labels are in two halves
by a hash of their ids: rules were made while looking at the first (`tuned`), the second was `held` back.

Beside it stands what one pattern a type finds: the types that claw-memory names, whose rules are not known,
and errors by the words that session_memory goes by.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks.insight_speed import speed
from recollect.agents.registry import agent_of
from recollect.insight.entities.extract import mentions_of
from recollect.intake.ingest import parse_lines
from recollect.values.records import Entry, Framing, Kind, SourceFile

PRECISION_LEAST, RECALL_LEAST, TYPE_RECALL_LEAST = 0.90, 0.75, 0.5
TYPE_LABELS = 10  # of types with more labels than this each has a mark of its own

HALVES: dict[str, Callable[[str], bool]] = {
    "tuned": lambda name: _drawn(name)[0] % 2 == 0,
    "held": lambda name: _drawn(name)[0] % 2 == 1,
    "all": lambda name: True,
}
_KINDS = {"prompt": Kind.PROMPT, "answer": Kind.ANSWER, "call": Kind.CALL, "result": Kind.RESULT}


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


def _drawn(name: str) -> bytes:
    """What stands for chance, the same every time."""
    return hashlib.sha256(name.encode()).digest()


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


# -- the table ------------------------------------------------------------------------------------------


Counts = dict[str, list[int]]  # by type: found, wrong, missed


def score(
    entries: list[Labelled],
    predict: Callable[[Labelled], list[dict[str, str]]],
    scorer: ModuleType,
    corpus: Path,
) -> tuple[Counts, list[tuple[str, ...]]]:
    """The counts by type, of `all` too, and each slip."""
    told = [
        {**{key: each.label[key] for key in ("file", "line", "block")}, "entities": predict(each)}
        for each in entries
    ]
    counts, slips = scorer.score_entities([each.label for each in entries], told, str(corpus))
    found = {kind: counts[kind] for kind in scorer.TYPES}
    return found | {"all": [sum(column) for column in zip(*found.values(), strict=True)]}, slips


def print_table(title: str, counts: Counts, plain: Counts, scorer: ModuleType) -> bool:
    """One line a type; returns whether all marks are met."""
    print(f"\n{title}\n{'':14}labels  found  wrong   prec    rec  95 % of rec    plain: prec    rec")
    met = True
    for kind, (found, wrong, missed) in counts.items():
        precision, recall, _ = scorer.prf(found, wrong, missed)
        plainly = scorer.prf(*plain[kind])
        low, high = scorer.wilson(found, found + missed)
        between = f"{low:.2f}-{high:.2f}" if low is not None else "-"
        print(
            f"{kind:14}{found + missed:6} {found:6} {wrong:6}  {_share(precision)}  {_share(recall)}"
            f"  {between:>11}          {_share(plainly[0])}  {_share(plainly[1])}"
        )
        if found + missed > TYPE_LABELS:
            met &= recall >= (RECALL_LEAST if kind == "all" else TYPE_RECALL_LEAST)
        if kind == "all":
            met &= precision >= PRECISION_LEAST
            low, high = scorer.wilson(found, found + wrong)
            print(f"precision of all, 95 %: {low:.3f}-{high:.3f}")
    return met


def _share(value: float | None) -> str:
    return "  -  " if value is None else f"{value:5.3f}"


def entities(args: argparse.Namespace) -> int:
    labels_at = Path(args.evaldata) / "labels"
    scorer, corpus = _scorer(labels_at / "score.py"), Path(args.corpus)
    labels = [each for each in scorer.read(labels_at / "entities.jsonl") if HALVES[args.half](each["id"])]
    if args.sampled:
        labels = [each for each in labels if each["sampled"] == args.sampled]
    entries = list(labelled_entries(labels, corpus, scorer))
    counts, slips = score(entries, predicted, scorer, corpus)
    plain, _ = score(entries, plainly_predicted, scorer, corpus)
    met = print_table(f"entities, strict, {args.half}: {len(entries)} entries", counts, plain, scorer)
    if args.errors:
        for slip in sorted(slips, key=lambda each: (each[0], each[2], each[1])):
            print("  ", *slip)
    print("all marks met" if met else "some marks missed", file=sys.stderr)
    return 0 if met else 1


def _scorer(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("labels_score", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.insight", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("what", choices=("entities", "speed"))
    parser.add_argument("--corpus", default=os.environ.get("RECOLLECT_CORPUS"), help="folder of real logs")
    parser.add_argument(
        "--evaldata", default=os.environ.get("RECOLLECT_EVALDATA"), help="folder of labelled sets"
    )
    parser.add_argument("--half", choices=tuple(HALVES), default="all")
    parser.add_argument("--sampled", choices=("random", "targeted"))
    parser.add_argument("--errors", action="store_true", help="list every slip")
    args = parser.parse_args(argv)
    if args.what == "speed" and args.corpus:
        return speed(Path(args.corpus))
    if not args.corpus or not args.evaldata:
        parser.error("--corpus and --evaldata, or RECOLLECT_CORPUS and RECOLLECT_EVALDATA, must say where")
    return entities(args)


if __name__ == "__main__":
    sys.exit(main())
