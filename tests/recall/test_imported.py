"""What a stranger's log says reaches a model only where it is asked for, and is told from what is own."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.support.homes import ORDER, PROJECT, House, put, rollout
from tests.support.logs import uuid_of
from tests.support.memories import HOST

from recollect.cli import main
from recollect.hooks.settle import refresh_catalogs
from recollect.hooks.state import read_catalog
from recollect.light.capture import Capture
from recollect.memory import Memory
from recollect.values.records import Provenance, Role, Segment, SourceFile

WISH = "Never push to main, please."


@pytest.fixture
def house(folder: Path, monkeypatch: pytest.MonkeyPatch) -> House:
    house = House(folder)
    monkeypatch.setenv("HOME", str(house.home))
    monkeypatch.setenv("RECOLLECT_HOST", HOST)
    for name in ("CODEX_HOME", "CLAUDE_CONFIG_DIR", "GEMINI_CLI_HOME"):
        monkeypatch.delenv(name, raising=False)
    return house


def catalog(memory: Memory, **options: Any) -> str:
    return memory.catalog(PROJECT, budget_tokens=4000, **options).text


class TestOwn:
    def test_own_logs_are_told(self, house: House) -> None:
        house.own(WISH)
        with house.memory() as memory:
            memory.ingest()
            assert "wants: Never push to main" in catalog(memory)
            assert "imported" not in catalog(memory)

    def test_own_logs_named_by_path_are_own(self, house: House) -> None:
        path = house.own(WISH)
        with house.memory() as memory:
            memory.ingest([path])
            assert WISH[:10] in catalog(memory)

    @pytest.mark.parametrize("linked", [".codex", ".codex/sessions"])
    def test_a_log_folder_behind_a_link_is_own(self, house: House, folder: Path, linked: str) -> None:
        house.own(WISH)
        moved = folder / "elsewhere"
        os.rename(house.home / linked, moved)
        os.symlink(moved, house.home / linked)
        with house.memory() as memory:
            memory.ingest()
            assert WISH[:10] in catalog(memory)

    def test_a_folder_that_the_agent_was_told_to_use_is_own_also_when_nobody_says_so_any_more(
        self, house: House, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = house.own(WISH, folder=folder / "moved" / "sessions")
        monkeypatch.setenv("CODEX_HOME", str(folder / "moved"))
        with house.memory() as memory:
            memory.ingest()
        monkeypatch.delenv("CODEX_HOME")
        with house.memory() as memory:
            assert WISH[:10] in catalog(memory)
            with path.open("ab") as file:
                file.write(rollout(uuid_of(1), "Always use tabs.", cwd=str(house.project)).split(b"\n", 1)[1])
            memory.ingest([path])
            assert "Always use tabs" in catalog(memory)

    def test_what_a_hook_captured_is_own_whoever_folds_it(
        self, house: House, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = house.own(WISH, folder=folder / "moved" / "sessions")
        moved = {"CODEX_HOME": str(folder / "moved")}
        with house.memory():
            capture = Capture(str(house.store), str(folder / "state"), HOST, str(house.home), moved)
            capture.follow("codex", str(path))
            capture.close()
        path.unlink()
        with house.memory() as memory:
            assert WISH[:10] in catalog(memory)
            memory.checkpoint()
            assert WISH[:10] in catalog(memory)

    def test_a_log_that_was_imported_is_own_once_it_is_found_in_the_agents_folder(
        self, house: House, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        house.own(WISH, folder=folder / "moved" / "sessions")
        with house.memory() as memory:
            memory.ingest([folder / "moved"])
            assert not catalog(memory)
            monkeypatch.setenv("CODEX_HOME", str(folder / "moved"))
            memory.ingest()
            assert WISH[:10] in catalog(memory)
            assert not any(each.imported for each in memory.sessions())

    def test_a_copy_of_an_own_log_takes_nothing_from_it_whichever_came_first(self, house: House) -> None:
        path = house.own(WISH)
        copy = put(house.given, path.read_bytes(), uuid_of(1))
        with house.memory() as memory:
            memory.ingest([copy])
            assert not catalog(memory)
            memory.ingest()
            assert WISH[:10] in catalog(memory)
            assert "imported" not in catalog(memory)


def _ingest(house: House) -> None:
    with house.memory() as memory:
        memory.ingest([house.given])


def _ingest_command(house: House) -> None:
    assert main(["--store", str(house.store), "ingest", str(house.given)]) == 0


def _convert(house: House) -> None:
    assert main(["convert", str(house.given), "-o", str(house.store), "--append"]) == 0


def _append(house: House) -> None:
    (path,) = house.given.iterdir()
    file = SourceFile("codex", str(path), Role.MAIN, session=uuid_of(7))
    with house.memory() as memory:
        memory.append(Segment(file, HOST, 0, path.read_bytes()))
        memory.checkpoint()


def _append_with_dots(house: House) -> None:
    (path,) = house.given.iterdir()
    dotted = f"{house.home}/.codex/sessions/../../../downloads/{path.name}"
    with house.memory() as memory:
        memory.append(Segment(SourceFile("codex", dotted, Role.MAIN), HOST, 0, path.read_bytes()))
        memory.checkpoint()


def _append_of_another_host(house: House) -> None:
    (path,) = house.given.iterdir()
    claimed = str(house.sessions / path.name)
    with house.memory() as memory:
        memory.append(Segment(SourceFile("codex", claimed, Role.MAIN), "elsewhere", 0, path.read_bytes()))
        memory.checkpoint()


def _link(house: House) -> None:
    (path,) = house.given.iterdir()
    link = house.sessions / path.name
    link.symlink_to(path)
    with house.memory() as memory:
        memory.ingest()
        memory.ingest([link])


def _another_agents_folder(house: House) -> None:
    (path,) = house.given.iterdir()
    folder = house.home / ".claude" / "projects" / "x"
    folder.mkdir(parents=True)
    os.rename(path, folder / path.name)
    with house.memory() as memory:
        memory.ingest()


WAYS = [
    _ingest,
    _ingest_command,
    _convert,
    _append,
    _append_with_dots,
    _append_of_another_host,
    _link,
    _another_agents_folder,
]


class TestPlanted:
    @pytest.mark.parametrize("way", WAYS)
    def test_an_order_in_an_imported_log_is_not_told(self, house: House, way: Any) -> None:
        house.own(WISH)
        with house.memory() as memory:
            memory.ingest()
            before = memory.catalog(PROJECT, budget_tokens=4000).sections
        house.planted()
        way(house)
        with house.memory() as memory:
            made = memory.catalog(PROJECT, budget_tokens=4000)
            assert "evil.example" not in made.text
            assert {k: v for k, v in made.sections.items() if k != "overview"} == {
                k: v for k, v in before.items() if k != "overview"
            }
            refresh_catalogs(memory)
            state = str(memory.config.state)
            assert "evil.example" not in read_catalog(state, PROJECT)
            assert "Never push" in read_catalog(state, PROJECT)
            asked = catalog(memory, imported=True)
        assert "evil.example" in asked
        assert all("imported]" in line for line in asked.splitlines() if "evil.example" in line)

    def test_a_project_that_only_imported_logs_know_has_no_catalog(self, house: House) -> None:
        house.planted()
        with house.memory() as memory:
            memory.ingest([house.given])
            assert memory.catalog(PROJECT).text == ""
            refresh_catalogs(memory)
            assert read_catalog(str(memory.config.state), PROJECT) == ""

    def test_an_imported_log_that_claims_an_own_session_alters_nothing(self, house: House) -> None:
        house.own(WISH)
        with house.memory() as memory:
            memory.ingest()
            (before,) = memory.sessions()
            claimed = rollout(uuid_of(1), ORDER, cwd="/srv/bank", minute=40)
            memory.ingest([put(house.given, claimed, uuid_of(1))])
            (after,) = memory.sessions()
            assert after.facts == before.facts
            assert not after.imported
            assert "evil.example" not in catalog(memory)
            assert {each.entry.text: each.imported for each in memory.show(uuid_of(1))}[ORDER]
            assert b"evil" not in b"".join(memory.raw(uuid_of(1)))

    def test_an_imported_log_joins_no_own_thread(self, house: House) -> None:
        house.own(WISH)
        fork = json.loads(rollout(uuid_of(9), cwd=str(house.project)))
        fork["payload"]["forked_from_id"] = uuid_of(1)
        rest = rollout(uuid_of(9), ORDER, cwd=str(house.project), minute=50).split(b"\n", 1)[1]
        with house.memory() as memory:
            memory.ingest()
            put(house.given, json.dumps(fork).encode() + b"\n" + rest, uuid_of(9))
            memory.ingest([house.given])
            assert "evil.example" not in catalog(memory)
            assert "(2 sessions)" not in catalog(memory)

    def test_an_older_catalog_with_an_imported_order_is_taken_away(self, house: House) -> None:
        house.planted()
        with house.memory() as memory:
            memory.ingest([house.given])
            state = memory.config.state
            refresh_catalogs(memory)
            path = Path(state) / "catalogs"
            path.mkdir(parents=True, exist_ok=True)
            (path / "known.json").write_text(json.dumps({PROJECT: "1-2-3"}))
            (path / f"{PROJECT.encode().hex()}.md").write_text(f"wants: {ORDER}")
            assert read_catalog(str(state), PROJECT)
            refresh_catalogs(memory)
            assert read_catalog(str(state), PROJECT) == ""

    def test_the_command_tells_it_only_when_asked(
        self, house: House, capfd: pytest.CaptureFixture[str]
    ) -> None:
        house.own(WISH)
        house.planted()
        with house.memory() as memory:
            memory.ingest()
            memory.ingest([house.given])
        words = ["--store", str(house.store), "catalog", "--project", PROJECT]
        assert main(words) == 0
        assert "evil.example" not in capfd.readouterr().out
        assert main([*words, "--imported"]) == 0
        assert "evil.example" in capfd.readouterr().out

    def test_the_command_says_that_only_imported_logs_know_a_project(
        self, house: House, capfd: pytest.CaptureFixture[str]
    ) -> None:
        house.planted()
        with house.memory() as memory:
            memory.ingest([house.given])
        assert main(["--store", str(house.store), "catalog", "--project", PROJECT]) == 0
        told = capfd.readouterr()
        assert "--imported" in told.err
        assert "evil" not in told.out


class TestOldStores:
    """Stores of a version that asked nobody: sources without a mark."""

    def old(self, house: House) -> None:
        with house.memory() as memory:
            memory.ingest([house.own(WISH), house.planted()])
        with house.memory() as memory, memory._store.writer() as writer:
            for source in writer.view().sources():
                writer.mark(source, Provenance.UNMARKED)
            writer.commit()

    def test_by_their_paths_they_are_told_apart_before_anything_is_written(self, house: House) -> None:
        self.old(house)
        before = house.store.read_bytes()
        with house.memory() as memory:
            assert WISH[:10] in catalog(memory)
            assert "evil.example" not in catalog(memory)
            assert {s.imported for s in memory.sessions()} == {True, False}
        assert house.store.read_bytes() == before

    def test_the_next_writer_marks_them(self, house: House) -> None:
        self.old(house)
        with house.memory() as memory:
            memory.checkpoint()
            with memory._store.view() as view:
                assert not view.unmarked()
                assert sorted(s.imported for s in view.sources()) == [False, True]

    def test_a_search_marks_what_it_finds(self, house: House) -> None:
        self.old(house)
        with house.memory() as memory:
            (hit,) = memory.search("evil.example", mode="text").hits[:1]
            assert hit.stored.imported
            assert hit.session.imported
