"""Saved threads: the state is what their lines come to, and they outlive everything a store goes through."""

from __future__ import annotations

import argparse
import datetime
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.attacks import ATTACK, ATTACKS, scan
from tests.support.claude_talk import Talk
from tests.support.memories import content, open_memory

from recollect.cli.saved import saved as saved_command
from recollect.cli.screen import Screen
from recollect.memory import Memory
from recollect.recall.assemble.run import Assembly, assemble
from recollect.recall.assemble.run import compose as compose_assembly
from recollect.recall.assemble.weigh import tokens_of
from recollect.recall.saved import (
    OPERATIONS,
    Edit,
    SavedThread,
    applied,
    compose,
    edit,
    find,
    opened,
    replay,
    save,
    saved,
)
from recollect.testing.agents import JSON, mutated
from recollect.values.errors import NotFound, RecollectError, UsageError
from recollect.values.stored import source_bytes

NOW = datetime.datetime(2026, 3, 12)
ABOUT = "lighthouse lamp, walrus in the bay, pelican nest"


# -- replay ---------------------------------------------------------------------------------------


def thread_line(count: int, **fields: Any) -> bytes:
    pieces = [{"ids": [f"{n:012x}"], "cuts": {}, "tokens": n, "score": n / 10} for n in range(1, count + 1)]
    made = {
        "type": "thread", "id": "3f2a9c01", "name": "auth", "description": "tokens", "budget_tokens": 900,
        "created_ms": 10, "project": "harbor", "pieces": pieces, **fields,
    }  # fmt: skip
    return json.dumps(made).encode()


def edit_line(change: Edit, time_ms: int = 0) -> bytes:
    fields = {"op": change.op, "piece": change.piece, "to": change.to, "name": change.name}
    return json.dumps({"type": "edit", "time_ms": time_ms, **fields}).encode()


EDITS = st.builds(
    Edit, st.sampled_from(("drop", "pin", "unpin", "move")), st.integers(0, 9), st.integers(0, 9)
)


@given(st.integers(0, 8), st.lists(EDITS, max_size=25))
def test_order_and_pins_are_what_a_plain_list_would_have(count: int, changes: list[Edit]) -> None:
    order, pins = list(range(1, count + 1)), set[int]()
    for change in changes:
        if change.piece not in order:
            continue
        if change.op == "drop" and change.piece not in pins:
            order.remove(change.piece)
        elif change.op == "pin":
            pins.add(change.piece)
        elif change.op == "unpin":
            pins.discard(change.piece)
        elif change.op == "move" and 1 <= change.to <= len(order):
            order.remove(change.piece)
            order.insert(change.to - 1, change.piece)
    thread = replay([thread_line(count), *(edit_line(each) for each in changes)])
    assert thread is not None
    assert [piece.number for piece in thread.pieces] == order
    assert {piece.number for piece in thread.pieces if piece.pinned} == pins
    assert thread.tokens == sum(order)


@given(data=st.data())
def test_any_lines_at_all_can_be_replayed(data: st.DataObject) -> None:
    ours = [json.loads(thread_line(2, cuts={"1": [0, 5]}))]
    ours += [json.loads(edit_line(Edit(op, 1, 1, "x"))) for op in OPERATIONS]
    drawn = data.draw(st.lists(st.sampled_from(ours), max_size=6))
    lines = [json.dumps(mutated(data, record)).encode() for record in drawn]
    other = st.binary(max_size=20) | JSON.map(lambda value: json.dumps(value).encode())
    lines += data.draw(st.lists(other, max_size=3))
    thread = replay(data.draw(st.permutations(lines)))
    assert thread is None or (type(thread.name) is str and thread.tokens >= 0)


def test_numbers_that_mean_nothing_are_none() -> None:
    piece = {"ids": ["a", 5], "cuts": {"a": [5, 1], "b": [0, 1]}, "tokens": -1}
    pieces = [{**piece, "score": score} for score in (float("nan"), float("inf"), "x", 10**400)]
    thread = replay([thread_line(0, pieces=pieces, created_ms=2**60)])
    assert thread is not None
    assert [(each.ids, each.cuts, each.tokens, each.score) for each in thread.pieces] == [
        (("a",), (), 0, 0.0)
    ] * 4
    assert thread.created_ms == 0


