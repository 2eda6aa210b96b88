"""What is erased is in no file of ours, stays away, and leaves its neighbours as they were."""

from __future__ import annotations

import base64
import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.canaries import (
    CANARIES,
    ERASED,
    HOST,
    KEPT,
    canary,
    forms,
    ours,
    places_with,
    record,
    talk,
    write,
    write_logs,
)

from recollect.intake.erased import erased
from recollect.memory import Memory
from recollect.memory.proof import Fingerprints, Looking
from recollect.testing.taken import kept_in, shown_in
from recollect.values.erasures import Wanted
from recollect.values.errors import NotFound, UsageError
from recollect.values.records import Provenance, Segment, SourceFile
from recollect.values.stored import source_bytes


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    return write_logs(tmp_path / "logs")


@pytest.fixture
def memory(tmp_path: Path) -> Any:
    with Memory.open(config=ours(tmp_path / "ours")) as made:
        yield made


def used_in_every_way(memory: Memory, logs: Path) -> None:
    memory.ingest([logs])
    memory.index()
    memory.search(canary("Body"))
    assembly, _ = memory.assemble(f"fix {canary('Body')}")
    assert assembly.pieces
    state = memory.config.state
    (state / "catalogs").mkdir(parents=True)
    (state / "catalogs" / "harbor.md").write_text(f"- {canary('Body')}")
    (state / "trouble").write_text(canary("Body"))
    (state / "sessions").mkdir()
    (state / "sessions" / f"{ERASED}.jsonl").write_text(str(logs / canary("Path")))


def test_a_session_is_in_no_file_of_ours_and_its_neighbours_are_as_they_were(
    memory: Memory, logs: Path, tmp_path: Path
) -> None:
    used_in_every_way(memory, logs)
    assert {"lines", "texts", "derived table digests"} <= places_with(memory, *CANARIES), "it was there"
    kept = {path: data for path, data in kept_in(memory).items() if KEPT in path}
    said = shown_in(memory).sessions[KEPT]
    with memory.view() as view:
        before = sum(model.rows for model in view.vector_models())
    tail = SourceFile(
        "claude", str(logs / canary("Path") / f"{ERASED}.jsonl"), session=ERASED, provenance=Provenance.OWN
    )
    memory.append(
        Segment(tail, HOST, (logs / canary("Path") / f"{ERASED}.jsonl").stat().st_size, b'{"a":1}\n')
    )

    chosen, receipt = memory.erase(Wanted(session=ERASED[:8]))

    assert places_with(memory, *CANARIES) == set()
    assert [each.session.facts.id for each in chosen.sessions] == [ERASED]
    assert receipt["verified"]["found"] == []
    assert receipt["verified"]["stretches"] > 3
    assert (chosen.counts["lines"], chosen.counts["responses"]) == (6, 2)
    assert not any(
        form in json.dumps(receipt).encode() for text in (*CANARIES, ERASED) for form in forms(text)
    )
    assert {path: data for path, data in kept_in(memory).items() if KEPT in path} == kept
    assert shown_in(memory).sessions == {KEPT: said}
    with memory.view() as view:
        assert 0 < sum(model.rows for model in view.vector_models()) < before
    assert memory.check() == []


def test_what_was_erased_does_not_come_back(memory: Memory, logs: Path) -> None:
    memory.ingest([logs])
    memory.erase(Wanted(session=ERASED))
    path = logs / canary("Path") / f"{ERASED}.jsonl"
    own = SourceFile("claude", str(path), session=ERASED, provenance=Provenance.OWN)
    memory.append(Segment(own, HOST, 0, path.read_bytes()))
    memory.checkpoint()
    with path.open("a") as more:
        more.write(json.dumps(record(ERASED, 9, "user", f"And {canary('Body')} again")) + "\n")
    memory.ingest([logs])
    memory.reparse()
    memory.compact()
    memory.repair()
    memory.ingest([logs])
    copied = write(
        logs / "copy" / "0dd00000-0000-4000-8000-00000000000c.jsonl",
        [json.loads(each) for each in path.read_text().splitlines()[:2]],
    )
    copied.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:2]))
    memory.ingest([logs])
    with memory.view() as view:
        assert ERASED not in {each.facts.id for each in view.sessions()}
        assert len(erased(view).erasures) == 1
    for left in memory.config.path.parent.glob("*.damaged-*"):  # type: ignore[union-attr]
        left.unlink()
    assert places_with(memory, *CANARIES) == set()


