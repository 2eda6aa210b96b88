"""What a person decides about projects is kept in the store, and every face goes by it."""

from __future__ import annotations

import contextlib
import json
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from recollect.agents.decisions import record_of
from recollect.config import Config
from recollect.hooks.settle import refresh_catalogs
from recollect.hooks.state import read_catalog
from recollect.memory import Memory
from recollect.search.cache_folder import read_stamp, write_stamp
from recollect.search.project_names import ProjectNames
from recollect.store.contract import SessionClues
from recollect.testing.reference import ENGINE
from recollect.values.errors import NotFound
from recollect.values.projects import RENAME, Decision
from recollect.values.recalled import Catalog
from recollect.values.records import (
    Cursor,
    Entry,
    Kind,
    Line,
    Parsed,
    Provenance,
    Segment,
    SessionFacts,
    SourceFile,
)
from recollect.values.usage import UsageFilter

REMOTE = "github.com/ada/harbor"
TALKS = {  # the folder, the pull request's repository, what was asked
    "a1a1a1a1-0000-4000-8000-000000000001": ("/srv/harbor", "ada/harbor", "Paint the crane"),
    "a1a1a1a1-0000-4000-8000-000000000002": ("/srv/harbor/.worktrees/1", "", "Oil the crane"),
    "a1a1a1a1-0000-4000-8000-000000000003": ("/srv/lighthouse", "", "Light the lamp"),
}


def write_logs(home: Path) -> None:
    for number, (id_, talk) in enumerate(TALKS.items(), 1):
        write_log(home, id_, *talk, number)


def write_log(home: Path, id_: str, folder: str, repository: str, text: str, number: int) -> Path:
    at = {"sessionId": id_, "cwd": folder, "version": "2.1.197", "timestamp": f"2026-03-0{number}T10:00:00Z"}
    usage = {"input_tokens": 10 * number, "output_tokens": 1}
    answer = {"role": "assistant", "id": id_, "model": "m", "content": [{"type": "text", "text": "Done."}]}
    records = [
        {**at, "type": "user", "uuid": f"u{id_}", "message": {"role": "user", "content": text}},
        {**at, "type": "assistant", "uuid": f"v{id_}", "message": {**answer, "usage": usage}},
    ]
    if repository:
        url = f"https://github.com/{repository}/pull/1"
        records.append({"type": "pr-link", "sessionId": id_, "prUrl": url, "prRepository": repository})
    path = home / ".claude/projects/-srv" / f"{id_}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


@pytest.fixture(params=["hdf5", "reference"])
def memory(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Memory]:
    monkeypatch.setenv("HOME", str(tmp_path))
    write_logs(tmp_path)
    at: Path | str = tmp_path / "memory.h5" if request.param == "hdf5" else f"memory:{tmp_path}"
    with Memory.open(config=Config(at, "here", cache=tmp_path / "cache")) as opened:
        opened.ingest()
        yield opened
    if isinstance(at, str):
        ENGINE.forget(at)


def by_folder(memory: Memory) -> dict[str, tuple[str, tuple[str, ...]]]:
    return {each.facts.cwd: (each.facts.project, each.labels) for each in memory.sessions()}


def decide(memory: Memory) -> None:
    memory.join_projects("ada/harbor", "lighthouse")
    memory.rename_project("lighthouse", "Coast")
    memory.label_project("Coast", "domain=shipping")


DECIDED = dict.fromkeys(
    ("/srv/harbor", "/srv/harbor/.worktrees/1", "/srv/lighthouse"), ("Coast", ("domain=shipping",))
)


def snapshot(memory: Memory) -> contextlib.AbstractContextManager[Memory]:
    target = memory.config.cache.parent / "copy.h5"
    memory.snapshot(target)
    return Memory.open(config=Config(target, "here", cache=memory.config.cache))


def compacted(memory: Memory) -> contextlib.AbstractContextManager[Memory]:
    memory.compact()
    return contextlib.nullcontext(memory)


def reparsed(memory: Memory) -> contextlib.AbstractContextManager[Memory]:
    memory.reparse()
    return contextlib.nullcontext(memory)


def repaired(memory: Memory) -> contextlib.AbstractContextManager[Memory]:
    memory.repair()
    return contextlib.nullcontext(memory)


@pytest.mark.parametrize("change", [compacted, reparsed, repaired, snapshot])
def test_decisions_survive_whatever_is_done_to_the_store(
    memory: Memory, change: Callable[[Memory], contextlib.AbstractContextManager[Memory]]
) -> None:
    """A snapshot of the reference store into HDF5 is a conversion between engines."""
    decide(memory)
    assert by_folder(memory) == DECIDED
    with change(memory) as changed:
        assert by_folder(changed) == DECIDED
        changed.split_project("lighthouse")
        assert by_folder(changed)["/srv/lighthouse"] == ("lighthouse", ())


