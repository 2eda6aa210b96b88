"""Every verb of `Memory`, on every engine: what it gives is the same, whatever keeps it."""

from __future__ import annotations

import contextlib
import datetime
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support import DATA
from tests.support.claude_talk import Talk

from recollect.config import Config
from recollect.memory import Memory
from recollect.memory.composing import Composing
from recollect.memory.forgetting import Forgetting
from recollect.memory.known import Known
from recollect.memory.looking import Looking
from recollect.memory.naming import Naming
from recollect.memory.recalling import Recalling
from recollect.memory.upkeep import Upkeep
from recollect.present.days import activity_object, danger_object, period_object
from recollect.present.lessons import lesson_object
from recollect.recall.assemble.run import Assembly
from recollect.recall.saved import SavedThread
from recollect.search.run import Results
from recollect.testing.reference import ENGINE
from recollect.testing.stores import segment
from recollect.values.erasures import Wanted

HOST = "here"
GITHUB_TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
SESSION = "a1b2c3d4"


@pytest.fixture
def memories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Memory]]:
    """The hand-written logs in a store of each engine; the home of nobody."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    reference = f"memory:{tmp_path}"
    with contextlib.ExitStack() as opened:
        made = []
        for at in (tmp_path / "memory.h5", reference):
            config = Config(at, HOST, cache=tmp_path / "cache")
            made.append(opened.enter_context(Memory.open(config=config)))
            assert made[-1].ingest([DATA]).taken
        yield made
    ENGINE.forget(reference)


def saved(memory: Memory) -> SavedThread:
    made, _ = memory.assemble("token expiry clock skew")
    return memory.save_thread(made, "mine")


def sessions(memory: Memory) -> object:
    return [(session.facts, session.host, session.entries) for session in memory.sessions()]


def pieces(made: Assembly) -> object:
    """What an assembly chose; rows are each engine's own."""
    return [(piece.session.facts.id, piece.time_ms, piece.tokens, piece.hits) for piece in made.pieces]


def hits(found: Results) -> object:
    return [(hit.stored.id, hit.session.facts.id, round(hit.score, 4), hit.snippet) for hit in found.hits]


def appended(memory: Memory) -> Memory:
    memory.append(segment(0))
    return memory


def written(folder: Path) -> Path:
    folder.mkdir()
    (folder / "tokens.py").write_text("leeway = 30\n")
    return folder / "tokens.py"


def dangerous(memory: Memory) -> Memory:
    """A memory in which something was deleted, too."""
    log = Path(os.environ["HOME"]) / "logs"
    talk = Talk(1, "/home/ada/harbor")
    talk.user("Clean up")
    talk.call("Bash", "", command="rm -rf data")
    talk.write(log)
    memory.ingest([log])
    return memory


def erring(memory: Memory) -> Memory:
    """A memory in which a program was missing, too."""
    log = Path(os.environ["HOME"]) / "missing"
    talk = Talk(1, "/home/ada/harbor")
    talk.user("Test it")
    talk.call("Bash", "bash: line 1: go: command not found", failed=True, command="go test")
    talk.write(log)
    memory.ingest([log])
    return memory


def entry_id(memory: Memory) -> str:
    return next(memory.show(SESSION)).id


def project(memory: Memory) -> str:
    return memory.session(SESSION).facts.project


def two_projects(memory: Memory) -> tuple[str, str]:
    one, two, *_ = sorted(each.name for each in memory.projects())
    return one, two


def split(memory: Memory) -> object:
    one, two = two_projects(memory)
    memory.join_projects(one, two)
    return memory.split_project(two)


