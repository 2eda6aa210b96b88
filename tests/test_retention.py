"""A budget: what is over it goes word for word and gives its room back, all else stays; it can come back."""

from __future__ import annotations

import dataclasses
import json
import random
import shutil
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from tests.support import DATA
from tests.support.memories import memory_at
from tests.support.noisy import talk

from recollect.config import Config, load_config
from recollect.hooks.settle import settle
from recollect.intake.discover import discover
from recollect.intake.ingest import Ingest
from recollect.memory import Memory
from recollect.values.errors import Evicted, NotFound, SourceError, UsageError
from recollect.values.retention import Elsewhere, RetentionSettings, SweepReport


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    for number in range(1, 7):
        talk(number).write(tmp_path / "logs")
    return tmp_path / "logs"


@pytest.fixture
def memory(tmp_path: Path, logs: Path) -> Iterator[Memory]:
    with memory_at(tmp_path) as made:
        made.ingest([logs])
        made.index()
        yield made


def limited(memory: Memory, **settings: Any) -> None:
    memory.config = dataclasses.replace(memory.config, retention=RetentionSettings(**settings))


def half(memory: Memory, **more: Any) -> SweepReport:
    """Sweep down to half of what is used."""
    with memory.view() as view:
        used = view.raw_sizes().total
    limited(memory, raw_soft_cap_bytes=used // 2, **more)
    return memory.sweep()


def ids(report: SweepReport) -> list[str]:
    return [each.name.id for each in report.sessions]


def path_of(memory: Memory, id_: str) -> Path:
    return Path(memory.sources(id_)[0].file.path)


# -- what goes -----------------------------------------------------------------------------


def test_nothing_goes_unless_a_budget_is_set(memory: Memory) -> None:
    with pytest.raises(UsageError, match="no budget is set"):
        memory.retention()
    assert memory.sweep_if_due() is None
    limited(memory, cadence="daily")
    with pytest.raises(UsageError, match="no budget is set"):
        memory.sweep()


def test_the_oldest_go_the_room_is_given_back_and_the_cap_holds(memory: Memory) -> None:
    before = [each.facts.id for each in memory.sessions()]
    size = memory.footprint().bytes
    with memory.view() as view:
        used = view.raw_sizes().total
    limited(memory, raw_soft_cap_bytes=used // 2)
    looked = memory.retention()
    assert memory.footprint().bytes == size, "looking changes nothing"
    report = memory.sweep()
    assert ids(report) == ids(looked) == before[: len(report.sessions)]
    assert 2 <= len(report.sessions) < len(before)
    assert report.budget_evicted == len(report.sessions)
    with memory.view() as view:
        after = view.raw_sizes().total
    assert report.final_usage_bytes == after
    assert after <= used // 2 * 1.02
    assert report.bytes_freed == used - after
    assert report.file_bytes_before == size
    assert report.file_bytes_after == memory.footprint().bytes < size - 0.8 * report.bytes_freed
    assert memory.check() == []
    memory.compact()
    with memory.view() as view:
        assert view.raw_sizes().total <= used // 2 * 1.02
    assert memory.retention().sessions == ()


def test_a_dry_run_says_of_each_session_whether_it_is_elsewhere(memory: Memory) -> None:
    names = [each.facts.id for each in memory.sessions()]
    limited(memory, raw_hard_cap_bytes=1)
    gone, changed, grown = (path_of(memory, id_) for id_ in names[:3])
    gone.unlink()
    changed.write_bytes(changed.read_bytes().replace(b"number 2-0", b"number 9-9"))
    grown.write_bytes(grown.read_bytes() + b'{"type":"summary","summary":"and on"}\n')
    report = memory.retention()
    told = {each.name.id: each.elsewhere for each in report.sessions}
    assert [told[name] for name in names] == [
        Elsewhere.GONE,
        Elsewhere.CHANGED,
        *(Elsewhere.THERE for _ in range(4)),
    ]
    assert all(each.bytes > 1_000 for each in report.sessions)
    assert report.over_hard_cap is False
    assert report.final_usage_bytes < 1_000


def test_what_is_pinned_or_read_lately_goes_last(memory: Memory) -> None:
    names = [each.facts.id for each in memory.sessions()]
    memory.pin(names[0])
    limited(memory, raw_soft_cap_bytes=1 << 40)
    list(memory.show(names[1]))
    report = half(memory)
    assert names[0] not in ids(report)
    assert names[1] not in ids(report)
    assert [each.facts.id for each in memory.pinned()] == [names[0]]
    memory.pin(names[0], pinned=False)
    assert memory.pinned() == []


def test_what_is_too_old_goes_and_no_more(memory: Memory) -> None:
    names = [each.facts.id for each in memory.sessions()]
    limited(memory, raw_max_age_days=1)
    memory.pin(names[3])
    report = memory.sweep()
    assert (report.backstop_evicted, ids(report)) == (5, [each for each in names if each != names[3]])


def test_what_is_not_digested_is_digested_before_it_goes(tmp_path: Path, logs: Path) -> None:
    with memory_at(tmp_path) as memory:
        memory.ingest([logs])
        limited(memory, raw_soft_cap_bytes=1)
        assert memory.retention().sessions == (), "never what is not digested"
        limited(memory, raw_hard_cap_bytes=1)
        looked = memory.retention()
        assert (looked.overflow_analyzed, looked.overflow_data_loss, len(looked.sessions)) == (6, 0, 6)
        report = memory.sweep()
        assert (report.overflow_analyzed, report.overflow_data_loss, report.budget_evicted) == (6, 0, 6)
        _, digest = memory.digest(ids(report)[0])
        assert len(digest.asked) == 12
        assert digest.evicted > 30


def test_the_last_resort_is_said_to_be_a_loss(tmp_path: Path, logs: Path) -> None:
    """A log of which nothing is understood has no digest."""
    folder = logs / "projects" / "-home-ada-harbor"
    words = random.Random(5)
    noise = "\n".join("".join(words.choices("abcdefghij ", k=3_000)) for _ in range(30))
    (folder / "00000000-0000-4000-8000-000000000099.jsonl").write_text(noise)
    with memory_at(tmp_path) as memory:
        memory.ingest([logs])
        memory.index()
        limited(memory, raw_hard_cap_bytes=100, digest_cap_bytes=10)
        report = memory.sweep()
        assert report.overflow_data_loss == 1
        assert report.sessions[-1].why == "data_loss"
        assert report.tier2_over_cap
        told = memory.evicted("00000000-0000-4000-8000-000000000099")
        assert told is not None
        assert (told.loss, told.lines, told.entries) == (True, 30, 0)


# -- what stays ----------------------------------------------------------------------------


def asked(memory: Memory) -> dict[str, Any]:
    """What people ask for that must be as before."""
    entities = memory.entities()
    return {
        "usage": asdict(memory.usage("day")),
        "usage by session": asdict(memory.usage("session")),
        "digests": sorted(
            (session.facts.id, asdict(dataclasses.replace(digest, evicted=0)))
            for session, digest in memory.digests()
        ),
        "headings": memory.headings(memory.sessions()),
        "threads": [[each.facts.id for each in thread.sessions] for thread in memory.threads()],
        "entities": sorted(
            (each.type, each.name, each.mentions, each.first_day, each.last_day) for each in entities.entities
        ),
        "moves": sorted(
            (kind, each.entity.name, each.state, each.mentions, each.usual, each.curve)
            for kind in ("trending", "fading", "unusual")
            for each in memory.momentum(kind, days=2).moves
        ),
        "found": [hit.session.facts.id for hit in memory.search_digests("constant").hits],
        "projects": [(each.name, each.sessions) for each in memory.projects()],
    }


def test_a_half_evicted_store_answers_as_before(memory: Memory) -> None:
    before = asked(memory)
    assert all(before.values()), "there is something to compare"
    report = half(memory)
    assert len(report.sessions) >= 2
    for state in ("swept", "indexed", "compacted", "derived anew"):
        if state == "indexed":
            memory.index()
        if state == "compacted":
            memory.compact()
            memory.index()
        if state == "derived anew":
            memory.reparse()
            memory.index()
        if state != "swept":
            after = asked(memory)
            for what, told in before.items():
                assert after[what] == told, f"{what}, {state}"
        assert memory.check() == []
    for each in report.sessions:
        assert list(memory.show(each.name.id)) == []
        memory.thread(each.name.id)
    left = memory.sessions()[-1].facts.id
    hits = memory.search("constant").hits
    assert left in {hit.session.facts.id for hit in hits}
    assert not {hit.session.facts.id for hit in hits} & set(ids(report))
    memory.week()
    memory.activity()


def test_a_profile_keeps_telling_of_what_was_evicted(memory: Memory) -> None:
    before = memory.entity("src/part_1.py")
    evicted = ids(half(memory))[0]
    memory.index()
    after = memory.entity("src/part_1.py")
    assert after.entity == before.entity
    assert after.days == before.days
    assert after.projects == before.projects
    assert [(each.facts.id, count) for each, count in after.sessions] == [
        (each.facts.id, count) for each, count in before.sessions
    ]
    assert after.sessions[0][0].facts.id == evicted
    assert list(memory.search("@src/part_1.py").hits) == []


def test_what_was_mentioned_since_the_last_rewrite_is_kept_too(memory: Memory) -> None:
    """Nobody looked at these entries: a compact drops the tables, and no index made them again."""
    before = asked(memory)["entities"]
    memory.compact()
    half(memory)
    memory.index()
    assert asked(memory)["entities"] == before


# -- reading what is gone, and taking it back ----------------------------------------------


def test_what_is_gone_is_never_given_out_as_if_it_were_there(memory: Memory) -> None:
    evicted = ids(half(memory))[0]
    for form in ("raw", "markdown", "html", "json"):
        with pytest.raises(Evicted, match="evicted") as error:
            list(memory.export(evicted, form))
        assert "--restore" in error.value.hint
    with pytest.raises(Evicted):
        memory.conversation(evicted)
    with pytest.raises(Evicted):
        memory.require_whole(evicted)
    left = memory.sessions()[-1].facts.id
    assert b"".join(memory.raw(left)) == path_of(memory, left).read_bytes()


def test_it_comes_back_byte_for_byte(memory: Memory) -> None:
    before, shown = asked(memory), {}
    for session in memory.sessions():
        shown[session.facts.id] = [(each.id, each.entry) for each in memory.show(session.facts.id)]
    for evicted in ids(half(memory)):
        report = memory.restore(evicted)
        assert report.session.entries == len(shown[evicted])
        assert b"".join(memory.raw(evicted)) == path_of(memory, evicted).read_bytes()
        assert memory.evicted(evicted) is None
        with pytest.raises(NotFound, match="nothing of session"):
            memory.restore(evicted)
    for id_, entries in shown.items():
        assert [(each.id, each.entry) for each in memory.show(id_)] == entries
    memory.index()
    after = asked(memory)
    for what, told in before.items():
        assert after[what] == told, what
    assert memory.check() == []


def test_it_comes_back_after_everything_was_derived_anew(memory: Memory) -> None:
    evicted = ids(half(memory))[0]
    facts = memory.session(evicted).facts
    memory.reparse()
    assert memory.session(evicted).facts == facts
    assert memory.check() == []
    memory.restore(evicted)
    assert b"".join(memory.raw(evicted)) == path_of(memory, evicted).read_bytes()


def test_a_repair_keeps_what_was_kept(memory: Memory) -> None:
    before = asdict(memory.usage("session"))
    evicted = ids(half(memory))[0]
    memory.repair()
    assert asdict(memory.usage("session")) == before
    memory.restore(evicted)
    assert b"".join(memory.raw(evicted)) == path_of(memory, evicted).read_bytes()


def test_what_is_not_there_any_more_does_not_come_back(memory: Memory) -> None:
    first, second, *_ = ids(half(memory))
    path_of(memory, first).unlink()
    with pytest.raises(SourceError, match="is gone"):
        memory.restore(first)
    changed = path_of(memory, second)
    changed.write_bytes(changed.read_bytes().replace(b"number 2-0", b"number 9-9"))
    with pytest.raises(SourceError, match="not what was read"):
        memory.restore(second)
    for id_ in (first, second):
        assert memory.evicted(id_) is not None
        assert list(memory.show(id_)) == []


# -- a session that goes on ----------------------------------------------------------------


def grow(memory: Memory, id_: str, text: str) -> None:
    path = path_of(memory, id_)
    last = json.loads(path.read_bytes().splitlines()[-1])
    more = {**last, "uuid": f"more-{text}", "type": "user", "message": {"role": "user", "content": text}}
    path.write_bytes(path.read_bytes() + json.dumps(more).encode() + b"\n")


def test_a_session_that_goes_on_has_its_new_lines_and_its_old_digest(memory: Memory) -> None:
    evicted = ids(half(memory))[0]
    memory.index()
    _, before = memory.digest(evicted)
    grow(memory, evicted, "Now paint the lighthouse")
    threads = [[each.facts.id for each in thread.sessions] for thread in memory.threads()]
    assert memory.ingest([path_of(memory, evicted)]).taken == 1
    for _ in ("before it is derived", "as it is kept"):
        _, after = memory.digest(evicted)
        assert [each.text for each in after.asked] == [
            *(e.text for e in before.asked),
            "Now paint the lighthouse",
        ]
        assert after.decisions == before.decisions
        assert after.evicted == before.evicted > 0
        memory.index()
    assert [each.entry.text for each in memory.show(evicted)] == ["Now paint the lighthouse"]
    assert [[each.facts.id for each in thread.sessions] for thread in memory.threads()] == threads
    assert [hit.session.facts.id for hit in memory.search("lighthouse").hits] == [evicted]
    report = memory.ingest([path_of(memory, evicted)])
    assert (report.taken, report.restarted) == (0, 0)


def test_it_can_be_evicted_again_and_comes_back_whole_and_in_order(memory: Memory) -> None:
    evicted = ids(half(memory))[0]
    entries = memory.evicted(evicted).entries  # type: ignore[union-attr]
    grow(memory, evicted, "Now paint the lighthouse")
    memory.ingest([path_of(memory, evicted)])
    back = memory.restore(evicted)
    assert back.session.entries == entries + 1
    shown = [each.entry.text for each in memory.show(evicted)]
    assert shown[0].startswith("Let ")
    assert shown[-1] == "Now paint the lighthouse"
    assert b"".join(memory.raw(evicted)) == path_of(memory, evicted).read_bytes()
    memory.index()
    limited(memory, raw_hard_cap_bytes=1)
    memory.sweep()
    told = memory.evicted(evicted)
    assert told is not None
    assert told.entries == entries + 1
    memory.index()
    grow(memory, evicted, "And once more")
    memory.ingest([path_of(memory, evicted)])
    memory.index()
    memory.sweep()
    told = memory.evicted(evicted)
    assert told is not None
    assert told.entries == entries + 2
    assert [each.text for each in memory.digest(evicted)[1].asked][-2:] == [
        "Now paint the lighthouse",
        "And once more",
    ]


def test_a_file_that_was_only_touched_does_not_come_back(memory: Memory) -> None:
    evicted = ids(half(memory))[0]
    path = path_of(memory, evicted)
    path.touch()
    report = memory.ingest([path])
    assert (report.taken, report.restarted) == (0, 0)
    assert memory.evicted(evicted) is not None


def test_a_file_that_was_written_anew_is_taken_whole(memory: Memory) -> None:
    """What is evicted of the version before stays gone; nothing of the new one is."""
    before = asked(memory)["entities"]
    evicted = ids(half(memory))[0]
    path = path_of(memory, evicted)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[1:], lines[0]]))
    memory.ingest([path])
    assert memory.evicted(evicted) is None
    assert b"".join(memory.raw(evicted)) == path.read_bytes()
    memory.index()
    assert asked(memory)["entities"] == before


