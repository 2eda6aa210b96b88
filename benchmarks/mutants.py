"""Would a test notice? `python -m benchmarks.mutants [--seed N] [--count N] [--near] [--again]`.

Sixty one-line changes, the same for the same seed and tree: a comparison flipped, a condition negated, a
constant changed, a term dropped. Each is made in a scratch copy of the tree, and the tests are run there
as `make test` runs them until one fails: first those of the module, then those of its room, then all
(`--near`: without the last). What no test notices is printed with its line.

Every outcome is kept in `benchmarks/results/`, so a run goes on where another one stopped; `--again` tries
the survivors once more. A change that nobody could see, whatever the test, is listed in `EQUIVALENT` with
the reason, tried like the others and counted apart.
"""

from __future__ import annotations

import argparse
import ast
import compileall
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path("src/recollect")
RESULTS = ROOT / "benchmarks" / "results"
TREE = ("src", "tests", "benchmarks", "training", "docs", "pyproject.toml", "README.md", "Makefile", ".ci")

SEED = 10
COUNT = 60
KILLED_LEAST = 0.8
PROCESSOR_SECONDS = 900  # of one test process: an endless loop is noticed
HANG_SECONDS = 7200  # of a whole run; the machine may be busy

# Where changes are made, and which share of them.
AREAS: dict[str, tuple[float, tuple[str, ...]]] = {
    "search": (0.4, ("search/*.py", "search/text/*.py", "search/vectors/*.py")),
    "recall": (0.2, ("recall/*.py",)),
    "assemble": (0.2, ("recall/assemble/*.py",)),
    "history": (
        0.12,
        ("insight/blame.py", "insight/how.py", "insight/fix.py", "insight/cure.py", "insight/commands.py"),
    ),
    "retention": (0.08, ("intake/at_risk.py",)),
}
NOT_HERE = ("gpu.py",)  # needs what a test machine does not have

# (module, line as it stands, as it is changed): why nobody could see the difference.
EQUIVALENT: dict[tuple[str, str, str], str] = {
    (
        "insight/blame.py",
        "began = search.view.entries_at(search.view.turn_of(last.row)[:1])[0]",
        "began = search.view.entries_at(search.view.turn_of(last.row)[:2])[0]",
    ): "the first of one row or of two is the same",
    (
        "search/text/fields.py",
        "return int.from_bytes(hashlib.blake2b(letters, digest_size=8).digest()) >> 1",
        "return int.from_bytes(hashlib.blake2b(letters, digest_size=8).digest()) >> 2",
    ): "a gist is only ever compared with another one",
    (
        "search/text/fields.py",
        "wanted = np.bitwise_or.reduceat(kinds, starts) >= _UNDERSCORE",
        "wanted = np.bitwise_or.reduceat(kinds, starts) > _UNDERSCORE",
    ): "only a run of nothing but underscores is as much, and that is no term",
}


@dataclass(frozen=True)
class Mutant:
    """One changed line of one module."""

    area: str
    module: str
    number: int
    line: str
    changed: str

    @property
    def key(self) -> tuple[str, str, str]:
        return self.module, self.line.strip(), self.changed.strip()

    def __str__(self) -> str:
        return f"{self.module}:{self.number}\n  - {self.line.strip()}\n  + {self.changed.strip()}"


def main() -> None:
    words = argparse.ArgumentParser(prog="python -m benchmarks.mutants")
    words.add_argument("--seed", type=int, default=SEED)
    words.add_argument("--count", type=int, default=COUNT)
    words.add_argument("--near", action="store_true", help="only the tests of a module and of its room")
    words.add_argument("--again", action="store_true", help="try survivors once more")
    words.add_argument("--only", nargs="+", choices=AREAS, default=list(AREAS), metavar="AREA")
    words.add_argument("--list", action="store_true", help="print the changes and make none")
    arguments = words.parse_args()
    mutants = chosen(ROOT, arguments.seed, arguments.count)
    mutants = [mutant for mutant in mutants if mutant.area in arguments.only]
    if arguments.list:
        print(*mutants, sep="\n")
        return
    outcomes = Outcomes(RESULTS / f"mutants-{arguments.seed}.jsonl", again=arguments.again)
    with scratch_tree() as tree:
        for mutant in mutants:
            if outcomes.of(mutant) is None:
                outcomes.keep(mutant, tried(tree, mutant, near=arguments.near))
                print(f"{outcomes.of(mutant)} {mutant}", flush=True)
    sys.exit(0 if report(mutants, outcomes) >= KILLED_LEAST else 1)


