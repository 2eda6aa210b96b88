"""Strategies: exact scores, one order, and an index that is the same however it came about."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from tests.support.examples import examples

from recollect.search.embed.contract import Vectors
from recollect.search.vectors import gpu, nearest, quantised, scan
from recollect.search.vectors.nearest import MEASURED, Measured, Nearest, build, choose, load
from recollect.search.vectors.scan import Exact, Matrix, scores
from recollect.values.errors import UsageError
from recollect.values.vocabulary import STRATEGIES

DIMS = 32
QUANTISED = quantised.NAMES
faiss = pytest.importorskip("faiss", reason="the strategies fastscan and ivfpq need faiss-cpu")


class HostDevice:
    """What a GPU does, done here: all scores in half precision."""

    def __init__(self, vectors: Matrix) -> None:
        self._rows = vectors.astype(np.float32)

    def within(self, query: Vectors, k: int, margin: float) -> scan.Ids:
        halves = np.einsum("ij,j->i", self._rows, query.astype(np.float16).astype(np.float32)).astype(
            np.float16
        )
        return np.flatnonzero(halves >= np.partition(halves, -k)[-k] - np.float16(margin))


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Indexes of a few thousand rows have all that large ones have."""
    monkeypatch.setattr(quantised, "STEP_ROWS", 1024)


def rows(count: int, dims: int = DIMS, seed: int = 0) -> Matrix:
    """Unit rows in clusters, as texts are, with zeros and equal rows among them."""
    random = np.random.default_rng(seed)
    centres = random.standard_normal((40, dims))
    made = centres[random.integers(0, 40, count)] + 0.7 * random.standard_normal((count, dims))
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    made[::97] = 0
    made[5::101] = made[3] if count > 3 else 0
    return made.astype(np.float16)


def queries(count: int, dims: int = DIMS) -> Vectors:
    return rows(count + 200, dims, seed=9)[100 : 100 + count].astype(np.float32)


def plain(vectors: Matrix, query: Vectors, k: int) -> list[int]:
    """The oracle: every row scored by itself, sorted by score and then number."""
    scored = [(-float(scores(vectors, query, np.array([n]))[0]), n) for n in range(len(vectors))]
    return [n for _, n in sorted(scored)[:k]]


def made(name: str, vectors: Matrix, folder: Path) -> Nearest:
    if name == "gpu":
        return gpu.Gpu(vectors, HostDevice(vectors))
    build(name, vectors, folder)
    return load(name, vectors, folder)


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize("count", [0, 1, 9, 1023, 1024, 3000])
@pytest.mark.parametrize("k", [-1, 0, 1, 10, 5000])
def test_every_strategy_gives_k_hits_with_exact_scores_in_order(
    name: str, count: int, k: int, tmp_path: Path
) -> None:
    vectors = rows(count)
    found = made(name, vectors, tmp_path)
    for query in [*queries(5), np.zeros(DIMS, dtype=np.float32)]:
        ids, got = found.search(query, k)
        assert (ids.dtype, got.dtype) == (np.int64, np.float32)
        assert len(set(ids.tolist())) == len(ids) == len(got)
        assert len(ids) == min(max(k, 0), count) or (
            name == "ivfpq" and k > 10
        )  # that one looks at some lists only
        assert got.tobytes() == scores(vectors, query, ids).tobytes()
        assert [*zip((-got).tolist(), ids.tolist(), strict=True)] == sorted(
            zip((-got).tolist(), ids.tolist(), strict=True)
        )


@pytest.mark.parametrize("name", ["exact", "gpu"])
def test_exact_strategies_miss_nothing(name: str, tmp_path: Path) -> None:
    vectors = rows(700)
    found = made(name, vectors, tmp_path)
    for query in queries(5):
        assert found.search(query, 20)[0].tolist() == plain(vectors, query, 20)


