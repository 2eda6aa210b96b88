"""Token totals against ccusage, session by session, on real Claude Code logs.

The two count by different rules where a log is ambiguous. `docs/usage.md` names the
differences; here each is predicted from the log to the token, so that nothing is left to
a tolerance: ours = theirs + what the documented rules say.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from recollect.config import Config
from recollect.intake.discover import discover
from recollect.memory import Memory
from recollect.values.records import Role

CORPUS = os.environ.get("RECOLLECT_CORPUS", "")
SAMPLE = 24
PACKAGE = "ccusage@18"

pytestmark = [
    pytest.mark.corpus,
    pytest.mark.skipif(not CORPUS, reason="RECOLLECT_CORPUS does not name a folder of real logs"),
]

Tokens = tuple[int, int, int, int]  # input, output, cache read, cache write
NOTHING: Tokens = (0, 0, 0, 0)

# Why a response is counted differently: the headings in docs/usage.md.
FIRST_ROW = "the first row against the largest"
NO_REQUEST = "no request id"
FINE_TIME = "times finer than a millisecond"
HIDDEN_WRITE = "cache writes only in the breakdown"

# What `ccusage daily` prints comes from this function; calling it spares a process for each session.
DRIVER = """
import { loadDailyUsageData } from "ccusage/data-loader";
const totals = [];
for (const claudePath of JSON.parse(process.argv[2])) {
  const total = [0, 0, 0, 0];
  for (const day of await loadDailyUsageData({ claudePath, offline: true })) {
    total[0] += day.inputTokens;
    total[1] += day.outputTokens;
    total[2] += day.cacheReadTokens;
    total[3] += day.cacheCreationTokens;
  }
  totals.push(total);
}
console.log(JSON.stringify(totals));
"""


@pytest.fixture(scope="session")
def ccusage(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ccusage installed in it; RECOLLECT_NPM_CACHE names one to keep."""
    kept = os.environ.get("RECOLLECT_NPM_CACHE")
    folder = Path(kept) if kept else tmp_path_factory.mktemp("ccusage")
    if not (folder / "node_modules" / "ccusage").is_dir():
        _install(folder)
    (folder / "driver.mjs").write_text(DRIVER)
    return folder


def test_the_sessions_of_a_sample_agree(ccusage: Path, tmp_path: Path) -> None:
    chosen = random.Random(18).sample(sessions(Path(CORPUS)), SAMPLE)
    compare(ccusage, chosen, tmp_path)


