"""The program `uvx`: ours for chroma-mcp, the person's own for everything else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.chroma_servers import Client

from recollect.chroma.shim import is_ours

# What claude-mem 13.25.3 starts, but for what follows.
START = (
    "--python", "3.13", "--with", "onnxruntime>=1.20", "--with", "protobuf<7", "--from", "chroma-mcp==0.2.6",
    "chroma-mcp",
)  # fmt: skip


def recollect(*words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "recollect", *words], capture_output=True, text=True, check=check
    )


@pytest.fixture
def shim(folder: Path) -> Path:
    """The program in a folder whose name a shell must not read."""
    place = folder / "a folder; 'with' $(signs)"
    recollect("--store", str(folder / "memory.h5"), "chroma", "--install-shim", str(place))
    return place / "uvx"


@pytest.fixture
def path(folder: Path, shim: Path) -> str:
    """A PATH on which the real one stands behind ours, and another of ours between."""
    other, real = folder / "other", folder / "real"
    recollect("--store", str(folder / "memory.h5"), "chroma", "--install-shim", str(other))
    real.mkdir()
    (real / "uvx").write_text('#!/bin/sh\nprintf "%s|" real "$@"\n')
    (real / "uvx").chmod(0o755)
    return os.pathsep.join((str(shim.parent), str(other), str(real), "/usr/bin", "/bin"))


def said(shim: Path, path: str, *words: str) -> str:
    done = subprocess.run(
        [shim, *words],
        env={"PATH": path, "HOME": str(shim.parent)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_it_prewarms_and_serves(folder: Path, shim: Path, path: str) -> None:
    env = {"PATH": path, "HOME": str(folder)}
    assert "recollect chroma" in said(shim, path, *START, "--help")
    client = Client(
        [str(shim), *START, "--client-type", "persistent", "--data-dir", str(folder / "chroma")], env
    )
    assert client.hello["serverInfo"]["name"] == "chroma"
    client.call("chroma_create_collection", {"collection_name": "docs"})
    called = Path(f"/proc/{client.process.pid}/cmdline")
    if called.exists():
        assert b"recollect\0" in called.read_bytes(), "the very process that was started"
    client.close()
    assert (folder / "memory.h5-wal").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("ruff", "check", "a b", "$(x)"),
        ("--from", "chroma-mcp", "python", "-V"),
        ("--with", "chroma-mcp", "python", "-c", "1"),
        ("python", "chroma-mcp"),
        (*START, "--client-type", "http", "--host", "h", "--ssl", "false"),
        (*START, "--client-type=cloud"),
        ("--from",),
        (),
    ],
)
def test_what_is_not_for_us_is_for_the_real_one(shim: Path, path: str, words: tuple[str, ...]) -> None:
    assert said(shim, path, *words) == "|".join(("real", *words, ""))


def test_without_a_real_one_it_says_so(shim: Path) -> None:
    done = subprocess.run(
        [shim, "ruff"],
        env={"PATH": f"{shim.parent}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 127
    assert "not found" in done.stderr


def test_it_is_put_in_and_taken_out_and_nothing_else_is_touched(folder: Path, shim: Path) -> None:
    assert is_ours(shim)
    assert shim.stat().st_mode & 0o777 == 0o700
    store = ("--store", str(folder / "memory.h5"), "chroma", "--install-shim")
    told = json.loads(recollect(*store, str(shim.parent), "--json").stdout)
    assert (told["installed"], told["variable"]) == (str(shim), "CLAUDE_MEM_CHROMA_UVX_PATH")
    assert json.loads(recollect(*store, str(shim.parent), "--remove", "--json").stdout)["removed"] == str(
        shim
    )
    assert not shim.parent.exists()
    assert json.loads(recollect(*store, str(shim.parent), "--remove", "--json").stdout)["removed"] is None
    foreign = folder / "bin/uvx"
    foreign.parent.mkdir()
    foreign.write_text("#!/bin/sh\necho uv\n")
    assert recollect(*store, str(foreign.parent), check=False).returncode == 2
    recollect(*store, str(foreign.parent), "--remove")
    assert foreign.read_text() == "#!/bin/sh\necho uv\n"