@pytest.mark.parametrize("name", QUANTISED)
def test_quantised_strategies_find_nearly_all(name: str, tmp_path: Path) -> None:
    vectors = rows(6000)
    found = made(name, vectors, tmp_path)
    got, of = 0, 0
    for query in queries(60):
        truth = Exact(vectors).search(query, 10)[1][-1]
        got += int((found.search(query, 10)[1] >= truth).sum())
        of += 10
    assert got / of >= (0.97 if name == "fastscan" else 0.8)  # ivfpq is tuned for a million rows


@given(
    vectors=arrays.arrays(
        np.float16, st.tuples(st.integers(1, 40), st.just(8)), elements=st.floats(-1, 1, width=16)
    ),
    query=arrays.arrays(np.float32, 8, elements=st.floats(-1, 1, width=32)),
    k=st.integers(0, 50),
)
def test_a_scan_is_the_plain_sum_and_ties_go_to_the_lower_row(
    vectors: Matrix, query: Vectors, k: int
) -> None:
    vectors = np.concatenate((vectors, vectors))  # each row twice: all of them tie
    ids, got = Exact(vectors).search(query, k)
    assert ids.tolist() == plain(vectors, query, k)
    assert np.allclose(got, (vectors.astype(np.float64) @ query)[ids], atol=1e-5)


@examples(30)
@given(count=st.integers(1, 300), copy=st.booleans(), data=st.data())
def test_a_row_has_the_same_bits_alone_and_among_others(count: int, copy: bool, data: st.DataObject) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scan, "BLOCK_ROWS", data.draw(st.integers(1, 400)))
        patch.setattr(scan, "COPY_BYTES_MAX", 1 << 20 if copy else 0)
        vectors = rows(count, dims=data.draw(st.integers(1, 70)))
        query = queries(1, vectors.shape[1])[0]
        exact = Exact(vectors)
        for _ in range(2):
            ids, got = exact.search(query, count)
            alone = [scores(vectors, query, ids[n : n + 1])[0] for n in range(count)]
            assert got.tobytes() == np.array(alone, dtype=np.float32).tobytes()


def test_every_half_becomes_the_float_it_is() -> None:
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16).reshape(-1, 1)
    expected = np.where(np.isfinite(halves), halves, 0).astype(np.float32)
    assert scan.floats(halves).tobytes() == expected.tobytes()
    assert scan.floats(halves[:0]).shape == (0, 1)


@pytest.mark.parametrize("name", QUANTISED)
def test_an_extended_index_is_the_one_built_at_once(name: str, tmp_path: Path) -> None:
    """Or the same store would give other hits on another machine, and after its cache was deleted."""
    vectors = rows(3500)
    (tmp_path / "grown").mkdir()
    (tmp_path / "fresh").mkdir()
    for count in (500, 1100, 2047, 2048, 2500, 3500):
        build(name, vectors[:count], tmp_path / "grown")
    build(name, vectors, tmp_path / "fresh")
    (one,), (two,) = ((tmp_path / folder).iterdir() for folder in ("grown", "fresh"))
    assert one.read_bytes() == two.read_bytes()