def test_a_deleted_thread_is_none_and_stays_so() -> None:
    lines = [thread_line(2), edit_line(Edit("delete")), edit_line(Edit("rename", name="back"))]
    assert replay(lines) is None
    assert replay(lines[1:]) is None
    assert replay([]) is None


def test_the_last_edit_says_when_and_a_new_name_what() -> None:
    edits = edit_line(Edit("pin", 1), 50), edit_line(Edit("rename", name=" b "), 40)
    thread = replay([thread_line(2), *edits])
    assert thread is not None
    assert (thread.name, thread.created_ms, thread.edited_ms) == ("b", 10, 50)


@pytest.mark.parametrize("change", [Edit("drop", 9), Edit("move", 1, 3), Edit("move", 1, 0), Edit("burn", 1)])
def test_an_edit_that_cannot_be_is_refused_and_changes_nothing(change: Edit) -> None:
    thread = replay([thread_line(2)])
    assert thread is not None
    with pytest.raises(RecollectError):
        applied(thread, change)
    assert replay([thread_line(2), edit_line(change, 99)]) == thread


def test_what_is_pinned_is_dropped_only_once_it_is_unpinned() -> None:
    thread = replay([thread_line(2), edit_line(Edit("pin", 1))])
    assert thread is not None
    with pytest.raises(UsageError, match="pinned"):
        applied(thread, Edit("drop", 1))
    assert len(applied(applied(thread, Edit("unpin", 1)), Edit("drop", 1)).pieces) == 1


# -- in a store -----------------------------------------------------------------------------------


@pytest.fixture
def memory(folder: Path) -> Iterator[Memory]:
    (folder / "logs").mkdir()
    for number, (what, said) in enumerate(
        [("lighthouse lamp", "white"), ("walrus in the bay", "asleep"), ("pelican nest", "on the crane")], 1
    ):
        talk = Talk(number, "/home/ada/harbor")
        talk.user(f"What about the {what}?")
        listing = "\n".join(f"{n}: {what} looked at" for n in range(400))
        talk.call("Bash", listing, command=f"grep -r '{what}'")
        talk.assistant(f"The {what} is {said}, as far as anyone can tell from here.")
        talk.write(folder / "logs")
    with open_memory(folder / "memory.h5") as memory:
        memory.ingest([folder / "logs"])
        memory.index()
        yield memory


def assembled(memory: Memory, budget: int = 2000) -> Assembly:
    with memory.indexes.asking(meaning=True) as search:
        return assemble(search, ABOUT, budget_tokens=budget, now=NOW)


def keep(memory: Memory, name: str = "harbor", assembly: Assembly | None = None) -> SavedThread:
    with memory._store.writer() as writer:
        made = save(writer, "here", assembly or assembled(memory), name, now_ms=1_000)
        writer.commit()
    return made


def change(memory: Memory, name: str, op: str, piece: int = 0, to: int = 0, new: str = "") -> SavedThread:
    with memory._store.writer() as writer:
        made = edit(writer, name, Edit(op, piece, to, new), now_ms=2_000)
        writer.commit()
    return made


def one(memory: Memory, name: str) -> SavedThread:
    with memory.view() as view:
        return find(view, name)


def test_what_was_saved_is_told_as_it_was_assembled(memory: Memory) -> None:
    assembly = assembled(memory)
    assert len(assembly.pieces) == 3
    assert any(piece.cuts for piece in assembly.pieces)
    made = keep(memory, assembly=assembly)
    assert made == one(memory, "harbor") == one(memory, made.id[:6])
    with memory.view() as view:
        again, conversation = compose(view, made)
        assert conversation.messages == compose_assembly(view, assembly).messages
    assert (again.ids, again.tokens, again.budget_tokens) == (assembly.ids, assembly.tokens, 2000)
    assert [piece.tokens for piece in again.pieces] == [piece.tokens for piece in made.pieces]
    assert conversation.title == "harbor"
    assert not again.notes


def test_edits_are_told(memory: Memory) -> None:
    keep(memory)
    change(memory, "harbor", "move", 3, 1)
    change(memory, "harbor", "drop", 1)
    changed = change(memory, "harbor", "rename", new="two")
    assert changed == one(memory, "two")
    facts = memory.session(changed.id).facts
    assert (facts.title, facts.project, facts.ended_ms) == ("two", changed.project, 2_000)
    assert changed.project == memory.session(Talk(1, "/home/ada/harbor").id).facts.project != ""
    assert [piece.number for piece in changed.pieces] == [3, 2]
    with memory.view() as view:
        assembly, conversation = compose(view, changed)
        notes = [message.session for message in conversation.messages if message.note]
    assert notes == [piece.session.facts.id for piece in assembly.pieces]
    assert [piece.ids for piece in assembly.pieces] == [piece.ids for piece in changed.pieces]


