"""Every client has the same conversation with the stand-in and keeps all of it in files of its own."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest
from tests.clients import conversation
from tests.clients.clients import Machine, kill, wait_for
from tests.clients.conftest import Needs
from tests.clients.drivers import DRIVERS, Driver
from tests.clients.standin import StandIn

pytestmark = pytest.mark.agents

_SHOWN = re.compile(r"(?:iVBOR|/9j/)[A-Za-z0-9+/=]{40,}")


@pytest.fixture(params=DRIVERS)
def driver(request: pytest.FixtureRequest, machine: Machine, needs: Needs) -> Iterator[Driver]:
    needs(request.param)
    driver = DRIVERS[request.param]
    driver.prepare(machine)
    yield driver
    driver.stop(machine)


def test_a_conversation_and_its_second_prompt_are_in_the_clients_own_files(
    driver: Driver, machine: Machine, standin: StandIn
) -> None:
    picture = machine.work / "red.png"
    picture.write_bytes(conversation.PICTURE)
    shown = picture if driver.takes_images else None
    session = driver.ask(machine, conversation.first(driver, standin), image=shown)
    assert driver.ask(machine, conversation.second(standin), resume=session) == session
    driver.stop(machine)

    begun, gone_on = standin.asked("first")
    results = "\n".join(gone_on.results.values())
    assert all(printed in results for printed in conversation.PRINTED)
    (after,) = standin.asked("second")
    assert conversation.TEXTS[1] in after.words  # it was the same conversation to the model, too
    pictures = set(_SHOWN.findall(json.dumps(begun.body)))
    assert len(pictures) == int(driver.takes_images)
    told = (
        conversation.FIRST,
        conversation.SECOND,
        *conversation.THOUGHTS,
        *conversation.TEXTS,
        *conversation.COMMANDS,
        *conversation.PRINTED,
        *pictures,
    )
    assert conversation.missing(driver.files(machine), told) == []


def test_what_was_said_before_a_client_is_killed_is_in_its_files(
    driver: Driver, machine: Machine, standin: StandIn
) -> None:
    flag = machine.work / "running"
    process = driver.start(machine, conversation.doomed(driver, standin, flag))
    wait_for(flag.exists, "the call never ran")
    wait_for(
        lambda: not conversation.missing(driver.files(machine), conversation.CUT_SHORT),
        "its files do not say what was said",
    )
    kill(process)
    flag.unlink()
    driver.stop(machine)
    machine.settle()
    assert conversation.missing(driver.files(machine), conversation.CUT_SHORT) == []
    assert conversation.missing(driver.files(machine), ("Never.",)) == ["Never."]