# -- shared lines --------------------------------------------------------------------------


def test_what_a_session_that_stays_has_too_stays(tmp_path: Path) -> None:
    for number in (1, 2):
        talk(number).write(tmp_path / "logs")
    first, path = sorted((tmp_path / "logs").rglob("*.jsonl"))
    data = first.read_bytes()
    path.write_bytes(data + path.read_bytes())  # as a resume copies what it goes on from
    with memory_at(tmp_path) as memory:
        memory.ingest([tmp_path / "logs"])
        memory.index()
        ended = [each.facts.id for each in memory.sessions()]
        memory.pin(first.stem)
        with memory.view() as view:
            limited(memory, raw_soft_cap_bytes=view.raw_sizes().total - 1_000)
        report = memory.retention()
        assert ids(report) == [ended[-1]]
        memory.sweep()
        assert b"".join(memory.raw(first.stem)) == data
        with pytest.raises(Evicted):
            list(memory.raw(path.stem))
        assert memory.check() == []
        limited(memory, raw_soft_cap_bytes=1)
        last = memory.sweep()
        assert ids(last) == ended[-1:] + ended[:1], "what both have goes with the last, and of both"
        assert last.final_usage_bytes < 1_000
        for each in (first, path):
            memory.restore(each.stem)
            assert b"".join(memory.raw(each.stem)) == each.read_bytes()
        assert memory.check() == []