def test_a_smaller_budget_is_kept_and_what_is_pinned_stays(memory: Memory) -> None:
    made = keep(memory)
    least = min(made.pieces, key=lambda piece: (piece.score, -piece.number))
    pinned = change(memory, "harbor", "pin", least.number)
    with memory.view() as view:
        for budget in range(least.tokens + 60, 2000, 50):
            assembly, conversation = compose(view, pinned, budget_tokens=budget)
            assert tokens_of(conversation) <= assembly.tokens <= budget
            assert least.ids in [piece.ids for piece in assembly.pieces]
            assert bool(assembly.notes) is (len(assembly.pieces) < len(made.pieces))
        assert len(compose(view, pinned, budget_tokens=least.tokens + 60)[0].pieces) == 1
        with pytest.raises(UsageError, match="pinned"):
            compose(view, pinned, budget_tokens=least.tokens)
        with pytest.raises(UsageError, match="fits"):
            compose(view, made, budget_tokens=20)


def test_entries_that_are_gone_are_counted(memory: Memory) -> None:
    made = keep(memory)
    lost = replace(made.pieces[0], ids=("000000000000", *made.pieces[0].ids))
    nothing = replace(made.pieces[1], ids=(made.pieces[1].ids[0][:6],))  # an id is not meant by its beginning
    with memory.view() as view:
        assembly, conversation = compose(view, replace(made, pieces=(lost, nothing)))
        assert [each.gone for each in opened(view, replace(made, pieces=(lost, nothing)))] == [1, 1]
        with pytest.raises(NotFound):
            compose(view, replace(made, pieces=(nothing,)))
    assert conversation.left_out["entry that is no longer stored"] == 2
    assert assembly.ids == made.pieces[0].ids
    assert "2 entries" in assembly.notes[0]


def test_a_name_is_taken_once(memory: Memory) -> None:
    keep(memory)
    with pytest.raises(UsageError, match="already"):
        keep(memory)
    keep(memory, "other")
    with pytest.raises(UsageError, match="already"):
        change(memory, "other", "rename", new="harbor")
    change(memory, "harbor", "delete")
    change(memory, "other", "rename", new="harbor")
    with memory.view() as view:
        assert [thread.name for thread in saved(view)] == ["harbor"]


def test_nothing_is_not_saved(memory: Memory) -> None:
    with pytest.raises(NotFound):
        keep(memory, assembly=replace(assembled(memory), pieces=()))
    with memory.view() as view:
        assert saved(view) == []


REWRITES: list[Callable[[Memory], object]] = [Memory.compact, Memory.reparse, Memory.repair]


@pytest.mark.parametrize("rewrite", REWRITES, ids=["compact", "reparse", "repair"])
def test_it_survives_a_rewrite_and_can_still_be_edited(memory: Memory, rewrite: Any) -> None:
    keep(memory)
    before = change(memory, "harbor", "pin", 2)
    shown = content(memory)
    rewrite(memory)
    assert one(memory, "harbor") == before
    assert content(memory)["sessions"] == shown["sessions"]
    after = change(memory, "harbor", "move", 2, 1)
    assert [piece.number for piece in after.pieces] == [2, 1, 3]
    assert one(memory, "harbor") == after
    assert memory.check() == []


def test_a_snapshot_has_it_and_its_lines_are_its_bytes(memory: Memory, folder: Path) -> None:
    made = keep(memory)
    changed = change(memory, "harbor", "drop", 1)
    memory.snapshot(folder / "copy.h5")
    with open_memory(folder / "copy.h5") as copy:
        assert one(copy, "harbor") == changed
        assert copy.check() == []
    raw = b"".join(memory.raw(made.id))
    assert raw.count(b"\n") == 2
    assert replay(raw.split(b"\n")) == changed
    with memory.view() as view:
        (source,) = (each for each in view.sources() if each.file.agent == "recollect")
        assert source.cursor.offset == len(raw) == sum(map(len, source_bytes(source, view.lines(source))))


