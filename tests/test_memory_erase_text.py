"""Erasing by a text: a pattern's time is limited, progress is told, what is kept of evicted lines goes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.canaries import KEPT, canary, ours, places_with, record, talk, write, write_logs

from recollect.memory import Memory
from recollect.values.erasures import Wanted
from recollect.values.errors import NotFound, UsageError
from recollect.values.retention import RetentionSettings

OTHER = "0ff00000-0000-4000-8000-00000000000e"
SECRET = "ghp_" + "Zk3uV9xQ2mB7nL5rT8wY1cD4fG6hJ0pSaE2R"


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    return write_logs(tmp_path / "logs")


def test_a_pattern_that_never_ends_changes_nothing(
    tmp_path: Path, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(logs / "harbor" / f"{OTHER}.jsonl", [record(OTHER, 0, "user", "a" * 5000 + "!")])
    monkeypatch.setattr("recollect.memory.choosing.PATTERN_SECONDS", 0.2)
    with Memory.open(config=ours(tmp_path / "ours")) as memory:
        memory.ingest([logs])
        before = memory.info()
        for pattern in ("(a|aa)+b$", "(" * 300, "((a{1,500}){1,500}){1,500}"):
            with pytest.raises(UsageError):
                memory.erase(Wanted(regex=pattern))
        assert memory.info() == before
        assert memory.erasable(Wanted(regex="a{4000}")).counts["lines"] == 1


def test_how_far_it_is_is_told(tmp_path: Path, logs: Path) -> None:
    told: list[tuple[str, int, int]] = []
    with Memory.open(config=ours(tmp_path / "ours")) as memory:
        memory.ingest([logs])
        memory.erase(Wanted(match="gasket"), progress=lambda *each: told.append(each))
    assert list(dict.fromkeys(what for what, _, _ in told)) == ["choosing", "rewriting", "searching"]
    assert all(0 <= done <= total for _, done, total in told)


def test_a_glimpse_shows_what_is_meant_and_no_secret(tmp_path: Path, logs: Path) -> None:
    said = f"Nightjar's token is {SECRET}\u202e\x1b[31m and much more is said of it" + " on and on" * 90
    write(
        logs / "harbor" / f"{OTHER}.jsonl",
        [record(OTHER, number, "user", f"{number}: {said}") for number in range(9)],
    )
    with Memory.open(config=ours(tmp_path / "ours")) as memory:
        memory.ingest([logs])
        for wanted in (Wanted(match="Nightjar"), Wanted(regex="N[i]ghtjar.s")):
            shown = memory.glimpses(memory.erasable(wanted), wanted)
            assert len(shown) == 3
            for text in shown:
                assert "Nightjar" in text
                assert SECRET[:12] not in text
                assert len(text) <= 80
                assert text.isprintable()
        by_secret = Wanted(match=SECRET)
        assert memory.glimpses(memory.erasable(by_secret), by_secret) == []
        whole = Wanted(session=OTHER)
        assert memory.glimpses(memory.erasable(whole), whole) == []


def test_what_is_kept_of_evicted_lines_is_found_and_goes(tmp_path: Path, logs: Path) -> None:
    write(logs / "old" / f"{OTHER}.jsonl", talk(OTHER, canary("Old")))
    config = replace(ours(tmp_path / "ours"), retention=RetentionSettings(raw_max_age_days=1))
    with Memory.open(config=config) as memory:
        memory.ingest([logs])
        memory.index()
        memory.sweep()
        assert memory.evicted(OTHER) is not None
        kept = places_with(memory, canary("Old"))
        assert kept
        assert "lines" not in kept

        would = memory.erasable(Wanted(match=canary("Old")))
        (session,) = would.sessions
        assert (session.session.facts.id, session.whole, session.evicted) == (OTHER, True, 5)

        memory.erase(Wanted(match=canary("Old")))
        assert places_with(memory, canary("Old")) == set()
        assert memory.evicted(KEPT) is not None
        memory.ingest([logs])
        memory.index()
        assert places_with(memory, canary("Old")) == set()
        with pytest.raises(NotFound):
            memory.erasable(Wanted(match=canary("Old")))
