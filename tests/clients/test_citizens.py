"""What any agent did can be asked for afterwards: who wrote a file, how something is done, what mended it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.clients.clients import Machine
from tests.clients.conftest import Needs
from tests.clients.drivers import DRIVERS, Driver
from tests.clients.standin import StandIn, text

pytestmark = pytest.mark.agents

WORDS = "The lantern hangs on the third beam.\n"
RUN, FAILURE = "cat lantern.txt", "cat: lantern.txt: No such file or directory"
ATTEMPTS = 8


@pytest.fixture(params=DRIVERS)
def driver(request: pytest.FixtureRequest, machine: Machine, needs: Needs) -> Iterator[Driver]:
    needs(request.param)
    driver = DRIVERS[request.param]
    driver.prepare(machine)
    yield driver
    driver.stop(machine)


def test_what_it_wrote_ran_and_mended_is_known(driver: Driver, machine: Machine, standin: StandIn) -> None:
    path = machine.work / "lantern.txt"
    session = _mended(driver, machine, standin, path)
    assert path.read_text() == WORDS
    machine.recollect("ingest")
    (blamed,) = machine.recollect("blame", str(path), "--json").json["sessions"]
    assert blamed["session"]["id"] == session
    (known,) = machine.recollect("how", "cat", "--json").json["commands"]
    assert (known["command"], known["worked"], known["failed"]) == (RUN, 1, 1)
    (found,) = machine.recollect("fix", FAILURE, "--json").json["found"]
    digest = machine.recollect("digest", session, "--json").json
    assert [(each["path"], each["added"]) for each in digest["files"]] == [("lantern.txt", 1)]
    assert [each["text"] for each in digest["errors"]] == [FAILURE]
    assert digest["errors"][0]["solved"]
    assert found["ended_by"] == RUN


def _mended(driver: Driver, machine: Machine, standin: StandIn, path: Path) -> str:
    """The session of a client that heard its command fail. Qwen stops listening when a command ends, and on
    a busy machine keeps nothing of what it said: nobody can find that later, so it is asked anew."""
    for attempt in range(ATTEMPTS):
        steps = [driver.shell(RUN)], [driver.write(path, WORDS)], [driver.shell(RUN)], [text("It hangs.")]
        play = standin.script(f"mend{attempt}", *steps)
        session = driver.ask(machine, f"{play} Hang the lantern.")
        driver.stop(machine)
        kept = driver.files(machine)
        if any(FAILURE.encode() in data for data in kept.values()):
            return session
        for name in kept:
            (machine.home / name).unlink()
        driver.prepare(machine)
        path.unlink()
    raise AssertionError(f"{driver.name} kept nothing of what its command said")
