"""Collections and documents as notes of a store: for several processes, across restarts, and for `search`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.chroma.conftest import Asked, Hashed, Open
from tests.support.examples import examples
from tests.support.memories import scratch

from recollect.chroma.database import CHANNEL, Database
from recollect.chroma.opening import MARK, database_of, open_database
from recollect.config import Config
from recollect.memory import Memory
from recollect.memory.live import LiveNotes
from recollect.values.errors import UsageError
from recollect.values.notes import NewNote


def add(asked: Asked, *ids: str, collection_name: str = "docs", **metadata: Any) -> None:
    given = {"metadatas": [metadata] * len(ids)} if metadata else {}
    asked(
        "add_documents",
        collection_name=collection_name,
        ids=list(ids),
        documents=[f"text of {each}" for each in ids],
        **given,
    )


def test_processes_on_one_store_see_each_others_documents_at_once(opened: Open) -> None:
    one, other = opened(), opened()
    add(one, "a", "b", n=1)
    assert other.get()["ids"] == ["a", "b"]
    other("update_documents", collection_name="docs", ids=["b"], documents=["changed"], metadatas=[{"m": 2}])
    add(other, "c")
    assert one.get()["documents"] == ["text of a", "changed", "text of c"]
    assert one.get()["metadatas"] == [{"n": 1}, {"n": 1, "m": 2}, None]
    one("delete_documents", collection_name="docs", ids=["a"])
    assert other.get()["ids"] == ["b", "c"]
    assert "already exist" in other.refused(
        "add_documents", collection_name="docs", ids=["c", "d"], documents=["x", "y"]
    )
    one("modify_collection", collection_name="docs", new_name="papers")
    assert other("list_collections") == ["papers"]
    other("delete_collection", collection_name="papers")
    assert one("list_collections") == ["__NO_COLLECTIONS_FOUND__"]


def test_what_was_folded_and_rewritten_meanwhile_is_seen(opened: Open, config: Config) -> None:
    """Hooks fold the journal, people compact and erase: a process that held it all in memory looks again."""
    asked = opened()
    add(asked, "a", "b", "c")
    with Memory.open(config=config) as memory:
        memory.checkpoint()
        assert asked.get()["ids"] == ["a", "b", "c"]
        memory.delete("b", session=f"{CHANNEL}/default/docs")
        memory.checkpoint()
        assert asked.get()["ids"] == ["a", "c"]
        memory.save("of another program", session="chat")
        memory.compact()
        assert asked.get()["ids"] == ["a", "c"]
        add(asked, "d")
    assert opened().get()["ids"] == ["a", "c", "d"]


def test_the_order_is_that_of_adding_whatever_changed_since(opened: Open) -> None:
    asked = opened()
    add(asked, *(f"d{number}" for number in range(20)))
    asked("update_documents", collection_name="docs", ids=["d3", "d0"], documents=["x", "y"])
    asked("delete_documents", collection_name="docs", ids=["d5"])
    add(asked, "d5")
    expected = [f"d{number}" for number in range(20) if number != 5] + ["d5"]
    assert asked.get()["ids"] == expected
    again = opened()
    assert again.get()["ids"] == expected
    add(again, "last")
    assert again.get(limit=2, offset=19)["ids"] == ["d5", "last"]


def test_a_collection_that_was_renamed_leaves_its_name_to_another(opened: Open) -> None:
    asked = opened()
    add(asked, "a")
    asked("modify_collection", collection_name="docs", new_name="old")
    add(asked, "b")
    for each in (asked, opened()):
        assert each.get("docs")["ids"] == ["b"]
        assert each.get("old")["ids"] == ["a"]
    asked("delete_collection", collection_name="docs")
    assert opened().get("old")["ids"] == ["a"]
    assert "already exists" in asked.refused("create_collection", collection_name="old")


def test_a_fork_goes_its_own_way(opened: Open) -> None:
    asked = opened()
    add(asked, "a", "b", n=1)
    assert asked("fork_collection", collection_name="docs", new_collection_name="copy") == [
        "Successfully forked collection docs to copy"
    ]
    add(asked, "c", collection_name="copy")
    asked("update_documents", collection_name="docs", ids=["a"], metadatas=[{"n": 2}])
    for each in (asked, opened()):
        assert each.get("copy")["ids"] == ["a", "b", "c"]
        assert each.get("copy")["metadatas"][0] == {"n": 1}
        assert each.get("docs")["metadatas"][0] == {"n": 2}
    assert "already exists" in asked.refused(
        "fork_collection", collection_name="docs", new_collection_name="copy"
    )


def test_peek_info_and_embeddings_are_json(asked: Asked) -> None:
    """chroma-mcp prints Python's notation here, which no client can read."""
    add(asked, "a", "b", n=1)
    peeked = json.loads(asked("peek_collection", collection_name="docs", limit=1)[0])
    assert peeked["ids"] == ["a"]
    assert peeked["embeddings"][0] == pytest.approx(Hashed().encode(["text of a"])[0].tolist())
    assert peeked["included"] == ["metadatas", "documents", "embeddings"]
    info = json.loads(asked("get_collection_info", collection_name="docs")[0])
    assert (info["name"], info["count"], info["sample_documents"]["ids"]) == ("docs", 2, ["a", "b"])
    found = json.loads(
        asked(
            "query_documents",
            collection_name="docs",
            query_texts=["text of b"],
            n_results=1,
            include=["embeddings"],
        )[0]
    )
    assert found["embeddings"][0][0] == pytest.approx(Hashed().encode(["text of b"])[0].tolist())


