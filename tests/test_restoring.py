"""What was evicted comes back from wherever it came: exports, databases, copies; or not at all."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support import DATA
from tests.support.databases import make_database, written
from tests.support.memories import content, memory_at, scratch, sources_of
from tests.support.noisy import talk

from recollect.intake.discover import discover
from recollect.intake.ingest import Ingest
from recollect.memory import Memory
from recollect.values.errors import Evicted, NotFound, SourceError
from recollect.values.records import Provenance
from recollect.values.retention import Elsewhere, RetentionSettings

TIDES = "6800000a-0000-4000-8000-000000000000"
PIER = "ses_pier"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with memory_at(tmp_path) as made:
        yield made


def evict(memory: Memory) -> set[str]:
    """Let everything go that can go; the ids of it."""
    memory.index()
    limit(memory)
    memory.sweep()
    return set(memory.evicted_sessions())


def limit(memory: Memory) -> None:
    memory.config = replace(memory.config, retention=RetentionSettings(raw_hard_cap_bytes=1))


def zipped(path: Path, agent: str = "chatgpt", change: Callable[[Any], Any] = lambda talks: talks) -> Path:
    talks = change(json.loads((DATA / agent / "conversations.json").read_bytes()))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("export/conversations.json", json.dumps(talks))
        archive.writestr("export/user.json", "{}")
    return path


def plain(path: Path, agent: str = "chatgpt") -> Path:
    path.write_bytes((DATA / agent / "conversations.json").read_bytes())
    return path


def place(memory: Memory, id_: str) -> Elsewhere:
    return memory.elsewhere(id_)[0]


# -- exports -------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [zipped, plain])
@pytest.mark.parametrize("agent", ["chatgpt", "claudeai"])
def test_what_came_in_an_export_comes_back_from_it(
    memory: Memory, tmp_path: Path, make: Callable[..., Path], agent: str
) -> None:
    path = make(tmp_path / ("export.zip" if make is zipped else "conversations.json"), agent)
    memory.ingest([path])
    before, bytes_before = content(memory), sources_of(memory)
    limit(memory)
    memory.index()
    looked = memory.retention()
    assert {each.elsewhere for each in looked.sessions} == {Elsewhere.THERE}
    assert {each.path for each in looked.sessions} == {str(path)}
    gone = evict(memory)
    assert gone
    for id_ in sorted(gone):
        assert place(memory, id_) is Elsewhere.THERE
        with pytest.raises(Evicted):
            b"".join(memory.raw(id_))
        assert memory.restore(id_).paths == (str(path),)
        assert memory.evicted(id_) is None
    assert sources_of(memory) == bytes_before
    assert said(memory) == told(before)
    again = memory.ingest([path])
    assert (again.changed, again.bytes_parsed) == (0, 0)
    assert memory.check() == []


def said(memory: Memory) -> dict[str, list[str]]:
    return told(content(memory))


def told(seen: dict[str, Any]) -> dict[str, list[str]]:
    """What each session says, in order; its rows are others after a rewrite."""
    return {
        id_: [each.entry.text for each in entries] for (_, id_), (_, _, entries) in seen["sessions"].items()
    }


def test_an_export_that_was_moved_is_named(memory: Memory, tmp_path: Path) -> None:
    path = zipped(tmp_path / "export.zip")
    memory.ingest([path])
    before, gone = sources_of(memory), evict(memory)
    moved = path.rename(tmp_path / "moved.zip")
    assert place(memory, TIDES) is Elsewhere.GONE
    with pytest.raises(SourceError, match="is gone") as refused:
        memory.restore(TIDES)
    assert "--from FILE" in refused.value.hint
    memory.restore(TIDES, [moved])
    assert place(memory, TIDES) is Elsewhere.THERE, "where it was found is remembered"
    folder = tmp_path / "unpacked"
    with zipfile.ZipFile(moved) as archive:
        archive.extractall(folder)
    moved.unlink()
    assert gone > {TIDES}
    for id_ in gone - {TIDES}:
        memory.restore(id_, [folder])
    assert sources_of(memory) == before
    assert memory.check() == []


def test_another_version_of_a_conversation_is_not_taken_for_it(memory: Memory, tmp_path: Path) -> None:
    path = zipped(tmp_path / "export.zip")
    memory.ingest([path])
    before, _ = sources_of(memory), evict(memory)
    old = Path(shutil.copy(path, tmp_path / "old.zip"))

    def renamed(talks: Any) -> Any:
        return [{**talks[0], "title": "Another"}, *talks[1:]]

    zipped(path, change=renamed)
    assert place(memory, TIDES) is Elsewhere.CHANGED
    state = content(memory)
    for named in ([], [path]):
        with pytest.raises(SourceError, match=r"is not what was read|has not what was read"):
            memory.restore(TIDES, named)
    assert content(memory) == state, "nothing was changed"
    others = set(memory.evicted_sessions()) - {TIDES}
    assert {place(memory, id_) for id_ in others} == {Elsewhere.THERE}
    memory.restore(TIDES, [path, old])
    (restored,) = (data for name, data in sources_of(memory).items() if TIDES in name)
    assert restored in before.values()


def test_a_later_export_that_has_it_too_is_known_once_the_first_is_gone(
    memory: Memory, tmp_path: Path
) -> None:
    path = zipped(tmp_path / "export.zip")
    memory.ingest([path])
    evict(memory)
    later = Path(shutil.copy(path, tmp_path / "later.zip"))
    memory.ingest([later])
    assert memory.elsewhere(TIDES) == (Elsewhere.THERE, str(path)), "the first is still there"
    path.unlink()
    assert memory.ingest([later]).changed == 0
    assert memory.elsewhere(TIDES) == (Elsewhere.THERE, str(later))
    memory.restore(TIDES)


def test_where_it_came_from_is_known_after_every_rewrite(memory: Memory, tmp_path: Path) -> None:
    path = zipped(tmp_path / "export.zip")
    memory.ingest([path])
    memory.reparse()
    memory.compact()
    evict(memory)
    memory.reparse()
    memory.repair()
    assert memory.elsewhere(TIDES) == (Elsewhere.THERE, str(path))
    with memory_at(tmp_path, "other.h5", "other") as other:
        other.merge([tmp_path / "memory.h5"])
        limit(other)
        other.restore(TIDES)
        (found,) = (data for name, data in sources_of(other).items() if TIDES in name)
    memory.restore(TIDES)
    assert found == b"".join(memory.raw(TIDES))


def test_of_a_store_that_does_not_know_its_export_it_is_asked(memory: Memory, tmp_path: Path) -> None:
    path = zipped(tmp_path / "export.zip")
    memory.ingest([path])
    with memory._store.writer() as writer:
        for source in writer.view().sources():
            writer.touch(source.host, source.file.path, replace(source.cursor, state={}))
        writer.commit()
    evict(memory)
    assert place(memory, TIDES) is Elsewhere.UNKNOWN
    with pytest.raises(SourceError, match="nobody knows in which file") as refused:
        memory.restore(TIDES)
    assert "--from FILE" in refused.value.hint
    memory.ingest([path])
    assert place(memory, TIDES) is Elsewhere.THERE
    memory.restore(TIDES)


# -- databases -----------------------------------------------------------------------------------


@pytest.fixture
def database(memory: Memory, tmp_path: Path) -> Path:
    path = make_database(tmp_path / "opencode.db")
    memory.ingest([path])
    return path


def test_rows_come_back_while_they_are_what_they_were(memory: Memory, database: Path) -> None:
    before, gone = said(memory), evict(memory)
    assert PIER in gone
    for id_ in sorted(gone):
        assert place(memory, id_) is Elsewhere.THERE
        memory.restore(id_)
    assert said(memory) == before
    assert memory.ingest([database]).taken == 0
    assert memory.check() == []


def say(database: Path, text: str) -> None:
    with written(database) as client:
        data = json.dumps({"type": "text", "text": text})
        client.execute("UPDATE part SET data = ?, time_updated = ? WHERE id = 'prt_01'", (data, 9 * 10**12))
        client.execute("UPDATE event_sequence SET seq = seq + 1 WHERE aggregate_id = 'ses_pier'")


def test_rows_that_were_written_over_do_not_come_back(memory: Memory, database: Path, tmp_path: Path) -> None:
    before, _ = sources_of(memory), evict(memory)
    copy = Path(shutil.copy(database, tmp_path / "copy.db"))
    say(database, "something else")
    assert place(memory, PIER) is Elsewhere.CHANGED
    state = content(memory)
    with pytest.raises(SourceError, match="keeps no earlier versions"):
        memory.restore(PIER)
    assert content(memory) == state, "nothing was changed"
    assert memory.restore(PIER, [copy]).paths == (str(copy),)
    (restored,) = (data for name, data in sources_of(memory).items() if name.endswith(PIER))
    assert restored in before.values()
    assert memory.ingest([database]).taken == 1, "the row that changed"


def test_of_a_database_that_is_gone_it_is_said(memory: Memory, database: Path) -> None:
    evict(memory)
    database.unlink()
    assert place(memory, PIER) is Elsewhere.GONE
    with pytest.raises(SourceError, match="is gone"):
        memory.restore(PIER)


# -- logs ----------------------------------------------------------------------------------------


def logs(folder: Path, count: int = 2) -> list[Path]:
    for number in range(1, count + 1):
        talk(number).write(folder / "logs")
    return sorted((folder / "logs").rglob("*.jsonl"))


def test_a_copy_of_a_log_does_as_well(memory: Memory, tmp_path: Path) -> None:
    first, second = logs(tmp_path)
    memory.ingest([tmp_path / "logs"])
    before, _ = sources_of(memory), evict(memory)
    copy = Path(shutil.copy(first, tmp_path / "copy"))
    first.unlink()
    with pytest.raises(SourceError, match="has not what was read"):
        memory.restore(first.stem, [second])
    copy.write_bytes(copy.read_bytes() + b'{"type":"summary","summary":"and on"}\n')
    assert memory.restore(first.stem, [second, copy]).paths == (str(copy),)
    memory.restore(second.stem)
    assert sources_of(memory) == before
    with pytest.raises(NotFound, match="nothing of session"):
        memory.restore(first.stem, [copy])
    first.write_bytes(copy.read_bytes())
    assert memory.ingest([tmp_path / "logs"]).taken == 1, "what it has behind that"


def test_what_two_machines_had_comes_back_for_both(memory: Memory, tmp_path: Path) -> None:
    path = logs(tmp_path, 1)[0]
    for host, whose in (("here", Provenance.OWN), ("there", Provenance.IMPORTED)):
        with memory._store.writer() as writer:
            (found,) = discover([path]).found
            Ingest(writer, host).sweep([replace(found, file=replace(found.file, provenance=whose))])
            writer.commit()
    entries = {each.host: each.entries for each in memory.sessions()}
    evict(memory)
    assert {each.entries for each in memory.sessions()} == {0}
    memory.restore(path.stem)
    assert {each.host: each.entries for each in memory.sessions()} == entries
    with memory.view() as view:
        newest = [each for each in view.sources() if not each.superseded]
    assert [each.imported for each in newest] == [False, True]
    assert not any(each.thinned for each in newest)
    assert memory.check() == []


def test_a_session_of_another_machine_comes_back_from_a_copy(memory: Memory, tmp_path: Path) -> None:
    path = logs(tmp_path, 1)[0]
    with memory._store.writer() as writer:
        Ingest(writer, "there").sweep(discover([path]).found)
        writer.commit()
    evict(memory)
    with pytest.raises(SourceError, match="was read on there") as refused:
        memory.restore(path.stem)
    assert "--from FILE" in refused.value.hint
    memory.restore(path.stem, [path])
    assert b"".join(memory.raw(path.stem)) == path.read_bytes()
    (session,) = memory.sessions()
    assert session.host == "there"


def test_no_other_byte_is_taken_for_what_was_evicted() -> None:
    with scratch() as folder, memory_at(folder) as memory:
        (path,) = logs(folder, 1)
        memory.ingest([folder / "logs"])
        data = path.read_bytes()
        evict(memory)
        path.unlink()
        state = content(memory)

        @settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
        @given(st.integers(0, len(data) - 2), st.integers(1, 255), st.booleans())
        def refuses(at: int, other: int, cut: bool) -> None:
            changed = data[:at] if cut else data[:at] + bytes([data[at] ^ other]) + data[at + 1 :]
            (folder / "copy").write_bytes(changed)
            with pytest.raises(SourceError):
                memory.restore(path.stem, [folder / "copy"])

        refuses()
        assert content(memory) == state
        (folder / "copy").write_bytes(data)
        memory.restore(path.stem, [folder / "copy"])
        assert b"".join(memory.raw(path.stem)) == data
