"""Whatever is wrong, a hook ends at once with success and stands in nobody's way."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest
from tests.support.hook_calls import EVENTS, HANG_SECONDS, Desk, finished, holding
from tests.support.mounts import leave_free, mounted, needs_root

from recollect.hooks.state import catalog_path, last_trouble
from recollect.light.journal import journal_path
from recollect.light.project import project_of
from recollect.memory import Memory
from recollect.recall.fence import MEMORY_TAG

LINES = (1, 2, 3)
Given = dict[str, Any]
Trouble = Callable[[Desk], AbstractContextManager[Given]]


@pytest.fixture
def desk(desk: Desk) -> Desk:
    desk.write(*LINES)
    return desk


# -- what can be wrong ---------------------------------------------------------------------------


@contextmanager
def nothing(desk: Desk) -> Iterator[Given]:
    yield {}


@contextmanager
def no_store(desk: Desk) -> Iterator[Given]:
    desk.store.unlink()
    yield {}


@contextmanager
def damaged_store(desk: Desk) -> Iterator[Given]:
    whole = desk.store.read_bytes()
    desk.store.write_bytes(os.urandom(len(whole)))
    yield {}
    desk.store.write_bytes(whole)


@contextmanager
def damaged_journal(desk: Desk) -> Iterator[Given]:
    journal_path(desk.store).write_bytes(os.urandom(5000))
    yield {}


@contextmanager
def store_being_written(desk: Desk) -> Iterator[Given]:
    with holding(desk.store, "WRITER"):
        yield {}


@contextmanager
def journal_being_written(desk: Desk) -> Iterator[Given]:
    with holding(journal_path(desk.store), "APPEND"):
        yield {}


@contextmanager
def no_file_may_grow(desk: Desk) -> Iterator[Given]:
    yield {"limit": 0}


@contextmanager
def full_disk(desk: Desk) -> Iterator[Given]:
    with mounted("-t", "tmpfs", "-o", "size=1m", "none") as disk:
        small = Desk(desk.home, disk / "memory.h5")
        leave_free(disk, 0)
        yield {"on": small}


@contextmanager
def read_only_disk(desk: Desk) -> Iterator[Given]:
    with mounted("-t", "tmpfs", "-o", "size=16m", "none") as disk:
        home = Desk(disk, disk / "data" / "memory.h5")
        home.write(*LINES)
        Memory.open(home.store, config=home.config).close()
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        yield {"on": home}


@contextmanager
def settings_not_readable(desk: Desk) -> Iterator[Given]:
    broken = desk.home / "config.toml"
    broken.write_text("store = [")
    yield {"env": desk.environment(RECOLLECT_CONFIG=str(broken))}


@contextmanager
def transcript_missing(desk: Desk) -> Iterator[Given]:
    aside = desk.transcript.rename(desk.home / "aside")
    yield {}
    aside.rename(desk.transcript)


@contextmanager
def no_home(desk: Desk) -> Iterator[Given]:
    env = desk.environment()
    del env["HOME"]
    yield {"env": env}


def on_stdin(given: bytes) -> Trouble:
    @contextmanager
    def trouble(desk: Desk) -> Iterator[Given]:
        yield {"given": given}

    return trouble


TROUBLES: dict[str, Trouble] = {
    "nothing": nothing,
    "store missing": no_store,
    "store damaged": damaged_store,
    "journal damaged": damaged_journal,
    "store locked": store_being_written,
    "journal locked": journal_being_written,
    "no file may grow": no_file_may_grow,
    "settings broken": settings_not_readable,
    "transcript missing": transcript_missing,
    "no home": no_home,
    "nothing on stdin": on_stdin(b""),
    "no JSON on stdin": on_stdin(b'{"session_id": "'),
    "no object on stdin": on_stdin(b"[1, 2]"),
    "no text on stdin": on_stdin(bytes(range(256)) * 40),
    "nothing but brackets": on_stdin(b"[" * 200_000),
    "wrong types on stdin": on_stdin(
        b'{"session_id": 7, "transcript_path": {"a": []}, "cwd": null, "hook_event_name": ["Stop"]}'
    ),
    "40 MB on stdin": on_stdin(b'{"hook_event_name": "Stop", "prompt": "' + b"x" * (40 << 20) + b'"}'),
}


@pytest.mark.parametrize("trouble", TROUBLES)
def test_a_hook_never_stands_in_the_way(desk: Desk, trouble: str) -> None:
    with TROUBLES[trouble](desk) as given:
        done = {event: desk.call(event, **given) for event in EVENTS}
    assert {event: each for event, each in done.items() if not each.harmless} == {}


@pytest.mark.root
@needs_root
@pytest.mark.parametrize("trouble", [full_disk, read_only_disk])
def test_a_disk_that_takes_nothing_does_not_hold_a_hook(desk: Desk, trouble: Trouble) -> None:
    with trouble(desk) as given:
        done = {event: given["on"].call(event) for event in EVENTS}
        assert given["on"].quiet()  # what a hook left running would write below the folder once it is bare
    assert {event: each for event, each in done.items() if not each.harmless} == {}


@pytest.mark.parametrize("event", EVENTS)
def test_a_client_that_never_closes_stdin_holds_no_hook_and_loses_no_line(desk: Desk, event: str) -> None:
    start = time.monotonic()
    process = desk.begin()
    assert process.stdin is not None
    process.stdin.write(json.dumps(desk.payload(event)).encode())
    process.stdin.flush()
    process.wait(timeout=HANG_SECONDS)
    assert finished(process, start, b"").harmless
    assert len(desk.remembered()) == len(LINES)


def test_what_is_told_is_one_object_with_fenced_context(desk: Desk) -> None:
    with_catalog(desk)
    done = desk.call("SessionStart", cwd="/srv/demo")
    assert done.harmless
    told = json.loads(done.out)["hookSpecificOutput"]
    assert told["hookEventName"] == "SessionStart"
    assert told["additionalContext"].startswith(MEMORY_TAG)


def test_what_is_still_being_made_at_the_start_is_told_with_a_prompt_and_once(desk: Desk) -> None:
    """The conversation before has just ended, and is being put in order: nobody waits for that."""
    with_catalog(desk)
    ready = catalog_path(str(desk.config.state), project_of("/srv/demo"))
    aside = desk.home / "made later"
    os.rename(ready, aside)
    desk.session = 2
    with holding(desk.config.state / "settle", "WRITER"):
        assert desk.call("SessionStart", cwd="/srv/demo").out == b""
        assert desk.call("UserPromptSubmit", cwd="/srv/demo").out == b""
        os.rename(aside, ready)
        desk.session = 3
        assert desk.call("UserPromptSubmit", cwd="/srv/demo").out == b""  # it was told when it began
        desk.session = 2
        told = json.loads(desk.call("UserPromptSubmit", cwd="/srv/demo").out)["hookSpecificOutput"]
        assert desk.call("UserPromptSubmit", cwd="/srv/demo").out == b""
    assert told["hookEventName"] == "UserPromptSubmit"
    assert told["additionalContext"].startswith(MEMORY_TAG)


@pytest.mark.parametrize("end", ["SessionEnd", "told"])
def test_nothing_is_left_of_a_conversation_that_was_to_be_told(desk: Desk, end: str) -> None:
    with_catalog(desk)
    with holding(desk.config.state / "settle", "WRITER"):
        desk.call("SessionStart", cwd="/srv/demo")
        assert len(list((desk.config.state / "untold").iterdir())) == 1
        desk.call("UserPromptSubmit" if end == "told" else end, cwd="/srv/demo")
    assert list((desk.config.state / "untold").iterdir()) == []


@pytest.mark.parametrize("event", EVENTS)
def test_a_client_that_reads_nothing_holds_no_hook_and_loses_no_line(desk: Desk, event: str) -> None:
    with_catalog(desk)
    desk.write(4)
    process = desk.begin()
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    process.stderr.close()
    process.stdout = process.stderr = None
    process.communicate(json.dumps(desk.payload(event, cwd="/srv/demo")).encode(), timeout=HANG_SECONDS)
    assert process.returncode == 0
    assert len(desk.remembered()) == len(LINES) + 1


def with_catalog(desk: Desk) -> None:
    """A conversation has ended, and the catalog for the next one is ready."""
    assert desk.call("SessionEnd").harmless
    assert desk.quiet()


@pytest.mark.parametrize("trouble", TROUBLES)
def test_what_could_not_be_taken_is_taken_once_the_trouble_is_over(desk: Desk, trouble: str) -> None:
    with TROUBLES[trouble](desk) as given:
        assert desk.call("Stop", **given).harmless
    desk.write(4)
    assert desk.call("Stop").harmless
    assert desk.remembered() == [f"line {number} of this talk" for number in (*LINES, 4)]


@pytest.mark.parametrize("event", EVENTS)
def test_what_went_wrong_can_be_seen_later(desk: Desk, event: str) -> None:
    state = str(desk.config.state)
    assert last_trouble(state) == (0, "")
    with journal_being_written(desk):
        desk.call(event)
    time_ms, what = last_trouble(state)
    assert time_ms > 0
    assert what.startswith(event)
    desk.call(event, transcript_path="/etc/passwd")
    assert "/etc/passwd" in last_trouble(state)[1]


@pytest.mark.root
@needs_root
def test_a_full_disk_can_be_seen_later_where_there_is_room_to_say_so(desk: Desk) -> None:
    with full_disk(desk) as given:
        given["on"].call("Stop")
        assert last_trouble(str(given["on"].config.state))[1].startswith("Stop")