def test_no_line_is_too_small_to_go(tmp_path: Path) -> None:
    """The conversations of an export end with the same two bytes, which pack to less than one.

    Counted as none, what of them an evicted session shares stayed for a second sweep to find.
    """
    for number in range(1, 7):
        talk(number).write(tmp_path / "logs")
    shutil.copy(DATA / "claudeai" / "conversations.json", tmp_path / "logs")
    with memory_at(tmp_path) as memory:
        memory.ingest([tmp_path / "logs"])
        with memory.view() as view:
            sizes = view.raw_sizes()
        assert len(sizes.shared) == 1
        assert all(taken > 0 for _, taken in sizes.shared)
        assert sizes.total == int(sizes.own.sum()) + sum(taken for _, taken in sizes.shared)


@pytest.fixture
def doubled(tmp_path: Path, logs: Path) -> Iterator[Memory]:
    """Three sessions of this machine alone, and three that another has too, line by line."""
    with memory_at(tmp_path) as made:
        made.ingest([logs])
        with made._store.writer() as writer:
            Ingest(writer, "elsewhere").sweep(discover(sorted(logs.rglob("*.jsonl"))[:3]).found)
            writer.commit()
        made.index()
        yield made


@pytest.mark.parametrize("share", [0.8, 0.5, 0.1])
def test_the_cap_holds_where_two_machines_have_the_same_sessions(doubled: Memory, share: float) -> None:
    before = asked(doubled)
    with doubled.view() as view:
        used = view.raw_sizes().total
    cap = int(used * share)
    limited(doubled, raw_soft_cap_bytes=cap, raw_hard_cap_bytes=cap)
    looked = doubled.retention()
    report = doubled.sweep()
    assert ids(looked) == ids(report)
    assert sum(each.bytes for each in looked.sessions) == looked.bytes_freed
    assert report.final_usage_bytes <= cap * 1.02
    assert not report.over_hard_cap
    assert report.overflow_data_loss == 0
    evicted = {each.name for each in report.sessions}
    for id_ in ids(report)[:2]:
        pair = {each for each in evicted if each.id == id_}
        assert len(pair) == 2, "what two have goes when both do"
    doubled.index()
    after = asked(doubled)
    assert {what: after[what] == told for what, told in before.items()} == dict.fromkeys(before, True)
    doubled.compact()
    with doubled.view() as view:
        assert view.raw_sizes().total <= cap * 1.02
    assert doubled.check() == []