def report(mutants: list[Mutant], outcomes: Outcomes) -> float:
    """Print what survived and the share that did not; returns it."""
    alive = [mutant for mutant in mutants if outcomes.of(mutant) == "survived"]
    unseen = [mutant for mutant in alive if mutant.key in EQUIVALENT]
    for mutant in alive:
        print(f"survived {mutant}" + (f"\n  = {EQUIVALENT[mutant.key]}" if mutant in unseen else ""))
    share = 1 - len(alive) / len(mutants)
    killed = len(mutants) - len(alive)
    print(f"{killed} of {len(mutants)} killed, {share:.0%}; of the others {len(unseen)} equivalent")
    for area in AREAS:
        own = [mutant for mutant in mutants if mutant.area == area]
        print(f"  {area}: {sum(mutant not in alive for mutant in own)} of {len(own)}")
    return share


class Outcomes:
    """What became of each change, kept in a file from run to run."""

    def __init__(self, path: Path, *, again: bool) -> None:
        self._path = path
        lines = path.read_text().splitlines() if path.exists() else []
        kept = [json.loads(line) for line in lines]
        self._known = {tuple(each["key"]): each["outcome"] for each in kept}
        if again:
            self._known = {key: outcome for key, outcome in self._known.items() if outcome != "survived"}

    def of(self, mutant: Mutant) -> str | None:
        return self._known.get(mutant.key)

    def keep(self, mutant: Mutant, outcome: str) -> None:
        self._known[mutant.key] = outcome
        self._path.parent.mkdir(exist_ok=True)
        with self._path.open("a") as file:
            file.write(json.dumps({"key": mutant.key, "outcome": outcome, **asdict(mutant)}) + "\n")


# -- which changes -----------------------------------------------------------------------------------


def chosen(root: Path, seed: int, count: int) -> list[Mutant]:
    """So many changes, at most one of a line, the areas by their share."""
    found = []
    for area, (share, patterns) in AREAS.items():
        chance = random.Random(f"{seed} {area}")
        lines: dict[tuple[str, int], list[Mutant]] = {}
        for mutant in every(root, area, patterns):
            lines.setdefault((mutant.module, mutant.number), []).append(mutant)
        places = chance.sample(sorted(lines), min(round(share * count), len(lines)))
        found += [chance.choice(lines[place]) for place in sorted(places)]
    return found


def every(root: Path, area: str, patterns: Iterable[str]) -> Iterator[Mutant]:
    paths = {path for pattern in patterns for path in (root / PACKAGE).glob(pattern)}
    for path in sorted(path for path in paths if path.name not in NOT_HERE):
        source = path.read_text("utf-8")
        lines = source.splitlines()
        for number, changed in changes(source):
            module = str(path.relative_to(root / PACKAGE))
            yield Mutant(area, module, number, lines[number - 1], changed)


def changes(source: str) -> Iterator[tuple[int, str]]:
    """Every line that can be changed, by its number, and what it becomes."""
    lines = source.splitlines()
    for node in judged(ast.parse(source)):
        for start, stop, text in edits(node):
            (row, first), (last_row, last) = start, stop
            if row == last_row:
                line = lines[row - 1].encode()
                changed = (line[:first] + text(line[first:last].decode()).encode() + line[last:]).decode()
                if changed != lines[row - 1]:
                    yield row, changed


def judged(tree: ast.AST) -> Iterator[ast.AST]:
    """What is run: neither types nor decorators, docstrings, assertions and what errors say."""
    for field, value in ast.iter_fields(tree):
        if field in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for node in value if isinstance(value, list) else [value]:
            if not isinstance(node, ast.AST) or isinstance(node, ast.Assert | ast.Raise | ast.JoinedStr):
                continue
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
                continue
            yield node
            yield from judged(node)


Place = tuple[int, int]
Edit = tuple[Place, Place, Callable[[str], str]]

SIGNS = {
    ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="), ast.In: ("in", "not in"), ast.NotIn: ("not in", "in"),
    ast.Is: ("is", "is not"), ast.IsNot: ("is not", "is"), ast.And: ("and", "or"), ast.Or: ("or", "and"),
    ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "/"), ast.Div: ("/", "*"),
}  # fmt: skip


