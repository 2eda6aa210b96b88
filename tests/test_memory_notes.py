"""What code saves is durable, seen by everyone at once, found like all else, gone when it was taken back."""

from __future__ import annotations

import contextlib
import datetime
import json
import math
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support import DATA

from recollect.agents.memory.artifacts import packed, pieces, unpacked
from recollect.agents.memory.parse import NoteParser
from recollect.agents.memory.records import line_of, note_of, note_record, notes_file
from recollect.config import Config
from recollect.memory import Memory
from recollect.testing.reference import ENGINE
from recollect.values.erasures import Wanted
from recollect.values.errors import NotFound, StoreClosed, StoreError, UsageError
from recollect.values.notes import METADATA_BYTES_MAX, TAGS_MAX, TEXT_BYTES_MAX, NewNote, Note
from recollect.values.records import Kind


@pytest.fixture(params=["file", "reference"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    at = tmp_path / "agent.h5" if request.param == "file" else f"memory:{tmp_path}"
    with Memory.open(config=config(at, tmp_path)) as made:
        yield made
    if request.param != "file":
        ENGINE.forget(str(at))


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(config=config(tmp_path / "agent.h5", tmp_path)) as made:
        yield made


def config(at: Any, folder: Path) -> Config:
    return Config(at, "here", cache=folder / "cache")


def found(memory: Memory, query: str) -> list[str]:
    return [hit.stored.entry.text for hit in memory.search(query).hits]


class TestSaving:
    def test_a_note_comes_back_with_all_that_was_said_of_it(self, memory: Memory) -> None:
        moment = datetime.datetime(2026, 3, 2, 14, tzinfo=datetime.UTC)
        id_ = memory.save(
            "this team installs with uv",
            session="chat-17",
            role="user",
            tags=["preference", "Tools", "preference"],
            channel="slack",
            project="harbor",
            author="ada",
            time=moment,
            metadata={"n": [1, None, {"deep": 2.5}], "long": 2**70, "é": "\ud800"},
            vector=[0.5, -1.0],
        )
        note = memory.get(id_)
        told = (note.text, note.session, note.role, note.tags, note.channel, note.project, note.author)
        assert told == (
            "this team installs with uv",
            "chat-17",
            "user",
            ("preference", "Tools"),
            "slack",
            "harbor",
            "ada",
        )
        assert note.time_ms == int(moment.timestamp() * 1000) < note.updated_ms
        assert note.metadata == {"n": [1, None, {"deep": 2.5}], "long": 2**70, "é": "\ud800"}
        assert np.frombuffer(note.vector, "<f4").tolist() == [0.5, -1.0]
        assert memory.find(note.entry)[1] is not None, "its entry is one like any other"

    def test_a_batch_keeps_its_order_and_is_one_append(self, memory: Memory) -> None:
        notes = [NewNote(f"note {n}", session="chat") for n in range(50)]
        ids = memory.save_batch([*notes, NewNote("with an id", id="mine", session="chat")])
        assert memory.waiting() == 1
        assert [note.text for note in memory.notes(session="chat")] == [
            *(note.text for note in notes),
            "with an id",
        ]
        assert ids[-1] == "mine"
        assert len(set(ids)) == 51
        assert [note.id for note in memory.notes(session="chat", last=2)] == ids[-2:]

    def test_another_memory_sees_it_at_once(self, tmp_path: Path) -> None:
        settings = config(tmp_path / "agent.h5", tmp_path)
        with Memory.open(config=settings) as one, Memory.open(config=settings) as other:
            id_ = one.save("said here")
            assert other.get(id_).text == "said here"
            assert found(other, "said here") == ["said here"]
            other.save("said there")
            assert {note.text for note in one.notes()} == {"said here", "said there"}

    def test_another_process_that_was_killed_has_saved_what_it_was_told_of(self, tmp_path: Path) -> None:
        script = (
            "import os, sys, recollect\n"
            "memory = recollect.Memory.open(sys.argv[1])\n"
            "for n in range(20): print(memory.save(f'note {n}'), flush=True)\n"
            "os.kill(os.getpid(), 9)\n"
        )
        store = tmp_path / "agent.h5"
        told = subprocess.run([sys.executable, "-c", script, str(store)], capture_output=True, text=True)
        assert told.returncode == -9
        with Memory.open(config=config(store, tmp_path)) as memory:
            assert [note.id for note in memory.notes()] == told.stdout.split()

    def test_the_same_id_again_takes_the_earlier_ones_place(self, memory: Memory) -> None:
        memory.save_batch([NewNote("first", id="a"), NewNote("second", id="b")])
        memory.save("first, again", id="a")
        assert [(note.id, note.text) for note in memory.notes()] == [("a", "first, again"), ("b", "second")]
        assert found(memory, "first")[0] == "first, again"
        assert "first" not in found(memory, "first")

    def test_an_id_is_of_its_session(self, memory: Memory) -> None:
        memory.save("here", id="a", session="one")
        memory.save("there", id="a", session="two")
        assert memory.get("a", session="one").text == "here"
        assert memory.get("a", session="two").text == "there"
        with pytest.raises(NotFound, match="several sessions: one, two"):
            memory.get("a")
        assert memory.delete("a", session="one") == 1
        assert [note.text for note in memory.notes()] == ["there"]

    def test_notes_of_a_project_are_a_session_of_it(self, memory: Memory) -> None:
        memory.save("deploys go through staging first", project="harbor")
        memory.save("tea at four")
        assert found(memory, "project:harbor staging") == ["deploys go through staging first"]
        assert {session.facts.id for session in memory.sessions()} == {"notes/harbor", "notes"}

    def test_roles_are_kinds_of_entries(self, memory: Memory) -> None:
        for role in ("note", "user", "assistant", "system", "tool"):
            memory.save(f"says the {role}", session="chat", role=role)
        kinds = [each.entry.kind for each in memory.show("chat")]
        assert kinds == [Kind.NOTE, Kind.PROMPT, Kind.ANSWER, Kind.CONTEXT, Kind.RESULT]
        assert memory.count() == 5
        assert found(memory, "kind:note") == found(memory, "role:note") == ["says the note"]


class TestChanging:
    def test_what_is_given_changes_and_nothing_else(self, memory: Memory) -> None:
        id_ = memory.save("pip", tags=["tool"], metadata={"a": 1}, vector=[1.0], artifacts={"x": b"12"})
        memory.checkpoint()
        changed = memory.update(id_, text="uv")
        assert changed == memory.get(id_)
        assert (changed.text, changed.tags, changed.metadata) == ("uv", ("tool",), {"a": 1})
        assert changed.vector == np.array([1.0], "<f4").tobytes()
        assert changed.updated_ms >= changed.time_ms
        assert memory.artifact(id_, "x") == b"12"
        assert memory.update(id_, tags=[], metadata=None, vector=None, artifacts=None).tags == ()
        assert (memory.get(id_).metadata, memory.get(id_).vector, memory.get(id_).artifacts) == ({}, b"", ())
        assert found(memory, "pip") == []
        assert found(memory, "uv") == ["uv"]

    def test_what_is_deleted_is_neither_shown_nor_found(self, memory: Memory) -> None:
        ids = memory.save_batch([NewNote(f"canary {n}", id=f"n{n}") for n in range(4)])
        assert len(found(memory, "canary")) == 4
        assert memory.delete([ids[0], ids[2], "unknown"]) == 2
        assert [note.id for note in memory.notes()] == ["n1", "n3"]
        assert sorted(found(memory, "canary")) == ["canary 1", "canary 3"]
        assert memory.count() == 2
        with pytest.raises(NotFound):
            memory.get("n0")
        assert memory.delete("n0") == 0
        memory.save("canary again", id="n0")
        assert memory.get("n0").text == "canary again"

    def test_compact_gives_back_the_room_of_what_was_taken_back(self, file: Memory) -> None:
        noise = np.random.default_rng(1).bytes(2_000_000)
        kept = file.save("kept", artifacts={"x": b"kept bytes", "shared": noise[:1000]})
        file.save("goes", id="g", artifacts={"x": noise, "shared": noise[:1000]})
        file.save("CanaryOne", id="c")
        file.index()
        file.update("c", text="CanaryTwo")
        file.delete("g")
        report = file.compact()
        assert report.bytes_after < report.bytes_before - 1_900_000
        with file.view() as view:
            everything = b"".join(line.data for source in view.sources() for line in view.lines(source))
        assert b"CanaryOne" not in everything
        assert b"CanaryTwo" in everything
        assert file.artifact(kept, "x") == b"kept bytes"
        assert file.artifact(kept, "shared") == noise[:1000], "what another note has too stays"
        assert file.check() == []
        assert file.count() == 2
        file.save("and on it goes", id="g")
        assert {note.text for note in file.notes()} == {"kept", "CanaryTwo", "and on it goes"}

    def test_a_deleted_note_does_not_come_back_with_an_older_copy(self, file: Memory, tmp_path: Path) -> None:
        file.save("gone for good", id="g")
        file.save("stays", id="s")
        file.snapshot(tmp_path / "older.h5")
        file.delete("g")
        file.compact()
        file.save("later", id="l")
        file.merge([tmp_path / "older.h5"], own=True)
        assert [note.id for note in file.notes()] == ["s", "l"]
        assert "gone for good" not in found(file, "gone for good")
        file.save("after the merge", id="a")
        assert [note.id for note in file.notes()] == ["s", "l", "a"]


class TestFinding:
    def test_tags_and_channels_filter_in_any_case(self, memory: Memory) -> None:
        memory.save("we use uv", tags=["Preference"], channel="Slack")
        memory.save("uv is a tool", tags=["fact"])
        assert found(memory, "tag:preference") == found(memory, "uv TAG:PREFERENCE") == ["we use uv"]
        assert found(memory, "channel:slack") == ["we use uv"]
        assert found(memory, "uv -tag:preference") == ["uv is a tool"]
        assert found(memory, "tag:prefer") == []
        assert memory.complete("tag", "f") == [("fact", 1)]
        assert memory.complete("channel", "") == [("slack", 1)]

    def test_a_log_that_says_it_is_a_note_has_no_tags(self, memory: Memory, tmp_path: Path) -> None:
        log = DATA / "claude"
        memory.ingest([log])
        memory.save("mine", tags=["t"])
        assert found(memory, "tag:t") == ["mine"]

    def test_notes_are_found_beside_logs_assembled_and_exported(self, memory: Memory) -> None:
        memory.ingest([DATA / "claude"])
        memory.save("Zanzibar clock skew is thirty seconds", session="decided")
        assert found(memory, "zanzibar")[0].startswith("Zanzibar")
        _, conversation = memory.assemble("zanzibar clock skew")
        assert any("Zanzibar" in json.dumps(m.blocks[0].body) for m in conversation.messages if m.blocks)
        assert b"Zanzibar" in b"".join(memory.export("decided", "markdown"))
        assert json.loads(b"".join(memory.raw("decided")))["text"].startswith("Zanzibar")

    def test_a_session_tells_its_summary(self, memory: Memory) -> None:
        memory.add_session("chat", title="Installers", summary="They like uv", channel="slack")
        memory.save("uv", session="chat")
        memory.add_session("chat", summary="They love uv")
        assert memory.summary("chat") == "They love uv"
        assert memory.summary("unknown") == ""
        assert memory.session("chat").facts.title == "Installers"
        assert found(memory, "They") == ["They love uv"]
        assert memory.count(session="chat") == 1


class TestGivenVectors:
    def test_the_nearest_are_found_within_filters_and_beside_words(self, memory: Memory) -> None:
        random = np.random.default_rng(3)
        vectors = random.normal(size=(60, 8))
        texts = [f"note number {n} about {'ships' if n % 3 else 'trains'}" for n in range(60)]
        tags = [("third",) if n % 3 == 0 else () for n in range(60)]
        memory.save_batch(
            NewNote(text, id=str(n), tags=tag, vector=vector)
            for n, (text, tag, vector) in enumerate(zip(texts, tags, vectors, strict=True))
        )
        units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        question = random.normal(size=8)
        order = np.argsort(-(units @ question)).tolist()
        hits = memory.search(vector=question, mode="vector", limit=5).hits
        assert [hit.stored.entry.text for hit in hits] == [texts[n] for n in order[:5]]
        thirds = [texts[n] for n in order if n % 3 == 0][:5]
        hits = memory.search("tag:third", vector=question, mode="vector", limit=5).hits
        assert [hit.stored.entry.text for hit in hits] == thirds
        hits = memory.search("trains", vector=vectors[33], limit=3).hits
        assert hits[0].stored.entry.text == texts[33]
        memory.delete(str(order[0]))
        memory.update(str(order[1]), vector=-question)
        hits = memory.search(vector=question, mode="vector", limit=5).hits
        assert [hit.stored.entry.text for hit in hits] == [texts[n] for n in order[2:7]]
        memory.compact()
        hits = memory.search(vector=question, mode="vector", limit=5).hits
        assert [hit.stored.entry.text for hit in hits] == [texts[n] for n in order[2:7]]

    def test_what_cannot_be_compared_is_refused(self, memory: Memory) -> None:
        memory.save("without")
        with pytest.raises(UsageError, match="no note of this memory has a vector"):
            memory.search(vector=[1.0])
        memory.save("with", vector=[1.0, 2.0])
        with pytest.raises(UsageError, match="have 2"):
            memory.search(vector=[1.0])
        with pytest.raises(UsageError, match="mode text"):
            memory.search("x", vector=[1.0, 2.0], mode="text")


class TestOptions:
    @pytest.mark.parametrize(
        ("text", "why"),
        [
            ("Thanks a lot!", "stock"),
            ("That’s fine.", "stock"),
            ("uv now", "fewer than 3 words"),
            ("and then it is what it was", "say nothing"),
            ("no, use uv", ""),
            ("Actually port 5433", ""),
            ("deploys go through staging first", ""),
            ("", "fewer"),
        ],
    )
    def test_the_gate_keeps_what_says_something(self, memory: Memory, text: str, why: str) -> None:
        assert bool(memory.worth(text)) == bool(why)
        assert why in memory.worth(text)
        assert bool(memory.save(text, gate=True)) is not bool(why)
        assert memory.count() == (not why)

    def test_the_gate_keeps_nothing_twice(self, memory: Memory) -> None:
        assert memory.save("deploys of the harbor go through staging first", gate=True)
        assert "kept already" in memory.worth("Deploys of the harbor go through staging first.")
        assert memory.save("the tide table is imported every night at two", gate=True)

    def test_what_was_shown_before_is_lifted_and_fades(self, memory: Memory) -> None:
        memory.save_batch([NewNote(f"harbor fact {word}", id=word) for word in ("alpha", "beta", "gamma")])
        before = [hit.stored.entry.text for hit in memory.search("harbor fact").hits]
        last = memory.search(before[-1], activated=True, limit=1).hits[0].stored.entry.text
        assert last == before[-1]
        for _ in range(20):
            memory.search(last, activated=True, limit=1)
        lifted = memory.search("harbor fact", activated=True).hits
        assert lifted[0].stored.entry.text == last
        assert lifted[0].parts["activation"] == 4.0
        assert [hit.stored.entry.text for hit in memory.search("harbor fact").hits] == before, "only if asked"
        for _ in range(400):
            memory.tick()
        assert "activation" in memory.search("harbor fact", activated=True).hits[0].parts
        assert memory.search("harbor fact", activated=True).hits[0].parts["activation"] < 1.5
        with pytest.raises(UsageError, match="one page"):
            memory.search("harbor", activated=True, offset=3)

    def test_weights_that_cannot_be_kept_are_no_error(self, file: Memory, tmp_path: Path) -> None:
        file.save("harbor fact")
        file.search("harbor")
        file.tick()
        (found,) = (tmp_path / "cache").glob("*/activation.db")
        assert found.stat().st_mode & 0o777 == 0o600
        found.write_bytes(b"no database at all" * 100)
        assert len(file.search("harbor", activated=True).hits) == 1
        found.unlink()
        found.symlink_to("/dev/null")
        assert len(file.search("harbor", activated=True).hits) == 1


class TestErasing:
    def test_an_erased_note_is_in_no_line_and_saving_goes_on(self, file: Memory) -> None:
        file.save("CanaryWord stays nowhere", id="c", session="chat")
        file.save("a neighbour", id="n", session="chat")
        file.index()
        chosen, receipt = file.erase(Wanted(entry=file.get("c").entry))
        assert chosen.counts["lines"] == 1
        assert not receipt["verified"]["found"]
        assert [note.id for note in file.notes()] == ["n"]
        file.save("said anew", id="c", session="chat")
        assert file.get("c").text == "said anew"

    def test_a_session_that_was_erased_can_be_saved_to_again(self, file: Memory) -> None:
        """What is saved after it is new: it was acknowledged, so it is never lost."""
        file.save("CanaryWord", session="chat")
        file.checkpoint()
        file.erase(Wanted(session="chat"))
        assert file.count() == 0
        id_ = file.save("a new beginning", session="chat")
        assert file.get(id_).text == "a new beginning"
        file.checkpoint()
        file.compact()
        file.reparse()
        assert [note.text for note in file.notes()] == ["a new beginning"]


class TestBadInput:
    """One clear exception each, and nothing half-written."""

    @pytest.mark.parametrize(
        ("given", "told"),
        [
            ({"text": 7}, "text is text"),
            ({"text": "x" * (TEXT_BYTES_MAX + 1)}, "at most 16 MiB"),
            ({"role": "god"}, "no role 'god'"),
            ({"tags": "one"}, "a list"),
            ({"tags": ["a\x1b"]}, "control character"),
            ({"tags": [str(n) for n in range(TAGS_MAX + 1)]}, "at most 64 tags"),
            ({"tags": [""]}, "none of them empty"),
            ({"tags": ["x" * 101]}, "at most 100"),
            ({"channel": "a\nb"}, "control character"),
            ({"session": "\x00"}, "control character"),
            ({"id": "x" * 513}, "at most 512"),
            ({"id": 7}, "is text"),
            ({"metadata": {"a": {1, 2}}}, "JSON"),
            ({"metadata": {"a": math.nan}}, "JSON"),
            ({"metadata": {7: "a"}}, "texts"),
            ({"metadata": {"a": "x" * METADATA_BYTES_MAX}}, "at most 1 MiB"),
            ({"time": math.inf}, "seconds since 1970"),
            ({"time": -1.0}, "seconds since 1970"),
            ({"vector": [1.0, math.nan]}, "NaN"),
            ({"vector": [1e300]}, "float32 has not"),
            ({"vector": [[1.0]]}, "one dimension"),
            ({"vector": []}, "one dimension"),
            ({"vector": ["a"]}, "list of numbers"),
            ({"vector": [1.0, 2.0, 3.0]}, "those of this memory have 2"),
            ({"artifacts": {"x": [1, 2]}}, "NumPy array or bytes"),
            ({"artifacts": {"x": np.array([object()])}}, "objects"),
            ({"artifacts": {"": b""}}, "has a name"),
        ],
    )
    def test_a_note_that_cannot_be_kept(self, memory: Memory, given: dict[str, Any], told: str) -> None:
        memory.save("has a vector", vector=[1.0, 2.0])
        before = memory.waiting()
        with pytest.raises(UsageError, match=told):
            memory.save(**{"text": "fine", **given})
        with pytest.raises(UsageError, match=told):
            memory.save_batch([NewNote("fine"), NewNote(**{"text": "fine", **given})])
        assert memory.waiting() == before
        assert memory.count() == 1

    def test_an_unknown_id_and_an_unknown_artifact(self, memory: Memory) -> None:
        id_ = memory.save("x", artifacts={"a": b"1"})
        for ask in (memory.get, memory.update):
            with pytest.raises(NotFound, match="no note 'unknown'"):
                ask("unknown")
        with pytest.raises(NotFound, match="no artifact 'b'"):
            memory.artifact(id_, "b")
        assert memory.get_many(["unknown", id_, ""])[0] is None

    def test_a_closed_memory(self, tmp_path: Path) -> None:
        memory = Memory.open(config=config(tmp_path / "agent.h5", tmp_path))
        memory.save("before")
        memory.close()
        with pytest.raises(StoreClosed):
            memory.save("after")
        with pytest.raises(StoreClosed):
            memory.get("any")


ARRAYS = [
    np.random.default_rng(7).random((500, 200), "f4"),
    np.zeros((3, 0, 2), ">i2"),
    np.array(3.5),
    np.asfortranarray(np.arange(12, dtype="<c16").reshape(3, 4)),
    np.array([("a", 1)], [("name", "U3"), ("n", "<i4")]),
    np.array(["2026-01-01"], "datetime64[D]"),
    np.random.default_rng(7).integers(0, 255, 5_000_000, "u1"),
]


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: str(array.dtype))
def test_an_array_comes_back_bit_for_bit(memory: Memory, array: Any) -> None:
    id_ = memory.save("with an array", artifacts={"it": array})
    memory.checkpoint()
    made = memory.artifact(id_, "it")
    assert isinstance(made, np.ndarray)
    assert (made.dtype, made.shape, made.flags.f_contiguous) == (
        array.dtype,
        array.shape,
        array.flags.f_contiguous,
    )
    assert made.tobytes() == array.tobytes()


@given(st.binary(max_size=5000), st.integers(1, 700))
def test_bytes_are_cut_and_joined_without_a_trace(data: bytes, size: int) -> None:
    from unittest import mock

    with mock.patch("recollect.agents.memory.artifacts.PIECE_BYTES", size):
        told, kept = packed("it", data)
        parts = dict(pieces(kept))
        assert len(parts) == told.pieces
        assert unpacked(told, parts.values()) == data
        with pytest.raises(StoreError):
            unpacked(told, [*parts.values(), b"x"])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.text(), st.dictionaries(st.text(), JSON, max_size=4), st.booleans())