def test_an_embedding_of_the_callers_own_is_kept_until_the_text_changes(opened: Open) -> None:
    asked = opened()
    add(asked, "a", "b")
    given = [float(number) for number in range(16)]
    asked("update_documents", collection_name="docs", ids=["a"], embeddings=[given])
    for each in (asked, opened()):
        got = each.get(ids=["a"], include=["embeddings", "metadatas"])
        assert got["embeddings"] == [given]
        assert got["metadatas"] == [None], "what we keep for ourselves is not told"
    asked("update_documents", collection_name="docs", ids=["a"], documents=["text of a"])
    assert asked.get(ids=["a"], include=["embeddings"])["embeddings"][0] != given
    told = asked.refused(
        "update_documents", collection_name="docs", ids=["a"], embeddings=[[float("inf")] * 16]
    )
    assert "number that float32 has not" in told


def test_what_is_kept_is_found_by_search_and_by_its_time(asked: Asked, config: Config) -> None:
    asked(
        "add_documents",
        collection_name="cm__claude-mem",
        ids=["obs_1_narrative"],
        documents=["the quinces of the harbour master are stored as a duration"],
        metadatas=[{"created_at_epoch": 1_700_000_000_000, "project": "harbor"}],
    )
    with Memory.open(config=config) as memory:
        (hit,) = memory.search("quinces channel:chroma").hits
        assert "quinces" in hit.snippet.text
        (note,) = memory.notes(session=f"{CHANNEL}/default/cm__claude-mem")
        assert note.time_ms == 1_700_000_000_000
        assert note.metadata["project"] == "harbor"


def test_a_refused_add_keeps_nothing(asked: Asked, config: Config) -> None:
    add(asked, "a")
    before = (config.path.stat().st_size if config.path and config.path.exists() else 0, _journal(config))
    for ids, more in (
        (["b", "a"], {}),
        (["b", "c\n"], {}),
        (["b", "x" * 600], {}),
        (["b", "c"], {"metadatas": [{"n": 1}, {"n": {}}]}),
        (["b", "c"], {"metadatas": [{"n": 1}, {"chroma:embedding": "AAAA"}]}),
        (["b", "c"], {"metadatas": [{"n": 1}, {"n": float("nan")}]}),
    ):
        told = asked.refused("add_documents", collection_name="docs", ids=ids, documents=["x", "y"], **more)
        assert "Failed to add documents to collection 'docs'" in told
    assert _journal(config) == before[1]
    assert asked.get()["ids"] == ["a"]


def _journal(config: Config) -> bytes:
    assert config.path is not None
    return Path(f"{config.path}-wal").read_bytes()


def test_notes_that_are_nothing_of_ours_do_no_harm(opened: Open, config: Config) -> None:
    """A store may come from anywhere: what stands in the place of our notes is read with care."""
    add(opened(), "a")
    with Memory.open(config=config) as memory:
        memory.save_batch(
            [
                NewNote("x", id="odd", session=f"{CHANNEL}/default/docs", metadata={"n": {"a": [None]}}),
                NewNote(
                    "y",
                    id="odder",
                    session=f"{CHANNEL}/default/docs",
                    metadata={"chroma:embedding": "no base64"},
                ),
                NewNote("z", id="no-name", session=f"{CHANNEL}/default", metadata={"metadata": 5}),
                NewNote("elsewhere", id="a", session=f"{CHANNEL}/defaults/docs"),
            ]
        )
    asked = opened()
    assert sorted(asked.get()["ids"]) == ["a", "odd", "odder"]
    assert asked.get(where={"n": 1})["ids"] == []
    assert asked("query_documents", collection_name="docs", query_texts=["x"], where={"n": {"$ne": 1}})
    assert sorted(asked("list_collections")) == ["docs", "no-name"]


def test_a_store_that_cannot_be_read_is_told_and_changed_in_nothing(opened: Open, config: Config) -> None:
    assert config.path is not None
    config.path.write_bytes(b"this is no store")
    told = opened().refused("list_collections")
    assert "memory.h5" in told
    assert config.path.read_bytes() == b"this is no store"


