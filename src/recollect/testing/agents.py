"""What every agent promises, whatever its format. The test class of an agent inherits this.

    class TestOwl(AgentContract):
        agent = AGENT
        fixtures = Path(__file__).parent / "data"
        envelopes = ({"type": "soothsayer"},)

`fixtures` is a folder of logs as the agent writes them, invented and small; `envelopes` holds a record of
an unknown type, `soothsayer`, for each place where the format names a type. The fixtures are also damaged in
every way of `recollect.testing.nasty`, parsed and taken in. What is asked of a capability is asked only of
an agent that has it. Needs pytest and hypothesis.
"""

from __future__ import annotations

import contextlib
import copy
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from functools import cache, partial
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recollect.agents.contract import Agent, CutsRecords, Reader
from recollect.agents.editing.change import carry_out
from recollect.agents.head import Head
from recollect.agents.registry import agent_of, agents
from recollect.agents.sessions import StoredFile
from recollect.config import Config
from recollect.intake.databases import new_lines, open_database, session_path
from recollect.intake.discover import discover
from recollect.intake.exports import conversations_in, source_of
from recollect.intake.parsing import parse_lines
from recollect.setup.agents import commands_of
from recollect.testing.nasty import COPIED_TO, NastyInput, nasty_inputs
from recollect.testing.taken import kept_in, scratch_memory, shown_after, shown_in
from recollect.values.conversation import Conversation, said
from recollect.values.records import (
    Cursor,
    Entry,
    Flag,
    Framing,
    Kind,
    Parsed,
    SessionFacts,
    SourceFile,
    Usage,
)
from recollect.values.settings import Settings
from recollect.values.stored import Session, Source, StoredEntry, StoredLine

STATE_BYTES_MAX = 16_000  # bytes of parser state a cursor may have to carry

CAPABILITIES = ("hooks", "conversations", "reader", "writer", "tools", "signs", "mirror")

_DOCUMENTS = (Framing.DOCUMENT, Framing.EXPORT)
_MANY = (Framing.ROWS, Framing.EXPORT)  # of which each session is a source

# Any JSON value at all, now and then one that looks like something.
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just("2026-03-02T09:00:00.000Z"),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
# Names of files, and what they may begin with.
PATHS = st.lists(st.text(max_size=12).filter(lambda name: "/" not in name), min_size=1, max_size=5).map(
    lambda names: "/" + "/".join(names)
)
BEGINNINGS = st.binary(max_size=200) | JSON.map(lambda value: json.dumps(value).encode() + b"\n")

# No example is counted by the clock: machines are shared, and a stranger has no profile of ours.
inherited = settings(
    deadline=None, suppress_health_check=[HealthCheck.differing_executors, HealthCheck.too_slow]
)