def test_an_erasure_that_is_forgotten_lets_it_come_back(memory: Memory, logs: Path) -> None:
    memory.ingest([logs])
    before = shown_in(memory), kept_in(memory)
    memory.erase(Wanted(session=ERASED))
    (noted,) = memory.erasures()
    memory.forget_erasure(noted.id[:6])
    assert memory.erasures() == []
    memory.ingest([logs])
    after = kept_in(memory)
    assert (shown_in(memory), {path: after[path] for path in before[1]}) == before
    with pytest.raises(NotFound):
        memory.forget_erasure(noted.id)


def test_lines_with_a_text_go_and_the_rest_of_their_session_stays(memory: Memory, logs: Path) -> None:
    path = write(
        logs / "harbor" / f"{KEPT}.jsonl",
        [*talk(KEPT, "gasket")[1:4], record(KEPT, 20, "user", f"One more about {canary('Line')} here")],
    )
    first = record(KEPT, 0, "user", f"Rather call it {canary('Line')} from now on, please")
    path.write_text(json.dumps(first) + "\n" + path.read_text())
    memory.ingest([logs])
    memory.index()
    assert canary("Line") in memory.session(KEPT).facts.title
    chosen, receipt = memory.erase(Wanted(match=canary("Line")))
    assert (chosen.counts["sessions"], chosen.counts["lines"]) == (0, 2)
    assert receipt["verified"]["found"] == []
    assert places_with(memory, canary("Line")) == set()
    assert memory.session(KEPT).facts.title
    assert len(list(memory.show(KEPT))) >= 4
    assert memory.search("gasket").hits
    memory.index()
    with path.open("a") as more:
        more.write(json.dumps(record(KEPT, 21, "user", "And what of the valve?")) + "\n")
    memory.ingest([logs])
    memory.reparse()
    os.utime(path, ns=(1, 1))
    memory.ingest([logs])
    assert places_with(memory, canary("Line")) == set()
    assert memory.tail(KEPT, 1)[0].entry.text == "And what of the valve?"
    with memory.view() as view:
        (source,) = [each for each in view.sources() if each.session == KEPT and not each.superseded]
        lines = path.read_bytes().splitlines(keepends=True)
        left = b"".join(line for line in lines if canary("Line").encode() not in line)
        assert b"".join(source_bytes(source, view.lines(source))) == left
        assert source.thinned


def test_an_entry_a_project_a_host_and_a_time_are_erased(memory: Memory, logs: Path) -> None:
    memory.ingest([logs])
    entry = next(each for each in memory.show(KEPT) if "fix gasket" in each.entry.text)
    assert memory.erasable(Wanted(entry=entry.id)).counts["lines"] == 1
    assert memory.erasable(Wanted(host=HOST)).counts["sessions"] == 2
    assert memory.erasable(Wanted(host=HOST, regex="ga[s]ket")).counts["sessions"] == 0
    timed = memory.erasable(Wanted(since_ms=1772445600000, until_ms=1772445602000))
    assert timed.counts["lines"] == 4
    assert memory.erasable(Wanted(project=canary("Folder"))).counts["sessions"] == 1
    for nothing in (Wanted(match="nowhere at all"), Wanted(host="elsewhere")):
        with pytest.raises(NotFound):
            memory.erasable(nothing)
    with pytest.raises(UsageError):
        memory.erasable(Wanted(regex="("))
    memory.erase(Wanted(entry=entry.id))
    assert entry.id not in {each.id for each in memory.show(KEPT)}