def test_two_handles_keep_both_edits(memory: Memory) -> None:
    keep(memory)
    with open_memory(Path(memory.name)) as other:
        assert one(other, "harbor") == one(memory, "harbor")  # both have looked before either writes
        change(memory, "harbor", "drop", 1)
        change(other, "harbor", "pin", 2)
        change(memory, "harbor", "move", 3, 1)
        for handle in (memory, other):
            pieces = one(handle, "harbor").pieces
            assert [(piece.number, piece.pinned) for piece in pieces] == [(3, False), (2, True)]


def test_it_is_not_found_by_a_search_and_an_ingest_leaves_it_alone(memory: Memory, folder: Path) -> None:
    keep(memory, "xylophone")
    memory.index()
    assert memory.search("xylophone", mode="text").hits == []
    assert memory.ingest([folder / "logs"]).restarted == 0
    assert one(memory, "xylophone").name == "xylophone"


@pytest.mark.parametrize("name", ["", "  ", "x" * 101, "a\nb", "\ud800", *ATTACKS.values()])
def test_a_name_that_could_act_is_refused(memory: Memory, name: str) -> None:
    if name == ATTACKS["markup"]:
        return  # printable, and the screen reads no markup
    with pytest.raises(UsageError):
        keep(memory, name)
    with memory.view() as view:
        assert saved(view) == []


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "a/b", "-rf", "C:\\x", "日本 語", "%00"])
def test_a_name_is_never_a_path(memory: Memory, name: str) -> None:
    made = keep(memory, name)
    assert one(memory, name) == made
    with memory.view() as view:
        paths = [source.file.path for source in view.sources() if source.file.agent == "recollect"]
    assert paths == [f"recollect:curated/{made.id}"]


# -- the command ----------------------------------------------------------------------------------


@pytest.fixture
def run(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., Any]:
    monkeypatch.setenv("RECOLLECT_STATE", str(Path(memory.name).parent / "state"))
    monkeypatch.setenv("RECOLLECT_CONFIG", str(Path(memory.name).parent / "config.toml"))

    def command(*words: str, as_json: bool = False) -> Any:
        screen = Screen(json=as_json, color=False, quiet=False)
        args = argparse.Namespace(words=list(words), store=memory.name, quiet=False)
        capfd.readouterr()
        assert saved_command(args, screen) == 0
        screen.flush()
        out, err = capfd.readouterr()
        return json.loads(out) if as_json else out + err

    return command


def test_the_command_lists_shows_and_edits(memory: Memory, run: Callable[..., Any]) -> None:
    assert "no saved threads" in run()
    made = keep(memory)
    assert made.id[:8] in run()
    shown = run("show", "harbor")
    assert "What about the lighthouse lamp?" in shown
    assert "pinned" in run("pin", "harbor", "2")
    moved = run("move", "harbor", "3", "1", as_json=True)["thread"]
    assert [(piece["number"], piece["pinned"]) for piece in moved["pieces"]] == [
        (3, False),
        (1, False),
        (2, True),
    ]
    run("drop", "harbor", "1")
    run("unpin", "harbor", "2")
    run("rename", "harbor", "a new name")
    (listed,) = run(as_json=True)["threads"]
    assert (listed["name"], listed["pieces"], listed["id"]) == ("a new name", 2, made.id)
    assert run("delete", "a new name", as_json=True)["id"] == made.id
    assert run(as_json=True)["threads"] == []


@pytest.mark.parametrize(
    "words",
    [
        ("burn",),
        ("show",),
        ("drop", "harbor"),
        ("drop", "harbor", "x"),
        ("drop", "harbor", "0"),
        ("move", "harbor", "1"),
        ("move", "harbor", "1", "99"),
        ("show", "a", "b"),
    ],
)
def test_words_that_are_off_change_nothing(memory: Memory, run: Callable[..., Any], words: Any) -> None:
    made = keep(memory)
    with pytest.raises(UsageError):
        run(*words)
    assert one(memory, "harbor") == made


def test_what_a_foreign_store_calls_a_thread_cannot_act_on_a_terminal(
    memory: Memory, run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recollect.recall.saved.checked_name", lambda name: name)
    hostile = replace(assembled(memory), description=ATTACK)
    made = keep(memory, ATTACK, hostile)
    scan(run())
    scan(run("show", made.id))
    assert run(as_json=True)["threads"][0]["name"] == ATTACK
