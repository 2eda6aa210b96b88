"""What must be this person's own is: no link, no pipe, nobody else's; open to nobody."""

from __future__ import annotations

import contextlib
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.children import environment
from tests.support.logs import said
from tests.support.memories import open_memory

from recollect import FileRefused
from recollect.hooks import state as states
from recollect.light.capture import read_followed
from recollect.light.disk import Disk
from recollect.light.journal import journal_path
from recollect.light.own_files import make_own_folder, open_own, open_regular
from recollect.light.project import project_of
from recollect.light.store_header import redo_path
from recollect.values.records import Segment, SourceFile

SEGMENT = Segment(
    SourceFile("claude", "/home/ada/a.jsonl", session="s"), "elsewhere", 0, said(1, "x") + b"\n"
)

root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to somebody else")


def link(path: Path) -> None:
    path.with_name("elsewhere").touch()
    path.symlink_to(path.with_name("elsewhere"))


def pipe(path: Path) -> None:
    os.mkfifo(path)


def folder(path: Path) -> None:
    path.mkdir()


def foreign(path: Path) -> None:
    path.touch()
    os.chown(path, 4711, 4711)


def opened_below(folder: Path) -> list[str]:
    """What this process has open in a folder, where /proc tells; threads of other tests open files too."""
    paths = []
    for fd in os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else []:
        with contextlib.suppress(FileNotFoundError):
            paths.append(os.readlink(f"/proc/self/fd/{fd}"))
    return [path for path in paths if path.startswith(str(folder))]


IN_PLACE = [link, pipe, pytest.param(foreign, marks=root)]


@pytest.mark.parametrize("put", IN_PLACE)
@pytest.mark.parametrize("flags", [os.O_RDONLY, os.O_RDWR, os.O_RDWR | os.O_CREAT])
def test_whatever_is_not_a_plain_file_of_ours_is_refused(
    tmp_path: Path, put: Callable[[Path], None], flags: int
) -> None:
    put(tmp_path / "it")
    with pytest.raises(FileRefused, match=str(tmp_path / "it")):
        open_own(tmp_path / "it", flags)
    assert not opened_below(tmp_path)


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="nothing tells what is open")
def test_what_is_open_is_seen(tmp_path: Path) -> None:
    with (tmp_path / "it").open("w"):
        assert opened_below(tmp_path) == [str(tmp_path / "it")]


@pytest.mark.parametrize("put", IN_PLACE)
@pytest.mark.parametrize("side", [journal_path, redo_path])
def test_side_files_that_someone_planted_are_refused_and_left(
    tmp_path: Path, put: Callable[[Path], None], side: Callable[[Path], Path]
) -> None:
    store = tmp_path / "m.h5"
    with open_memory(store) as memory:
        memory.checkpoint()
    put(side(store))
    before = os.lstat(side(store))
    with open_memory(store) as memory, pytest.raises(FileRefused, match=side(store).name):
        memory.append(SEGMENT)
    assert os.path.samestat(os.lstat(side(store)), before)


@root
def test_another_persons_store_is_refused_with_a_sentence(tmp_path: Path) -> None:
    store = tmp_path / "m.h5"
    with open_memory(store) as memory:
        memory.checkpoint()
    os.chown(store, 4711, 4711)
    with open_memory(store) as memory:
        with pytest.raises(FileRefused, match="user 4711"):
            memory.append(SEGMENT)
        with pytest.raises(FileRefused, match="user 4711"):
            memory.sessions()
        with pytest.raises(FileRefused, match="user 4711"):
            memory.ingest([tmp_path])


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077, 0o777])
def test_folders_are_their_owners_alone_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    program = (
        "import os, sys; from recollect.light.own_files import make_own_folder\n"
        f"os.umask({umask}); make_own_folder(sys.argv[1] + '/a/b/c', cache=True)"
    )
    words = [sys.executable, "-c", program, str(tmp_path)]
    subprocess.run(words, env=environment(), check=True)
    for part in ("a", "a/b", "a/b/c"):
        assert stat.S_IMODE((tmp_path / part).stat().st_mode) == 0o700
    assert (
        (tmp_path / "a/b/c/CACHEDIR.TAG")
        .read_bytes()
        .startswith(b"Signature: 8a477f597d28d172789f06886806bc55")
    )
    assert (tmp_path / "a/b/c/.metadata_never_index").exists()


@root
def test_a_folder_of_somebody_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "it").mkdir()
    os.chown(tmp_path / "it", 4711, 4711)
    os.chmod(tmp_path / "it", 0o777)
    with pytest.raises(FileRefused, match="user 4711"):
        make_own_folder(tmp_path / "it")


def test_the_cache_of_a_store_is_marked_as_one(tmp_path: Path) -> None:
    with open_memory(tmp_path / "m.h5") as memory:
        memory.append(SEGMENT)
        memory.search("x")
    assert (tmp_path / "cache" / "CACHEDIR.TAG").exists()
    for each in (tmp_path / "cache").rglob("*"):
        assert stat.S_IMODE(each.stat().st_mode) & 0o077 == 0, each


@pytest.mark.parametrize("put", [link, pipe])
def test_state_that_someone_planted_is_no_state(tmp_path: Path, put: Callable[[Path], None]) -> None:
    state = str(tmp_path)
    (tmp_path / "catalogs").mkdir()
    put(Path(states.catalog_path(state, "p")))
    put(tmp_path / "trouble")
    (tmp_path / "sessions").mkdir()
    assert states.read_catalog(state, "p") == ""
    assert states.last_trouble(state) == (0, "")
    assert read_followed(state, "/home/ada/a.jsonl") is None


@pytest.mark.parametrize("put", [pipe, folder])
def test_a_repository_whose_configuration_is_no_file_has_its_folders_name(
    tmp_path: Path, put: Callable[[Path], None]
) -> None:
    """A pipe there would never end."""
    (tmp_path / "harbor" / ".git").mkdir(parents=True)
    put(tmp_path / "harbor" / ".git" / "config")
    assert project_of(str(tmp_path / "harbor")) == "harbor"


def test_a_regular_file_of_anybody_may_be_read(tmp_path: Path) -> None:
    link(tmp_path / "it")
    os.close(open_regular(tmp_path / "it"))


def test_what_was_open_to_others_is_closed_to_them(tmp_path: Path) -> None:
    path = tmp_path / "it"
    path.touch(mode=0o644)
    os.close(Disk().open(path, write=True))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
