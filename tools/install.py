"""Installs this tree into the environment that runs it, and says how far it is.

    .venv/bin/python tools/install.py [EXTRA...]

First what is locked, every file by its hash and none that would have to be built; then the tree itself, in
place, by the build tools that are there now, with nothing fetched. Only what no lock has, the competitors of
the benchmarks (`bench`) and the packages whose sessions are kept (`integrations`), comes as pip finds it, in
the versions of `constraints.txt` where that has one, and the latter's of `constraints-integrations.txt`.

pip works for minutes and says either nothing or far too much. Here one line follows it: what is being
fetched, then how many packages of how many are in. pip's warnings are about its own settings and stay
unseen, unless it fails: then all it said is shown, and a next step.
"""

from __future__ import annotations

import os
import queue
import re
import shutil
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOCKS = {(): ROOT / "requirements.lock", ("test",): ROOT / "requirements-test.lock"}
VERSIONS = ROOT / "constraints.txt"
OTHER_VERSIONS = {"integrations": ROOT / "constraints-integrations.txt"}
PIP = (sys.executable, "-m", "pip")

_LOOK_EVERY_SECONDS = 0.5
_LINE_EVERY_SECONDS = 10.0

# What pip says when it fails, and what then helps; the first that fits.
_NEXT_STEPS = (
    (r"No space left on device|Disk quota exceeded", "The disk is full: an environment takes about 1 GB."),
    (
        r"NewConnectionError|ConnectionError|ProxyError|SSLError|[Tt]imed out|name resolution|HTTP error",
        "The package index cannot be reached: `{pip} config list` shows where pip looks.\n"
        "What was fetched is kept; the same command again goes on from there.",
    ),
    (
        r"DO NOT MATCH THE HASHES",
        "A file is not the one that was locked: do not install it.\n"
        "`{pip} config list` shows where pip got it.",
    ),
    (
        r"Could not find a version|No matching distribution|ResolutionImpossible|Failed building wheel",
        "Where pip looks there is no file of some package for this Python: `{pip} config list` shows where.\n"
        "If the place is right, try another Python: make PYTHON=python3.12 ...",
    ),
    (r"", "Put right what pip says above, and run the same command again."),
)


def main(extras: Sequence[str], pip: Sequence[str] = PIP) -> int:
    said: list[str] = []
    shown, work = Line(), Work(Path(sysconfig.get_path("purelib")))
    for words in steps(extras):
        failed = _follow([*pip, "install", "--no-input", "--progress-bar", "off", *words], said, shown, work)
        if failed:
            print("".join(said), next_step("".join(said)), sep="\n", file=sys.stderr)
            return 1
    print(work.result(), file=sys.stderr)
    return 0


def steps(extras: Sequence[str]) -> list[list[str]]:
    """What pip is told, one call after the other."""
    lock = LOCKS[("test",) if "test" in extras else ()]
    locked = ["--require-hashes", "--only-binary", ":all:", "--requirement", str(lock)]
    tree = ["--no-build-isolation", "--no-deps", "--no-index", "--editable", str(ROOT)]
    if not (others := [each for each in extras if (each,) not in LOCKS]):
        return [locked, tree]
    what = f"{ROOT}[{','.join(others)}]"
    versions = [VERSIONS, *(OTHER_VERSIONS[each] for each in others if each in OTHER_VERSIONS)]
    pinned = [word for path in versions for word in ("--constraint", str(path))]
    return [locked, ["--no-build-isolation", *pinned, "--editable", what]]


def _follow(words: Sequence[str], said: list[str], shown: Line, work: Work) -> int:
    with subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
        text=True,
        errors="replace",
    ) as process:
        for line in _lines(process):
            if line is not None:
                said.append(line)
                work.hear(line)
            shown.show(work.state())
    shown.clear()
    return process.returncode


def next_step(said: str) -> str:
    """What helps most people whom pip has told this."""
    hint = next(hint for pattern, hint in _NEXT_STEPS if re.search(pattern, said))
    return "recollect: pip failed; all it said is above.\n" + hint.format(pip=" ".join(PIP))


class Work:
    """How far pip is, by what it says and by what lies in the folder it installs into."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._before = self._present()
        self._fetched: list[str] = []
        self._size = ""
        self._listed: list[str] = []
        self._others = 0

    def hear(self, line: str) -> None:
        """Take in one line of pip's."""
        if found := re.match(r"Collecting ([\w.-]+)", line):
            self._size = ""
            if found[1] not in self._fetched:
                self._fetched.append(found[1])
        elif found := re.match(r"\s+Downloading \S+ \(([\d.]+ \wB)\)", line):
            self._size = ", " + found[1]
        elif line.startswith("Installing collected packages: "):
            self._listed = line.partition(": ")[2].strip().split(", ")
            self._before = self._present()
            self._others += sum(name != "recollect" for name in self._listed)

    def state(self) -> str:
        """One line of what is going on now."""
        if self._listed:
            done = min(len(self._present() - self._before), len(self._listed) - 1)
            return f"installing {done + 1} of {len(self._listed)}: {self._listed[done]}"
        if self._fetched:
            return f"fetching {len(self._fetched)}: {self._fetched[-1]}{self._size}"
        return "asking pip what is needed"

    def result(self) -> str:
        others = f" and {self._others} packages it needs" if self._others else ""
        return "installed recollect" + others

    def _present(self) -> set[str]:
        return {path.name for path in self._folder.glob("*.dist-info")}


class Line:
    """One line that changes in place; where that cannot be seen, a new line now and then."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._began = self._shown = time.monotonic()

    def show(self, text: str) -> None:
        now = time.monotonic()
        text = f"{text}  ({now - self._began:.0f} s)"
        if self._terminal:
            print(
                "\r\x1b[K" + text[: shutil.get_terminal_size().columns - 1],
                end="",
                file=sys.stderr,
                flush=True,
            )
        elif now - self._shown >= _LINE_EVERY_SECONDS:
            self._shown = now
            print(text, file=sys.stderr, flush=True)

    def clear(self) -> None:
        if self._terminal:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _lines(process: subprocess.Popen[str]) -> Iterator[str | None]:
    """What pip says, line by line, and None whenever it has been silent for a moment."""
    heard: queue.Queue[str] = queue.Queue()

    def listen() -> None:
        for line in process.stdout or ():
            heard.put(line)

    reader = threading.Thread(target=listen)
    reader.start()
    while reader.is_alive() or not heard.empty():
        try:
            yield heard.get(timeout=_LOOK_EVERY_SECONDS)
        except queue.Empty:
            yield None


if __name__ == "__main__":
    try:
        raise SystemExit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        print("\nstopped; the same command again goes on", file=sys.stderr)
        raise SystemExit(130) from None
