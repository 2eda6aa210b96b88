"""A project that is none is told, and the one that was probably meant."""

from __future__ import annotations

from recollect.present.projects import unknown_project_note
from recollect.values.records import SessionFacts
from recollect.values.stored import Session


def test_a_part_that_no_name_has_is_told_with_the_nearest_name() -> None:
    sessions = [Session(SessionFacts("claude", "1", project="github.com/ada/harbor"), "here", 1)]
    assert unknown_project_note("Harb", sessions) == ""
    assert unknown_project_note("", []) == ""
    assert unknown_project_note("harbr", sessions).endswith("did you mean github.com/ada/harbor?")
    assert unknown_project_note("moon", sessions) == "no project's name has 'moon' in it"