@pytest.mark.parametrize("name", QUANTISED)
def test_extending_adds_only_what_is_new(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = rows(5 * 1024)
    build(name, vectors[: 4 * 1024], tmp_path)
    turned: list[int] = []
    monkeypatch.setattr(quantised, "floats", lambda some: turned.append(len(some)) or scan.floats(some))
    build(name, vectors, tmp_path)
    assert turned == [1024]
    inode = (tmp_path / f"{name}.faiss").stat().st_ino
    build(name, vectors, tmp_path)
    assert turned == [1024]
    assert (tmp_path / f"{name}.faiss").stat().st_ino == inode, "written again for nothing"


@pytest.mark.parametrize("name", QUANTISED)
def test_rows_behind_the_index_are_found_at_once(name: str, tmp_path: Path) -> None:
    vectors = rows(4000)
    build(name, vectors[:2048], tmp_path)
    found = load(name, vectors, tmp_path)
    for row in (2048, 2500, 3999):
        query = vectors[row].astype(np.float32)
        assert query.any()
        ids, got = found.search(query, 10)
        assert got[0] == scores(vectors, query, np.array([row]))[0]
        assert row in ids


@pytest.mark.parametrize("name", QUANTISED)
def test_stale_says_when_building_would_change_something(name: str, tmp_path: Path) -> None:
    vectors = rows(4000)
    assert load(name, vectors, tmp_path).stale(len(vectors))
    build(name, vectors, tmp_path)
    found = load(name, vectors, tmp_path)
    assert not found.stale(4000)
    assert not found.stale(4095)
    assert found.stale(4096)
    assert found.stale(3000)
    assert not load(name, vectors[:1000], tmp_path / "none").stale(1000)


@pytest.mark.parametrize("name", QUANTISED)
@pytest.mark.parametrize(
    "what", ["missing", "empty", "torn", "zeros", "other dimensions", "more rows", "another kind"]
)
def test_an_index_that_does_not_fit_is_one_that_covers_nothing(name: str, what: str, tmp_path: Path) -> None:
    vectors = rows(3000)
    path = tmp_path / f"{name}.faiss"
    build(name, vectors, tmp_path)
    whole = path.read_bytes()
    if what == "missing":
        path.unlink()
    elif what == "other dimensions":
        path.unlink()
        build(name, rows(3000, dims=16), tmp_path)
    elif what == "more rows":
        path.unlink()
        build(name, rows(5000), tmp_path)
    elif what == "another kind":
        faiss.write_index(faiss.IndexFlatIP(DIMS), str(path))
    else:
        path.write_bytes({"empty": b"", "torn": whole[: len(whole) // 2], "zeros": bytes(len(whole))}[what])
    found = load(name, vectors, tmp_path)
    query = queries(1)[0]
    assert found.search(query, 10)[0].tolist() == Exact(vectors).search(query, 10)[0].tolist()
    assert found.stale(3000)
    build(name, vectors, tmp_path)
    assert path.read_bytes() == whole
    assert not load(name, vectors, tmp_path).stale(3000)


@examples(40)
@given(cut=st.floats(0, 1), name=st.sampled_from(QUANTISED))
def test_an_index_cut_anywhere_is_none(
    cut: float, name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.getbasetemp() / name
    vectors = rows(1500)
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.faiss"
    build(name, vectors, folder)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(cut * (len(whole) - 1))])
    try:
        assert load(name, vectors, folder).stale(1500)
    finally:
        path.write_bytes(whole)


def test_a_full_disk_is_an_error_and_leaves_what_was_there(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    build("fastscan", rows(2048), tmp_path)
    before = (tmp_path / "fastscan.faiss").read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))  # what is longer cannot be written
    try:
        with pytest.raises(OSError, match="could not be written"):
            build("fastscan", rows(5000), tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert [path.name for path in tmp_path.iterdir()] == ["fastscan.faiss"]
    assert (tmp_path / "fastscan.faiss").read_bytes() == before


@pytest.mark.parametrize("name", QUANTISED)
@pytest.mark.parametrize("k", [1, 50, 400])
def test_asking_for_more_hits_misses_no_more_of_them(name: str, k: int, tmp_path: Path) -> None:
    vectors = rows(6000)
    found = made(name, vectors, tmp_path)
    shares = []
    for query in queries(30):
        last = Exact(vectors).search(query, k)[1][-1]
        shares.append(float((found.search(query, k)[1] >= last).mean()))
    assert np.mean(shares) >= (0.97 if name == "fastscan" else 0.8)


def test_the_index_is_the_owners_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        build("fastscan", rows(2000), tmp_path)
    finally:
        os.umask(before)
    (path,) = tmp_path.iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 3e38])
def test_what_is_not_a_number_counts_as_zeros(name: str, value: float, tmp_path: Path) -> None:
    vectors = rows(3000)
    vectors[7] = np.float16(np.inf) if value == 3e38 else value
    vectors[2999, 3] = vectors[7, 0]
    found = made(name, vectors, tmp_path)
    query = queries(1)[0]
    ids, got = found.search(query, 3000)
    assert np.isfinite(got).all()
    assert not got[np.isin(ids, (7, 2999))].any()
    query[0] = value
    ids, got = found.search(query, 3)
    assert (ids.tolist(), got.tolist()) == ([0, 1, 2], [0, 0, 0])


@pytest.mark.parametrize("name", QUANTISED)
@pytest.mark.parametrize("dims", [1, 2, 25, 66])
def test_any_number_of_dimensions_will_do(name: str, dims: int, tmp_path: Path) -> None:
    vectors = rows(2100, dims)
    ids, got = made(name, vectors, tmp_path).search(queries(1, dims)[0], 5)
    assert len(ids) == len(got) == 5


def test_another_process_gives_the_same_hits(tmp_path: Path) -> None:
    vectors = rows(5000)
    np.save(tmp_path / "vectors.npy", vectors)
    expected = made("fastscan", vectors, tmp_path).search(queries(1)[0], 50)
    np.save(tmp_path / "query.npy", queries(1)[0])
    code = (
        "import sys, pathlib, numpy as np; from recollect.search.vectors.nearest import load;"
        "folder = pathlib.Path(sys.argv[1]); vectors = np.load(folder / 'vectors.npy', mmap_mode='r');"
        "ids, got = load('fastscan', vectors, folder).search(np.load(folder / 'query.npy'), 50);"
        "print(ids.tobytes().hex(), got.tobytes().hex())"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == [part.tobytes().hex() for part in expected]


def test_training_leaves_the_number_of_threads_as_it_was(tmp_path: Path) -> None:
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(3)
    try:
        build("fastscan", rows(2000), tmp_path)
        assert faiss.omp_get_max_threads() == 3
    finally:
        faiss.omp_set_num_threads(before)


def test_an_unknown_strategy_is_refused(tmp_path: Path) -> None:
    for call in (build, load):
        with pytest.raises(UsageError, match="no strategy 'hnsw'") as error:
            call("hnsw", rows(5), tmp_path)
        assert "fastscan" in error.value.hint


@pytest.mark.parametrize("name", QUANTISED)
def test_without_faiss_a_forced_strategy_names_the_install_line(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(UsageError, match="need faiss") as error:
        load(name, rows(5), tmp_path)
    assert "pip install faiss-cpu" in error.value.hint
    assert {choose(10**power, 256) for power in range(9)} == {"exact"}


def test_without_a_gpu_a_forced_strategy_names_the_install_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(UsageError, match="CuPy or PyTorch") as error:
        load("gpu", rows(5), tmp_path)
    assert "pip install" in error.value.hint


def test_the_choice_follows_the_table() -> None:
    """Small: no import of faiss. Then codes of all rows, then lists; never one that misses too much."""
    order = [choose(count, 256) for count in (0, 10_000, 100_000, 300_000, 500_000, 2_000_000, 50_000_000)]
    assert order == ["exact", "exact", "fastscan", "fastscan", "fastscan", "ivfpq", "ivfpq"]
    assert choose(10_000, 256 * 10) == choose(100_000, 256)
    assert {choose(10**power, 256) for power in range(9)} <= {"exact", "fastscan", "ivfpq"}


def test_the_choice_weighs_recall_speed_and_the_first_search(monkeypatch: pytest.MonkeyPatch) -> None:
    table = (
        Measured("exact", 1000, p50_ms=2.0, first_ms=50, recall=1.0),
        Measured("fastscan", 1000, p50_ms=1.0, first_ms=90, recall=0.97),
        Measured("ivfpq", 1000, p50_ms=0.1, first_ms=10, recall=0.96),
    )
    monkeypatch.setattr(nearest, "MEASURED", table)
    assert choose(1000, 256) == "exact"  # quick enough, and the first to answer; ivfpq would miss too much
    assert choose(2000, 256) == "fastscan"  # past the table: a scan would take 4 ms
    assert choose(9000, 256) == "fastscan"  # none is quick enough: the fastest


def test_a_gpu_is_never_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a whole search it takes little, and most processes end before it is loaded."""
    table = (Measured("exact", 1000, 9.0, 9, 1.0), Measured("gpu", 1000, 0.1, 1, 1.0))
    monkeypatch.setattr(nearest, "MEASURED", table)
    assert {choose(10**power, 256) for power in range(9)} == {"exact"}


DECISION = Path(__file__).parents[3] / "docs" / "decisions" / "014-strategies.md"


def test_the_table_is_what_the_decision_tells() -> None:
    """Search, recall and first search of each strategy, as many digits as are told."""
    names = ("exact", "fastscan", "ivfpq", "gpu")
    known = {(row.strategy, row.rows): row for row in MEASURED}
    lines = re.findall(r"^\| ([\d,]+) \|(.*)\|$", DECISION.read_text("utf-8"), re.MULTILINE)
    for count, cells in lines:
        for name, cell in zip(names, cells.split("|"), strict=True):
            row, told = known[name, int(count.replace(",", ""))], cell.split(", ")
            numbers = [row.p50_ms, row.first_ms] if len(told) == 2 else [row.p50_ms, row.recall, row.first_ms]
            for text, number in zip(map(str.strip, told), numbers, strict=False):
                assert text == f"{number:.{len(text.partition('.')[2])}f}", (name, count)
    assert len(lines) >= 4


def test_what_was_measured_fits_together() -> None:
    steps = {
        name: [row for row in MEASURED if row.strategy == name] for name in ("exact", "fastscan", "ivfpq")
    }
    counts = [row.rows for row in steps["exact"]]
    assert counts == sorted(set(counts))
    for name in ("fastscan", "ivfpq", "gpu"):
        assert [row.rows for row in MEASURED if row.strategy == name] == counts
    assert all(0.9 < row.recall <= 1 for row in MEASURED)
    assert all(row.recall == 1 for row in MEASURED if row.strategy in ("exact", "gpu"))
    for rows_of in (steps["exact"], steps["fastscan"], steps["ivfpq"]):
        times = [row.first_ms for row in rows_of]
        assert times == sorted(times)
        assert [row.p50_ms for row in rows_of] == sorted(row.p50_ms for row in rows_of)
    gpu_times = [row.p50_ms for row in MEASURED if row.strategy == "gpu"]
    assert max(gpu_times) < 1.5 * min(gpu_times), "a scan is nothing for it"
    gpu_first = [row.first_ms for row in MEASURED if row.strategy == "gpu"]
    assert max(gpu_first) < 1.5 * min(gpu_first), "it is the start that takes long"


def test_each_strategy_is_chosen_up_to_where_the_decision_says() -> None:
    assert "`exact` to 30,000 rows, `fastscan` to 900,000, `ivfpq` beyond" in DECISION.read_text("utf-8")
    chosen = [choose(count, 256) for count in (1, 30_000, 35_000, 900_000, 1_000_000)]
    assert chosen == ["exact", "exact", "fastscan", "fastscan", "ivfpq"]


def test_a_search_that_takes_just_as_long_as_it_may_is_quick_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = Measured("exact", 1000, p50_ms=nearest.P50_MS_MAX, first_ms=1, recall=1.0)
    late = Measured("fastscan", 1000, p50_ms=0.1, first_ms=90, recall=1.0)
    monkeypatch.setattr(nearest, "MEASURED", (slow, late))
    assert choose(1000, 256) == "exact"


def test_importing_the_strategies_loads_no_library() -> None:
    code = "import sys, recollect.search.vectors.nearest as _; "
    code += "print(*{'faiss', 'torch', 'cupy', 'h5py'} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == ""