@pytest.mark.full
def test_all_sessions_agree(ccusage: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = compare(ccusage, sessions(Path(CORPUS)), tmp_path)
    with capsys.disabled():
        print("\n" + "\n".join(table))


def test_the_command_prints_what_its_loader_gives(ccusage: Path, tmp_path: Path) -> None:
    chosen = random.Random(3).sample(sessions(Path(CORPUS)), 3)
    homes = [lay_out(files, tmp_path / str(n)) for n, files in enumerate(chosen)]
    command = ["node_modules/.bin/ccusage", "daily", "--offline", "--json"]
    for home, loaded in zip(homes, counted_by_ccusage(ccusage, homes), strict=True):
        days = json.loads(_node(ccusage, command, home) or "{}").get("daily", [])
        kinds = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheCreationTokens")
        assert tuple(sum(day[kind] for day in days) for kind in kinds) == loaded


def test_each_documented_difference_is_as_described(ccusage: Path, tmp_path: Path) -> None:
    """One small log a rule, so that every rule is checked whatever the sample holds."""
    logs: dict[str, tuple[list[dict[str, Any]], Tokens, Tokens]] = {
        "alike": ([row("a", 5), row("a", 5), row("b", 6)], (2, 11, 20, 200), (2, 11, 20, 200)),
        FIRST_ROW: ([row("a", 1), row("a", 9), row("a", 4)], (1, 9, 10, 100), (1, 1, 10, 100)),
        NO_REQUEST: ([row("a", 5, request=None)] * 2, (1, 5, 10, 100), (2, 10, 20, 200)),
        FINE_TIME: ([row("a", 5, time="2026-03-02T10:00:00.000000Z")], (1, 5, 10, 100), NOTHING),
        HIDDEN_WRITE: ([row("a", 5, hidden=70)], (1, 5, 10, 170), (1, 5, 10, 100)),
        "synthetic": ([row("a", 5), row("b", 6, model="<synthetic>", zero=True)], *[(1, 5, 10, 100)] * 2),
        "sidechains": ([row("a", 5), row("b", 6) | {"isSidechain": True}], *[(2, 11, 20, 200)] * 2),
    }
    files = []
    for n, (rows, _, _) in enumerate(logs.values()):
        # Rows that are equal to the byte would be one line to us; real ones differ in their uuid.
        text = "".join(json.dumps(r | {"uuid": f"{n}-{at}"}) + "\n" for at, r in enumerate(rows))
        files.append([tmp_path / "logs" / f"{n:08d}-1111-4aaa-8bbb-000000000001.jsonl"])
        files[-1][0].parent.mkdir(exist_ok=True)
        files[-1][0].write_text(text)
    homes = [lay_out(each, tmp_path / str(n)) for n, each in enumerate(files)]
    theirs = counted_by_ccusage(ccusage, homes)
    for n, (name, (_, expected, expected_theirs)) in enumerate(logs.items()):
        ours = counted_by_us(files[n], tmp_path / f"{n}.h5")
        assert (name, ours, theirs[n]) == (name, expected, expected_theirs)
        causes = {cause for cause, _ in differences(files[n])}
        assert causes == ({name} if expected != expected_theirs else set())


# -- the comparison ----------------------------------------------------------------------------


def compare(ccusage: Path, chosen: Sequence[list[Path]], scratch: Path) -> list[str]:
    """Check every session; returns the figures for the docs."""
    homes = [lay_out(files, scratch / "homes" / str(n)) for n, files in enumerate(chosen)]
    theirs = counted_by_ccusage(ccusage, homes)
    seen: dict[str, list[Tokens]] = defaultdict(list)
    affected: dict[str, set[int]] = defaultdict(set)
    wrong = []
    for n, files in enumerate(chosen):
        ours = counted_by_us(files, scratch / "memory.h5")
        expected = theirs[n]
        for cause, tokens in differences(files):
            expected = plus(expected, tokens)
            seen[cause].append(tokens)
            affected[cause].add(n)
        if ours != expected:
            wrong.append((files[0].name, ours, theirs[n], expected))
    assert not wrong, f"{len(wrong)} of {len(chosen)} sessions differ without a known reason: {wrong[:3]}"
    assert any(any(tokens) for tokens in theirs), "ccusage counted nothing at all"
    alike = len(chosen) - len(set().union(*affected.values()))
    return [f"{alike} of {len(chosen)} sessions are equal in all four counts"] + [
        f"{cause}: {len(each)} responses in {len(affected[cause])} sessions, {plus(NOTHING, *each)}"
        for cause, each in seen.items()
    ]


def differences(files: Iterable[Path]) -> list[tuple[str, Tokens]]:
    """For every response that the two count differently: why, and our tokens less theirs."""
    found = []
    for rows in responses(files):
        ours = tokens_of(max(rows, key=weight))
        read = [row for row in rows if _MILLISECONDS.fullmatch(row["timestamp"])]
        if not read:
            cause, theirs = FINE_TIME, NOTHING
        elif rows[0].get("requestId"):
            cause, theirs = FIRST_ROW, tokens_of(read[0])
        else:
            cause, theirs = NO_REQUEST, plus(NOTHING, *map(tokens_of, read))
        if ours != theirs:
            found.append((cause, minus(ours, theirs)))
        if hidden := hidden_write(max(rows, key=weight)):
            found.append((HIDDEN_WRITE, (0, 0, 0, hidden)))
    return found


_MILLISECONDS = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z")


def responses(files: Iterable[Path]) -> list[list[dict[str, Any]]]:
    """The rows of each response of a session, in the order ccusage meets them: oldest file first."""
    read = [[json.loads(line) for line in file.read_bytes().split(b"\n") if _is_json(line)] for file in files]
    found: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for rows in sorted(read, key=_earliest):
        for row in rows:
            message = row.get("message") if isinstance(row, dict) else None
            if isinstance(message, dict) and "usage" in message and message.get("model") != "<synthetic>":
                found[message["id"], row.get("requestId", "")].append(row)
    return list(found.values())


def weight(row: dict[str, Any]) -> tuple[int, ...]:
    fresh, output, read, written = tokens_of(row)
    return output, fresh, read, written


def tokens_of(row: dict[str, Any]) -> Tokens:
    usage = row["message"]["usage"]
    return (
        usage["input_tokens"],
        usage["output_tokens"],
        usage.get("cache_read_input_tokens", 0),
        usage.get("cache_creation_input_tokens", 0),
    )


def hidden_write(row: dict[str, Any]) -> int:
    """Tokens written to the cache that the breakdown tells of and the total does not."""
    usage = row["message"]["usage"]
    breakdown = usage.get("cache_creation") or {}
    return max(0, sum(breakdown.values()) - usage.get("cache_creation_input_tokens", 0))


def plus(*tokens: Tokens) -> Tokens:
    fresh, output, read, written = map(sum, zip(*tokens, strict=True))
    return fresh, output, read, written


def minus(left: Tokens, right: Tokens) -> Tokens:
    return left[0] - right[0], left[1] - right[1], left[2] - right[2], left[3] - right[3]


# -- the two counters --------------------------------------------------------------------------


def counted_by_us(files: Sequence[Path], store: Path) -> Tokens:
    store.unlink(missing_ok=True)
    with Memory.open(store, config=Config(store, "host")) as memory:
        memory.ingest(files)
        total = memory.usage().total
    store.unlink()
    return total.input, total.output, total.cache_read, total.cache_write_5m + total.cache_write_1h


def counted_by_ccusage(ccusage: Path, homes: Sequence[Path]) -> list[Tokens]:
    folders = json.dumps([str(home / ".claude") for home in homes])
    totals = json.loads(_node(ccusage, ["driver.mjs", folders], homes[0]).splitlines()[-1])
    return [(a, b, c, d) for a, b, c, d in totals]


def lay_out(files: Sequence[Path], home: Path) -> Path:
    """A home that holds one session and nothing else, its files where Claude Code keeps them."""
    for file in files:
        target = home / ".claude" / "projects" / "-work" / file.relative_to(files[0].parent)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
    return home


def sessions(corpus: Path) -> list[list[Path]]:
    """The transcripts of each Claude session: its own first, then those of its subagents."""
    found = [f.file for f in discover([corpus / "claude"]).found]
    mains = {Path(f.path).with_suffix(""): [Path(f.path)] for f in found if f.role == Role.MAIN}
    for path in (Path(f.path) for f in found if f.role == Role.SUBAGENT):
        owner = next((parent for parent in path.parents if parent in mains), path.with_suffix(""))
        mains.setdefault(owner, []).append(path)
    return list(mains.values())


def row(
    id_: str,
    output: int,
    *,
    request: str | None = "req",
    time: str = "2026-03-02T10:00:00.000Z",
    model: str = "claude-opus-4-6",
    zero: bool = False,
    hidden: int = 0,
) -> dict[str, Any]:
    """A row of a response with 1 token in, 10 read from and 100 written to the cache."""
    counts = (0, 0, 0, 0) if zero else (1, output, 10, 100)
    names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    usage: dict[str, Any] = dict(zip(names, counts, strict=True))
    if hidden:
        usage["cache_creation"] = {"ephemeral_5m_input_tokens": 100, "ephemeral_1h_input_tokens": hidden}
    record = {
        "type": "assistant", "parentUuid": None, "sessionId": "s", "version": "2.1.0", "cwd": "/work",
        "timestamp": time, "isSidechain": False, "userType": "external",
        "message": {"id": id_, "role": "assistant", "model": model, "content": [], "usage": usage},
    }  # fmt: skip
    return record if request is None else record | {"requestId": f"{request}-{id_}"}


def _install(folder: Path) -> None:
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        pytest.skip("ccusage needs node and npm, which are not installed")
    options = ["--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1", "--prefix", str(folder)]
    try:
        done = subprocess.run(
            [npm, "install", *options, PACKAGE], capture_output=True, text=True, timeout=180, check=False
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"npm could not install {PACKAGE} within 180 s")
    if done.returncode:
        pytest.skip(f"npm could not install {PACKAGE}: {done.stderr.strip()[-200:]}")


def _node(ccusage: Path, command: Sequence[str], home: Path) -> str:
    """Run a script of the folder with nothing in its environment but a home of its own."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("ccusage needs node, which is not installed")
    done = subprocess.run(
        [node, *command],
        cwd=ccusage,
        env={"HOME": str(home), "PATH": os.defpath, "LOG_LEVEL": "0"},
        capture_output=True,
        text=True,
        timeout=570,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _earliest(rows: Iterable[Any]) -> str:
    times = [row["timestamp"] for row in rows if isinstance(row, dict) and "timestamp" in row]
    return min(times, default="9")


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True
