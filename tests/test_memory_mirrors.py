"""Sessions that an SDK mirrors: what was appended comes back, whoever else writes, as any session does."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import ROOT
from tests.support.children import environment
from tests.support.memories import HOST, open_memory, scratch

from recollect.agents.claude.mirror import entry_line, mirror_file, mirrored_key
from recollect.config import Config
from recollect.memory import Memory
from recollect.memory.mirrors import Mirrors
from recollect.testing.reference import ENGINE
from recollect.values.erasures import Wanted
from recollect.values.errors import StoreWriteFailed, UsageError
from recollect.values.mirrored import MirrorKey
from recollect.values.records import Relation, Role, Segment

Entry = dict[str, Any]

SESSION = "5a3e1c00-7b1d-4c00-8000-00000000c0de"
KEY = MirrorKey("-home-ada-harbor", SESSION)
AGENT = KEY._replace(subpath="subagents/agent-a1b2c3")


def fold(data: Entry | None, entries: list[Entry]) -> Entry:
    """As the SDK's: the first of something and the last of another, and how many there were."""
    made = dict(data or {"count": 0})
    for entry in entries:
        made["count"] += 1
        made.setdefault("first", entry.get("n"))
        made["last"] = entry.get("n")
    return made


def user(text: str, record: str = "", session: str = SESSION) -> Entry:
    return {
        "parentUuid": None,
        "isSidechain": False,
        "type": "user",
        "message": {"role": "user", "content": text},
        "uuid": record or str(uuid.uuid5(uuid.NAMESPACE_URL, text)),
        "timestamp": "2026-03-03T14:00:00.000Z",
        "cwd": "/home/ada/harbor",
        "sessionId": session,
        "version": "2.1.326",
    }


