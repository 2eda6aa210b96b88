"""The hand-written conversations of `talks/*.txt` as logs, for the tests and for `benchmarks.assemble`.

Written as `tests/support/talks.py` says, and `@noise KIND COUNT` stands for so many lines of tool output
that nobody reads: made here, so that the talks can be read. Each session is a talk of its own; a
marker names the one entry it stands on.
"""

from __future__ import annotations

import datetime
import re
from pathlib import Path

from tests.support.talks import Said, Talk, write_logs

FOLDER = Path(__file__).parent / "talks"

_SESSION = re.compile(r"=== (?P<agent>claude|codex) (?P<start>\S+) (?P<folder>\S+) (?P<branch>\S+)")
_ENTRY = re.compile(
    r"\[(?P<kind>user|assistant|thought|call|result|error)(?: (?P<tool>\w+))?(?: #(?P<marker>[\w-]+))?\] "
    r"?(?P<text>.*)"
)
_NOISE = re.compile(r"@noise (\w+) (\d+)")

# What the lines of each kind say: the same words over and over, with a number here and there.
_LINES = {
    "webpack": "asset chunk-{n:03}.js {m} KiB [emitted] [minimized] (name: auth-popup-options) {k} modules",
    "accesslog": "2026-01-20T13:{k:02}:{n:02}Z 200 GET /clippings?page={n} device={m} token=ok {k} ms",
    "jest": "  ✓ saves clipping {n} with a token that is fresh ({k} ms)",
    "playwright": "  ✓  {n} [chromium] › popup.spec.ts:{m}:5 › sign in, clip, permission {k} ({k}.{m}s)",
    "csv": "st-{m},2025-10-26T02:{k:02}:00,{k}.{n},reading,{m},ok,duplicate of row {n}",
    "journal": "Feb 18 02:{k:02}:{n:02} pi compact[8812]: INFO merging station {m}, part {n}, memory {k}%",
    "pytest": "tests/test_{n:03}.py::test_retry_limit_token_login_{m} PASSED [ {k}%]",
    "docker": "#{n} sha256:{m:08x} {k}.{m}MB / {k}.{m}MB extracting layer, migration image, done",
    "kubectl": "Normal  Pulled  {n}m  kubelet  pod lantern-web-{m} deploy rollout probe image {k} ms",
    "locust": "GET /search?month={n}  {m} req  {k} failed (429)  avg {k} ms  client limit token {n}",
}


def read_talks() -> list[Talk]:
    """Every conversation, in the order they were written down."""
    talks: list[Talk] = []
    for path in sorted(FOLDER.glob("*.txt")):
        for line in path.read_text("utf-8").splitlines():
            if session := _SESSION.fullmatch(line):
                talks.append(_begun(len(talks), session))
            elif entry := _ENTRY.fullmatch(line):
                markers = [entry["marker"]] if entry["marker"] else []
                talks[-1].said.append(Said(entry["kind"], entry["tool"] or "", markers, entry["text"]))
            else:
                talks[-1].said[-1].text += "\n" + line
    for said in (said for talk in talks for said in talk.said):
        said.text = _NOISE.sub(_noise, said.text.rstrip("\n"))
    return talks


def write(folder: Path) -> dict[str, str]:
    """Write every talk's log; returns the id of the entry that each marker names."""
    return {marker: min(ids) for marker, ids in write_logs(read_talks(), folder).items()}


def _begun(number: int, match: re.Match[str]) -> Talk:
    start = datetime.datetime.fromisoformat(match["start"]).replace(tzinfo=datetime.UTC)
    session = f"{0xA55E0000 + number * 0x101:08x}-0000-4000-8000-{number:012}"
    return Talk(session, match["agent"], start, match["folder"], match["branch"], [])


def _noise(match: re.Match[str]) -> str:
    form, count = _LINES[match[1]], int(match[2])
    return "\n".join(form.format(n=n, m=100 + n * 37 % 800, k=1 + n * 7 % 59) for n in range(count))
