"""The first pass: a description in facets, with what can be looked for as it is written."""

from __future__ import annotations

import datetime

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from tests.recall.assemble.conftest import Told
from tests.support.examples import examples

from recollect.recall.assemble.plan import FACETS_MAX, plan
from recollect.values.assembly import Ask, Plan
from recollect.values.errors import UsageError

NOW = datetime.datetime(2026, 3, 12)


def planned(talks: Told, description: str) -> Plan:
    return plan(talks.search, description, NOW)


def facets(talks: Told, description: str) -> list[str]:
    return [facet.text for facet in planned(talks, description).facets]


def test_a_list_is_the_whole_and_its_parts(talks: Told) -> None:
    assert facets(talks, "auth flow of the extension, OAuth tokens; draining requests") == [
        "auth flow of the extension, OAuth tokens; draining requests",
        "auth flow of the extension",
        "OAuth tokens",
        "draining requests",
    ]


def test_one_thing_is_one_facet(talks: Told) -> None:
    said = "users must sign in after every restart"
    assert facets(talks, said) == [said]


def test_and_divides_only_what_can_stand_alone(talks: Told) -> None:
    assert facets(talks, "token storage and rate limits")[1:] == ["token storage", "rate limits"]
    assert len(facets(talks, "search and replace")) == 1


def test_what_only_says_when_or_how_is_no_facet(talks: Told) -> None:
    asked = planned(talks, "refresh loop of tokens, how it was fixed, last week, rate limits in nginx")
    assert [facet.text for facet in asked.facets[1:]] == ["refresh loop of tokens", "rate limits in nginx"]
    assert asked.window is not None
    assert asked.window[0] < NOW.timestamp() * 1000 <= asked.window[1] + 86_400_000


def test_a_project_is_known_by_its_name_and_is_no_facet(talks: Told) -> None:
    asked = planned(talks, "Kestrel: where tokens are stored")
    assert asked.projects == ("kestrel",)
    assert len(asked.facets) == 1
    assert planned(talks, "kestrels and harrows of the field").projects == ()


def test_quotations_names_and_files_are_looked_for_as_written(talks: Told) -> None:
    asks = planned(talks, 'the "clock, skew" in tokens.ts near badgeFor and some_unknown.py').facets[0].asks
    assert Ask("phrase", "clock, skew") in asks
    assert Ask("file", "tokens.ts") in asks
    assert Ask("name", "badgefor") in asks
    assert Ask("name", "some_unknown.py") in asks, "no call ever named that file"


def test_the_latest_is_asked_for_by_words(talks: Told) -> None:
    assert planned(talks, "rate limits that are in place now").latest
    assert not planned(talks, "rate limits").latest


@pytest.mark.parametrize("nothing", ["", "   ", "the of and", '""', ",;:"])
def test_a_description_must_say_something(talks: Told, nothing: str) -> None:
    with pytest.raises(UsageError):
        planned(talks, nothing)


def test_a_description_has_an_end(talks: Told) -> None:
    with pytest.raises(UsageError):
        planned(talks, "token " * 3000)


@examples(150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=300) | st.text('ab ,;:."`()and-', max_size=120))
def test_whatever_is_said_becomes_a_plan_or_a_refusal(talks: Told, description: str) -> None:
    try:
        asked = planned(talks, description)
    except UsageError:
        return
    assert 1 <= len(asked.facets) <= FACETS_MAX + 1
    assert all(facet.text and facet.asks for facet in asked.facets)
