"""Which files a session changed: what was written and stayed, inside the project."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.insight.digest.told import FOLDER, Told

from recollect.insight.digest.changes import changed_files, project_path
from recollect.values.digests import Changed


def changed(told: Told) -> list[Changed]:
    return changed_files(told.steps, FOLDER)


def paths(told: Told) -> list[str]:
    return [each.path for each in changed(told)]


def test_edits_are_added_up_with_their_lines() -> None:
    told = Told().asks("x").edits("src/a.py", "one\ntwo", "one\n2\n3").edits("src/a.py", "z", "")
    assert changed(told) == [Changed("src/a.py", 2, 2, "e3")]


def test_a_patch_names_its_files_and_lines() -> None:
    told = Told().asks("x")
    patch = "*** Begin Patch\n*** Update File: src/a.py\n@@\n same\n-old\n+new\n+more\n*** End Patch"
    told.calls("apply_patch", "Success", input=patch)
    assert changed(told) == [Changed("src/a.py", 2, 1, "e1")]


@pytest.mark.parametrize(
    ("command", "written"),
    [
        ("cat > src/a.py <<'EOF'\nx\nEOF", ["src/a.py"]),
        ("sed -i 's/a/b/' src/a.py src/b.py", ["src/a.py", "src/b.py"]),
        ("sed -n 1,9p src/a.py", []),
        ("git mv old.py new.py", ["old.py", "new.py"]),
        ("rm old.py", ["old.py"]),
        ("rm -rf build", []),
        ("cp a.py b.py", ["b.py"]),
        ("echo x | tee -a notes.txt", ["notes.txt"]),
        ("pytest > /dev/null 2>&1", []),
        ("echo x > /tmp/y", []),
        ("ssh root@h 'echo x > /etc/hosts'", []),
        ("grep -r x src > $OUT", []),
    ],
)
def test_a_shell_writes_too(command: str, written: list[str]) -> None:
    assert paths(Told().asks("x").runs(command)) == written


def test_what_failed_or_was_refused_changed_nothing() -> None:
    told = (
        Told()
        .asks("x")
        .edits("a.py", failed=True)
        .refuses("Edit", file_path="b.py", old_string="", new_string="x")
    )
    assert paths(told.runs("rm c.py", "no such file", failed=True)) == []


def test_what_came_and_went_is_no_change() -> None:
    assert paths(Told().asks("x").writes("probe.py").runs("python probe.py && rm probe.py")) == []
    assert paths(Told().asks("x").edits("kept.py").runs("rm kept.py")) == ["kept.py"]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        (f"{FOLDER}/src/a.py", "src/a.py"),
        ("./src/a.py", "src/a.py"),
        ("C:\\w\\a.py", "C:/w/a.py"),
        ("/home/ada/.claude/plans/x.md", ""),
        ("/private/tmp/x", ""),
        ("/elsewhere/b.py", "/elsewhere/b.py"),
    ],
)
def test_a_path_is_told_inside_of_the_project(path: str, name: str) -> None:
    assert project_path(path, FOLDER) == name


@given(st.lists(st.sampled_from("abc")), st.lists(st.sampled_from("abc")))
def test_lines_add_up(old: list[str], new: list[str]) -> None:
    told = Told().asks("x").edits("a.py", "\n".join(["k", *old]), "\n".join(["k", *new]))
    (each,) = changed(told)
    assert each.added - each.removed == len(new) - len(old)
