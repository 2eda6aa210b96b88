"""What `make start` says while pip works: how far it is, no warnings of others; all of it when pip fails."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support import ROOT
from tools import install

WARNING = "WARNING: Location 'file:///nowhere/' is ignored: it is neither a file nor a directory."


def pip(folder: Path, *said: str, status: int = 0) -> list[str]:
    """A command that says this as pip would, and ends so."""
    script = folder / "pip.py"
    script.write_text(
        f"import sys\nprint({WARNING!r}, file=sys.stderr)\nprint(*{said!r}, sep='\\n')\nsys.exit({status})"
    )
    return [sys.executable, str(script)]


def test_an_install_that_works_ends_in_one_line_without_pips_warnings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = ("Collecting numpy>=2.0", "Installing collected packages: numpy, h5py, recollect")
    assert install.main([], pip(tmp_path, *said)) == 0
    shown = capsys.readouterr()
    assert shown.err.splitlines()[-1] == "installed recollect and 4 packages it needs"  # in two steps
    assert "WARNING" not in shown.out + shown.err


@pytest.mark.parametrize(
    ("said", "hint"),
    [
        ("ERROR: No matching distribution found for faiss-cpu>=1.9", "try another Python"),
        ("ERROR: Could not find a version that satisfies the requirement h5py", "try another Python"),
        ("WARNING: ... NewConnectionError(...)\nERROR: No matching distribution found", "cannot be reached"),
        ("ERROR: ResolutionImpossible: for help visit ...", "config list` shows where"),
        ("OSError: [Errno 28] No space left on device", "disk is full"),
        ("something new", "Put right what pip says above"),
    ],
)
def test_an_install_that_fails_shows_all_that_pip_said_and_a_next_step(
    said: str, hint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert install.main(["test"], pip(tmp_path, said, status=2)) == 1
    shown = capsys.readouterr().err
    assert WARNING in shown
    assert said in shown
    assert hint in shown.partition("all it said is above")[2]


def test_what_is_going_on_is_told_package_by_package(tmp_path: Path) -> None:
    work = install.Work(tmp_path)
    told = [work.state()]
    for line in (
        "Collecting numpy>=2.0 (from recollect==0.1.0)",
        "  Downloading numpy-2.4.6-cp311.whl (16.9 MB)",
        "Collecting h5py>=3.12 (from recollect==0.1.0)",
        "Collecting numpy>=1.21 (from h5py)",
        "Installing collected packages: numpy, h5py",
    ):
        work.hear(line)
        told.append(work.state())
    (tmp_path / "numpy-2.4.6.dist-info").mkdir()
    assert [*told, work.state()] == [
        "asking pip what is needed",
        "fetching 1: numpy",
        "fetching 1: numpy, 16.9 MB",
        "fetching 2: h5py",
        "fetching 2: h5py",
        "installing 1 of 2: numpy",
        "installing 2 of 2: h5py",
    ]


def test_a_terminal_sees_one_line_that_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(list[str]):
        write = list.append
        isatty = staticmethod(lambda: True)
        flush = staticmethod(lambda: None)

    seen = Terminal()
    monkeypatch.setattr(sys, "stderr", seen)
    install.main([], pip(tmp_path, "Collecting numpy>=2.0"))
    *moving, _, _ = seen
    assert any("fetching 1: numpy" in text for text in moving)
    assert not any("\n" in text for text in moving)


@pytest.mark.parametrize(
    ("extras", "lock"), [((), "requirements.lock"), (("test",), "requirements-test.lock")]
)
def test_what_is_locked_is_checked_by_its_hash_and_nothing_else_is_fetched(
    extras: tuple[str, ...], lock: str, tmp_path: Path
) -> None:
    script = tmp_path / "pip.py"
    script.write_text(f"import sys\nprint(*sys.argv[1:], file=open({str(tmp_path / 'asked')!r}, 'a'))")
    assert install.main(extras, [sys.executable, str(script)]) == 0
    locked, tree = (tmp_path / "asked").read_text().splitlines()
    assert locked.endswith(f"--require-hashes --only-binary :all: --requirement {ROOT / lock}")
    assert tree.endswith(f"--no-build-isolation --no-deps --no-index --editable {ROOT}")


def test_what_is_compared_with_has_no_lock_and_moves_nothing_that_has() -> None:
    locked, tree = install.steps(["bench"])
    assert locked == install.steps([])[0]
    assert tree[1:] == ["--constraint", str(ROOT / "constraints.txt"), "--editable", f"{ROOT}[bench]"]


def test_nothing_follows_a_step_that_failed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE."
    assert install.main([], pip(tmp_path, said, status=1)) == 1
    shown = capsys.readouterr().err
    assert shown.count(said) == 1
    assert "not the one that was locked" in shown


class TestMakingTheEnvironment:
    def test_a_python_that_is_too_old_is_refused_with_a_sentence(self, tmp_path: Path) -> None:
        done = self.make_venv(tmp_path, "#!/bin/sh\ncase $2 in *print*) echo 3.9;; *exit*) exit 1;; esac\n")
        assert done.returncode == 1
        assert "needs Python 3.11 or later" in done.stderr
        assert "make PYTHON=python3.12" in done.stderr
        assert not (tmp_path / "venv").exists()

    def test_a_python_that_does_not_run_is_named(self, tmp_path: Path) -> None:
        done = self.make_venv(tmp_path, "#!/bin/sh\necho 'the shim says no' >&2; exit 127\n")
        assert done.returncode == 1
        assert "the shim says no" in done.stderr
        assert f"{tmp_path}/python3.99 does not run" in done.stderr

    def test_behind_a_shim_of_pyenv_the_python_is_found(self, tmp_path: Path) -> None:
        kept = tmp_path / "root/versions/3.99.1/bin/python3.99"
        kept.parent.mkdir(parents=True)
        kept.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\necho 3.99\n')
        kept.chmod(0o755)
        pyenv = tmp_path / "pyenv"
        pyenv.write_text(f"#!/bin/sh\necho {tmp_path}/root\n")
        pyenv.chmod(0o755)
        done = self.make_venv(tmp_path, "#!/bin/sh\nexit 127\n")
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "asked").read_text().splitlines()[-1] == f"-m venv {tmp_path}/venv"

    def make_venv(self, folder: Path, script: str) -> subprocess.CompletedProcess[str]:
        python = folder / "python3.99"
        python.write_text(script)
        python.chmod(0o755)
        return subprocess.run(
            [ROOT / "tools/venv", python, folder / "venv"],
            env={"PATH": f"{folder}:{os.defpath}"},
            capture_output=True,
            text=True,
            check=False,
        )
