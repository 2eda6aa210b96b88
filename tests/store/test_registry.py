"""Opening by URL: what a word means, who opens it, and what is said where nobody does."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.config import Config, load_config
from recollect.memory import Memory
from recollect.store.hdf5.engine import Hdf5Store
from recollect.store.registry import has_store, location, open_store
from recollect.testing.reference import ENGINE, ReferenceStore
from recollect.values.errors import StoreMissing, UsageError


@pytest.mark.parametrize(
    ("word", "path"),
    [
        ("memory.h5", "memory.h5"),
        ("/a/b.h5", "/a/b.h5"),
        ("./odd:name.h5", "odd:name.h5"),
        ("C:\\memory.h5", "C:\\memory.h5"),
        ("file:memory.h5", "memory.h5"),
        ("file:/a/b.h5", "/a/b.h5"),
        ("file:///a/b%20c.h5", "/a/b c.h5"),
        ("file://localhost/a/b.h5", "/a/b.h5"),
    ],
)
def test_a_path_or_a_file_url_is_a_file(word: str, path: str) -> None:
    assert location(word) == Path(path)


def test_home_is_meant_in_paths_and_file_urls_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    assert location("~/m.h5") == location("file:~/m.h5") == Path("/home/ada/m.h5")


def test_a_path_object_is_a_file_whatever_its_name() -> None:
    assert location(Path("memory:x")) == Path("memory:x")


@pytest.mark.parametrize("word", ["memory:x", "postgresql://host/name?a=b", "s3+https:x"])
def test_any_other_scheme_is_kept_as_it_is(word: str) -> None:
    assert location(word) == word


@given(st.text(max_size=20))
def test_every_word_means_something_or_is_refused_kindly(word: str) -> None:
    with contextlib.suppress(UsageError):
        assert isinstance(location(word), Path | str)


def test_a_file_on_another_machine_is_refused() -> None:
    with pytest.raises(UsageError, match="another machine"):
        location("file://elsewhere/m.h5")


def test_a_scheme_that_nobody_opens_names_what_there_is_and_the_next_step() -> None:
    for ask in (open_store, has_store):
        with pytest.raises(UsageError, match="file:, memory:") as raised:
            ask("moon://user:secret@host/name")
        assert "./moon:" in raised.value.hint
        assert "secret" not in str(raised.value)


def test_a_missing_store_is_made_only_when_asked_for(tmp_path: Path) -> None:
    for at in (tmp_path / "m.h5", f"memory:{tmp_path}"):
        assert not has_store(at)
        with pytest.raises(StoreMissing):
            open_store(at)
        open_store(at, create=True).close()
        assert has_store(at)
        open_store(at).close()
    ENGINE.forget(f"memory:{tmp_path}")


def test_the_option_the_environment_and_the_config_file_take_urls(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('store = "memory:set"\n')
    environ = {"RECOLLECT_CONFIG": str(tmp_path / "config.toml")}
    assert load_config(environ=environ).store == "memory:set"
    assert load_config(environ={**environ, "RECOLLECT_STORE": "memory:named"}).store == "memory:named"
    assert load_config("file:/a/m.h5", environ).store == Path("/a/m.h5")


def test_a_config_names_its_store_from_any_folder(tmp_path: Path) -> None:
    file, elsewhere = Config(Path("m.h5"), "here", tmp_path), Config("memory:x", "here", tmp_path)
    assert (file.path, file.url) == (Path("m.h5"), str(Path("m.h5").absolute()))
    assert (elsewhere.path, elsewhere.url) == (None, "memory:x")
    assert file.state != elsewhere.state


def test_a_memory_is_opened_by_url_and_a_second_handle_sees_the_same(tmp_path: Path) -> None:
    url = f"memory:{tmp_path}"
    with Memory.open(url) as one, Memory.open(url, create=False) as other:
        one.ingest([Path(__file__).parents[1] / "data" / "claude"])
        assert one.name == other.name == url
        assert other.sessions() == one.sessions() != []
    ENGINE.forget(url)


PACKAGE = """
from recollect.testing.reference import ReferenceStore

class Moon:
    def open(self, url, *, create=False):
        return ReferenceStore(url)

    def exists(self, url):
        return True

ENGINE = Moon()
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package of somebody else, as pip would leave it."""
    (tmp_path / "moonstore.py").write_text(PACKAGE)
    facts = tmp_path / "moonstore-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: moonstore\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text(
        "[recollect.stores]\nmoon = moonstore:ENGINE\nsun = moonstore:NONE\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_a_package_joins_by_an_entry_point_and_is_imported_when_asked_for(installed: Path) -> None:
    assert "moonstore" not in sys.modules
    assert isinstance(open_store("moon:base"), ReferenceStore)
    assert has_store("moon:base")
    with Memory.open("moon:base") as memory:
        assert memory.sessions() == []


def test_an_engine_that_does_not_load_is_told_with_its_name(installed: Path) -> None:
    with pytest.raises(UsageError, match="moonstore:NONE"):
        open_store("sun:x")


def test_a_file_needs_no_engine_of_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking for packages reads every one that is installed."""
    monkeypatch.setattr("importlib.metadata.entry_points", None)
    assert isinstance(open_store(tmp_path / "m.h5", create=True), Hdf5Store)