def edits(node: ast.AST) -> Iterator[Edit]:
    """Pieces of source that a node offers for a change, and what becomes of each."""
    if isinstance(node, ast.Compare):
        for left, sign, right in zip(
            [node.left, *node.comparators], node.ops, node.comparators, strict=False
        ):
            yield _between(left, right, *SIGNS[type(sign)])
    elif isinstance(node, ast.BinOp) and type(node.op) in SIGNS:
        yield _between(node.left, node.right, *SIGNS[type(node.op)])
        yield _end(node.left), _end(node), lambda text: ""  # the second term is dropped
    elif isinstance(node, ast.BoolOp):
        yield _between(node.values[0], node.values[1], *SIGNS[type(node.op)])
        yield _end(node.values[-2]), _end(node), lambda text: ""
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield _start(node), _start(node.operand), lambda text: ""
    elif isinstance(node, ast.Constant):
        yield from _constant(node)
    if isinstance(node, ast.If | ast.While | ast.IfExp):
        yield _start(node.test), _end(node.test), lambda text: f"not ({text})"
    elif isinstance(node, ast.comprehension):
        for test in node.ifs:
            yield _start(test), _end(test), lambda text: f"not ({text})"
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("min", "max"):
        yield _start(node.func), _end(node.func), lambda text: "max" if text == "min" else "min"


def _constant(node: ast.Constant) -> Iterator[Edit]:
    if isinstance(node.value, bool):
        yield _start(node), _end(node), lambda text: str(text != "True")
    elif isinstance(node.value, int):
        yield _start(node), _end(node), lambda text: _more(int(text.replace("_", ""), 0))
    elif isinstance(node.value, float):
        yield _start(node), _end(node), lambda text: repr(float(text) * 2 or 1.0)


def _more(number: int) -> str:
    """Off by one where one counts, and twice as much where a few more or less are no difference."""
    return str(number * 2 if number > 2 else number + 1)


def _between(left: ast.expr, right: ast.expr, sign: str, other: str) -> Edit:
    return _end(left), _start(right), lambda text: text.replace(sign, other, 1)


def _start(node: ast.AST) -> Place:
    return node.lineno, node.col_offset  # type: ignore[attr-defined]


def _end(node: ast.AST) -> Place:
    return node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]


# -- whether a test notices ----------------------------------------------------------------------------


class scratch_tree:  # noqa: N801 - reads as the function it is
    """A copy of the tree to make changes in, compiled, gone afterwards."""

    def __enter__(self) -> Path:
        self._folder = Path(tempfile.mkdtemp(prefix="recollect-mutants-"))
        for name in TREE:
            source, target = ROOT / name, self._folder / name
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "results"))
            elif source.exists():
                shutil.copy(source, target)
        compileall.compile_dir(self._folder / "src", quiet=1)
        return self._folder

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)


def tried(tree: Path, mutant: Mutant, *, near: bool) -> str:
    """Make the change, run the tests from the nearest on, and take it back."""
    path = tree / PACKAGE / mutant.module
    whole = path.read_text("utf-8")
    lines = whole.splitlines(keepends=True)
    lines[mutant.number - 1] = mutant.changed + "\n"
    try:
        _replace(path, "".join(lines))
        return next(
            (f"killed by {each}" for each in stages(tree, mutant, near=near) if not passes(tree, each)),
            "survived",
        )
    finally:
        _replace(path, whole)


def _replace(path: Path, text: str) -> None:
    """A compiled module is told by its second and its size, which a change may share: so it goes."""
    path.write_text(text, "utf-8")
    for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
        compiled.unlink()


def stages(tree: Path, mutant: Mutant, *, near: bool) -> list[str]:
    """Which tests to run, the nearest first: of the module, of its folder, of its room, and all."""
    place = Path("tests") / mutant.module
    own = place.with_name(f"test_{place.name}")
    room = Path(*place.parts[:2])
    wanted = [own, place.parent, room, *([] if near else [Path("tests")])]
    return list(dict.fromkeys(str(each) for each in wanted if (tree / each).exists()))


def passes(tree: Path, tests: str) -> bool:
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", tests]
    command += ["-m", "not full and not agents"]
    if tests.count("/") < 2:
        command += ["-n", "auto", "--dist", "worksteal"]
    limits = lambda: resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR_SECONDS, PROCESSOR_SECONDS))  # noqa: E731
    environ = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(tree / "src"), str(tree)]),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    with subprocess.Popen(
        command,
        cwd=tree,
        env=environ,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=limits,
    ) as run:
        try:
            return run.wait(HANG_SECONDS) == 0
        except subprocess.TimeoutExpired:
            run.kill()
            return False


if __name__ == "__main__":
    main()