# -- random histories against a plain dictionary ------------------------------------------------------

IDS = st.lists(st.sampled_from([f"d{number}" for number in range(8)]), min_size=1, max_size=3, unique=True)
WORDS = st.sampled_from(("one", "two", "three"))
VALUES = st.sampled_from((1, 2.5, "x", True, ["p", "q"], None))
CHANGES = st.one_of(
    st.tuples(st.just("add"), IDS, WORDS, VALUES),
    st.tuples(st.just("update"), IDS, WORDS, VALUES),
    st.tuples(st.just("merge"), IDS, WORDS, VALUES),
    st.tuples(st.just("delete"), IDS, WORDS, VALUES),
    st.tuples(st.sampled_from(("fold", "restart", "other")), st.just([]), WORDS, VALUES),
)


@examples(25)
@given(changes=st.lists(CHANGES, max_size=12))
def test_any_history_comes_to_what_a_dictionary_comes_to(
    changes: list[tuple[str, list[str], str, Any]],
) -> None:
    with scratch() as folder:
        config = Config(store=folder / "memory.h5", host="here", cache=folder / "cache")

        def opened() -> Asked:
            return Asked(Database(LiveNotes(config, f"{CHANNEL}/x"), "x", Hashed()))

        asked, other, model = opened(), opened(), dict[str, tuple[str, dict[str, Any] | None]]()
        asked("create_collection", collection_name="docs")
        for kind, ids, word, value in changes:
            if kind == "restart":
                asked = opened()
            elif kind == "other":
                asked, other = other, asked
            elif kind == "fold":
                with Memory.open(config=config) as memory:
                    memory.checkpoint()
            else:
                _change(asked, model, kind, ids, word, value)
            got = asked.get()
            assert (
                dict(zip(got["ids"], zip(got["documents"], got["metadatas"], strict=True), strict=True))
                == model
            )
            assert got["ids"] == list(model)


def _change(asked: Asked, model: dict[str, Any], kind: str, ids: list[str], word: str, value: Any) -> None:
    """The same change to both."""
    metadata = {"k": word, **({"v": value} if value is not None else {})}
    given: dict[str, Any] = {"collection_name": "docs", "ids": ids}
    if kind == "add":
        given |= {"documents": [word] * len(ids), "metadatas": [metadata] * len(ids)}
        if any(each in model for each in ids):
            assert "already exist" in asked.refused("add_documents", **given)
            return
        asked("add_documents", **given)
        model.update({each: (word, dict(metadata)) for each in ids})
    elif kind == "delete":
        asked("delete_documents", **given)
        for each in ids:
            model.pop(each, None)
    else:
        change = {"v": value, "w": word} if kind == "merge" else None
        more: dict[str, Any] = (
            {"metadatas": [change] * len(ids)} if change else {"documents": [word] * len(ids)}
        )
        asked("update_documents", **given, **more)
        for each in ids:
            if each in model:
                text, kept = model[each]
                merged = {
                    key: told for key, told in {**(kept or {}), **(change or {})}.items() if told is not None
                }
                model[each] = (text if change else word, merged or None)


# -- which database -----------------------------------------------------------------------------------


def test_a_folder_is_a_database_that_moves_with_it_and_goes_with_it(config: Config, folder: Path) -> None:
    first = folder / "home/chroma"
    with_one = Asked(open_database(config, first))
    add(with_one, "a")
    assert (first / MARK).stat().st_mode & 0o777 == 0o600
    moved = folder / "elsewhere"
    first.rename(moved)
    assert Asked(open_database(config, moved)).get()["ids"] == ["a"]
    assert Asked(open_database(config, first))("list_collections") == ["__NO_COLLECTIONS_FOUND__"]
    assert Asked(open_database(config, None))("list_collections") == ["__NO_COLLECTIONS_FOUND__"]


@pytest.mark.parametrize("text", ["", "[]", '{"database": "../../etc"}', '{"database": 5}', "\xff"])
def test_a_mark_that_is_none_is_made_anew(folder: Path, text: str) -> None:
    (folder / MARK).write_text(text, "latin-1")
    name = database_of(folder)
    assert name == database_of(folder)
    assert len(name) == 16


def test_a_folder_that_cannot_be_written_is_refused(folder: Path) -> None:
    (folder / "file").touch()
    with pytest.raises(UsageError, match="cannot be written"):
        database_of(folder / "file/chroma")


def test_what_is_fleeting_is_kept_nowhere(config: Config) -> None:
    asked = Asked(open_database(config, None, fleeting=True))
    add(asked, "a")
    asked("delete_documents", collection_name="docs", ids=["a"])
    add(asked, "b")
    assert asked.get()["ids"] == ["b"]
    assert config.path is not None
    assert list(config.path.parent.iterdir()) == []
