"""A repository tells of commits and lines, and nothing that it holds makes git run something."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from tests.support.git_folder import GitFolder, needs_git

from recollect.insight.repository import Repository

pytestmark = needs_git


@pytest.fixture
def work(tmp_path: Path) -> GitFolder:
    return GitFolder(tmp_path / "harbor")


def repository(work: GitFolder, **extra: str) -> Repository:
    return Repository(str(work.folder), {**os.environ, "HOME": str(work.folder.parent), **extra})


def test_a_commit_is_known_by_any_of_its_names(work: GitFolder) -> None:
    first = work.commit("gauge: a float", gauge_py="float = 1\n")
    second = work.commit("tide: by the hour", tide_py="hour = 1\n", pier_py="x\n")
    for name in (second, second[:7], "HEAD", "main"):
        found = repository(work).commit(name)
        assert found is not None
        assert (found.hash, found.subject, found.files) == (
            second,
            "tide: by the hour",
            ("pier.py", "tide.py"),
        )
        assert found.time_ms > 1_600_000_000_000
    begun = repository(work).commit(first)
    assert begun is not None
    assert begun.files == ("gauge.py",)


@pytest.mark.parametrize("name", ["", "--all", "-p", "HEAD\nmain", "no-such", "0" * 40, ":/"])
def test_what_names_no_commit_is_none(work: GitFolder, name: str) -> None:
    work.commit("gauge: a float", gauge_py="float = 1\n")
    assert repository(work).commit(name) is None


def test_a_line_is_of_the_commit_that_brought_it(work: GitFolder) -> None:
    first = work.commit("one", gauge_py="a = 1\nsame\nb = 2\n")
    second = work.commit("two", gauge_py="a = 1\nsame\nc = 3\nb = 2\nsame\n")
    now = ["new", "", "a = 1", "same", "c = 3", "b = 2", "same", ""]
    asked = repository(work)
    told = [asked.commit_of_line("gauge.py", number, now) for number in range(1, 8)]
    assert [each and each.hash for each in told] == [None, None, first, first, second, first, second]
    assert asked.commit_of_line("other.py", 3, now) is None


def test_without_a_repository_nothing_is_told(tmp_path: Path) -> None:
    environ = {**os.environ, "GIT_CEILING_DIRECTORIES": str(tmp_path)}
    for folder in (tmp_path, tmp_path / "gone"):
        assert Repository(str(folder), environ).commit("HEAD") is None
    assert Repository(str(tmp_path), {"PATH": "."}).commit("HEAD") is None


# -- a hostile one ---------------------------------------------------------------------------------


def spring_loaded(work: GitFolder) -> Path:
    """Everything in a repository that makes git start a program, each leaving a mark."""
    mark = work.folder.parent / "mark"
    program = work.folder / "run"
    program.write_text(f"#!/bin/sh\necho \"$0 $*\" >> '{mark}'\ncat\n")
    program.chmod(0o700)
    hooks = work.folder / "hooks"
    hooks.mkdir()
    for name in ("post-index-change", "reference-transaction", "post-checkout"):
        (hooks / name).symlink_to(program)
    (work.folder / ".gitattributes").write_text("* filter=x diff=x\n")
    run = str(program)
    for name, value in {
        "core.fsmonitor": run,
        "core.hooksPath": str(hooks),
        "core.pager": run,
        "pager.blame": run,
        "pager.diff-tree": run,
        "core.sshCommand": run,
        "diff.external": run,
        "diff.x.command": run,
        "diff.x.textconv": run,
        "filter.x.clean": run,
        "filter.x.smudge": run,
        "log.showSignature": "true",
        "gpg.program": run,
        "alias.blame": f"!{run}",
        "alias.diff-tree": f"!{run}",
        "alias.rev-parse": f"!{run}",
        "credential.helper": run,
        "remote.origin.url": f"ext::{run}",
        "remote.origin.promisor": "true",
        "remote.origin.partialclonefilter": "blob:none",
        "extensions.partialClone": "origin",
    }.items():
        work.git("config", name, value)
    work.git("config", "core.repositoryFormatVersion", "1")
    return mark


def test_nothing_in_a_repository_is_run(work: GitFolder) -> None:
    first = work.commit("gauge: a float", gauge_py="a = 1\n")
    signed = work.git("cat-file", "commit", first).replace(
        "\n\n", "\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\n", 1
    )
    second = work.git("hash-object", "-t", "commit", "-w", "--stdin", stdin=f"{signed}\n")
    work.git("update-ref", "refs/heads/main", second)
    mark = spring_loaded(work)
    (work.folder / "gauge.py").write_text("a = 1\nb = 2\n")
    asked = repository(work, GIT_EXTERNAL_DIFF=str(work.folder / "run"), GIT_PAGER=str(work.folder / "run"))
    assert asked.commit("HEAD") is not None
    found = asked.commit_of_line("gauge.py", 1, ["a = 1", "b = 2"])
    assert found is not None
    assert found.hash == second
    assert asked.commit_of_line("gauge.py", 2, ["a = 1", "b = 2"]) is None
    assert asked.commit("0123456789012345678901234567890123456789") is None  # to be fetched
    assert not mark.exists(), mark.read_text()


def test_the_control_such_a_repository_does_run_things(work: GitFolder) -> None:
    work.commit("gauge: a float", gauge_py="a = 1\n")
    mark = spring_loaded(work)
    (work.folder / "gauge.py").write_text("a = 1\nb = 2\n")
    subprocess.run(["git", "blame", "gauge.py"], cwd=work.folder, capture_output=True, check=False)
    assert mark.exists()


def test_the_environment_says_nothing_of_another_repository(work: GitFolder, tmp_path: Path) -> None:
    mine = work.commit("gauge: a float", gauge_py="a = 1\n")
    other = GitFolder(tmp_path / "other")
    other.commit("not this one", gauge_py="b = 1\n")
    found = repository(work, GIT_DIR=str(other.folder / ".git")).commit("HEAD")
    assert found is not None
    assert found.hash == mine
