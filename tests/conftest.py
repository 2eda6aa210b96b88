"""Fixtures that every test may ask for, and what holds for all of them."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from tests.support.examples import PROFILES
from tests.support.memories import scratch

# No test holds a time limit, nor counts how long an example takes to make: the machines are shared.
# What Hypothesis itself passes over is a matter of luck.
_UNCHECKED = [HealthCheck.too_slow, HealthCheck.filter_too_much]
for _name, _examples in PROFILES.items():
    settings.register_profile(_name, deadline=None, max_examples=_examples, suppress_health_check=_UNCHECKED)
settings.load_profile("quick")  # `--hypothesis-profile` is heard after this

# A shell starts what it puts into the background with Ctrl-C ignored, and the children inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def folder() -> Iterator[Path]:
    with scratch() as made:
        yield made


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test touches the indexes of whoever runs it."""
    monkeypatch.setenv("RECOLLECT_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