class AgentContract:
    """The promises of one agent."""

    agent: ClassVar[Agent]
    fixtures: ClassVar[Path]
    envelopes: ClassVar[tuple[dict[str, Any], ...]]

    # -- what it is ------------------------------------------------------------------------

    def test_it_says_what_it_is(self) -> None:
        assert self.agent.name.isidentifier()
        assert self.agent.title
        assert self.agent.version >= 1

    def test_its_logs_are_in_the_home_or_where_its_variables_say(self) -> None:
        home = PurePosixPath("/home/ada")
        usual = self.agent.roots(home, {})
        assert usual or self.agent.has("conversations"), "nothing would ever be found of it"
        assert all(home in root.parents for root in usual)
        for name in self.agent.moved_by:
            moved = self.agent.roots(home, {name: "/elsewhere"})
            assert moved != usual
            assert all(root.is_absolute() for root in moved)

    def test_a_capability_is_there_or_is_none(self) -> None:
        for name in CAPABILITIES:
            assert (getattr(self.agent, name)() is not None) is self.agent.has(name)

    def test_it_is_found_by_its_name(self) -> None:
        """An agent of another package is found once that is installed: `pip install -e .`."""
        assert type(agent_of(self.agent.name)) is type(self.agent)

    # -- which files are its own -----------------------------------------------------------

    def test_every_fixture_is_recognised_by_its_agent_alone(self) -> None:
        known = {agent.name: agent for agent in (*agents(), self.agent)}
        for path in files_in(self.fixtures):
            found = [name for name, agent in known.items() if agent.recognise(path, head_of(path))]
            assert found == [self.agent.name], path

    @inherited
    @given(path=PATHS, beginning=BEGINNINGS)
    def test_any_file_is_recognised_or_not(self, path: str, beginning: bytes) -> None:
        for name in (path, path + ".jsonl", path + ".json"):
            found = self.agent.recognise(PurePosixPath(name), Head(lambda: beginning))
            assert found is None or found.agent == self.agent.name

    # -- what it makes of a line -----------------------------------------------------------

    def test_every_line_gives_at_least_one_entry(self) -> None:
        for source, lines in self.line_sources():
            parser = self.agent.parser(source, {})
            for line in lines:
                parsed = parser.parse(line)
                assert parsed.entries
                assert all(isinstance(entry, Entry) for entry in parsed.entries)

    def test_known_means_no_unknown_entry(self) -> None:
        for source, lines in self.line_sources():
            parser = self.agent.parser(source, {})
            for line in lines:
                parsed = parser.parse(line)
                assert parsed.known is all(entry.kind is not Kind.UNKNOWN for entry in parsed.entries)

    def test_an_unknown_record_is_reported_under_the_agents_name(self) -> None:
        document = self.source(files_in(self.fixtures)[0])
        source = next((each for each, _ in self.line_sources()), document)
        for record in self.envelopes:
            parsed = self.agent.parser(source, {}).parse(record)
            assert not parsed.known
            assert "soothsayer" in parsed.type
            assert [entry.kind for entry in parsed.entries] == [Kind.UNKNOWN]

    def test_no_character_is_replaced(self) -> None:
        for source, lines in self.line_sources():
            parser = self.agent.parser(source, {})
            for line in lines:
                assert not any("\ufffd" in entry.text for entry in parser.parse(line).entries)

    def test_a_copy_carries_no_text_of_its_own(self) -> None:
        """Text under COPY is never indexed, so it must be text that stands elsewhere."""
        for source, lines in self.line_sources():
            parser = self.agent.parser(source, {})
            parsed = [parser.parse(line) for line in lines]
            said = {e.text for p in parsed for e in p.entries if not e.flags & Flag.COPY}
            copied = {e.text for p in parsed for e in p.entries if e.flags & Flag.COPY and e.text}
            assert copied <= said

    @inherited
    @given(data=st.data())
    def test_any_json_value_parses(self, data: st.DataObject) -> None:
        source, _ = data.draw(st.sampled_from(self.logs()))
        parser = self.agent.parser(source, {})
        for record in data.draw(st.lists(JSON, min_size=1, max_size=3)):
            assert_well_formed(parser.parse(record))
        json.dumps(parser.state())

    @inherited
    @given(data=st.data())
    def test_a_real_record_with_anything_in_it_parses(self, data: st.DataObject) -> None:
        source, lines = data.draw(st.sampled_from(self.logs()))
        parser = self.agent.parser(source, {})
        for record in data.draw(st.lists(st.sampled_from(lines), min_size=1, max_size=4)):
            assert_well_formed(parser.parse(mutated(data, record)))
        assert_resumes(self.agent, source, parser.state())

    @inherited
    @given(data=st.binary(max_size=200))
    def test_any_document_parses(self, data: bytes) -> None:
        for path in files_in(self.fixtures):
            source = self.source(path)
            if source.framing in _DOCUMENTS:
                assert_well_formed(self.agent.parser(source, {}).document(data))

    def test_a_document_is_cut_into_pieces_that_are_all_of_it(self) -> None:
        for source, parser, data in self.cut_documents():
            pieces = list(parser.records(data))
            assert b"".join(piece for _, piece in pieces) == data
            parsed = [parser.record(key, piece) for key, piece in pieces]
            assert all(each.known for each in parsed), source.path
            # In an export there may be conversations in which nothing was said.
            assert any(each.entries for each in parsed) or source.session, source.path

    @inherited
    @given(data=st.data())
    def test_what_is_no_whole_document_has_no_pieces_or_all_of_it(self, data: st.DataObject) -> None:
        documents = list(self.cut_documents())
        if not documents:
            pytest.skip("it has no document that is cut")
        _, parser, whole_data = data.draw(st.sampled_from(documents))
        whole_data = whole_data.rstrip()
        half = whole_data[: data.draw(st.integers(0, len(whole_data) - 1))]
        assert list(parser.records(half)) == []
        any_data = data.draw(st.binary(max_size=60) | JSON.map(lambda value: json.dumps(value).encode()))
        pieces = list(parser.records(any_data))
        assert b"".join(piece for _, piece in pieces) in (b"", any_data)
        for key, piece in pieces:
            parsed = parser.record(key, piece)
            if parsed.entries:
                assert_well_formed(parsed)

    @inherited
    @given(data=st.data())
    def test_a_real_document_with_anything_in_it_parses(self, data: st.DataObject) -> None:
        documents = list(self.cut_documents())
        if not documents:
            pytest.skip("it has no document that is cut")
        _, parser, whole_data = data.draw(st.sampled_from(documents))
        changed = json.dumps(mutated(data, json.loads(whole_data))).encode()
        for key, piece in parser.records(changed):
            parsed = parser.record(key, piece)
            if parsed.entries:
                assert_well_formed(parsed)

    def test_a_source_cut_anywhere_gives_what_it_gives_whole(self) -> None:
        for source, lines in self.line_sources():
            expected = whole(self.agent, source, lines)
            for cut in range(1, len(lines)):
                assert in_pieces(self.agent, source, lines, [cut]) == expected, (source.path, cut)

    @inherited
    @given(data=st.data())
    def test_a_source_read_in_pieces_gives_what_it_gives_whole(self, data: st.DataObject) -> None:
        source, lines = data.draw(st.sampled_from(self.logs()))
        lines = data.draw(st.lists(st.sampled_from(lines), max_size=20))
        cuts = data.draw(st.lists(st.integers(1, 20), max_size=4))
        assert in_pieces(self.agent, source, lines, cuts) == whole(self.agent, source, lines)

    def test_the_state_stays_small(self) -> None:
        for source, lines in self.line_sources():
            parser = self.agent.parser(source, {})
            for line in lines * 50:
                parser.parse(line)
            assert len(json.dumps(parser.state())) < STATE_BYTES_MAX

    # -- nasty inputs ----------------------------------------------------------------------

    def test_nasty_input_parses(self) -> None:
        """However a log was damaged, its parser answers, and another one goes on from its state."""
        for nasty in nasty_inputs(self.fixtures):
            for name, data in nasty.files.items():
                source = self.source(self.fixtures / name.removeprefix(COPIED_TO))
                if source.framing is not Framing.ROWS:
                    with _noted(f"{name}, {nasty.name}"):
                        assert_parses(self.agent, source, data)

    def test_every_byte_of_nasty_logs_is_kept(self, tmp_path: Path) -> None:
        """An ingest fails at none, counts each line, gives all bytes back; the next has nothing to do."""
        logs = tmp_path / "logs"
        for nasty in nasty_inputs(self.fixtures):
            nasty.write(logs / nasty.name)
        with scratch_memory(tmp_path) as memory:
            report = memory.ingest([logs])
            found = [each.file for each in discover([logs]).found]
            packed = {file.path for file in found if file.framing in _MANY or file.compressed}
            # What is no database, no archive or no list any more.
            assert set(report.failed) <= packed, report.failed
            files = {path: Path(path).read_bytes() for path in {file.path for file in found} - packed}
            assert files or packed
            kept = kept_in(memory)
            for path, data in files.items():
                assert kept.get(path, b"") == data, path
            with memory.view() as view:
                read = [
                    _lines_count(files[path]) if path in files and framing is Framing.LINES else each.lines
                    for each in view.sources()
                    for path, framing in [(each.file.path, each.file.framing)]
                ]
            counted = report.taken + report.duplicate + report.bad + report.blank + report.waiting
            assert counted == sum(read)
            again = memory.ingest([logs])
            assert (again.changed, again.entries) == (0, 0)
            assert memory.check() == []

    def test_a_second_copy_of_a_log_says_nothing_new(self, tmp_path: Path) -> None:
        """As a backup makes them: what is in both is shown once and paid for once."""
        self.nasty("copied").write(tmp_path / "logs")
        once = shown_after(tmp_path / "once", [self.fixtures])
        assert once.sessions
        assert shown_after(tmp_path / "twice", [tmp_path / "logs"]) == once

    def test_lines_written_twice_are_paid_for_once(self, tmp_path: Path) -> None:
        """They are shown twice, since the same may be said again; a response has one key."""
        self.nasty("duplicated").write(tmp_path / "logs")
        once = shown_after(tmp_path / "once", [self.fixtures])
        assert shown_after(tmp_path / "twice", [tmp_path / "logs"]).usage == once.usage

    @pytest.mark.parametrize("half", ["torn", "truncated"])
    def test_what_was_found_half_written_is_shown_as_it_became(self, tmp_path: Path, half: str) -> None:
        logs = tmp_path / "logs"
        self.nasty(half).write(logs)
        with scratch_memory(tmp_path / "grown") as memory:
            memory.ingest([logs])
            for path in files_in(self.fixtures):
                (logs / path.relative_to(self.fixtures)).write_bytes(path.read_bytes())
            memory.ingest([logs])
            grown, kept = shown_in(memory), kept_in(memory)
        for name, data in kept.items():
            assert not Path(name).exists() or data == Path(name).read_bytes(), name
        assert grown.in_any_order == shown_after(tmp_path / "once", [self.fixtures]).in_any_order

    def nasty(self, name: str) -> NastyInput:
        return next(each for each in nasty_inputs(self.fixtures) if each.name == name)

    # -- hooks -----------------------------------------------------------------------------

    @inherited
    @given(path=PATHS, told=st.text(max_size=40) | JSON.map(json.dumps))
    def test_hooks_take_any_path_and_any_word(self, path: str, told: str) -> None:
        hooks = self.agent.hooks()
        if hooks is None:
            pytest.skip("it has no hooks")
        for name in (path, path + ".jsonl"):
            assert hooks.place(name) is None or len(hooks.place(name) or ()) == 4
            assert isinstance(hooks.transcript_of(name), str)
        list(hooks.beside("/nowhere" + path))
        assert isinstance(hooks.payload(told, "/nowhere", {}), dict | None)

    def test_a_hook_and_a_sweep_look_in_the_same_folders(self) -> None:
        hooks = self.agent.hooks()
        if hooks is None:
            pytest.skip("it has no hooks")
        swept = self.agent.roots(PurePosixPath("/home/ada"), {})
        assert hooks.roots("/home/ada", {}) == [str(root) for root in swept]

    # -- reading back ----------------------------------------------------------------------

    def test_what_a_person_said_is_read_back(self) -> None:
        reader = self.agent.reader()
        if reader is None:
            pytest.skip("it reads nothing back")
        prompts = 0
        for kept in self.kept_sessions():
            prompts += kept.has_prompt
            told = kept.conversation(reader)
            assert isinstance(told, Conversation)
            assert bool(told.messages) or not kept.has_prompt
        assert prompts

    @inherited
    @given(data=st.data())
    def test_any_line_is_a_message_or_none(self, data: st.DataObject) -> None:
        reader = self.agent.reader()
        if reader is None:
            pytest.skip("it reads nothing back")
        kind = data.draw(st.sampled_from(list(Kind)))
        stored = StoredEntry("0f0f0f0f0f0f", "s", "t", Entry(kind, data.draw(st.text(max_size=20))))
        line = data.draw(st.binary(max_size=100) | JSON.map(lambda value: json.dumps(value).encode()))
        made = reader.message_of(stored, line, b"")
        assert made is None or made.blocks

    # -- writing ---------------------------------------------------------------------------

    def test_a_session_it_is_given_is_one_of_its_own(self, tmp_path: Path) -> None:
        writer = self.agent.writer()
        if writer is None:
            pytest.skip("nothing is written for it")
        talk = Conversation((said("Where is the key?", time_ms=1_000_000),), title="A key")
        written = partial(
            writer.session_file,
            talk,
            home=tmp_path,
            environ={},
            folder=str(tmp_path),
            now_ms=1_800_000_000_000,
        )
        made = written(seed=b"a")
        assert made.problems(made.data) == []
        assert made.problems(b"nothing of the kind\n")
        assert made.session_id in made.command
        assert any(root in made.path.parents for root in map(Path, self.agent.roots(tmp_path, {})))
        found = self.agent.recognise(made.path, Head(lambda: made.data))
        assert found is not None
        assert found.session == made.session_id
        assert written(seed=b"a").data == made.data
        assert written(seed=b"b").session_id != made.session_id

    def test_what_was_written_for_it_is_known_as_a_copy(self, tmp_path: Path) -> None:
        """Nothing of an export of ours is found a second time, whatever its file is called."""
        writer = self.agent.writer()
        if writer is None:
            pytest.skip("nothing is written for it")
        made = writer.session_file(
            Conversation((said("Where is the key?", session="5e55", time_ms=1_000_000),), title="A key"),
            home=tmp_path,
            environ={},
            folder=str(tmp_path),
            now_ms=1_800_000_000_000,
            seed=b"a",
        )
        source = SourceFile(self.agent.name, "/elsewhere/notes", session=made.session_id)
        lines = [json.loads(line) for line in made.data.splitlines()]
        outcome = in_pieces(self.agent, source, lines, list(range(len(lines))))
        told = [entry for parsed, _ in outcome for entry in parsed.entries if entry.text]
        assert told
        assert all(entry.flags & Flag.EXPORTED for entry in told)
        assert outcome[-1][1].is_timeless_fork
        assert outcome[-1][1].parent == "5e55", "nobody can tell what it is a copy of"

    # -- settings --------------------------------------------------------------------------

    def test_what_settings_get_goes_in_once_and_comes_out_without_a_trace(self, tmp_path: Path) -> None:
        """Into files that are not there, and into such that hold something else of the same form."""
        if not self.agent.has("settings"):
            pytest.skip("nothing is put into its settings")
        made = self._settings(tmp_path / "new")
        written = carry_out(lambda: made.changes(hooks=True, mcp=True, project=False))
        assert written
        assert made.changes(hooks=True, mcp=True, project=False) == []
        state = made.state()
        assert state.mcp or state.hooks
        carry_out(lambda: made.removal(project=False))
        assert files_in_now(tmp_path / "new") == {}
        there = self._settings(tmp_path / "old")
        for change, _ in written:
            path = tmp_path / "old" / change.path.relative_to(tmp_path / "new")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text('{"a":   [1,2]}\n' if path.suffix == ".json" else "# mine\na = 1\n")
        before = files_in_now(tmp_path / "old")
        carry_out(lambda: there.changes(hooks=True, mcp=True, project=False))
        assert files_in_now(tmp_path / "old") != before
        carry_out(lambda: there.removal(project=False))
        assert files_in_now(tmp_path / "old") == before

    def _settings(self, home: Path) -> Settings:
        home.mkdir()
        commands = commands_of(self.agent.name, Config(home / "memory.h5", "here", cache=home / "cache"))
        found = self.agent.settings(commands, home=home, environ={}, folder=home / "project")
        assert found is not None
        return found

    # -- tools and retention ---------------------------------------------------------------

    def test_tools_are_named_in_lower_case(self) -> None:
        tools = self.agent.tools()
        if tools is None:
            pytest.skip("nothing is known of its tools")
        named = (tools.change, tools.look_in, tools.run, tools.plan, tools.read, tools.follow, tools.fetch)
        for name in (name for each in (*named, tools.delegate, tools.ask, tools.propose) for name in each):
            assert name == name.lower()

    def test_signs_say_something(self) -> None:
        """An empty sign would be found everywhere."""
        signs = self.agent.signs()
        if signs is None:
            pytest.skip("nothing is known of what its client writes")
        assert all(sign for field in fields(signs) for sign in getattr(signs, field.name))

    def test_a_machine_without_it_has_its_usual_retention(self, tmp_path: Path) -> None:
        days = self.agent.deletes_after_days(tmp_path, {})
        assert days is None or days >= 0

    # -- the fixtures ----------------------------------------------------------------------

    def source(self, path: Path) -> SourceFile:
        found = self.agent.recognise(path, head_of(path))
        assert found is not None, path
        return found

    def logs(self) -> list[tuple[SourceFile, list[Any]]]:
        found = list(self.line_sources())
        if not found:
            pytest.skip("it has documents alone")
        return found

    def line_sources(self) -> Iterator[tuple[SourceFile, list[Any]]]:
        for path in files_in(self.fixtures):
            source = self.source(path)
            if source.framing not in _DOCUMENTS:
                for each, lines in _lines_in(self.agent, source, path):
                    yield each, _values(lines)

    def cut_documents(self) -> Iterator[tuple[SourceFile, CutsRecords, bytes]]:
        """The documents that are cut, and each conversation in those that list many."""
        for path in files_in(self.fixtures):
            for source, data in self.documents_in(path):
                parser = self.agent.parser(source, {})
                if isinstance(parser, CutsRecords):
                    yield source, parser, data

    def documents_in(self, path: Path) -> Iterator[tuple[SourceFile, bytes]]:
        source, data, known = self.source(path), path.read_bytes(), self.agent.conversations()
        if source.framing is Framing.DOCUMENT:
            yield source, data
        if source.framing is Framing.EXPORT:
            assert known is not None
            for each in conversations_in([data], str(path)):
                told = known.identity(json.loads(each))
                assert told is not None, "a conversation that does not say which"
                yield source_of(source, told[0]), each

    def kept_sessions(self) -> Iterator[KeptSession]:
        for path in files_in(self.fixtures):
            source = self.source(path)
            if source.framing not in _DOCUMENTS:
                for each, lines in _lines_in(self.agent, source, path):
                    yield KeptSession(self.agent, each, lines)


