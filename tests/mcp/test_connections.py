"""Who is cut when there are too many connections, and when."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Callable
from typing import Any, cast

import pytest
from starlette.datastructures import Headers

from recollect.mcp import connections as module
from recollect.mcp.connections import Address, Connections, most_connections
from recollect.mcp.http import has_body


class Transport:
    def __init__(self) -> None:
        self.is_cut = False

    def abort(self) -> None:
        self.is_cut = True


class Crowd:
    """Connections by the number of their port."""

    def __init__(self, most: int) -> None:
        self.connections, self.made = Connections(most), dict[int, Transport]()

    def add(self, *ports: int) -> None:
        for port in ports:
            self.made[port] = Transport()
            self.connections.add(address(port), cast(asyncio.Transport, self.made[port]))

    @property
    def cut(self) -> list[int]:
        return [port for port, transport in self.made.items() if transport.is_cut]


def address(port: int) -> Address:
    return "127.0.0.1", port


def in_loop(test: Callable[[], Any]) -> None:
    async def run() -> None:
        test()

    asyncio.run(run())


def test_the_one_that_has_waited_the_longest_is_cut_for_the_newest() -> None:
    def check() -> None:
        crowd = Crowd(3)
        crowd.add(1, 2, 3)
        assert crowd.cut == []
        crowd.add(4, 5)
        assert crowd.cut == [1, 2]
        crowd.connections.remove(address(3))
        crowd.add(6)
        assert crowd.cut == [1, 2]

    in_loop(check)


def test_what_is_answered_is_not_cut_and_waits_from_its_end_on() -> None:
    def check() -> None:
        crowd = Crowd(3)
        crowd.add(1, 2, 3)
        for port in (1, 2):
            crowd.connections.begin(address(port))
        crowd.add(4)
        assert crowd.cut == [3]
        crowd.connections.end(address(1))
        crowd.add(5, 6)
        assert crowd.cut == [1, 3, 4]

    in_loop(check)


def test_a_request_that_was_sent_along_with_another_is_answered_too() -> None:
    def check() -> None:
        crowd = Crowd(2)
        crowd.add(1)
        for told in ("begin", "begin", "end"):  # the second begins before the first has told its end
            getattr(crowd.connections, told)(address(1))
        crowd.add(2, 3)
        assert crowd.cut == [2]
        crowd.connections.end(address(1))
        crowd.add(4)
        assert crowd.cut == [2, 3]

    in_loop(check)


def test_when_all_are_answered_the_new_one_is_cut() -> None:
    def check() -> None:
        crowd = Crowd(2)
        crowd.add(1, 2)
        for port in (1, 2):
            crowd.connections.begin(address(port))
        crowd.add(3)
        assert crowd.cut == [3]
        crowd.connections.remove(address(1))
        crowd.connections.end(address(1))
        crowd.add(4)
        assert crowd.cut == [3]

    in_loop(check)


def test_the_time_runs_while_nothing_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REQUEST_SECONDS", 0.01)

    async def check() -> None:
        crowd = Crowd(9)
        crowd.add(1, 2, 3)
        for port in (2, 3):
            crowd.connections.begin(address(port))
        crowd.connections.end(address(3))
        while crowd.cut != [1, 3]:
            await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(check(), 60))


@pytest.mark.parametrize(
    ("files", "most"), [(1024, 256), (20_000, 256), (256, 64), (10, 16), (resource.RLIM_INFINITY, 256)]
)
def test_a_quarter_of_the_files_are_connections(
    monkeypatch: pytest.MonkeyPatch, files: int, most: int
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda which: (files, files))
    assert most_connections() == most


@pytest.mark.parametrize(
    ("headers", "has_one"),
    [
        ({}, False),
        ({"Content-Length": "0"}, False),
        ({"Content-Length": "10"}, True),
        ({"Transfer-Encoding": "chunked"}, True),
    ],
)
def test_a_body_is_announced(headers: dict[str, str], has_one: bool) -> None:
    assert has_body(Headers(headers)) == has_one