def test_no_session_is_written_anew(memory: Memory) -> None:
    stored = [each.facts for each in raw(memory)]
    decide(memory)
    assert [each.facts for each in raw(memory)][: len(stored)] == stored
    memory.reparse()
    assert {each.facts.project for each in raw(memory)} == {REMOTE, "harbor", "lighthouse", ""}


def raw(memory: Memory) -> list[object]:
    with memory._store.view() as view:
        return list(view.sessions())  # type: ignore[arg-type]


def test_every_face_goes_by_the_names_and_labels(memory: Memory) -> None:
    decide(memory)
    crane = TALKS["a1a1a1a1-0000-4000-8000-000000000002"][2]
    for query in (
        "project:coast oil",
        "project:ada/harbor oil",
        "label:domain=shipping oil",
        "label:shipping oil",
    ):
        hit = memory.search(query).hits[0]
        assert (hit.stored.entry.text, hit.session.facts.project) == (crane, "Coast")
    assert memory.search("label:banking oil").hits == []
    assert memory.complete("label") == [("domain=shipping", 7)]
    assert [name for name, _ in memory.complete("project")] == ["Coast"]
    assert {each.project for each in memory.threads("coast", label="shipping")} == {"Coast"}
    assert len(memory.threads("lighthouse")) == 3
    assert memory.threads("", label="banking") == []
    assert [(row.group, row.input) for row in memory.usage("project").rows] == [("Coast", 60)]
    assert [row.group for row in memory.usage("label").rows] == ["domain=shipping"]
    assert [row.group for row in memory.usage("label:team").rows] == ["unknown"]
    assert memory.usage("project", only=UsageFilter(label="banking")).rows == []
    assert memory.catalog("lighthouse").project == "Coast"
    assert "3 sessions" in memory.catalog("Coast").text
    found = memory.recall(["crane"], strict_project="coast")
    assert found.hits
    assert found.text.count("# session a1a1a1a1-0000, Coast, claude") == found.shown == 2
    assert "harbor" not in found.text
    assert (
        "# session a1a1a1a1-0000, Coast, claude" in memory.read(memory.search("oil").hits[0].stored.id).text
    )
    assert not memory.recall(["crane"], strict_project="nowhere").hits
    assert memory.assemble("oil the crane")[1].project == "Coast"
    with memory.indexes.asking(meaning=False) as search:
        assert {each.facts.project for each in search.view.sessions()} == {"Coast", ""}


def test_usage_by_label_adds_up_to_everything(memory: Memory) -> None:
    memory.label_project(REMOTE, "domain=shipping")
    memory.label_project(REMOTE, "team=core")
    report = memory.usage("label")
    assert {row.group: row.input for row in report.rows} == {"domain=shipping, team=core": 30, "unknown": 30}
    assert report.total.input == 60
    assert {row.group for row in memory.usage("label:team").rows} == {"team=core", "unknown"}


def test_a_hook_finds_the_catalog_by_any_name_that_is_one_projects_alone(memory: Memory) -> None:
    memory.config.state.mkdir(parents=True)
    state = str(memory.config.state)
    refresh_catalogs(memory)
    assert read_catalog(state, "harbor") == read_catalog(state, REMOTE)
    assert "Paint the crane" in read_catalog(state, "harbor")
    assert "Light the lamp" in read_catalog(state, "lighthouse")
    memory.join_projects(REMOTE, "lighthouse")
    refresh_catalogs(memory)
    assert "Light the lamp" in read_catalog(state, "harbor")
    assert "Paint the crane" in read_catalog(state, "lighthouse")
    memory.rename_project(REMOTE, "Coast")
    refresh_catalogs(memory)
    assert "Light the lamp" in read_catalog(state, REMOTE)
    assert read_catalog(state, REMOTE) == read_catalog(state, "lighthouse")
    assert not read_catalog(state, "Coast")  # any folder may be called so
    memory.split_project("lighthouse")
    refresh_catalogs(memory)
    assert "Paint the crane" not in read_catalog(state, "lighthouse")


