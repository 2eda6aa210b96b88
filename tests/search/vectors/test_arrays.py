"""Arrays that only grow: what a stamp tells of is there, and nothing that is odd is believed."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from tests.support.examples import examples

from recollect.search.vectors.arrays import Arrays

SHAPES = {"wide": ("<f2", 3), "plain": ("<u4", 0)}


def rows(count: int, seed: int = 1) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    return {
        "wide": random.normal(size=(count, 3)).astype("<f2"),
        "plain": random.integers(0, 2**32, 2 * count).astype("<u4"),
    }


def held(arrays: Arrays) -> dict[str, list[object]]:
    return {name: arrays[name].tolist() for name in SHAPES}


def test_a_new_folder_is_empty(tmp_path: Path) -> None:
    arrays = Arrays(tmp_path, SHAPES)
    assert held(arrays) == {"wide": [], "plain": []}
    assert arrays["wide"].shape == (0, 3)
    assert arrays.marks == {}


@given(counts=st.lists(st.integers(0, 3000), max_size=5))
@examples(25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_was_appended_is_there_for_all(tmp_path_factory, counts: list[int]) -> None:
    folder = tmp_path_factory.mktemp("arrays")
    arrays, other = Arrays(folder, SHAPES), Arrays(folder, SHAPES)
    whole = {name: rows(0)[name] for name in SHAPES}
    for n, count in enumerate(counts):
        added = rows(count, n)
        arrays.append(added, {"stored": n})
        before = held(other)
        whole = {name: np.concatenate([whole[name], added[name]]) for name in SHAPES}
        assert held(other) == before, "what was opened stays what it was"
        other.reload()
        for each in (arrays, other, Arrays(folder, SHAPES)):
            assert held(each) == {name: values.tolist() for name, values in whole.items()}
            assert each.marks == {"stored": n}


def test_rows_without_a_stamp_are_nowhere_and_written_over(tmp_path: Path, monkeypatch) -> None:
    arrays = Arrays(tmp_path, SHAPES)
    arrays.append(rows(5), {"stored": 1})
    before = held(arrays)
    with monkeypatch.context() as patch:
        patch.setattr("recollect.search.vectors.arrays.write_stamp", _killed)
        with pytest.raises(KeyboardInterrupt):
            arrays.append(rows(700, 2), {"stored": 2})
    again = Arrays(tmp_path, SHAPES)
    assert (held(again), again.marks) == (before, {"stored": 1})
    added = rows(3, 3)
    again.append(added, {})
    assert held(Arrays(tmp_path, SHAPES))["wide"] == before["wide"] + added["wide"].tolist()


def _killed(*_: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "wide").unlink(),
        lambda folder: os.truncate(folder / "plain", 100),
        lambda folder: os.truncate(folder / "wide", os.path.getsize(folder / "wide") - 1),
        lambda folder: (folder / "wide").write_bytes(bytes(os.path.getsize(folder / "wide"))),
        lambda folder: (folder / "reach.json").unlink(),
        lambda folder: (folder / "reach.json").write_bytes(b""),
        lambda folder: (folder / "reach.json").write_bytes(b"[1"),
        lambda folder: (folder / "reach.json").write_text('{"wide": 3, "plain": 1e99, "tails": 0}'),
        lambda folder: (folder / "reach.json").write_text('{"wide": -3, "plain": -1, "tails": -2}'),
    ],
)
def test_anything_odd_counts_as_empty(tmp_path: Path, damage) -> None:
    Arrays(tmp_path, SHAPES).append(rows(500), {"stored": 7})
    damage(tmp_path)
    arrays = Arrays(tmp_path, SHAPES)
    assert (held(arrays), arrays.marks) == ({"wide": [], "plain": []}, {})


def test_files_are_for_their_owner_alone(tmp_path: Path) -> None:
    Arrays(tmp_path, SHAPES).append(rows(5), {})
    assert {file.name for file in tmp_path.iterdir()} == {"wide", "plain", "reach.json"}
    assert {file.stat().st_mode & 0o777 for file in tmp_path.iterdir()} == {0o600}


def test_a_folder_that_is_gone_is_an_error_of_the_system(tmp_path: Path) -> None:
    arrays = Arrays(tmp_path / "gone", SHAPES)
    with pytest.raises(OSError):
        arrays.append(rows(5), {})


def test_what_was_opened_outlives_its_folder(tmp_path: Path) -> None:
    arrays = Arrays(tmp_path / "a", SHAPES)
    (tmp_path / "a").mkdir()
    arrays.append(rows(5), {})
    before = held(Arrays(tmp_path / "a", SHAPES))
    shutil.rmtree(tmp_path / "a")
    assert held(arrays) == before
