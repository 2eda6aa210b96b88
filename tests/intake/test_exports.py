"""Documents with many conversations: each is a session, and a later export is a later version of it."""

from __future__ import annotations

import copy
import json
import tracemalloc
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import DATA
from tests.support.memories import content, open_memory, sources_of

from recollect.intake import exports
from recollect.intake.exports import conversations_in
from recollect.intake.ingest import Ingest
from recollect.memory import Memory
from recollect.values.errors import SourceError

CHATGPT = DATA / "chatgpt" / "conversations.json"
CLAUDEAI = DATA / "claudeai" / "conversations.json"
TIDES, BOAT = (f"6800000{end}-0000-4000-8000-000000000000" for end in "ab")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def talks(path: Path = CHATGPT) -> list[Any]:
    return json.loads(path.read_bytes())


def write(path: Path, conversations: Any) -> Path:
    path.write_text(json.dumps(conversations))
    return path


def said(memory: Memory, session: str) -> list[str]:
    with memory.view() as view:
        return [each.entry.text for each in view.entries(view.find_session(session))]


def grown(talk: dict[str, Any], text: str, at: float) -> dict[str, Any]:
    """A conversation with one more answer."""
    talk = copy.deepcopy(talk)
    last = talk["current_node"]
    message = {"author": {"role": "assistant"}, "content": {"content_type": "text", "parts": [text]}}
    talk["mapping"][last]["children"] = ["more"]
    talk["mapping"]["more"] = {"id": "more", "parent": last, "children": [], "message": message}
    talk["current_node"], talk["update_time"] = "more", at
    return talk


@pytest.fixture
def memory(folder: Path) -> Iterator[Memory]:
    with open_memory(folder / "m.h5") as memory:
        yield memory


# -- a later export --------------------------------------------------------------------------------


def test_the_same_export_again_under_another_name_says_nothing_new(folder: Path, memory: Memory) -> None:
    memory.ingest([CHATGPT, CLAUDEAI])
    before = content(memory)
    again = memory.ingest([write(folder / "again.json", talks()), CHATGPT])
    assert (again.sources, again.changed, again.bytes_parsed) == (2, 0, 0)
    assert content(memory) == before


def test_of_a_grown_conversation_only_what_is_new_is_stored(folder: Path, memory: Memory) -> None:
    memory.ingest([CHATGPT])
    before, lines = said(memory, TIDES), memory.info().lines
    tides, *others = talks()
    later = memory.ingest([write(folder / "later.json", [*others, grown(tides, "And at 02:40.", 1.8e9)])])
    assert said(memory, TIDES) == [*before, "And at 02:40."]
    # Its end, its new message, the one before that, which names it, and its beginning with the time.
    assert (later.taken, memory.info().lines - lines, later.entries) == (4, 4, 2)
    assert json.loads(sources_of(memory)[f"chatgpt:{TIDES}"])["current_node"] == "more"


def test_another_title_takes_the_place_of_the_first(folder: Path, memory: Memory) -> None:
    memory.ingest([CHATGPT])
    tides = talks()[0] | {"title": "Water at noon in the harbor", "update_time": 1.8e9}
    renamed = memory.ingest([write(folder / "later.json", [tides])])
    with memory.view() as view:
        assert view.find_session(TIDES).facts.title == "Water at noon in the harbor"
    assert renamed.entries == 0


def test_a_conversation_that_is_gone_from_an_export_stays(folder: Path, memory: Memory) -> None:
    memory.ingest([CHATGPT])
    before = said(memory, TIDES)
    memory.ingest([write(folder / "later.json", talks()[1:])])
    assert said(memory, TIDES) == before


def test_a_branch_that_was_returned_to_is_shown_again(folder: Path, memory: Memory) -> None:
    memory.ingest([CHATGPT])
    boat = talks()[1] | {"current_node": "b-more", "update_time": 1.8e9}
    memory.ingest([write(folder / "later.json", [boat])])
    ember = ["Name my red boat.", "Call it Ember.", "Something shorter than Ember?"]
    assert said(memory, BOAT) == ember
    memory.ingest([write(folder / "last.json", [talks()[1] | {"update_time": 1.9e9}])])
    assert "Call it Poppy." in said(memory, BOAT)
    assert "Call it Ember." not in said(memory, BOAT)


