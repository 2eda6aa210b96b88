"""What sessions were: `python -m benchmarks.insight_sessions --corpus DIR --evaldata DIR`.

    outcomes   how sessions ended, active time, commits, files and tests, against hand-made labels
    patterns   which of eleven classes an exchange is of
    titles     whether a title says what a session was about

EVALDATA/labels has the labels, the rules they were made by and their scorers, which count here too. Half of
the labels, by a hash of the file's name, was tuned on; `--half` scores either alone. Beside ours stand the
plain rules of system 004 (words in the last entry; closing text is a success; last result with such a word),
and always "success"; for titles, what the session was called before. Exit status: 0 all marks met, 1 some
missed, 2 some not measured.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import math
import os
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks import report
from benchmarks.report import Row
from recollect.agents.decode import BadLine, decode
from recollect.agents.registry import agent_of
from recollect.insight.digest.patterns import patterns_of
from recollect.insight.digest.session import digest_of
from recollect.insight.digest.steps import exchanges
from recollect.values.digests import PATTERNS, Digest
from recollect.values.records import SessionFacts, SourceFile
from recollect.values.stored import StoredEntry

TUNED, HELD = "tuned", "held"
RESAMPLES = 1_000
Z = 1.96
DECISION_LINES = 12
Label = dict[str, Any]
Talk = tuple[list[StoredEntry], SessionFacts]


@dataclass(frozen=True)
class Lab:
    """The logs, the labels with their scorers, and which half of the labels counts."""

    corpus: Path
    labels: Path
    half: str

    def rows(self, name: str) -> list[Label]:
        lines = (self.labels / f"{name}.jsonl").read_text("utf-8").splitlines()
        found = [json.loads(line) for line in lines if line.strip()]
        return [row for row in found if self.half in ("all", half_of(row["file"]))]

    def scorer(self, name: str) -> ModuleType:
        sys.path.insert(0, str(self.labels))
        return importlib.import_module(name)


def half_of(file: str) -> str:
    """Which half of the labels a file's are in, by its name alone."""
    return HELD if hashlib.sha1(file.encode()).digest()[0] & 1 else TUNED


@cache
def talk_of(corpus: Path, file: str) -> Talk:
    """A log's entries as its agent's parser has them; the id of each is its line's number."""
    agent = file.partition("/")[0]
    parser = agent_of(agent).parser(SourceFile(agent, file, session=Path(file).stem), {})
    entries: list[StoredEntry] = []
    for number, line in enumerate((corpus / file).read_bytes().split(b"\n"), 1):
        try:
            parsed = parser.parse(decode(line)[0])
        except BadLine:
            continue
        for entry in parsed.entries:
            entries.append(StoredEntry(str(number), parser.facts.id, parsed.type, entry, len(entries)))
    return entries, parser.facts


@cache
def digest(corpus: Path, file: str) -> Digest:
    return digest_of(*talk_of(corpus, file))


# -- outcomes ------------------------------------------------------------------------------------


def outcomes(lab: Lab) -> Iterator[Row]:
    """How sessions ended."""
    scorer, labels = lab.scorer("score_sessions"), lab.rows("outcomes")
    ours = {row["file"]: str(digest(lab.corpus, row["file"]).ending.outcome) for row in labels}
    plain = [
        {row["file"]: str(scorer.plain_rule(str(lab.corpus / row["file"]), reading)) for row in labels}
        for reading in range(3)
    ] + [dict.fromkeys(ours, "success")]

    def f1(said: dict[str, str], rows: Sequence[Label]) -> float:
        return float(scorer.macro_f1([(row["outcome"], said[row["file"]]) for row in rows]))

    yield _drawn(
        "outcome, macro F1", labels, lambda rows: f1(ours, rows), 0.65, [f1(each, labels) for each in plain]
    )
    for name, what, least in (("sample", "", 0.0), ("enriched", ", ends badly or half-way", 0.65)):
        rows = [row for row in labels if row["set"] == name]
        shares = [
            sum(each[row["file"]] == row["outcome"] for row in rows) / max(len(rows), 1) for each in plain
        ]
        yield _share(
            f"outcome right{what}", [ours[row["file"]] == row["outcome"] for row in rows], least, shares
        )
    yield from _details(lab, scorer, labels)