# What each verb is asked. It must answer something, and the same on every engine.
VERBS: dict[str, Callable[[Memory, Path], object]] = {
    "activity": lambda memory, _: activity_object(memory.activity()),
    "altered": lambda memory, _: memory.altered(SESSION) == [],
    "append": lambda memory, _: memory.append(segment(0)),
    "around": lambda memory, _: memory.around(memory.tail(SESSION, 3)[0], 1, 1),
    "assemble": lambda memory, _: pieces(memory.assemble("token expiry clock skew")[0]),
    "blame": lambda memory, _: [touch.last for touch in memory.blame("tokens.py")],
    "blame_commit": lambda memory, folder: memory.blame_commit("0a1b2c3", folder=str(folder.parent)),
    "brief": lambda memory, _: [said.text for said in memory.brief(["token"], "clock skew").sentences],
    "capture": lambda memory, _: memory.capture() == 0,
    "catalog": lambda memory, _: memory.catalog(project(memory), imported=True).sections,
    "check": lambda memory, _: memory.check() == [],
    "is_busy": lambda memory, _: not memory.is_busy(),
    "join_projects": lambda memory, _: memory.join_projects(*two_projects(memory)),
    "kept_aside": lambda memory, _: memory.kept_aside() == [],
    "acknowledge": lambda memory, _: memory.acknowledge() == [],
    "checkpoint": lambda memory, _: appended(memory).checkpoint(),
    "close": lambda memory, _: memory.close() is None,
    "compact": lambda memory, _: memory.compact().bytes_after > 0 and sessions(memory),
    "complete": lambda memory, _: memory.complete("tool"),
    "copies_of_erased": lambda memory, _: (
        memory.copies_of_erased(memory.erasable(Wanted(session=SESSION))) == []
    ),
    "mirrors": lambda memory, _: memory.mirrors("claude") is not None,
    "note_copy": lambda memory, folder: memory.note_copy(folder / "copy.h5", "snapshot", None) is None,
    "secret_glimpses": lambda memory, _: (
        memory.save(f"the token is {GITHUB_TOKEN}", id="secret")
        and memory.checkpoint()
        and [kind for kind, _ in memory.secret_glimpses(memory.erasable(Wanted(secrets=True)))]
    ),
    "session_to_erase": lambda memory, _: memory.session_to_erase(SESSION).facts,
    "conversation": lambda memory, _: memory.conversation(SESSION).messages,
    "dangers": lambda memory, _: [danger_object(each) for each in dangerous(memory).dangers()],
    "deliver": lambda memory, _: memory.deliver(memory.conversation(SESSION), "claude", dry_run=True).bytes,
    "digest": lambda memory, _: memory.digest(SESSION)[1],
    "digests": lambda memory, _: {each.facts.id: digest for each, digest in memory.digests()},
    "edit_thread": lambda memory, _: (
        saved(memory) and memory.edit_thread("mine", "rename", new_name="his").name
    ),
    "embedding_estimate": lambda memory, _: memory.embedding_estimate(),
    "entities": lambda memory, _: memory.index() and memory.entities("file").entities,
    "momentum": lambda memory, _: memory.index() and memory.momentum().last_day,
    "entity": lambda memory, _: memory.index() and memory.entity("tokens.py").days,
    "erasable": lambda memory, _: memory.erasable(Wanted(session=SESSION)).counts,
    "erase": lambda memory, _: (memory.erase(Wanted(session=SESSION))[0].counts, sessions(memory)),
    "erasure_of": lambda memory, _: (
        memory.erasure_of(SESSION),
        memory.erase(Wanted(session=SESSION)) and getattr(memory.erasure_of(SESSION), "by", ""),
    ),
    "erasures": lambda memory, _: (
        memory.erase(Wanted(session=SESSION)) and [each.by for each in memory.erasures()]
    ),
    "forget_erasure": lambda memory, _: (
        memory.forget_erasure(memory.erase(Wanted(session=SESSION))[1]["id"]).by
    ),
    "fleet": lambda memory, _: (memory.fleet.status(),),
    "graph": lambda memory, _: (
        memory.index()
        and memory.graph.relate("tokens.py", "belongs to", "quay")
        and [(each.entity, each.relation.times) for each in memory.graph.neighbours("pytest", depth=3)]
    ),
    "finish_erasing": lambda memory, _: (
        [each.is_cleared for each in (memory.erase(Wanted(session=SESSION)) and memory.erasures()) or ()],
        memory.finish_erasing(),
    ),
    "glimpses": lambda memory, _: memory.glimpses(
        memory.erasable(Wanted(regex=".")), Wanted(regex="[a-z]{3}")
    ),
    "sources_of_erased": lambda memory, _: [
        Path(each).name for each in memory.sources_of_erased(memory.erasable(Wanted(session=SESSION)))
    ],
    "verify_erasure": lambda memory, _: (
        memory.verify_erasure(memory.erase(Wanted(session=SESSION))[1])["found"] == []
    ),
    "export": lambda memory, _: b"".join(memory.export(SESSION, "markdown")),
    "exists": lambda memory, _: Memory.exists(memory.config),
    "find": lambda memory, _: (memory.find(entry_id(memory))[1], memory.find(SESSION)[0].facts),
    "fix": lambda memory, _: [
        (found.hit.stored, found.steps, found.answer) for found in memory.fix("1 failed")
    ],
    "footprint": lambda memory, _: memory.footprint().bytes > 0,
    "fresh": lambda memory, _: memory.fresh(),
    "how": lambda memory, _: [(command.text, command.last) for command in memory.how("pytest")],
    "index": lambda memory, _: memory.index(rebuild=True),
    "indexes": lambda memory, _: memory.index() == memory.indexes.fresh(),
    "info": lambda memory, _: (memory.info().entries, memory.info().lines, memory.info().subagents),
    "ingest": lambda memory, _: memory.ingest([DATA]),
    "lessons": lambda memory, _: [lesson_object(each) for each in erring(memory).lessons(least=1)],
    "name": lambda memory, _: memory.name == str(memory.config.store),
    "label_project": lambda memory, _: memory.label_project(project(memory), "domain=keys").labels,
    "odd_lines": lambda memory, _: memory.odd_lines(),
    "open": lambda memory, _: sessions(Memory.open(config=memory.config)),
    "page": lambda memory, _: memory.page("markdown", *memory.assemble("token expiry clock skew"))[1:],
    "projects": lambda memory, _: memory.projects(),
    "projects_by_folder_name": lambda memory, _: memory.projects_by_folder_name() == {},  # all imported
    "raw": lambda memory, _: b"".join(memory.raw(SESSION)),
    "read": lambda memory, _: memory.read(entry_id(memory)),
    "reassemble": lambda memory, _: saved(memory) and pieces(memory.reassemble("mine")[0]),
    "recall": lambda memory, _: memory.recall(["token"], "what was done about token expiry?").text,
    "rename_project": lambda memory, _: memory.rename_project(project(memory), "Quay").name,
    "repair": lambda memory, _: (memory.repair().lost_lines, memory.info().entries),
    "reparse": lambda memory, _: memory.reparse(),
    "save_thread": lambda memory, _: len(saved(memory).pieces),
    "saved_pieces": lambda memory, _: saved(memory) and len(memory.saved_pieces("mine")),
    "saved_thread": lambda memory, _: saved(memory) and memory.saved_thread("mine").pieces,
    "saved_threads": lambda memory, _: saved(memory) and len(memory.saved_threads()),
    "search": lambda memory, _: hits(memory.search("token")),
    "headings": lambda memory, _: memory.index() and memory.headings(memory.sessions()),
    "search_digests": lambda memory, _: (
        memory.index() and [hit.digest for hit in memory.search_digests("token").hits]
    ),
    "session_usage": lambda memory, _: memory.session_usage(SESSION),
    "session": lambda memory, _: memory.session(SESSION).facts,
    "sessions": lambda memory, _: sessions(memory),
    "show": lambda memory, _: list(memory.show(SESSION)),
    "snapshot": lambda memory, folder: copied(memory, folder),
    "sources": lambda memory, _: [(s.file.path, s.session, s.lines, s.cursor) for s in memory.sources()],
    "split_project": lambda memory, _: split(memory),
    "standing": lambda memory, _: memory.standing(),
    "tail": lambda memory, _: memory.tail(SESSION, 3),
    "take_missed": lambda memory, _: memory.take_missed(),
    "thread": lambda memory, _: [made for _, made in memory.thread(SESSION).parts],
    "thread_trees": lambda memory, _: [each.links for each in memory.thread_trees()],
    "threads": lambda memory, _: [(each.id, each.title, each.entries) for each in memory.threads()],
    "today": lambda memory, _: period_object(memory.today(datetime.date(2026, 4, 1)))["projects"],
    "types": lambda memory, _: memory.types(),
    "usage": lambda memory, _: memory.usage("model").rows,
    "usage_lines": lambda memory, _: memory.usage_lines(),
    "vector_models": lambda memory, _: memory.index() and memory.vector_models(),
    "view": lambda memory, _: viewed(memory),
    "waiting": lambda memory, _: appended(memory).waiting(),
    "week": lambda memory, _: period_object(memory.week(datetime.date(2026, 4, 3)))["projects"],
    "why": lambda memory, folder: memory.why(written(folder), 1).text,
}


def copied(memory: Memory, folder: Path) -> object:
    """Also from one engine to the other."""
    memory.append(segment(0))
    found = []
    for at in (folder / "copy.h5", f"memory:{folder}/copy"):
        assert memory.snapshot(at) > 0
        with Memory.open(config=replace(memory.config, store=at), create=False) as copy:
            assert copy.check() == []
            found.append([list(copy.show(each.facts.id)) for each in copy.sessions()])
    ENGINE.forget(f"memory:{folder}/copy")
    assert found[0] == found[1]
    return found


def viewed(memory: Memory) -> object:
    with memory.view() as view:
        return view.types()


def test_no_verb_is_forgotten() -> None:
    parts = (Memory, Looking, Recalling, Composing, Naming, Upkeep, Known, Forgetting)
    verbs = {name for part in parts for name in vars(part) if not name.startswith("_")}
    assert sorted(VERBS) == sorted(verbs)


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_answers_the_same_on_every_engine(memories: list[Memory], tmp_path: Path, verb: str) -> None:
    told, *others = (VERBS[verb](memory, tmp_path / f"{n}") for n, memory in enumerate(memories))
    assert told
    assert all(other == told for other in others)