def test_a_record_says_all_of_a_note(text: str, metadata: dict[str, Any], again: bool) -> None:
    note = Note("id", "chat", text, "user", ("a", "b"), "c", "p", "me", 5, 6, metadata, b"\0\0\x80?")
    line = line_of(note_record(note, again=again))
    assert b"\n" not in line
    read = note_of(json.loads(line), "chat")
    assert read == note


@given(JSON, st.sampled_from(["note", "delete", "session", "artifact", "x"]))
def test_any_record_parses(value: Any, kind: str) -> None:
    for record in (value, {"type": kind, "id": value, "text": value, "tags": value, "metadata": value}):
        parser = NoteParser(notes_file("chat"), {})
        parsed = parser.parse(record)
        assert parsed.entries
        assert NoteParser(notes_file("chat"), json.loads(json.dumps(parser.state()))).facts == parser.facts
        note_of(record, "chat")


class Model:
    """What a memory should be: notes by session and id, in the order in which they were first saved."""

    def __init__(self) -> None:
        self.notes: dict[tuple[str, str], str] = {}

    def save(self, session: str, id_: str, text: str) -> None:
        self.notes[session, id_] = text

    def delete(self, session: str, id_: str) -> None:
        self.notes.pop((session, id_), None)


DEEDS = st.lists(
    st.tuples(
        st.sampled_from(["save", "save", "batch", "update", "delete", "checkpoint", "compact", "reparse"]),
        st.sampled_from(["one", "two"]),
        st.sampled_from(["a", "b", "c"]),
        st.text("xyz", max_size=3),
    ),
    max_size=14,
)


@settings(max_examples=25)
@given(deeds=DEEDS)
def test_any_life_of_notes_is_that_of_a_plain_dictionary(
    deeds: list[tuple[str, str, str, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder, model = tmp_path_factory.mktemp("life"), Model()
    with Memory.open(config=config(folder / "agent.h5", folder)) as memory:
        for deed, session, id_, text in deeds:
            if deed == "save":
                memory.save(text, id=id_, session=session)
                model.save(session, id_, text)
            elif deed == "batch":
                memory.save_batch([NewNote(text + each, id=each, session=session) for each in "abc"])
                for each in "abc":
                    model.save(session, each, text + each)
            elif deed == "update":
                with contextlib.suppress(NotFound):
                    memory.update(id_, session=session, text=text)
                    model.save(session, id_, text)
            elif deed == "delete":
                memory.delete(id_, session=session)
                model.delete(session, id_)
            else:
                getattr(memory, deed)()
        assert {(note.session, note.id): note.text for note in memory.notes()} == model.notes
        assert memory.count() == len(model.notes)
        assert memory.check() == []
