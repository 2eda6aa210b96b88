"""Secrets that are erased are in no file of ours, and stay away; lines stay, and all else is as it was."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.canaries import ERASED, KEPT, ours, places_with, record, write
from tests.support.canary_secrets import ANTHROPIC, GITHUB, PASSWORD, SECRETS, telling, write_secrets

from recollect.memory import Memory, secrets
from recollect.memory.proof import Looking, SecretPrints
from recollect.redact.raw import mask_raw
from recollect.values.erasures import Wanted
from recollect.values.errors import NotFound
from recollect.values.records import Segment, SourceFile
from recollect.values.stored import source_bytes

EVERY = Wanted(secrets=True)


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    return write_secrets(tmp_path / "logs")


@pytest.fixture
def memory(tmp_path: Path) -> Any:
    with Memory.open(config=ours(tmp_path / "ours")) as made:
        yield made


def log(logs: Path, id_: str = ERASED) -> Path:
    return logs / "harbor" / f"{id_}.jsonl"


def texts(memory: Memory, id_: str = ERASED) -> list[str]:
    return [each.entry.text for each in memory.show(id_)]


def is_without(memory: Memory) -> bool:
    return places_with(memory, *SECRETS) == set()


def used_in_every_way(memory: Memory, logs: Path) -> None:
    memory.ingest([logs])
    memory.index()
    memory.search("deploy token")
    made, _ = memory.assemble("deploy with a token")
    assert made.pieces
    memory.save_thread(replace(made, description=f"about GITHUB_TOKEN={GITHUB}"), "deploying")
    state = memory.config.state
    (state / "catalogs").mkdir(parents=True)
    (state / "catalogs" / "harbor.md").write_text(f"- {GITHUB}")
    (state / "trouble").write_text(PASSWORD)
    memory.append(
        Segment(
            SourceFile("claude", "/gone/x.jsonl", session="x"),
            "harbor",
            0,
            b'{"a":"' + GITHUB.encode() + b'"}\n',
        )
    )


def test_secrets_are_in_no_file_of_ours_and_all_else_is_as_it_was(memory: Memory, logs: Path) -> None:
    used_in_every_way(memory, logs)
    for secret in SECRETS:
        assert places_with(memory, secret), secret
    kept, usage = list(memory.show(KEPT)), memory.usage()
    ids = [each.id for each in memory.show(ERASED)]
    would = memory.erasable(EVERY)
    assert all(secret not in repr(memory.secret_glimpses(would)) for secret in SECRETS)
    chosen, receipt = memory.erase(EVERY)
    assert is_without(memory)
    assert receipt["verified"]["found"] == []
    assert all(secret not in json.dumps(receipt) for secret in SECRETS)
    assert chosen.counts["lines"] == 9  # with a saved thread, and what waited in the journal
    assert [replace(each, row=-1) for each in memory.show(KEPT)] == [replace(each, row=-1) for each in kept]
    assert b"".join(memory.raw(KEPT)) == log(logs, KEPT).read_bytes()
    assert [each.id for each in memory.show(ERASED)] == ids, "an entry is called what it was called"
    assert memory.usage() == usage
    assert memory.check() == []
    before, after = log(logs).read_bytes().splitlines(), b"".join(memory.raw(ERASED)).splitlines()
    assert len(before) == len(after) == 7
    assert memory.altered(ERASED) == [1, 2, 3, 4, 5, 6, 7]
    for was, now in zip(before[:6], after[:6], strict=True):
        assert json.loads(now).keys() == json.loads(was).keys()
        assert json.loads(now).get("uuid") == json.loads(was).get("uuid")
    session = memory.session(ERASED)
    assert "[redacted:" in session.facts.cwd
    assert "[redacted:" in session.facts.project
    with pytest.raises(NotFound):
        memory.erasable(EVERY)
    memory.index()
    memory.digest(ERASED)
    assert memory.search("deploy").hits
    assert is_without(memory)


def test_a_log_that_goes_on_is_followed_and_brings_nothing_back(memory: Memory, logs: Path) -> None:
    memory.ingest([logs])
    memory.erase(EVERY)
    path = log(logs)
    for number, change in enumerate(("nothing", "grown", "copied", "rewritten")):
        if change == "grown":
            with path.open("a") as file:
                file.write(json.dumps(record(ERASED, 8, "user", "and then more")) + "\n")
        elif change == "copied":
            shutil.copy(path, path.with_suffix(".new"))
            path.with_suffix(".new").rename(path)
        elif change == "rewritten":
            path.write_bytes(path.read_bytes().replace(b"and then more", b"and then less"))
        report = memory.ingest([logs])
        assert report.taken == (0, 1, 0, 1)[number], change
        assert report.restarted == (change == "rewritten")
        assert report.erased == 0
        assert is_without(memory), change
        memory.reparse()
        memory.compact()
        assert is_without(memory), change
        assert memory.check() == []
    told = texts(memory)
    assert (
        told.count("It was [redacted:github-token] all along, and mysql -u ada -p[redacted:password] too.")
        == 1
    )
    assert len(list(memory.sources(ERASED)[-1:])) == 1
    raw = b"".join(memory.raw(ERASED)).splitlines()
    assert [mask_raw(line).data for line in path.read_bytes().splitlines()][-1] == raw[-1]


def test_a_fork_that_copies_lines_and_a_hook_that_tells_them_again_bring_nothing_back(
    memory: Memory, logs: Path
) -> None:
    memory.ingest([logs])
    memory.erase(EVERY)
    fork = "f0f0f0f0-0000-4000-8000-00000000000c"
    (logs / "harbor" / f"{fork}.jsonl").write_bytes(log(logs).read_bytes())
    memory.ingest([logs])
    assert is_without(memory)
    other = SourceFile("claude", "/elsewhere/copy.jsonl", session="copy")
    memory.append(Segment(other, "harbor", 0, log(logs).read_bytes()))
    memory.checkpoint()
    assert is_without(memory)


def test_what_was_masked_comes_back_in_its_place_when_the_erasure_is_forgotten(
    memory: Memory, logs: Path
) -> None:
    memory.ingest([logs])
    before = texts(memory)
    _, receipt = memory.erase(EVERY)
    with log(logs).open("a") as file:
        file.write(json.dumps(record(ERASED, 8, "user", "and then more")) + "\n")
    memory.ingest([logs])
    memory.forget_erasure(receipt["id"])
    memory.ingest([logs])
    assert texts(memory) == [*before, "and then more"]
    assert b"".join(memory.raw(ERASED)) == log(logs).read_bytes()
    assert memory.check() == []
    assert memory.verify_erasure(receipt)["found"]
    assert memory.ingest([logs]).taken == 0


@pytest.mark.parametrize("own", [True, False])
def test_a_merge_brings_nothing_back(tmp_path: Path, memory: Memory, logs: Path, own: bool) -> None:
    memory.ingest([logs])
    memory.index()
    memory.digest(ERASED)
    memory.snapshot(tmp_path / "before.h5")
    memory.erase(EVERY)
    told = texts(memory)
    memory.merge([tmp_path / "before.h5"], own=own)
    assert is_without(memory)
    assert texts(memory) == told
    assert memory.check() == []
    assert memory.ingest([logs]).taken == 0
    assert is_without(memory)


def test_a_merge_takes_an_erasure_along(tmp_path: Path, memory: Memory, logs: Path) -> None:
    """The other way round: the store that is merged into still had them."""
    memory.ingest([logs])
    memory.index()
    memory.erase(EVERY)
    (tmp_path / "other").mkdir()
    with Memory.open(config=ours(tmp_path / "other")) as other:
        other.ingest([logs])
        other.index()
        other.digest(ERASED)
        other.merge([str(memory.config.path)], own=True)
        assert is_without(other)
        assert texts(other) == texts(memory)
        assert b"".join(other.raw(KEPT)) == log(logs, KEPT).read_bytes()
        with log(logs).open("a") as file:
            file.write(json.dumps(record(ERASED, 8, "user", "and then more")) + "\n")
        assert other.ingest([logs]).taken == 1
        assert is_without(other)
        assert other.check() == []


def test_a_part_of_it_does_not_even_tell_the_key_of_what_was_masked(
    tmp_path: Path, memory: Memory, logs: Path
) -> None:
    memory.ingest([logs])
    memory.erase(EVERY)
    memory.split(tmp_path / "part.h5", session=ERASED)
    with Memory.open(tmp_path / "part.h5") as part, memory.view() as view, part.view() as other:
        (source,) = view.sources(view.find_session(ERASED))
        (copy,) = other.sources(other.find_session(ERASED))
        assert b"".join(source_bytes(copy, other.lines(copy))) == b"".join(
            source_bytes(source, view.lines(source))
        )
        assert set(other.line_keys(copy)).isdisjoint(view.line_keys(source))


def test_only_what_is_named_is_masked(memory: Memory, logs: Path) -> None:
    other = "ab0c0000-0000-4000-8000-00000000000d"
    write(logs / "harbor" / f"{other}.jsonl", telling(other))
    memory.ingest([logs])
    _, receipt = memory.erase(Wanted(session=other, secrets=True))
    assert receipt["verified"]["said_elsewhere"] >= 5
    assert b"".join(memory.raw(ERASED)) == log(logs).read_bytes()
    assert ANTHROPIC not in "".join(texts(memory, other))
    with pytest.raises(NotFound):
        memory.erasable(Wanted(secrets=True, since_ms=1, until_ms=2))
    memory.erase(EVERY)
    assert is_without(memory)


def test_masked_lines_can_be_erased_and_stay_so(memory: Memory, logs: Path) -> None:
    memory.ingest([logs])
    memory.erase(EVERY)
    memory.erase(Wanted(match="do not tell anyone"))
    assert memory.ingest([logs]).taken == 0
    assert not any("do not tell anyone" in each for each in texts(memory))
    assert is_without(memory)


def test_a_secret_is_found_again_by_its_receipt_and_a_short_one_has_no_fingerprint() -> None:
    salt = b"s" * 16
    prints = SecretPrints.of(salt, [GITHUB, "hunter2-9x", "correct horse battery staple", "a" * 40])
    assert len(prints.prints) == 1
    again = SecretPrints.unpacked(salt, prints.packed())
    assert again == prints
    looking = Looking(secrets=again)
    for data in (
        b"x" * 77 + GITHUB.encode() + b"y",
        GITHUB.encode("utf-16-le"),
        b"z" * ((1 << 19) - 10) + GITHUB.encode(),
    ):
        assert looking.found_in(data) == prints.prints
    assert not looking.found_in(GITHUB[:-1].encode() + b"x" * 1000)


def test_the_hash_that_finds_places_gives_little_away() -> None:
    """Of what is linear in a secret's bytes no more than three bytes are kept."""
    prints = SecretPrints.of(b"s" * 16, [GITHUB]).prints
    assert all(0 <= hash_ < 1 << 24 for hash_, _ in prints)


def test_own_files_that_still_hold_a_secret_are_named(memory: Memory, logs: Path) -> None:
    memory.ingest([logs])
    chosen, _ = memory.erase(EVERY)
    assert memory.sources_of_erased(chosen) == [str(log(logs))]


def test_what_was_looked_at_is_not_read_again_and_what_came_since_is(
    memory: Memory, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.ingest([logs])
    would = memory.erasable(EVERY)
    since = "ghp_" + "Zx9Qw8Er7Ty6" * 3
    new = "c0ffee00-0000-4000-8000-0000000000cc"
    write(log(logs, new), [record(new, 0, "user", f"GITHUB_TOKEN={since}")])
    memory.ingest([logs])
    read: list[bytes] = []
    mask = secrets.mask_pieces

    def reading(pieces: Any, known: Any = None) -> Any:
        if known is None:
            read.extend(pieces)
        return mask(pieces, known or {})

    monkeypatch.setattr(secrets, "mask_pieces", reading)
    chosen, _ = memory.erase(EVERY, would=would)
    assert [data for data in read if since.encode() not in data] == []
    assert read
    assert chosen.counts["secrets"] == would.counts["secrets"] + 1
    assert is_without(memory)
    assert places_with(memory, since) == set()