def _details(lab: Lab, scorer: ModuleType, labels: Sequence[Label]) -> Iterator[Row]:
    told = [(row, digest(lab.corpus, row["file"])) for row in labels]
    near = [
        abs(made.active_ms / 60_000 - row["active_minutes"]) <= max(1.0, 0.1 * row["active_minutes"])
        for row, made in told
    ]
    yield _share("active minutes", near)
    yield _share("number of commits", [len(made.commits) in _numbers(row["commits"]) for row, made in told])
    hashes = [(want[:7], made) for row, made in told for want in row["commits"]["hashes"]]
    found = [any(each.hash[:7] == want for each in made.commits) for want, made in hashes]
    yield _share("commit hashes", found)
    yield _share("tests were run", [bool(made.tests.runs) == row["tests"]["run"] for row, made in told])
    tested = [(row, made) for row, made in told if row["tests"]["run"]]
    yield _share("how the last run ended", [made.tests.last == row["tests"]["last"] for row, made in tested])
    yield _share("something is open", [bool(made.open) == bool(row["open"]) for row, made in told])
    said = [(int(each.entry), row) for row, made in told for each in made.decisions]
    wanted = [(want["line"], row) for row, _ in told for want in row["decisions"]]
    met = [any(_near(line, other) for other, of in said if of is row) for line, row in wanted]
    yield _share("decisions found", met)
    labelled = [any(_near(line, want["line"]) for want in row["decisions"]) for line, row in said]
    yield _share("decisions told that are labelled", labelled)
    yield _files(scorer, told)


def _near(line: int, other: int) -> bool:
    """As the labels' own scorer takes a decision for met."""
    return abs(line - other) <= DECISION_LINES


def _numbers(commits: Label) -> list[int]:
    return [commits["n"], *commits["n_alt"]]


def _files(scorer: ModuleType, told: Sequence[tuple[Label, Digest]]) -> Row:
    hits = misses = wrong = 0
    for row, made in told:
        got, want = scorer.no_locks([each.path for each in made.files]), scorer.no_locks(row["files"])
        met = sum(any(scorer.same_path(path, each) for each in got) for path in want)
        hits, misses = hits + met, misses + len(want) - met
        if row["files_total"] <= 15:  # of more files not all are labelled
            wrong += sum(not any(scorer.same_path(path, each) for path in want) for each in got)
    recall, precision = hits / max(hits + misses, 1), hits / max(hits + wrong, 1)
    return Row(what="files: recall / precision", ours=f"{recall:.3f} / {precision:.3f}", mark="", met=None)


# -- titles and patterns -------------------------------------------------------------------------


def titles(lab: Lab) -> Iterator[Row]:
    """Whether a title says what a session was about."""
    scorer, labels = lab.scorer("score_sessions"), lab.rows("titles")
    ours = [bool(scorer.title_ok(digest(lab.corpus, row["file"]).title, row["keys"])) for row in labels]
    names = [talk_of(lab.corpus, row["file"])[1].headline for row in labels]
    plain = [bool(scorer.title_ok(name, row["keys"])) for name, row in zip(names, labels, strict=True)]
    yield _share("title acceptable", ours, 0.90, [sum(plain) / max(len(plain), 1)])
    bare = [good for good, row in zip(ours, labels, strict=True) if row["own_best"] == "useless"]
    yield _share("title where no own one is good", bare)


