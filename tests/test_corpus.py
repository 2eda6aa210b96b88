"""Real logs: every byte comes back, and a session seen growing is the session seen whole."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from tests.support.logs import adds_up
from tests.support.memories import content, open_memory, scratch, sources_of

from recollect.memory import Memory
from recollect.store.contract import View
from recollect.values.records import Framing, Segment
from recollect.values.stored import source_bytes

CORPUS = Path(os.environ.get("RECOLLECT_CORPUS", ""))

pytestmark = [
    pytest.mark.corpus,
    pytest.mark.skipif(not os.environ.get("RECOLLECT_CORPUS"), reason="RECOLLECT_CORPUS names no corpus"),
]


@pytest.fixture(scope="module")
def memory() -> Iterator[Memory]:
    """A store of everything in the corpus that any adapter recognises."""
    with scratch() as folder, open_memory(folder / "m.h5") as memory:
        report = memory.ingest([CORPUS])
        assert adds_up(report)
        assert not report.failed
        assert report.sources == report.changed + report.unchanged
        assert len(memory.sources()) == report.changed
        yield memory


def _differing(view: View, share: float = 1.0) -> list[str]:
    """Sources whose stored bytes are not those of their file."""
    chance = random.Random(7)
    sources = view.sources()
    assert sources
    kept = [each for each in sources if each.file.has_file and each.file.framing is not Framing.ROWS]
    chosen = [source for source in kept if chance.random() < share]
    return [
        source.file.path
        for source in chosen
        if not _is(Path(source.file.read_path), source_bytes(source, view.lines(source)))
    ]


def _is(path: Path, pieces: Iterator[bytes]) -> bool:
    with path.open("rb") as file:
        return all(file.read(len(piece)) == piece for piece in pieces) and not file.read(1)


def test_every_file_comes_back_byte_for_byte(memory: Memory) -> None:
    with memory.view() as view:
        assert _differing(view) == []


def test_nothing_is_wrong_with_the_store(memory: Memory) -> None:
    assert memory.check() == []


def test_a_second_sweep_parses_nothing(memory: Memory) -> None:
    generation = memory.info().generation
    report = memory.ingest([CORPUS])
    assert (report.bytes_parsed, report.lines, report.changed) == (0, 0, 0)
    assert memory.info().generation == generation


def test_a_compacted_copy_shows_the_same(memory: Memory) -> None:
    with scratch() as folder:
        memory.snapshot(folder / "copy.h5")
        with open_memory(folder / "copy.h5") as copy:
            report = copy.compact()
            assert report.bytes_after <= report.bytes_before
            with copy.view() as view, memory.view() as whole:
                assert _differing(view, share=0.1) == []
                assert view.info().entries == whole.info().entries
                assert view.types() == whole.types()
                for session in random.Random(8).sample(whole.sessions(), 20):
                    same = view.find_session(session.facts.id)
                    assert list(view.entries(same)) == list(whole.entries(session))


@pytest.mark.full
def test_a_reparsed_copy_shows_the_same(memory: Memory) -> None:
    with scratch() as folder:
        memory.snapshot(folder / "copy.h5")
        with open_memory(folder / "copy.h5") as copy:
            copy.reparse()
            assert content(copy) == content(memory)


def _chains() -> dict[str, list[Path]]:
    folders = sorted({path.parent for path in (CORPUS / "_chains").rglob("*.jsonl")})
    return {str(folder.relative_to(CORPUS / "_chains")): sorted(folder.glob("*.jsonl")) for folder in folders}


def _place(root: Path, name: str) -> Path:
    """Where the agent would have kept the session whose snapshots these are."""
    agent, *_, session = Path(name).parts
    if agent == "codex":
        return root / "sessions" / "2026" / f"rollout-2026-01-01T00-00-00-{session}.jsonl"
    return root / "projects" / "-chain" / f"{session}.jsonl"


@pytest.fixture(scope="module")
def grown() -> Iterator[tuple[Memory, Memory]]:
    """All chains taken snapshot by snapshot, and all chains taken only as they ended."""
    with (
        scratch() as folder,
        open_memory(folder / "steps.h5") as steps,
        open_memory(folder / "last.h5") as last,
    ):
        chains = _chains()
        for step in range(max(map(len, chains.values()))):
            for name, snapshots in chains.items():
                if step < len(snapshots):
                    target = _place(folder / "logs", name)
                    target.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(snapshots[step], target)
            assert adds_up(steps.ingest([folder / "logs"]))
        last.ingest([folder / "logs"])
        yield steps, last


def _appended(snapshots: list[Path]) -> bool:
    """Whether each snapshot only goes on from the one before."""
    return all(b.read_bytes().startswith(a.read_bytes()) for a, b in pairwise(snapshots))


def test_chains_taken_step_by_step_equal_chains_taken_at_the_end(grown: tuple[Memory, Memory]) -> None:
    steps, last = (content(memory) for memory in grown)
    assert steps["raw"] == last["raw"]
    assert steps["owners"] == last["owners"]
    only_grew = {Path(name).name for name, snapshots in _chains().items() if _appended(snapshots)}
    assert len(only_grew) > 5
    for (agent, session), shown in last["sessions"].items():
        if session in only_grew:
            assert steps["sessions"][agent, session] == shown
    assert [row for row in steps["usage"] if row[0] in only_grew] == [
        row for row in last["usage"] if row[0] in only_grew
    ]


def test_chains_that_were_rewritten_keep_what_each_snapshot_had(grown: tuple[Memory, Memory]) -> None:
    """A snapshot that is no continuation begins a new version; no line of an old one is lost or doubled."""
    steps, last = (content(memory) for memory in grown)
    for key, (_, _, entries) in last["sessions"].items():
        ids = [entry.id for entry in steps["sessions"][key][2]]
        assert {entry.id for entry in entries} <= set(ids)
    with grown[0].view() as view:
        versions = {b"".join(source_bytes(s, view.lines(s))) for s in view.sources()}
    for snapshots in _chains().values():
        for older, newer in pairwise(snapshots):
            if not newer.read_bytes().startswith(older.read_bytes()):
                assert older.read_bytes() in versions


def test_a_corpus_file_in_halves_by_journal_equals_the_file(memory: Memory) -> None:
    """Real lines cut anywhere, folded in pieces, with no file to look at."""
    chance = random.Random(9)
    with memory.view() as view, scratch() as folder, open_memory(folder / "m.h5") as other:
        sources = [
            s
            for s in view.sources()
            if 10_000 < s.cursor.offset < 200_000 and s.file.framing == Framing.LINES
        ]
        for source in chance.sample(sources, 12):
            data = b"".join(source_bytes(source, view.lines(source)))
            cut = chance.randrange(len(data))
            for start, stop in ((0, cut), (cut, len(data))):
                other.append(Segment(source.file, source.host, start, data[start:stop]))
            other.checkpoint()
            assert sources_of(other)[source.file.path] == data


def test_split_at_random_and_merged_in_any_order_it_is_the_whole(memory: Memory) -> None:
    chance = random.Random(15)
    files = [path for path in sorted(CORPUS.rglob("*")) if path.is_file()]
    halves: list[list[Path]] = [[], []]
    for path in files:
        halves[chance.random() < 0.5].append(path)
    expected = content(memory)
    with scratch() as folder:
        for name, half in zip("ab", halves, strict=True):
            with open_memory(folder / f"{name}.h5") as part:
                part.ingest(half)
        for order in ("ab", "ba"):
            with open_memory(folder / f"{order}.h5") as merged:
                for name in order:
                    merged.merge([folder / f"{name}.h5"])
                seen = content(merged)
            for part_of in ("usage", "raw", "owners"):
                assert seen[part_of] == expected[part_of], part_of
            shown = {name: entries for name, (_, _, entries) in seen["sessions"].items()}
            assert shown == {name: entries for name, (_, _, entries) in expected["sessions"].items()}
