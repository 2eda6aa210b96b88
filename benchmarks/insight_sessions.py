"""What sessions were: how they ended, which of eleven classes their exchanges are of, what they are called.

Beside ours stand the plain rules of system 004 (words in the last entry; closing text is a success; last
result with such a word), and always "success"; for titles, what the session was called before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType

from benchmarks.insight_lab import Lab, Label, drawn, share, talk_of
from benchmarks.report import Row
from recollect.insight.digest.patterns import patterns_of
from recollect.insight.digest.session import digest_of
from recollect.insight.digest.steps import exchanges
from recollect.values.digests import PATTERNS, Digest

DECISION_LINES = 12


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

    yield drawn(
        "outcome, macro F1", labels, lambda rows: f1(ours, rows), 0.65, [f1(each, labels) for each in plain]
    )
    for name, what, least in (("sample", "", 0.0), ("enriched", ", ends badly or half-way", 0.65)):
        rows = [row for row in labels if row["set"] == name]
        shares = [
            sum(each[row["file"]] == row["outcome"] for row in rows) / max(len(rows), 1) for each in plain
        ]
        yield share(
            f"outcome right{what}", [ours[row["file"]] == row["outcome"] for row in rows], least, shares
        )
    yield from _details(lab, scorer, labels)


def _details(lab: Lab, scorer: ModuleType, labels: Sequence[Label]) -> Iterator[Row]:
    told = [(row, digest(lab.corpus, row["file"])) for row in labels]
    near = [
        abs(made.active_ms / 60_000 - row["active_minutes"]) <= max(1.0, 0.1 * row["active_minutes"])
        for row, made in told
    ]
    yield share("active minutes", near)
    yield share("number of commits", [len(made.commits) in _numbers(row["commits"]) for row, made in told])
    hashes = [(want[:7], made) for row, made in told for want in row["commits"]["hashes"]]
    found = [any(each.hash[:7] == want for each in made.commits) for want, made in hashes]
    yield share("commit hashes", found)
    yield share("tests were run", [bool(made.tests.runs) == row["tests"]["run"] for row, made in told])
    tested = [(row, made) for row, made in told if row["tests"]["run"]]
    yield share("how the last run ended", [made.tests.last == row["tests"]["last"] for row, made in tested])
    yield share("something is open", [bool(made.open) == bool(row["open"]) for row, made in told])
    said = [(int(each.entry), row) for row, made in told for each in made.decisions]
    wanted = [(want["line"], row) for row, _ in told for want in row["decisions"]]
    met = [any(_near(line, other) for other, of in said if of is row) for line, row in wanted]
    yield share("decisions found", met)
    labelled = [any(_near(line, want["line"]) for want in row["decisions"]) for line, row in said]
    yield share("decisions told that are labelled", labelled)
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
    yield share("title acceptable", ours, 0.90, [sum(plain) / max(len(plain), 1)])
    bare = [good for good, row in zip(ours, labels, strict=True) if row["own_best"] == "useless"]
    yield share("title where no own one is good", bare)


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

    yield drawn("patterns, macro F1", labels, f1, 0.70)
    for name, (good, wrong, missed) in counts(labels).items():
        told = f"{_f1(good, wrong, missed):.3f}  {good} right, {wrong} wrong, {missed} missed"
        yield Row(what=f"  {name}", ours=told, mark="", met=None)


def _classes(lab: Lab, row: Label) -> list[str]:
    entries, facts = talk_of(lab.corpus, row["file"])
    asked = [each for each in exchanges(entries) if each.prompt and each.prompt.id == str(row["line"])]
    return [each.name for each in patterns_of(asked[-1], facts.cwd)] if asked else []


def _f1(good: int, wrong: int, missed: int) -> float:
    return 2 * good / max(2 * good + wrong + missed, 1)
