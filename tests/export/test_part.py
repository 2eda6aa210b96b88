"""A part of a store as a store: exact if asked for, without secrets if not, and the parts are the whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.logs import FIXTURES, WHOLE, answered, claude_path, placed, said, texts, uuid_of, write
from tests.support.memories import HOST, content, open_memory, scratch, sources_of

from recollect.export.part import mask_line
from recollect.memory import Memory
from recollect.search.vectors.pieces import pieces_of
from recollect.values.errors import NotFound, UsageError
from recollect.values.ids import name_key
from recollect.values.records import Entry, Kind, LineFlag
from recollect.values.stored import VectorModel

TOKEN = "ghp_Zk3uV9xQ2mB7nL5rT8wY1cD4fG6hJ0pSaE2R"


@pytest.fixture
def memory(folder: Path) -> Any:
    for path in FIXTURES:
        write(placed(folder, path), WHOLE[path])
    with open_memory(folder / "m.h5") as memory:
        memory.ingest([folder / "logs"])
        yield memory


def test_unmasked_parts_of_a_store_merge_to_the_whole(memory: Memory, folder: Path) -> None:
    ids = sorted(session.facts.agent for session in memory.sessions())
    for agent in dict.fromkeys(ids):
        memory.split(folder / f"{agent}.h5", agent=agent, redacted=False)
    assert len(set(ids)) > 1
    with open_memory(folder / "whole.h5") as whole:
        whole.merge([folder / f"{agent}.h5" for agent in reversed(dict.fromkeys(ids))], own=True)
        assert content(whole) == content(memory)
        assert whole.check() == []


@settings(max_examples=10, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 12)), min_size=1, max_size=20), st.data())
def test_parts_by_session_merge_to_the_whole(told: list[tuple[int, int]], data: st.DataObject) -> None:
    """Sessions share lines, so that a part has lines that another one has too."""
    files: dict[int, bytes] = {}
    for session, number in told:
        line = said(number, f"said {number}", session=1) if number % 2 else None
        line = line or answered(number, f"answer {number}", output=number, message=number % 4, session=1)
        files[session] = files.get(session, b"") + line + b"\n"
    with scratch() as folder:
        paths = [write(claude_path(folder / "logs", session), files[session]) for session in sorted(files)]
        with open_memory(folder / "m.h5") as memory:
            memory.ingest(paths)
            parts = []
            for number, each in enumerate(memory.sessions()):
                parts.append(folder / f"{number}.h5")
                memory.split(parts[-1], session=each.facts.id, redacted=False)
            with open_memory(folder / "whole.h5") as whole:
                whole.merge(data.draw(st.permutations(parts)), own=True)
                assert content(whole)["raw"] == content(memory)["raw"]
                assert content(whole)["usage"] == content(memory)["usage"]
                assert content(whole)["owners"] == content(memory)["owners"]


def test_a_part_has_the_sessions_that_were_asked_for_and_their_subagents(folder: Path) -> None:
    write(claude_path(folder, 1), said(1, "one", cwd="/srv/alpha") + b"\n")
    write(claude_path(folder, 2), said(2, "two", session=2, cwd="/srv/beta") + b"\n")
    below = claude_path(folder, 1).with_suffix("") / "subagents" / "agent-a1.jsonl"
    write(below, said(3, "helper", cwd="/srv/gamma", isSidechain=True, agentId="a1") + b"\n")
    with open_memory(folder / "m.h5") as memory:
        memory.ingest([folder])
        assert len(memory.sessions()) == 3
        for name, asked, wanted in (
            ("session", {"session": uuid_of(1)}, {"one", "helper"}),
            ("project", {"project": "alpha"}, {"one", "helper"}),
            ("agent", {"agent": "claude"}, {"one", "helper", "two"}),
            ("host", {"host": HOST}, {"one", "helper", "two"}),
            ("thread", {"thread": uuid_of(2)}, {"two"}),
            ("since", {"since_ms": 1_767_322_802_000, "project": "beta"}, {"two"}),
            ("until", {"until_ms": 1_767_322_802_000}, {"one", "helper"}),
        ):
            memory.split(folder / f"{name}.h5", **asked)  # type: ignore[arg-type]
            with open_memory(folder / f"{name}.h5", create=False) as part:
                said_there = {text for each in part.sessions() for text in texts(part, each.facts.id)}
                assert said_there == wanted, name
                assert part.check() == []
            assert (folder / f"{name}.h5").stat().st_mode & 0o777 == 0o600
        for host, project in (("elsewhere", ""), ("", "delta")):
            with pytest.raises(NotFound):
                memory.split(folder / "none.h5", host=host, project=project)
            assert not (folder / "none.h5").exists()
        with pytest.raises(UsageError, match="already exists"):
            memory.split(folder / "agent.h5", agent="claude")


def test_secrets_are_masked_in_the_lines_of_a_part_and_nowhere_left(folder: Path) -> None:
    lines = [said(1, f"export GITHUB_TOKEN={TOKEN}"), said(2, "nothing here"), f"no JSON {TOKEN}".encode()]
    write(claude_path(folder, 1), b"".join(line + b"\n" for line in lines))
    with open_memory(folder / "m.h5") as memory:
        memory.ingest([folder])
        report = memory.split(folder / "part.h5", session=uuid_of(1))
        assert sum(report.masked.values()) == 2
        memory.split(folder / "exact.h5", session=uuid_of(1), redacted=False)
        exact = sources_of(memory)
    with open_memory(folder / "exact.h5") as part:
        assert sources_of(part) == exact
    with open_memory(folder / "part.h5") as part:
        (raw,) = sources_of(part).values()
        assert TOKEN.encode() not in raw
        assert raw.split(b"\n")[1] == lines[1]
        assert json.loads(raw.split(b"\n")[0])["uuid"] == json.loads(lines[0])["uuid"]
        assert texts(part, uuid_of(1)) == ["export GITHUB_TOKEN=[redacted:github-token]", "nothing here"]
        (session,) = part.sessions()
        assert TOKEN not in session.facts.title
        with part.view() as view:
            flags = [line.flags & LineFlag.ALTERED for line in view.lines(view.sources()[0])]
        assert list(map(bool, flags)) == [True, False, True]
        (source,) = part.sources()
        assert source.cursor.offset == len(raw)
        assert source.cursor.window == 0
        # The file is not what the part has: a sweep notices, and takes it as another version.
        assert part.ingest([folder]).restarted == 1


def test_a_failed_split_leaves_no_store(
    memory: Memory, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("recollect.export.part.mask_line", fail)
    before = sorted(folder.iterdir())
    with pytest.raises(KeyboardInterrupt):
        memory.split(folder / "part.h5", agent="claude")
    assert sorted(folder.iterdir()) == before


def test_vectors_go_with_the_texts_they_were_made_of(folder: Path) -> None:
    write(claude_path(folder, 1), said(1, "stays here") + b"\n")
    write(
        claude_path(folder, 2),
        said(2, f"key {TOKEN}", session=2) + b"\n" + said(3, "goes", session=2) + b"\n",
    )
    model = VectorModel("owl", "1", 2)
    keys = {
        text: name_key(pieces_of(Entry(Kind.PROMPT, text))[0])
        for text in ("stays here", f"key {TOKEN}", "goes")
    }
    with open_memory(folder / "m.h5") as memory:
        memory.ingest([folder])
        with memory._store.writer() as writer:
            writer.add_vectors(model, np.array(list(keys.values()), "<u8"), np.ones((3, 2), "<f2"))
            writer.commit()
        for redacted, wanted in ((True, {"goes"}), (False, {"goes", f"key {TOKEN}"})):
            part = folder / f"{redacted}.h5"
            memory.split(part, session=uuid_of(2), redacted=redacted)
            with open_memory(part) as made, made.view() as view:
                assert set(view.vectors(model)[0].tolist()) == {keys[text] for text in wanted}


def test_a_picture_in_a_line_stays_as_it_is() -> None:
    picture = {"type": "image", "source": {"data": "A" * 40 + TOKEN}}
    line = json.dumps({"content": [picture, {"type": "text", "text": TOKEN}]}).encode()
    masked, found = mask_line(line)
    assert sum(found.values()) == 1
    assert json.loads(masked)["content"][0] == picture
    assert mask_line(masked) == (masked, {})