def test_a_hook_finds_no_catalog_by_a_name_that_two_projects_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`harbor` is what a session in either folder is called that knows of no remote."""
    monkeypatch.setenv("HOME", str(tmp_path))
    folders = {1: ("/srv/harbor", "ada/harbor"), 2: ("/srv/harbor", ""), 3: ("/v/harbor", "bob/harbor")}
    for number, (folder, repository) in {**folders, 4: ("/v/harbor", "")}.items():
        write_log(tmp_path, f"b2b2b2b2-0000-4000-8000-00000000000{number}", folder, repository, "Paint", 1)
    with Memory.open(config=Config(tmp_path / "memory.h5", "here", cache=tmp_path / "cache")) as memory:
        memory.ingest()
        memory.config.state.mkdir(parents=True)
        assert [each.aliases for each in memory.projects()] == [("harbor",)] * 2
        refresh_catalogs(memory)
        state = str(memory.config.state)
        assert read_catalog(state, REMOTE)
        assert not read_catalog(state, "harbor")


def test_a_hook_finds_no_catalog_by_the_name_of_a_folder_inside_of_a_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any folder may be called `src`, also one that has nothing to do with it."""
    monkeypatch.setenv("HOME", str(tmp_path))
    folders = {
        1: ("/srv/harbor", "ada/harbor"),
        2: ("/srv/harbor/src", ""),
        3: ("/srv/harbor/src", "ada/harbor"),
    }
    for number, (folder, repository) in {**folders, 4: ("/srv/harbor", "")}.items():
        write_log(tmp_path, f"b2b2b2b2-0000-4000-8000-00000000000{number}", folder, repository, "Paint", 1)
    with Memory.open(config=Config(tmp_path / "memory.h5", "here", cache=tmp_path / "cache")) as memory:
        memory.ingest()
        memory.config.state.mkdir(parents=True)
        (project,) = memory.projects()
        assert project.aliases == ("harbor", "src")
        refresh_catalogs(memory)
        state = str(memory.config.state)
        assert read_catalog(state, "harbor") == read_catalog(state, REMOTE) != ""
        assert not read_catalog(state, "src")


def test_a_given_name_is_one_projects_alone_whatever_folders_come(memory: Memory, tmp_path: Path) -> None:
    memory.rename_project(REMOTE, "port")
    write_log(tmp_path, "c3c3c3c3-0000-4000-8000-000000000001", "/srv/port", "", "Dredge the basin", 9)
    memory.ingest()
    memory.config.state.mkdir(parents=True)
    state = str(memory.config.state)
    assert by_folder(memory)["/srv/harbor"][0] == "port"
    assert by_folder(memory)["/srv/port"][0] == "/srv/port"
    refresh_catalogs(memory)
    assert "Paint the crane" in read_catalog(state, "harbor")
    assert "Dredge the basin" in read_catalog(state, "port")