# -- by itself -----------------------------------------------------------------------------


def test_a_sweep_comes_by_itself_when_it_is_due(memory: Memory) -> None:
    with memory.view() as view:
        used = view.raw_sizes().total
    limited(memory, raw_soft_cap_bytes=used // 2)
    assert memory.sweep_if_due() is None, "no cadence"
    limited(memory, raw_soft_cap_bytes=used // 2, cadence="daily")
    report = memory.sweep_if_due()
    assert report is not None
    assert report.sessions
    limited(memory, raw_soft_cap_bytes=1, cadence="daily")
    assert memory.sweep_if_due() is None, "not due"
    limited(memory, raw_soft_cap_bytes=1, cadence="on-settle")
    assert memory.sweep_if_due() is not None


def test_a_little_over_the_soft_cap_waits(memory: Memory) -> None:
    with memory.view() as view:
        used = view.raw_sizes().total
    limited(memory, raw_soft_cap_bytes=used - used // 100, cadence="on-settle")
    assert memory.retention().sessions
    assert memory.sweep_if_due() is None
    limited(memory, raw_soft_cap_bytes=used // 2, raw_hard_cap_bytes=used - 1, cadence="on-settle")
    assert memory.sweep_if_due() is not None


def test_what_is_saved_of_an_evicted_session_is_told_as_gone(memory: Memory) -> None:
    made, _ = memory.assemble("Let tide number 1-0 in src/part_1.py run")
    assert made.pieces
    memory.save_thread(made, "tides")
    pieces = len(memory.saved_pieces("tides"))
    limited(memory, raw_hard_cap_bytes=1)
    memory.sweep()
    memory.index()
    assert len(memory.saved_pieces("tides")) == pieces
    assert [each.name for each in memory.saved_threads()] == ["tides"]
    assert list(memory.search("tide").hits) == []
    made, conversation = memory.assemble("Let tide number 1-0 in src/part_1.py run")
    assert (made.pieces, conversation.messages) == ((), ())


def test_settling_sweeps_when_it_is_due(memory: Memory) -> None:
    limited(memory, raw_hard_cap_bytes=1, cadence="on-settle")
    settle(memory)
    assert len(memory.evicted_sessions()) == 6
    assert memory.retention().sessions == ()


# -- settings ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ("raw_soft_cap_bytes = 0", "raw_soft_cap_bytes"),
        ("raw_soft_cap_bytes = true", "raw_soft_cap_bytes"),
        ('raw_hard_cap_bytes = "4 GB"', "raw_hard_cap_bytes"),
        ("raw_max_age_days = 1.5", "raw_max_age_days"),
        ("digest_cap_bytes = -1", "digest_cap_bytes"),
        ('cadence = "hourly"', "cadence"),
        ("cadence = 1", "cadence"),
        ("raw_cap = 1", "raw_cap"),
        ("raw_soft_cap_bytes = 9\nraw_hard_cap_bytes = 8", "raw_soft_cap_bytes"),
    ],
)
def test_a_bad_setting_is_named(tmp_path: Path, line: str, key: str) -> None:
    config = tmp_path / "config.toml"
    config.write_text(f"[retention]\n{line}\n")
    with pytest.raises(UsageError, match=rf"retention\.{key}:"):
        load_config(environ={"RECOLLECT_CONFIG": str(config)})


def test_a_good_setting_is_taken(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text('[retention]\nraw_soft_cap_bytes = 8\nraw_max_age_days = 45\ncadence = "weekly"\n')
    loaded: Config = load_config(environ={"RECOLLECT_CONFIG": str(config)})
    assert loaded.retention == RetentionSettings(8, None, 45, None, "weekly")
    assert load_config(environ={"RECOLLECT_CONFIG": str(tmp_path / "none.toml")}).retention is None
    config.write_text("retention = 3\n")
    with pytest.raises(UsageError, match="is no table"):
        load_config(environ={"RECOLLECT_CONFIG": str(config)})
