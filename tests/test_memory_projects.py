"""What a person decides about projects is kept in the store, and every face goes by it."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from recollect.config import Config
from recollect.hooks.settle import refresh_catalogs
from recollect.hooks.state import read_catalog
from recollect.memory import Memory
from recollect.testing.reference import ENGINE
from recollect.values.errors import NotFound
from recollect.values.usage import UsageFilter

REMOTE = "github.com/ada/harbor"
TALKS = {  # the folder, the pull request's repository, what was asked
    "a1a1a1a1-0000-4000-8000-000000000001": ("/srv/harbor", "ada/harbor", "Paint the crane"),
    "a1a1a1a1-0000-4000-8000-000000000002": ("/srv/harbor/.worktrees/1", "", "Oil the crane"),
    "a1a1a1a1-0000-4000-8000-000000000003": ("/srv/lighthouse", "", "Light the lamp"),
}


def write_logs(home: Path) -> None:
    for number, (id_, (folder, repository, text)) in enumerate(TALKS.items()):
        at = {
            "sessionId": id_,
            "cwd": folder,
            "version": "2.1.197",
            "timestamp": f"2026-03-0{number + 1}T10:00:00Z",
        }
        usage = {"input_tokens": 10 * (number + 1), "output_tokens": 1}
        answer = {
            "role": "assistant",
            "id": id_,
            "model": "m",
            "content": [{"type": "text", "text": "Done."}],
        }
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
    assert not memory.recall(["crane"], strict_project="nowhere").hits


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
    assert read_catalog(state, "Coast") == read_catalog(state, REMOTE) == read_catalog(state, "lighthouse")
    memory.split_project("lighthouse")
    refresh_catalogs(memory)
    assert "Paint the crane" not in read_catalog(state, "lighthouse")


def test_what_is_not_there_is_asked_back(memory: Memory) -> None:
    with pytest.raises(NotFound, match="no project"):
        memory.join_projects(REMOTE, "lighthose")
    assert memory.projects()[0].name == "lighthouse"