def test_one_project_keeps_no_other_from_its_catalog(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = memory.catalog

    def of_all_but_one(project: str, *, budget_tokens: int) -> Catalog:
        if project == "lighthouse":
            raise NotFound("several projects")
        return catalog(project, budget_tokens=budget_tokens)

    monkeypatch.setattr(memory, "catalog", of_all_but_one)
    memory.config.state.mkdir(parents=True)
    refresh_catalogs(memory)
    assert read_catalog(str(memory.config.state), REMOTE)


def note(memory: Memory, decision: Decision, *, host: str = "here", provenance: Provenance) -> None:
    """As a store that was merged, or a hand-made one, may have it."""
    file = SourceFile("recollect", f"/{host}/{provenance.name}", session="projects", provenance=provenance)
    line = Line(json.dumps(record_of(decision)).encode(), 0, Parsed("project", (Entry(Kind.EVENT),)))
    facts = SessionFacts("recollect", "projects")
    with memory._store.writer() as writer:
        writer.take(file, host, [line], Cursor(1), facts, parser=1)
        writer.commit()


@pytest.mark.parametrize("host", ["here", "there"])
def test_an_imported_line_decides_nothing(memory: Memory, host: str) -> None:
    memory.label_project(REMOTE, "domain=shipping")
    before = by_folder(memory)
    taken_over = Decision(RENAME, REMOTE, "Bank", time_ms=2**40)
    note(memory, taken_over, host=host, provenance=Provenance.IMPORTED)
    assert by_folder(memory) == before
    note(memory, taken_over, host=host, provenance=Provenance.OWN)
    assert by_folder(memory)["/srv/harbor"] == ("Bank", ("domain=shipping",))


@pytest.mark.parametrize("times", [(1, 2), (2, 1)])
def test_the_newest_decision_holds_whichever_host_was_stored_first(
    memory: Memory, times: tuple[int, int]
) -> None:
    for host, time_ms in zip(("here", "there"), times, strict=True):
        decision = Decision(RENAME, REMOTE, f"at {time_ms}", time_ms=time_ms)
        note(memory, decision, host=host, provenance=Provenance.OWN)
    assert by_folder(memory)["/srv/harbor"][0] == "at 2"


def test_a_clock_that_was_once_ahead_freezes_no_decision(memory: Memory) -> None:
    ahead = Decision(RENAME, REMOTE, "Future", time_ms=2**45)
    note(memory, ahead, host="there", provenance=Provenance.OWN)
    assert memory.rename_project("future", "Quay").name == "Quay"
    assert memory.rename_project("quay", "Pier").name == "Pier"
    assert by_folder(memory)["/srv/harbor"][0] == "Pier"


@pytest.mark.parametrize("in_git", [False, True])
def test_a_folder_is_a_clone_by_its_name_only_where_git_is(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_git: bool
) -> None:
    here = tmp_path / "elsewhere" / "harbor"
    (here / ".git" if in_git else here).mkdir(parents=True)
    monkeypatch.chdir(here)
    assert memory.catalog().project == (REMOTE if in_git else "harbor")


def lighthouses(memory: Memory) -> set[str]:
    """The projects of the sessions in one folder, as a search knows them."""
    with memory.indexes.asking(meaning=False) as search:
        facts = [each.facts for each in search.view.sessions()]
    return {each.project for each in facts if each.cwd == "/srv/lighthouse"}


class TestWhatIsKeptBesideTheIndexes:
    """Names are worked out once for each state of the store."""

    @pytest.fixture
    def kept(self, memory: Memory) -> Path:
        memory.search("crane")
        (path,) = memory.config.cache.glob("*/projects.stamp")
        return path

    @pytest.fixture
    def worked_out(self, monkeypatch: pytest.MonkeyPatch) -> list[SessionClues]:
        """What names are worked out from, each time."""
        told: list[SessionClues] = []

        class Counted(ProjectNames):
            def __init__(self, clues: SessionClues, decisions: Iterable[Decision] = ()) -> None:
                told.append(clues)
                super().__init__(clues, decisions)

        monkeypatch.setattr("recollect.search.project_names.ProjectNames", Counted)
        return told

    def test_it_is_its_owners_alone_and_used(
        self, memory: Memory, kept: Path, worked_out: list[SessionClues]
    ) -> None:
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600
        assert by_folder(memory)["/srv/harbor/.worktrees/1"] == (REMOTE, ())
        assert len(memory.search("project:ada/harbor crane").hits) == 2
        assert not worked_out

    def test_it_is_of_one_state_of_the_store(self, memory: Memory, kept: Path) -> None:
        memory.rename_project(REMOTE, "Quay")
        assert by_folder(memory)["/srv/harbor"] == ("Quay", ())
        assert memory.search("crane").hits[0].session.facts.project == "Quay"

    def test_it_is_of_one_state_also_where_no_line_is_new(self, memory: Memory) -> None:
        """Whose a source is may be found out later, and own sessions learn nothing from imported ones."""
        file, line = SourceFile("claude", "/elsewhere"), Line(b"{}", 0, Parsed("user", (Entry(Kind.EVENT),)))
        facts = SessionFacts("claude", "elsewhere", "evil.example/x/lighthouse", "/srv/lighthouse")
        with memory._store.writer() as writer:
            writer.take(file, "here", [line], Cursor(1), facts, parser=1)
            writer.commit()
        assert lighthouses(memory) == {"evil.example/x/lighthouse"}
        with memory._store.writer() as writer:
            (source,) = writer.view().unmarked()
            writer.mark(source, Provenance.IMPORTED)
            writer.commit()
        assert lighthouses(memory) == {"evil.example/x/lighthouse", "lighthouse"}

    def test_it_says_nothing_of_what_is_in_the_journal(self, memory: Memory, kept: Path) -> None:
        id_ = "a1a1a1a1-0000-4000-8000-000000000004"
        path = write_log(Path.home(), id_, "/srv/lighthouse", "ada/lighthouse", "Mend the lamp", 4)
        file = SourceFile("claude", str(path), session=id_, provenance=Provenance.OWN)
        memory.append(Segment(file, "here", 0, path.read_bytes()))
        before = kept.read_bytes()
        assert by_folder(memory)["/srv/lighthouse"] == ("github.com/ada/lighthouse", ())
        assert kept.read_bytes() == before
        assert memory.label_project("ada/lighthouse", "domain=lamps").labels == ("domain=lamps",)

    @pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "gone", "clues", "called"])
    def test_damaged_it_counts_as_absent(self, memory: Memory, kept: Path, damage: str) -> None:
        before, data = by_folder(memory), kept.read_bytes()
        if damage in ("clues", "called"):
            write_stamp(kept, {**read_stamp(kept), damage: ["x"]})
        elif damage == "gone":
            kept.unlink()
        else:
            harmed = {"cut": data[:-9], "flipped": data.replace(b"harbor", b"harbxr"), "empty": b""}
            kept.write_bytes(harmed[damage])
        assert by_folder(memory) == before
        with Memory.open(config=memory.config) as again:
            assert by_folder(again) == before

    def test_without_indexes_nothing_is_kept(self, memory: Memory) -> None:
        assert by_folder(memory)["/srv/harbor"] == (REMOTE, ())
        assert not list(memory.config.cache.glob("**/*.stamp"))


def test_what_is_not_there_is_asked_back(memory: Memory) -> None:
    with pytest.raises(NotFound, match="no project"):
        memory.join_projects(REMOTE, "lighthose")
    assert memory.projects()[0].name == "lighthouse"
