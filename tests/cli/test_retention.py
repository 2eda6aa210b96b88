"""`recollect retention`: looking, sweeping, pinning, taking back; and `show` of what is gone."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.support.noisy import talk


@pytest.fixture
def swept(recollect: Any, tmp_path: Path, machine: Path) -> Any:
    """A store of six conversations, and a budget of about half of them."""
    for number in range(1, 7):
        talk(number).write(machine / ".claude")
    recollect("ingest")
    budget(tmp_path, raw_soft_cap_bytes=1 << 40)
    used = recollect("retention", "--json").json["used_bytes"]
    budget(tmp_path, raw_soft_cap_bytes=used // 2)
    return recollect


def budget(folder: Path, **keys: Any) -> None:
    lines = [f"{key} = {json.dumps(value)}" for key, value in keys.items()]
    (folder / "config.toml").write_text("\n".join(["[retention]", *lines, ""]))


def test_looking_names_every_session_and_changes_nothing(swept: Any) -> None:
    found = swept("retention", "--json").json
    assert found["applied"] is False
    assert found.keys() >= {  # the report of system 004
        "backstop_evicted",
        "budget_evicted",
        "overflow_analyzed",
        "overflow_data_loss",
        "bytes_freed",
        "final_usage_bytes",
        "over_hard_cap",
        "tier2_over_cap",
    }
    assert found["settings"]["raw_soft_cap_bytes"] > 0
    listed = [each["id"] for each in found["sessions"]]
    assert 2 <= len(listed) <= 4
    assert {each["elsewhere"] for each in found["sessions"]} == {"there"}
    shown = swept("retention")
    assert all(id_[:8] in shown.out for id_ in listed)
    assert f"{len(listed)} sessions would go" in shown.out
    assert "--apply does it" in shown.err
    assert swept("retention", "--json").json == found


def test_what_exists_nowhere_else_is_said(swept: Any, machine: Path) -> None:
    first = swept("retention", "--json").json["sessions"][0]
    os.unlink(first["path"])
    told = swept("retention").out
    assert "only here" in told
    assert "1 session (" in told
    assert "exists nowhere else" in told


def test_applying_says_what_went_and_what_room_is_back(swept: Any) -> None:
    would = [each["id"] for each in swept("retention", "--json").json["sessions"]]
    usage = swept("usage", "--json").json
    found = swept("retention", "--apply", "--json").json
    assert found["applied"] is True
    assert [each["id"] for each in found["sessions"]] == would
    assert 0 < found["file_bytes_after"] < found["file_bytes_before"]
    assert swept("usage", "--json").json == usage
    again = swept("retention", "--apply")
    assert "Nothing is over the budget" in again.out


def test_showing_what_went_says_so_and_takes_it_back(swept: Any) -> None:
    id_ = swept("retention", "--apply", "--json").json["sessions"][0]["id"]
    shown = swept("show", id_)
    assert "evicted" in shown.out
    assert "where it came from it is still there" in shown.out
    assert "--restore" in shown.err
    assert swept("show", id_, "--json").json["evicted"]["elsewhere"] == "there"
    refused = swept("export", id_, "--to", "raw", "-o", "out.jsonl")
    assert refused.code == 3
    assert "--restore" in refused.err
    assert not os.path.exists("out.jsonl")
    for words in (["export", id_, "--to", "jsonl", "-o", "out.jsonl"], ["resume", id_, "--to", "codex"]):
        assert swept(*words).code == 3
    assert "evicted since" in swept("digest", id_).out
    back = swept("show", id_, "--restore")
    assert back.code == 0
    assert "evicted" not in back.out
    assert "Let " in back.out


def test_restoring_by_its_own_word(swept: Any) -> None:
    first, second, *_ = (each["id"] for each in swept("retention", "--apply", "--json").json["sessions"])
    assert f"{first} is back" in swept("retention", "restore", first).out
    assert swept("retention", "restore", second, "--json").json["entries"] > 30
    assert swept("retention", "restore", second).code == 3


def test_restoring_from_a_copy(swept: Any, tmp_path: Path) -> None:
    gone = swept("retention", "--apply", "--json").json["sessions"][0]
    copy = tmp_path / "kept"
    os.rename(gone["path"], copy)
    refused = swept("retention", "restore", gone["id"])
    assert refused.code == 8
    assert "is gone" in refused.err
    assert f"recollect retention restore {gone['id'][:8]} --from FILE" in refused.err
    back = swept("retention", "restore", gone["id"], "--from", str(copy))
    assert f"{gone['id']} is back" in back.out
    assert str(copy) in back.out
    for words in ([], ["pin", gone["id"]]):
        assert "--from says where" in swept("retention", *words, "--from", str(copy)).err


def test_what_waits_for_a_digest_is_said_with_the_next_step(
    recollect: Any, machine: Path, tmp_path: Path
) -> None:
    for number in (1, 2):
        talk(number).write(machine / ".claude")
    recollect("ingest", "--no-index")
    budget(tmp_path, raw_max_age_days=1)
    assert recollect("retention", "--json").json["waiting_for_digest"] == 2
    told = recollect("retention")
    assert "2 sessions over the budget without a digest" in told.out
    assert "recollect index" in told.err
    assert "Nothing is over" not in told.out
    recollect("index")
    assert recollect("retention", "--json").json["waiting_for_digest"] == 0
    assert "2 sessions would go" in recollect("retention").out


def test_pinning_keeps_one_longest(swept: Any) -> None:
    first = swept("retention", "--json").json["sessions"][0]["id"]
    assert "goes last" in swept("retention", "pin", first).out
    found = swept("retention", "--json").json
    assert found["pinned"] == [first]
    assert first not in [each["id"] for each in found["sessions"]]
    assert f"pinned: {first[:8]}" in swept("retention").err
    assert swept("retention", "unpin", first, "--json").json["pinned"] is False
    assert swept("retention", "--json").json["pinned"] == []


def test_an_ingest_sweeps_when_it_is_due(swept: Any, tmp_path: Path) -> None:
    soft = swept("retention", "--json").json["settings"]["raw_soft_cap_bytes"]
    assert swept("ingest", "--json").json["swept"] is None
    budget(tmp_path, raw_soft_cap_bytes=soft, cadence="daily")
    done = swept("ingest")
    assert "retention: " in done.err
    assert "evicted" in done.err
    assert swept("ingest", "--json").json["swept"] is None, "not due before tomorrow"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["forget", "3f2a"], "no action"),
        (["pin"], "takes one session"),
        (["pin", "a", "b"], "takes one session"),
        (["pin", "zzzz"], "no session"),
        (["restore", "3f2a", "--apply"], "takes one session"),
    ],
)
def test_what_cannot_be_done_is_said(swept: Any, words: list[str], told: str) -> None:
    answer = swept("retention", *words)
    assert answer.code in (2, 3)
    assert told in answer.err or "sessions' ids" in answer.err


def test_without_a_budget_the_next_step_is_told(recollect: Any, machine: Path) -> None:
    talk(1).write(machine / ".claude")
    recollect("ingest")
    answer = recollect("retention")
    assert answer.code == 2
    assert "no budget is set" in answer.err
    assert "[retention]" in answer.err


def test_a_bad_setting_is_named_by_every_command(swept: Any, tmp_path: Path) -> None:
    budget(tmp_path, raw_max_age_days=-3)
    answer = swept("sessions")
    assert answer.code == 2
    assert "retention.raw_max_age_days" in answer.err