class AgentCorpus:
    """The same agent and a folder of real logs."""

    agent: ClassVar[Agent]
    corpus: ClassVar[Path | None]  # None: there is none on this machine

    def test_the_corpus_parses_and_holds_nothing_unknown(self) -> None:
        unknown: Counter[str] = Counter()
        lines_count = 0
        for source, lines in self.corpus_sources():
            parser = self.agent.parser(source, {})
            for line in lines:
                parsed = parser.parse(line)
                assert parsed.entries
                lines_count += 1
                unknown[parsed.type] += not parsed.known
            assert parser.facts.id
        assert lines_count
        # What is left are junk lines in one published test file: numbers, strings, {}.
        assert sum(unknown.values()) <= lines_count // 5000, unknown.most_common(10)

    def test_the_corpus_read_in_pieces_gives_what_it_gives_whole(self) -> None:
        for source, lines in self.corpus_sources():
            cuts = [len(lines) // 3, len(lines) // 2, len(lines) - 1]
            assert in_pieces(self.agent, source, lines, cuts) == whole(self.agent, source, lines), source

    def corpus_sources(self) -> Iterator[tuple[SourceFile, list[Any]]]:
        if self.corpus is None:
            pytest.skip("there is no folder of real logs here")
        for path in sorted(self.corpus.rglob("*.jsonl")):
            source = self.agent.recognise(path, head_of(path))
            if source is not None:
                yield source, read_records(path)


class KeptSession:
    """One source of an agent as a store would have kept it."""

    def __init__(self, agent: Agent, file: SourceFile, lines: Sequence[bytes]) -> None:
        parser = agent.parser(file, {})
        parsed = [parser.parse(_decoded(line)) for line in lines]
        self._lines = [StoredLine(line, 0, each.type) for line, each in zip(lines, parsed, strict=True)]
        entries = sum(len(each.entries) for each in parsed)
        self.session = Session(parser.facts, "here", entries)
        self._source = Source(file, "here", Cursor(), parser.facts.id, len(lines), agent.version)
        self.has_prompt = any(e.kind is Kind.PROMPT for each in parsed for e in each.entries)

    def conversation(self, reader: Reader) -> Conversation:
        return reader.conversation(self.session, lambda _: [StoredFile(self._source, lambda: self._lines)])


@cache
def _lines_in(agent: Agent, source: SourceFile, path: Path) -> list[tuple[SourceFile, tuple[bytes, ...]]]:
    """The records of a log, or those that are made of each session in a database."""
    if source.framing is Framing.LINES:
        return [(source, tuple(path.read_bytes().split(b"\n")))]
    database = agent.database()
    assert database is not None
    found = []
    with open_database(str(path)) as opened:
        for session, _ in list(database.sessions(opened.connection)):
            batches = list(new_lines(database, opened, session, ()))
            inside = replace(source, path=session_path(source.path, session), session=session)
            found.append((inside, tuple(line for batch in batches for line in batch)))
    return found


@contextlib.contextmanager
def _noted(what: str) -> Iterator[None]:
    """Let whatever is raised say of what."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"in {what}")
        raise


def _lines_count(data: bytes) -> int:
    return data.count(b"\n") + (not data.endswith(b"\n") and bool(data))


def files_in_now(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@cache
def files_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


@cache
def records(path: Path) -> list[Any]:
    return read_records(path)


def read_records(path: Path) -> list[Any]:
    return _values_in(path.read_bytes().split(b"\n"))


@cache
def _values(lines: tuple[bytes, ...]) -> list[Any]:
    return _values_in(lines)


def _values_in(lines: Sequence[bytes]) -> list[Any]:
    """Of those that are JSON."""
    found = []
    for line in lines:
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


def _decoded(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None


def head_of(path: Path) -> Head:
    return Head(path.read_bytes)


def head_with(*values: Any) -> Head:
    """The beginning of a file that holds these values, a line each."""
    return Head(lambda: b"\n".join(json.dumps(value).encode() for value in values))


Outcome = list[tuple[Parsed, SessionFacts]]


def whole(agent: Agent, source: SourceFile, lines: list[Any]) -> Outcome:
    """What each line gives, with the session as known after it."""
    parser = agent.parser(source, {})
    return [(parser.parse(line), replace(parser.facts)) for line in lines]


def in_pieces(agent: Agent, source: SourceFile, lines: list[Any], cuts: list[int]) -> Outcome:
    """The same, but at each cut a new parser goes on from the state of the one before."""
    parser = agent.parser(source, {})
    outcome: Outcome = []
    for number, line in enumerate(lines):
        if number in cuts:
            parser = agent.parser(source, json.loads(json.dumps(parser.state())))
        outcome.append((parser.parse(line), replace(parser.facts)))
    return outcome


def mutated(data: st.DataObject, record: Any) -> Any:
    """The record with one value, somewhere in it, replaced by any JSON value."""
    changed = copy.deepcopy(record)
    holder: Any = None
    key: Any = None
    inner = changed
    while isinstance(inner, dict | list) and inner and (holder is None or data.draw(st.integers(0, 3))):
        holder = inner
        key = data.draw(st.sampled_from(list(inner) if isinstance(inner, dict) else range(len(inner))))
        inner = inner[key]
    if holder is None:
        return data.draw(JSON)
    holder[key] = data.draw(JSON)
    return changed


def assert_well_formed(parsed: Parsed) -> None:
    """Every value has the type its field promises, so that a store can write it unseen."""
    assert type(parsed.type) is str
    assert type(parsed.uuid) is str
    assert type(parsed.parent) is str
    assert parsed.entries
    for entry in parsed.entries:
        assert type(entry.kind) is Kind
        for text in (entry.text, entry.tool, entry.call, entry.model):
            assert type(text) is str
        assert type(entry.flags) is int
        assert type(entry.time_ms) is int
        assert 0 <= entry.time_ms < 2**53
    for usage in parsed.usages:
        assert_usage_well_formed(usage)
    assert parsed.entries or not (parsed.replaces or parsed.rewinds)


def assert_parses(agent: Agent, source: SourceFile, data: bytes) -> None:
    """Any bytes in the place of a source give well-formed entries or none, and a state to go on from."""
    is_document = source.framing in _DOCUMENTS
    source = replace(source, framing=Framing.DOCUMENT) if is_document else source
    parser = agent.parser(source, {})
    for line in [data] if is_document else data.split(b"\n"):
        for made in parse_lines(parser, source.framing, line, 0):
            if made.parsed is not None and (made.parsed.entries or not is_document):
                assert_well_formed(made.parsed)
    assert_resumes(agent, source, parser.state())


def assert_usage_well_formed(usage: Usage) -> None:
    for name in ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h", "reasoning"):
        count = getattr(usage, name)
        assert type(count) is int
        assert 0 <= count <= 2**53
    assert usage.key
    assert type(usage.model) is str


def assert_resumes(agent: Agent, source: SourceFile, state: dict[str, Any]) -> None:
    """A state survives JSON and gives a parser that would hand on the same state."""
    assert agent.parser(source, json.loads(json.dumps(state))).state() == state
