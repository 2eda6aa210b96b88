"""How the real clients are installed: each on its own, and one that cannot be had says why."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tools.clients import CLIENTS, Client, main, program, trouble

# As npm does it: into the folder after --prefix; the package "gone" is not to be had.
NPM = """
import os, pathlib, sys
words = sys.argv[1:]
folder = pathlib.Path(words[words.index("--prefix") + 1], "node_modules")
pathlib.Path(os.environ["HOME"], "asked").write_text(" ".join(words))
if words[-1].startswith("gone"):
    sys.exit("npm error notarget No matching version found for gone.")
if not words[-1].startswith("empty"):
    folder.mkdir()
    folder.joinpath("run").touch(0o755)
"""

HAD = Client("had@1.0", "run")
GONE = Client("gone@1.0", "run")
EMPTY = Client("empty@1.0", "run")


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("had", "gone", "empty"):
        monkeypatch.setitem(CLIENTS, name, Client(f"{name}@1.0", "run"))


@pytest.fixture
def npm(tmp_path: Path) -> tuple[str, str]:
    script = tmp_path / "npm.py"
    script.write_text(NPM)
    return sys.executable, str(script)


def test_a_client_that_cannot_be_had_keeps_no_other_from_being_installed(
    tmp_path: Path, npm: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "clients"
    assert main(folder, npm, {"gone": GONE, "empty": EMPTY, "had": HAD}) == 0
    assert program(folder, "had") == folder / "had/node_modules/run"
    assert program(folder, "gone") is None
    said = capsys.readouterr().out
    assert "gone could not be installed: npm error notarget No matching version found" in said
    assert "empty could not be installed: npm installed it without run" in said
    assert "1 of 3 clients are in" in said
    assert "No matching version" in trouble(folder, "gone")


def test_with_no_client_at_all_it_fails(tmp_path: Path, npm: tuple[str, str]) -> None:
    assert main(tmp_path / "clients", npm, {"gone": GONE}) == 1
    assert main(tmp_path / "clients", ["/nonexistent/npm"], {"had": HAD}) == 1
    assert "nonexistent" in trouble(tmp_path / "clients", "had")


def test_what_is_there_in_its_version_is_not_installed_again(tmp_path: Path, npm: tuple[str, str]) -> None:
    folder = tmp_path / "clients"
    main(folder, npm, {"had": HAD})
    asked = folder / "had/home/asked"
    assert "--ignore-scripts" in asked.read_text()
    asked.unlink()
    main(folder, npm, {"had": HAD})
    assert not asked.exists()
    main(folder, npm, {"had": Client("had@1.1", "run", needs_script=True)})
    assert "--ignore-scripts" not in asked.read_text()
    assert "had@1.1" in asked.read_text()


def test_every_version_is_pinned() -> None:
    assert [one.package for one in CLIENTS.values() if not one.package.rpartition("@")[2][0].isdigit()] == []