def patterns(lab: Lab) -> Iterator[Row]:
    """Which of eleven classes an exchange is of."""
    scorer, labels = lab.scorer("score"), lab.rows("patterns")
    said = [{"file": row["file"], "line": row["line"], "patterns": _classes(lab, row)} for row in labels]

    def counts(rows: Sequence[Label]) -> dict[str, tuple[int, int, int]]:
        found = scorer.score_patterns(rows, said)[0]
        return {name: tuple(found[name]) for name in PATTERNS}

    def f1(rows: Sequence[Label]) -> float:
        known = [each for each in counts(rows).values() if each[0] + each[2]]
        return sum(_f1(*each) for each in known) / max(len(known), 1)

    yield _drawn("patterns, macro F1", labels, f1, 0.70)
    for name, (good, wrong, missed) in counts(labels).items():
        told = f"{_f1(good, wrong, missed):.3f}  {good} right, {wrong} wrong, {missed} missed"
        yield Row(what=f"  {name}", ours=told, mark="", met=None)


def _classes(lab: Lab, row: Label) -> list[str]:
    entries, facts = talk_of(lab.corpus, row["file"])
    asked = [each for each in exchanges(entries) if each.prompt and each.prompt.id == str(row["line"])]
    return [each.name for each in patterns_of(asked[-1], facts.cwd)] if asked else []


def _f1(good: int, wrong: int, missed: int) -> float:
    return 2 * good / max(2 * good + wrong + missed, 1)


# -- rows ----------------------------------------------------------------------------------------


def _share(what: str, good: Sequence[bool], least: float = 0.0, plain: Sequence[float] = ()) -> Row:
    """A share of labels, with Wilson's interval."""
    count, value = len(good), sum(good) / max(len(good), 1)
    spread = Z * math.sqrt(value * (1 - value) / max(count, 1) + Z * Z / (4 * max(count, 1) ** 2))
    scale = 1 + Z * Z / max(count, 1)
    middle = value + Z * Z / (2 * max(count, 1))
    return _row(what, count, value, (middle - spread) / scale, (middle + spread) / scale, least, plain)


def _drawn(
    what: str,
    labels: Sequence[Label],
    measure: Callable[[Sequence[Label]], float],
    least: float = 0.0,
    plain: Sequence[float] = (),
) -> Row:
    """A measure with the interval that 95 of 100 draws of as many labels fall into."""
    draw = random.Random(len(labels))
    drawn = sorted(measure(draw.choices(labels, k=len(labels))) for _ in range(RESAMPLES))
    edge = RESAMPLES // 40
    return _row(what, len(labels), measure(labels), drawn[edge], drawn[-edge - 1], least, plain)


def _row(
    what: str, count: int, value: float, low: float, high: float, least: float, plain: Sequence[float]
) -> Row:
    return Row(
        what=f"{what} ({count})",
        ours=f"{value:.3f} [{low:.3f}, {high:.3f}]",
        peer=" / ".join(f"{each:.3f}" for each in plain),
        mark=f">= {least:.2f}" if least else "",
        met=value >= least if least else None,
        detail={"value": value, "interval": [low, high], "plain": list(plain)},
    )


ROWS = {"outcomes": outcomes, "patterns": patterns, "titles": titles}


def main(argv: Sequence[str] | None = None) -> int:
    parser = report.parser(
        "insight_sessions",
        "Measure whether what is told of sessions is so.",
        ROWS,
        folder="--corpus",
        variable="RECOLLECT_CORPUS",
        holds="unpacked real logs",
    )
    given = os.environ.get("RECOLLECT_EVALDATA")
    parser.add_argument("--evaldata", type=Path, default=Path(given) if given else None, metavar="DIR")
    parser.add_argument("--half", choices=("all", TUNED, HELD), default="all")
    arguments = parser.parse_args(argv)
    if arguments.evaldata is None or arguments.corpus is None:
        print("give the logs and the labels: --corpus DIR --evaldata DIR", file=sys.stderr)
        return 2
    lab = Lab(arguments.corpus.resolve(), arguments.evaldata.resolve() / "labels", arguments.half)
    rows = list(report.measured(ROWS, lab, arguments.only or list(ROWS)))
    print(report.table([row for _, row in rows]))
    report.write(arguments.json, "recollect.benchmarks.insight_sessions", rows, {"half": arguments.half}, {})
    return report.status(rows)


if __name__ == "__main__":
    sys.exit(main())
