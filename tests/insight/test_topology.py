"""How the sessions of a thread hang together: what started what, what was summed up, what was taken back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.claude_talk import Talk
from tests.support.memories import open_memory

from recollect.memory import Memory
from recollect.present.threads import story_statements, tree_lines
from recollect.values.errors import NotFound
from recollect.values.history import How, Link
from recollect.values.records import Kind

ID = "00000001-0000-4000-8000-000000000000"
TASK = "Search the harbor for every lamp that is broken, and report the piers they stand on, one by one"
PLAN = "# Plan: Dredge the northern harbor basin\n\n" + "Scoop the silt, carry it out to sea. " * 20


class Log(Talk):
    """A talk whose records are also what a client writes beside what was said."""

    def record(self, **given: Any) -> None:
        n = len(self._lines)
        made = {"uuid": f"{self.id[:24]}{n:012d}", "sessionId": self.id, "cwd": self._cwd}
        made["timestamp"] = f"2026-03-{1 + self._minute // 1000:02d}T00:{n:02d}:00.000Z"
        self._lines.append(json.dumps({**made, **given}))

    def chained(self) -> Log:
        """Each record says which one it follows, if it does not say so already."""
        before = None
        for n, line in enumerate(self._lines):
            record = json.loads(line)
            record.setdefault("parentUuid", before)
            before = record["uuid"]
            self._lines[n] = json.dumps(record)
        return self


def ingested(folder: Path, *logs: Log) -> Memory:
    for log in logs:
        log.write(folder / "logs")
    memory = open_memory(folder / "memory.h5")
    memory.ingest([folder / "logs"])
    memory.index()
    return memory


def links(memory: Memory, how: How) -> list[Link]:
    return [each for each in memory.thread(ID).tree.links if each.how == how]


def subagent(folder: Path, told: str, name: str, *, call: str = "") -> None:
    at = folder / "logs" / "projects" / "-home-ada-harbor" / ID / "subagents"
    at.mkdir(parents=True, exist_ok=True)
    record = {
        "type": "user", "isSidechain": True, "sessionId": ID, "agentId": name, "uuid": f"u-{name}",
        "timestamp": "2026-03-02T00:30:00.000Z", "cwd": "/home/ada/harbor",
        "message": {"role": "user", "content": told},
    }  # fmt: skip
    (at / f"agent-{name}.jsonl").write_text(json.dumps(record) + "\n")
    if call:
        (at / f"agent-{name}.meta.json").write_text(json.dumps({"agentType": "x", "toolUseId": call}))


class TestSubagents:
    @pytest.fixture
    def log(self) -> Log:
        log = Log(1, "/home/ada/harbor")
        log.user("Find the broken lamps of the harbor")
        log.call("Task", "nothing of note", description="other", prompt="Count the gulls of the fish market")
        log.call("Task", "Two: at piers 3 and 7. agentId: 7c01aa", description="lamps", prompt=TASK)
        log.assistant("Piers 3 and 7.")
        return log

    def shown(self, memory: Memory) -> tuple[str, str]:
        (link,) = links(memory, How.SUBAGENT)
        started = next(each for each in memory.show(ID) if each.id == link.entry)
        answer = next(each for each in memory.show(ID) if each.id == link.answer)
        return started.entry.text, answer.entry.text

    @pytest.mark.parametrize(
        ("told", "name", "call"),
        [(TASK, "ffff01", ""), ("Look around", "7c01aa", ""), ("Look around", "ffff01", "toolu_00000001_2")],
        ids=["by what it was told", "by its id in the result", "by its own note"],
    )
    def test_the_call_that_started_it_and_what_came_back(
        self, tmp_path: Path, log: Log, told: str, name: str, call: str
    ) -> None:
        subagent(tmp_path, told, name, call=call)
        with ingested(tmp_path, log) as memory:
            started, answer = self.shown(memory)
            assert (TASK in started, answer[:4]) == (True, "Two:")

    def test_two_that_were_told_the_same_were_started_by_two_calls(self, tmp_path: Path, log: Log) -> None:
        log.call("Task", "None.", description="again", prompt=TASK)
        subagent(tmp_path, TASK, "ffff01")
        subagent(tmp_path, TASK, "ffff02")
        with ingested(tmp_path, log) as memory:
            assert len({each.entry for each in links(memory, How.SUBAGENT)}) == 2

    def test_one_that_no_call_is_known_of_has_none(self, tmp_path: Path, log: Log) -> None:
        subagent(tmp_path, "Look around", "ffff01")
        with ingested(tmp_path, log) as memory:
            (link,) = links(memory, How.SUBAGENT)
            assert (link.entry, link.answer, link.later) == ("", "", "agent-ffff01")

    def test_what_no_call_started_is_drawn_as_one_line_where_it_was_told_the_same(
        self, tmp_path: Path, log: Log
    ) -> None:
        for n in range(5):
            subagent(tmp_path, f"Suggest what the person might say next, and nothing else: {n}", f"fff{n}")
        subagent(tmp_path, TASK, "aaaa01")
        with ingested(tmp_path, log) as memory:
            tree = memory.thread(ID).tree
            drawn = [line.text for line in tree_lines(tree, {})]
            assert len([each for each in tree.links if each.how == How.SUBAGENT]) == 6
            assert sum(each.startswith("subagent: Search the harbor") for each in drawn) == 1
            assert sum("5 subagents that no call started: Suggest" in each for each in drawn) == 1
            assert len(drawn) == 3


class TestContext:
    def test_a_compaction_tells_tokens_before_and_what_its_summary_has(self, tmp_path: Path) -> None:
        log = Log(1, "/home/ada/harbor")
        log.user("Raise the lamp of the northern pier by three metres")
        log.call("Edit", "done", file_path="/home/ada/harbor/lamp.py", old_string="a", new_string="b")
        log.call("Edit", "done", file_path="/home/ada/harbor/mast.py", old_string="a", new_string="b")
        log.user("And paint the mast of the southern pier in white and in red")
        usage = {"input_tokens": 10, "cache_read_input_tokens": 5000, "output_tokens": 3}
        message = {"role": "assistant", "id": "m1", "model": "claude-x", "usage": usage}
        log.record(type="assistant", message={**message, "content": [{"type": "text", "text": "Done."}]})
        log.record(type="system", subtype="compact_boundary", content="Conversation compacted")
        summary = "Asked: Raise the lamp of the northern pier by three metres. Changed lamp.py."
        log.record(type="user", isCompactSummary=True, message={"role": "user", "content": summary})
        with ingested(tmp_path, log.chained()) as memory:
            (link,) = links(memory, How.COMPACTION)
            assert link.tokens == 5010
            assert link.why == "5,010 tokens before; the summary has 1 of 2 prompts, 1 of 2 files"
            assert memory.find(link.answer)[1].entry.text == summary  # type: ignore[union-attr]
            kept, dropped = ([each.text for each in side] for side in (link.kept, link.dropped))
            assert kept == ["Raise the lamp of the northern pier by three metres", "lamp.py"]
            assert dropped == ["And paint the mast of the southern pier in white and in red", "mast.py"]
            assert "mast.py" in memory.find(link.dropped[1].entry)[1].entry.text  # type: ignore[union-attr]
            drawn = [line.text for line in tree_lines(memory.thread(ID).tree, {})]
            assert drawn[2:] == [f"not in it: {each}" for each in dropped]

    def test_what_was_taken_back_and_said_otherwise(self, tmp_path: Path) -> None:
        log = Log(1, "/home/ada/harbor")
        log.user("Raise the lamp")
        log.assistant("Raised.")
        fork = f"{ID[:24]}{1:012d}"
        log.user("Now lower it agian")
        log.assistant("Lowered.")
        log.record(
            type="user", parentUuid=fork, message={"role": "user", "content": "Now lower it again, slowly"}
        )
        log.assistant("Lowered slowly.")
        with ingested(tmp_path, log.chained()) as memory:
            (link,) = links(memory, How.REWIND)
            assert link.why == "2 messages left: Now lower it agian"
            assert memory.find(link.entry)[1].entry.text == "Now lower it agian"  # type: ignore[union-attr]

    def test_a_straight_conversation_has_neither(self, tmp_path: Path) -> None:
        log = Log(1, "/home/ada/harbor")
        log.user("Raise the lamp")
        log.call("Read", "x", file_path="/home/ada/harbor/lamp.py")
        log.assistant("Raised.")
        with ingested(tmp_path, log.chained()) as memory:
            assert memory.thread(ID).tree.links == ()


@pytest.fixture
def planned(tmp_path: Path) -> Iterator[Memory]:
    """A plan that was refused, and the next conversation, which carried it out."""
    first = Log(1, "/home/ada/harbor")
    first.user("Plan how to dredge the basin")
    first.call("Edit", "done", file_path="/home/ada/harbor/src/basin.py", old_string="a", new_string="b")
    first.call("ExitPlanMode", "The user doesn't want to proceed with this tool use.", failed=True, plan=PLAN)
    second = Log(2, "/home/ada/harbor")
    second.user(f"Implement the following plan:\n\n{PLAN}")
    for path in ("src/basin.py", "src/silt.py", "src/basin.py"):
        second.call("Edit", "done", file_path=f"/home/ada/harbor/{path}", old_string="a", new_string="b\nc")
    second.call("Bash", "[main 50d8160] basin: dredged", command="git commit -am x")
    second.assistant("Dredged.")
    with ingested(tmp_path, first, second) as memory:
        yield memory


class TestStory:
    def test_it_is_told_over_all_sessions_by_any_of_their_ids(self, planned: Memory) -> None:
        stories = [planned.thread(prefix) for prefix in ("00000001", "00000002")]
        assert stories[0] == stories[1]
        story = stories[0]
        assert [session.facts.id[:8] for session, _ in story.parts] == ["00000001", "00000002"]
        assert [plan.text for plan in story.plans] == ["Plan: Dredge the northern harbor basin"]
        assert [(each.path, each.added, each.removed) for each in story.files] == [
            ("src/basin.py", 5, 3),
            ("src/silt.py", 2, 1),
        ]
        assert (story.folders, [each.hash for each in story.commits]) == (["src"], ["50d8160"])
        assert dict(story.patterns)["code writing"] == 2

    def test_what_a_fork_repeats_counts_once(self, tmp_path: Path) -> None:
        talk = Talk(1, "/home/ada/harbor")
        talk.user("Dredge the basin")
        talk.call("Edit", "done", file_path="/home/ada/harbor/a.py", old_string="a", new_string="b\nc")
        talk.assistant("Dredged.")
        with ingested(tmp_path, talk) as memory:
            alone = memory.thread("00000001")
        with ingested(tmp_path / "forked", talk, talk.fork(9)) as memory:
            forked = memory.thread("00000001")
        assert len(forked.parts) == 2
        assert (forked.active_ms, forked.title) == (alone.active_ms, alone.title)
        assert [(each.path, each.added, each.removed) for each in forked.files] == [("a.py", 2, 1)]
        assert forked.patterns == alone.patterns
        told = [text for what, text, _ in story_statements(forked, {}) if what == "asked"]
        assert told == ["Dredge the basin"]

    def test_it_knows_its_branches_pictures_and_one_name_for_each_file(self, tmp_path: Path) -> None:
        log = Log(1, "/home/ada/harbor")
        log.user("Dredge the basin")
        log.call("Bash", "Switched to a new branch 'dredge'", command="git switch -c dredge")
        log.call("Edit", "done", file_path="/home/ada/harbor/src/silt/a.py", old_string="a", new_string="b")
        log.call("Bash", "", command="cd src && sed -i s/a/b/ silt/a.py && touch ../src/silt/a.py b.py")
        image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
        shown = [image, {"type": "text", "text": "It is still shallow"}]
        log.record(type="user", message={"role": "user", "content": shown})
        log.assistant("Dredged deeper.")
        with ingested(tmp_path, log) as memory:
            story = memory.thread("00000001")
            assert [each.path for each in story.files] == ["src/silt/a.py", "b.py"]
            assert story.branches == ["dredge"]
            (picture,) = story.pictures
            assert (picture.text, story.screenshots) == ("It is still shallow", 1)
            assert memory.find(picture.entry)[1].entry.kind == Kind.IMAGE  # type: ignore[union-attr]
            assert ("shown", picture.text, picture.entry) in story_statements(story, {})

    def test_what_nobody_has_is_not_found(self, planned: Memory) -> None:
        with pytest.raises(NotFound):
            planned.thread("ffff")

    def test_it_is_drawn_below_what_it_came_out_of(self, planned: Memory) -> None:
        tree = planned.thread("00000002").tree
        lines = tree_lines(tree, {})
        assert [(line.branch, line.session.facts.id[:8] if line.session else "") for line in lines] == [
            ("", "00000001"),
            ("└ ", "00000002"),
        ]
        assert lines[1].text.startswith("carries out the plan (0.95): Dredge the northern")

    def test_links_in_a_circle_are_drawn_once(self, planned: Memory) -> None:
        from dataclasses import replace

        tree = planned.thread("00000002").tree
        back = [replace(each, earlier=each.later, later=each.earlier) for each in tree.links]
        drawn = tree_lines(replace(tree, links=(*tree.links, *back)), {})
        assert len([line for line in drawn if line.session]) == 2

    def test_trees_are_those_of_the_threads_that_are_listed(self, planned: Memory) -> None:
        assert [each.thread for each in planned.thread_trees()] == planned.threads()
        assert planned.thread_trees("nowhere") == []
        assert planned.thread_trees(limit=1)[0].links == planned.thread("00000001").tree.links