@pytest.fixture(params=["hdf5", "reference"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    where = tmp_path / "memory.h5" if request.param == "hdf5" else f"memory:{tmp_path}"
    with Memory.open(where, config=Config(where, HOST, cache=tmp_path / "cache")) as memory:
        yield memory
    if request.param == "reference":
        ENGINE.forget(str(where))


def said(memory: Memory, session: str = SESSION) -> list[str]:
    """The texts that people and models said in a session, as it is shown."""
    return [each.entry.text for each in memory.show(session) if each.entry.kind.name in ("PROMPT", "ANSWER")]


def test_entries_come_back_in_order_and_are_a_session_like_others(memory: Memory) -> None:
    mirrors = memory.mirrors("claude")
    mirrors.append(
        KEY, [user("Users are logged out after an hour."), {"type": "mode", "mode": "normal"}], fold
    )
    mirrors.append(KEY, [user("Größe ✓ \u2028 the token expiry is a duration.")], fold)
    found = mirrors.load(KEY)
    assert found is not None
    assert [each["type"] for each in found] == ["user", "mode", "user"]
    assert found[2] == user("Größe ✓ \u2028 the token expiry is a duration.")
    (session,) = memory.sessions()
    assert (session.facts.agent, session.facts.id, session.imported) == ("claude", SESSION, False)
    assert session.facts.cwd == "/home/ada/harbor"
    assert "duration" in memory.search("token expiry duration").hits[0].snippet.text
    assert b"".join(memory.raw(SESSION)) == b"".join(entry_line(each) + b"\n" for each in found)


def test_an_entry_that_comes_again_is_kept_once_and_one_without_an_id_each_time(memory: Memory) -> None:
    mirrors = memory.mirrors("claude")
    again, nameless = user("once"), {"type": "mode", "mode": "plan"}
    mirrors.append(KEY, [again, again, nameless], fold)
    mirrors.append(KEY, [again, nameless, user("twice")], fold)
    expected = [again, nameless, nameless, user("twice")]
    assert mirrors.load(KEY) == expected
    assert said(memory) == ["once", "twice"]
    other = memory.mirrors("claude")  # which knows nothing yet
    other.append(KEY, [again, user("thrice")], fold)
    mirrors.append(KEY, [user("thrice"), user("four")], fold)  # and this one not of that
    assert mirrors.load(KEY) == [*expected, user("thrice"), user("four")]
    assert said(memory) == ["once", "twice", "thrice", "four"]


def test_a_summary_is_the_fold_of_all_entries_whoever_appended_them(memory: Memory) -> None:
    mine, theirs = memory.mirrors("claude"), memory.mirrors("claude")
    for n in range(1, 7):
        (mine if n % 3 else theirs).append(KEY, [{"type": "x", "n": n}], fold)
        (listed,) = memory.mirrors("claude").sessions(KEY.project, fold)
        assert listed.data == {"count": n, "first": 1, "last": n}
    (again,) = mine.sessions(KEY.project, fold)
    assert again == listed


def test_a_summary_that_was_never_written_is_made_of_what_is_there(memory: Memory) -> None:
    """A process may be killed between the two appends."""
    mirrors = memory.mirrors("claude")
    mirrors.append(KEY, [{"type": "x", "n": 1}], fold)
    mirrors._write(mirror_file(KEY), [entry_line({"type": "x", "n": 2})])
    for each in (mirrors, memory.mirrors("claude")):
        (listed,) = each.sessions(KEY.project, fold)
        assert listed.data == {"count": 2, "first": 1, "last": 2}
    mirrors.append(KEY, [{"type": "x", "n": 3}], fold)
    (listed,) = mirrors.sessions(KEY.project, fold)
    assert listed.data == {"count": 3, "first": 1, "last": 3}


def test_what_could_not_be_noted_is_noted_when_the_same_is_tried_again(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirrors, real = memory.mirrors("claude"), Memory.append
    mirrors.append(KEY, [user("one")], fold)
    (before,) = mirrors.sessions(KEY.project, fold)

    def refuse(self: Memory, segment: Segment) -> int:
        if segment.source.role is Role.SIDECAR:
            raise StoreWriteFailed("memory.h5", OSError("no space"))
        return real(self, segment)

    with monkeypatch.context() as patched:
        patched.setattr(Memory, "append", refuse)
        with pytest.raises(StoreWriteFailed):
            mirrors.append(KEY, [user("two")], fold)
    mirrors.append(KEY, [user("two")], fold)
    assert mirrors.load(KEY) == [user("one"), user("two")]
    (after,) = mirrors.sessions(KEY.project, fold)
    assert after.data["count"] == 2
    assert after.time_ms > before.time_ms


def test_what_was_deleted_is_gone_from_every_answer_and_what_comes_later_begins_anew(memory: Memory) -> None:
    mirrors, other = memory.mirrors("claude"), KEY._replace(session="019d2b00-5a5a-7c00-8000-00000000c0de")
    mirrors.append(KEY, [user("a secret plan about walruses")], fold)
    mirrors.append(AGENT, [user("walruses, too", session=SESSION)], fold)
    mirrors.append(other, [user("this one stays", session=other.session)], fold)
    memory.checkpoint()
    mirrors.delete(KEY)
    assert mirrors.load(KEY) is None
    assert mirrors.load(AGENT) is None
    assert mirrors.subpaths(KEY.project, SESSION) == []
    assert [each.session for each in mirrors.sessions(KEY.project, fold)] == [other.session]
    assert said(memory) == []
    assert memory.search("walruses").hits == []
    assert said(memory, other.session) == ["this one stays"]
    mirrors.append(KEY, [user("a new beginning")], fold)
    assert mirrors.load(KEY) == [user("a new beginning")]
    assert mirrors.load(AGENT) is None
    listed = {each.session: each.data for each in mirrors.sessions(KEY.project, fold)}
    assert listed[SESSION]["count"] == 1
    mirrors.append(KEY, [user("a secret plan about walruses")], fold)  # said anew
    assert mirrors.load(KEY) == [user("a new beginning"), user("a secret plan about walruses")]


def test_deleting_a_subagent_leaves_the_session_and_its_others(memory: Memory) -> None:
    mirrors, second = memory.mirrors("claude"), AGENT._replace(subpath="subagents/agent-d4e5f6")
    for key in (KEY, AGENT, second):
        mirrors.append(key, [user(f"said in {key.subpath or 'main'}")], fold)
    mirrors.delete(AGENT)
    assert mirrors.load(AGENT) is None
    assert mirrors.subpaths(KEY.project, SESSION) == [second.subpath]
    assert mirrors.load(KEY) is not None
    facts = memory.session("agent-d4e5f6").facts
    assert (facts.parent, facts.relation) == (SESSION, Relation.SUBAGENT)


def test_a_session_that_also_lies_on_disk_is_there_once(memory: Memory, tmp_path: Path) -> None:
    entries = [
        user("Größe of the token"),
        {"type": "mode", "mode": "normal", "cost": 0.00001},
        user("and why"),
    ]
    log = tmp_path / ".claude/projects" / KEY.project / f"{SESSION}.jsonl"
    log.parent.mkdir(parents=True)
    log.write_bytes(b"".join(entry_line(each) + b"\n" for each in entries[:2]))
    mirrors = memory.mirrors("claude")
    mirrors.append(KEY, entries[:1], fold)
    memory.ingest([log])
    mirrors.append(KEY, entries[1:], fold)
    log.write_bytes(b"".join(entry_line(each) + b"\n" for each in entries))
    memory.checkpoint()
    report = memory.ingest([log])
    assert (report.taken, report.duplicate) == (0, 1)
    assert said(memory) == ["Größe of the token", "and why"]
    assert len(memory.sessions()) == 1
    assert memory.search("token").hits[0].session.entries == 3
    assert mirrors.load(KEY) == entries


def test_a_copy_that_the_sdk_made_to_go_on_with_says_nothing_twice(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It writes what it loaded as ASCII, and a hook may see that file."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude-resume-x1"))
    entries = [user("Größe of the token"), user("plain words"), user("ö again")]
    memory.mirrors("claude").append(KEY, entries, fold)
    folder = tmp_path / "claude-resume-x1" / "projects" / KEY.project
    folder.mkdir(parents=True)
    copy = folder / f"{SESSION}.jsonl"
    copy.write_text("".join(json.dumps(each, separators=(",", ":")) + "\n" for each in entries))
    memory.ingest([copy])
    assert said(memory) == ["Größe of the token", "plain words", "ö again"]
    assert memory.mirrors("claude").load(KEY) == entries


def test_what_is_erased_is_gone_with_its_summary(tmp_path: Path) -> None:
    with open_memory(tmp_path / "memory.h5") as memory:
        mirrors = memory.mirrors("claude")

        def told(data: Entry | None, entries: list[Entry]) -> Entry:
            return {"first_prompt": entries[0]["message"]["content"]}

        mirrors.append(KEY, [user("about walruses and their tusks")], told)
        mirrors.append(AGENT, [user("tusks of a subagent")], told)
        _, receipt = memory.erase(Wanted(session=SESSION))
        assert mirrors.load(KEY) is None
        assert memory.mirrors("claude").sessions(KEY.project, told) == []
        assert memory.mirrors("claude").subpaths(KEY.project, SESSION) == []
        assert not memory.verify_erasure(receipt, ["about walruses and their tusks"])["found"]
        mirrors.append(KEY, [user("back again")], told)  # what was erased stays away
        assert mirrors.load(KEY) is None


def test_entries_that_json_cannot_say_are_refused_and_nothing_is_kept(memory: Memory) -> None:
    mirrors = memory.mirrors("claude")
    with pytest.raises(UsageError, match="what JSON can say"):
        mirrors.append(KEY, [user("fine"), {"type": "x", "n": object()}], fold)
    with pytest.raises(UsageError, match="neither of them empty"):
        mirrors.append(MirrorKey("", "x"), [user("fine")], fold)
    assert mirrors.load(KEY) is None
    mirrors.append(KEY, [user("fine")], fold)
    assert mirrors.load(KEY) == [user("fine")]


def test_merging_and_compacting_carry_sessions_with_all_that_is_known_of_them(tmp_path: Path) -> None:
    with Memory.open(
        tmp_path / "other.h5", config=Config(tmp_path / "other.h5", "there", cache=tmp_path / "cache")
    ) as other:
        other.mirrors("claude").append(KEY, [{"type": "x", "n": 1}, {"type": "x", "n": 2}], fold)
        other.checkpoint()
    with open_memory(tmp_path / "memory.h5") as memory:
        mirrors = memory.mirrors("claude")
        memory.merge([tmp_path / "other.h5"], own=True)
        assert mirrors.load(KEY) == [{"type": "x", "n": 1}, {"type": "x", "n": 2}]
        mirrors.append(KEY, [{"type": "x", "n": 3}], fold)  # gone on with here
        memory.compact()
        assert [each["n"] for each in mirrors.load(KEY) or []] == [1, 2, 3]
        (listed,) = memory.mirrors("claude").sessions(KEY.project, fold)
        assert listed.data == {"count": 3, "first": 1, "last": 3}
        mirrors.delete(KEY)
        assert mirrors.load(KEY) is None


APPENDING = """
import sys
from pathlib import Path
from tests.support.memories import open_memory
from tests.test_memory_mirrors import KEY, fold, user
with open_memory(Path(sys.argv[1])) as memory:
    mirrors = memory.mirrors("claude")
    for n in range(10_000):
        mirrors.append(KEY, [user(f"said {n}"), {"type": "x", "n": n}], fold)
        print(n, flush=True)
"""


@pytest.mark.parametrize("acknowledged", [1, 7, 40])
def test_a_process_that_is_killed_between_appends_loses_nothing_it_acknowledged(
    tmp_path: Path, acknowledged: int
) -> None:
    path = tmp_path / "memory.h5"
    words = [sys.executable, "-c", APPENDING, str(path)]
    with subprocess.Popen(words, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        told = [int(child.stdout.readline()) for _ in range(acknowledged)]
        child.kill()
    with open_memory(path) as memory:
        found = memory.mirrors("claude").load(KEY) or []
        said = [(user(f"said {n}"), {"type": "x", "n": n}) for n in range(len(found) // 2)]
        assert found == [entry for pair in said for entry in pair]  # a batch is there whole
        assert len(said) > told[-1]
        (listed,) = memory.mirrors("claude").sessions(KEY.project, fold)
        assert listed.data["count"] == len(found)
        assert memory.check() == []


TEXTS = st.text(st.characters(codec=None), max_size=20)  # half pairs, too
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
ENTRIES = st.dictionaries(TEXTS, JSON, max_size=4).map(lambda made: {"type": "x", **made})


@given(entry=ENTRIES)
def test_an_entry_is_one_line_and_the_same_again(entry: Entry) -> None:
    line = entry_line(entry)
    assert b"\n" not in line
    assert json.loads(line) == entry


@given(project=TEXTS, session=TEXTS, subpath=TEXTS)
def test_keys_are_told_apart_by_their_paths(project: str, session: str, subpath: str) -> None:
    key = MirrorKey(project, session, subpath)
    assert mirrored_key(mirror_file(key).path) == key
    assert not mirror_file(key).has_file


@pytest.mark.skipif(shutil.which("node") is None, reason="asks JavaScript")
def test_numbers_and_texts_are_written_as_javascript_writes_them() -> None:
    values = [1e-5, 1.23e-05, 1e-6, 1.5e-6, 1e-7, 2.5e-10, 5e-324, 9.5367431640625e-07, 0.1, 1e22, -3.5e-5, 7]
    texts = ['\x7f\x01\b\f\n\r\t"\\/', "é\u2028\u2029", "\U0001f600"]
    given = [*values, *texts, [1e-7, {"a": 1e-5}]]
    program = "for (const v of JSON.parse(process.argv[1])) console.log(JSON.stringify({v}))"
    said = subprocess.run(["node", "-e", program, json.dumps(given)], capture_output=True, check=True)
    assert [entry_line({"v": each}) for each in given] == said.stdout.splitlines()


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["append", "append", "append", "delete", "fold", "other"]),
        st.sampled_from(["p", "q/x"]),
        st.sampled_from(["s", SESSION]),
        st.sampled_from(["", "", "subagents/agent-1", "odd ü/\x01"]),
        st.lists(st.integers(0, 5), min_size=1, max_size=3),
    ),
    max_size=8,
)


@given(steps=STEPS)
def test_any_history_is_that_of_lists_in_memory(steps: list[tuple[str, str, str, str, list[int]]]) -> None:
    """Two of them write in turns, the journal is folded now and then: all say what a dict of lists says."""
    model: dict[MirrorKey, list[Entry]] = {}
    with scratch() as folder, open_memory(folder / "memory.h5") as memory:
        both = [memory.mirrors("claude"), memory.mirrors("claude")]
        for n, (step, project, session, subpath, numbers) in enumerate(steps):
            key = MirrorKey(project, session, subpath)
            mirrors: Mirrors = both[step == "other"]
            if step == "fold":
                memory.checkpoint()
            elif step == "delete":
                mirrors.delete(key)
                for each in [each for each in model if each == key or (not subpath and each.main == key)]:
                    del model[each]
            else:
                entries = [
                    {"type": "x", "n": each, **({"uuid": str(each)} if each % 2 else {})} for each in numbers
                ]
                mirrors.append(key, entries, fold)
                held = model.setdefault(key, [])
                for entry in entries:
                    if "uuid" not in entry or entry not in held:
                        held.append(entry)
            assert {each: both[n % 2].load(each) for each in model} == model
        for project in ("p", "q/x"):
            expected = {
                key.session: fold(None, held)
                for key, held in model.items()
                if key.project == project and not key.subpath
            }
            found = memory.mirrors("claude").sessions(project, fold)
            assert {each.session: each.data for each in found} == expected
            for session in ("s", SESSION):
                below = {key.subpath for key in model if key.main == MirrorKey(project, session)} - {""}
                assert set(memory.mirrors("claude").subpaths(project, session)) == below


@pytest.mark.parametrize("agent", ["codex", "nobody", ""])
def test_an_agent_without_such_an_sdk_is_refused_by_name(memory: Memory, agent: str) -> None:
    with pytest.raises(UsageError, match="mirrors sessions") as refused:
        memory.mirrors(agent)
    assert refused.value.hint == "agents: claude"