def test_an_older_export_is_kept_and_changes_nothing_that_is_shown(folder: Path, memory: Memory) -> None:
    tides = talks()[0]
    newer = write(folder / "newer.json", [grown(tides, "And at 02:40.", 1.8e9) | {"title": "Tides again"}])
    memory.ingest([newer])
    before, kept = said(memory, TIDES), sources_of(memory)
    memory.ingest([write(folder / "older.json", [tides])])
    assert (said(memory, TIDES), sources_of(memory)) == (before, kept)
    with memory.view() as view:
        assert view.find_session(TIDES).facts.title == "Tides again"
        versions = [b"".join(line.data for line in view.lines(source)) for source in view.sources()]
    assert json.dumps(tides).encode() in versions
    again = memory.ingest([folder / "older.json", newer])
    assert (again.changed, again.entries) == (0, 0)


def test_a_crash_never_leaves_the_older_version_shown(
    folder: Path, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    tides, newer = talks()[0], grown(talks()[0], "And at 02:40.", 1.8e9)
    memory.ingest([write(folder / "newer.json", [newer])])
    before = said(memory, TIDES)
    takes = iter((Ingest._take_all, None))  # the second time there is nothing to be called

    def take_all(*given: Any) -> bool:
        return next(takes)(*given)  # type: ignore[misc]

    monkeypatch.setattr("recollect.intake.ingest.COMMIT_BYTES", 1)
    monkeypatch.setattr(Ingest, "_take_all", take_all)
    with pytest.raises(TypeError):
        memory.ingest([write(folder / "older.json", [tides])])
    monkeypatch.undo()
    assert said(memory, TIDES) == before
    memory.ingest([folder / "older.json"])
    assert said(memory, TIDES) == before


def test_a_store_made_anew_from_its_lines_says_the_same(folder: Path, memory: Memory) -> None:
    memory.ingest([CHATGPT, CLAUDEAI])
    memory.ingest([write(folder / "later.json", [grown(talks()[0], "And at 02:40.", 1.8e9)])])
    before = {
        key: [each.entry for each in entries] for key, (_, _, entries) in content(memory)["sessions"].items()
    }
    memory.reparse()
    after = content(memory)["sessions"]
    assert {key: [each.entry for each in entries] for key, (_, _, entries) in after.items()} == before
    assert memory.check() == []


def test_what_is_no_conversation_is_kept_and_shown_nowhere(folder: Path, memory: Memory) -> None:
    broken = '{"mapping": {"x": tru}}'
    nameless = json.dumps({"id": "\n", "mapping": {}})
    text = f"[{json.dumps(talks()[0])}, {broken}, 7, {nameless}]"
    (folder / "odd.json").write_text(text)
    report = memory.ingest([folder / "odd.json"])
    assert (report.failed, report.bad) == ({}, 1)
    assert {broken.encode(), nameless.encode()} < set(sources_of(memory).values())
    assert [each.facts.id for each in memory.sessions() if each.entries] == [TIDES]
    assert memory.ingest([folder / "odd.json"]).changed == 0


def test_an_export_is_imported_and_no_file_of_it_is_missed(folder: Path, memory: Memory) -> None:
    path = write(folder / "later.json", talks())
    memory.ingest([path])
    path.unlink()
    with memory.view() as view:
        assert all(source.imported for source in view.sources())
    assert (memory.standing().gone, memory.standing().changed) == (0, 0)


def test_a_dry_run_counts_and_changes_nothing(folder: Path, memory: Memory) -> None:
    dry = memory.ingest([CHATGPT], dry_run=True)
    assert memory.sessions() == []
    real = memory.ingest([CHATGPT])
    assert (dry.taken, dry.entries) == (real.taken, real.entries)


def test_many_parts_and_a_folder_are_one_export(folder: Path, memory: Memory) -> None:
    for number, talk in enumerate(talks()):
        write(folder / f"conversations-{number:03}.json", [talk])
    (folder / "user.json").write_text('{"id":"user-1","email":"ada@example.invalid"}')
    report = memory.ingest([folder])
    assert len(memory.sessions()) == 3
    assert report.sources == 3


# -- a document in a stream ------------------------------------------------------------------------


@given(
    values=st.lists(st.dictionaries(st.text(), JSON, max_size=4), max_size=6),
    indent=st.sampled_from([None, 1]),
    is_ascii=st.booleans(),
    size=st.integers(1, 40),
)
def test_a_list_is_cut_wherever_its_pieces_end(
    values: list[Any], indent: int | None, is_ascii: bool, size: int
) -> None:
    data = json.dumps(values, indent=indent, ensure_ascii=is_ascii).encode("utf-8", "surrogatepass")
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    found = list(conversations_in(pieces, "export"))
    assert [json.loads(each.decode("utf-8", "surrogatepass")) for each in found] == values
    assert all(each in data for each in found)


def told_of(data: bytes, size: int) -> tuple[list[bytes], str]:
    """What is told before it is refused, and why it is."""
    found: list[bytes] = []
    try:
        found.extend(conversations_in([data[at : at + size] for at in range(0, len(data), size)], "export"))
    except SourceError as error:
        return found, str(error)
    return found, ""


def ends_of(text: str) -> Iterator[int]:
    """Behind which byte each object of a list ends."""
    at = 1
    while at > 0:
        _, end = json.JSONDecoder().raw_decode(text, at)
        yield len(text[:end].encode())
        at = text.find("{", end)


@given(
    data=st.binary(max_size=60) | st.text('[]{},:"\\ a', max_size=40).map(str.encode), size=st.integers(1, 9)
)
def test_any_bytes_are_cut_or_refused(data: bytes, size: int) -> None:
    at = 0
    for each in told_of(data, size)[0]:
        at = data.find(each, at)
        assert at >= 0
        at += len(each)


@given(cut=st.integers(0, len(CHATGPT.read_bytes()) - 1))
def test_of_a_document_cut_short_whole_conversations_are_told_before_it_is_refused(cut: int) -> None:
    data = CHATGPT.read_bytes()
    found, why = told_of(data[:cut], 1000)
    assert "ends too early" in why
    assert [json.loads(each) for each in found] == talks()[: len(found)]
    assert len(found) == sum(end <= cut for end in ends_of(data.decode()))


def test_one_too_long_is_passed_over_and_the_others_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    values = [{"a": "b"}, {"c": [["d"]] * 500}, {"e": "f"}]
    data = json.dumps(values).encode()
    monkeypatch.setattr(exports, "PIECE_BYTES", 200)
    found = list(conversations_in([data[at : at + 50] for at in range(0, len(data), 50)], "export"))
    assert found == [b'{"a": "b"}', b"", b'{"e": "f"}']


def test_one_too_long_is_named(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    told = [b"", json.dumps(talks()[0]).encode()]
    monkeypatch.setattr("recollect.intake.ingest.conversations_in", lambda pieces, name: iter(told))
    report = memory.ingest([CHATGPT])
    assert report.failed == {f"{CHATGPT}:1": "a conversation longer than 64 MiB"}
    assert [each.facts.id for each in memory.sessions()] == [TIDES]


def test_a_long_document_takes_no_more_memory_than_a_short_one() -> None:
    """Both are longer than what is read at once."""
    talk = json.dumps({"id": "1", "mapping": {"text": "x" * 50_000}}).encode()

    def peak(count: int) -> int:
        pieces = (piece for n in range(count) for piece in (b"," if n else b"[", talk))
        tracemalloc.start()
        try:
            assert sum(1 for _ in conversations_in((*pieces, b"]"), "export")) == count
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert peak(400) < 2 * peak(40)


def test_both_services_call_their_file_the_same_and_are_told_apart(folder: Path, memory: Memory) -> None:
    for name, path in (("a", CHATGPT), ("b", CLAUDEAI)):
        with zipfile.ZipFile(folder / f"{name}.zip", "w", zipfile.ZIP_DEFLATED) as made:
            made.write(path, "conversations.json")
    memory.ingest([folder / "a.zip", folder / "b.zip"])
    assert {each.facts.agent for each in memory.sessions()} == {"chatgpt", "claudeai"}