def test_a_receipt_tells_when_something_is_back(memory: Memory, logs: Path) -> None:
    memory.ingest([logs])
    _, receipt = memory.erase(Wanted(session=ERASED))
    told = memory.verify_erasure(receipt, [canary("Body")])
    assert (told["found"], told["remembered"]) == ([], True)
    text = f"Please fix {canary('Body')}, it fails in src/{canary('Body')}/main.py since yesterday."
    state = memory.config.state
    state.mkdir(parents=True, exist_ok=True)
    for data in (
        text.encode(),
        text.encode("utf-16-le"),
        b"\0" + text.encode("utf-16-be"),
        *(b"{" + base64.b64encode(b"-" * n + text.encode()) + b"}" for n in range(3)),
    ):
        (state / "trouble").write_bytes(b"before " * 9 + data + b" behind")
        assert memory.verify_erasure(receipt)["found"], data
        assert memory.verify_erasure(receipt, [canary("Body")])["found"], data
    (state / "trouble").unlink()
    memory.forget_erasure(receipt["id"])
    memory.ingest([logs])
    told = memory.verify_erasure(receipt)
    assert told["remembered"] is False
    assert "lines" in told["found"]
    with pytest.raises(UsageError):
        memory.verify_erasure({"id": "x"})


def test_texts_too_short_for_a_fingerprint_are_found_when_they_are_given() -> None:
    assert not Fingerprints.of(b"k" * 16, ["short"]).prints
    assert Looking(texts=["short"]).found_in(b"it is short")
    assert not Looking(texts=["short"]).found_in(b"it is long")


def test_subagents_go_with_the_session_that_started_them(memory: Memory, logs: Path) -> None:
    folder = logs / canary("Path") / ERASED / "subagents"
    side = [{**each, "isSidechain": True, "agentId": "a1"} for each in talk(ERASED, canary("Side"))[:4]]
    write(folder / "agent-a1.jsonl", side)
    memory.ingest([logs])
    assert places_with(memory, canary("Side"))
    chosen, _ = memory.erase(Wanted(session=ERASED))
    assert chosen.counts["sessions"] == 2
    memory.ingest([logs])
    assert places_with(memory, *CANARIES, canary("Side")) == set()


def test_own_files_are_named_for_the_person(memory: Memory, logs: Path) -> None:
    memory.ingest([logs])
    chosen, _ = memory.erase(Wanted(session=ERASED))
    path = logs / canary("Path") / f"{ERASED}.jsonl"
    assert memory.sources_of_erased(chosen) == [str(path)]
    shutil.rmtree(path.parent)
    assert memory.sources_of_erased(chosen) == []


def test_a_saved_thread_says_what_of_it_was_erased_and_holds_nothing_of_it(
    memory: Memory, logs: Path
) -> None:
    memory.ingest([logs])
    memory.index()
    mixed, _ = memory.assemble("everything green without trouble")
    assert {piece.session.facts.id for piece in mixed.pieces} == {ERASED, KEPT}
    memory.save_thread(mixed, "both")
    whole = replace(mixed, pieces=tuple(p for p in mixed.pieces if p.session.facts.id == ERASED))
    memory.save_thread(whole, "one")
    memory.edit_thread("one", "pin", piece=1)
    assert {memory.saved_thread("both").project, memory.saved_thread("one").project} >= {canary("Folder")}
    memory.snapshot(logs.parent / "copy.h5")

    memory.erase(Wanted(session=ERASED))
    memory.merge([logs.parent / "copy.h5"], own=True)

    assert places_with(memory, *CANARIES) == set()
    assert memory.saved_thread("one").project == ""
    assert memory.saved_thread("one").pieces[0].pinned
    for piece in memory.saved_pieces("one"):
        assert (piece.piece, piece.says, piece.erased) == (None, "(erased)", len(piece.saved.ids))
    assembly, conversation = memory.reassemble("both")
    assert {piece.session.facts.id for piece in assembly.pieces} == {KEPT}
    assert any("erased" in note for note in assembly.notes)
    assert conversation.title == "both"
    with pytest.raises(NotFound, match="erased"):
        memory.reassemble("one")
    memory.compact()
    memory.reparse()
    assert [each.name for each in memory.saved_threads()] in (["one", "both"], ["both", "one"])
    assert sum(piece.erased for piece in memory.saved_pieces("both")) > 0
    assert memory.check() == []
