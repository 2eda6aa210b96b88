"""A line of a file leads to the change that brought it: by its text, by what stands around it, by git."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.claude_talk import Talk, remembered
from tests.support.git_folder import GitFolder, needs_git

from recollect.memory import Memory
from recollect.values.errors import NotFound
from recollect.values.history import Why

LINE = "clock_skew = timedelta(seconds=30)"


class Project:
    """A folder with a file, and sessions that changed it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "harbor"
        (self.folder / "src").mkdir(parents=True)
        self.path = self.folder / "src" / "gauge.py"
        self.talks: list[Talk] = []

    def talk(self, asked: str, folder: str = "") -> Talk:
        talk = Talk(len(self.talks) + 1, folder or str(self.folder))
        talk.user(asked)
        self.talks.append(talk)
        return talk

    def edit(self, old: str, new: str, *, said: str = "", path: str = "", failed: bool = False) -> None:
        talk = self.talk(f"Make {new.split()[0]} of it")
        if said:
            talk.assistant(said)
        at = path or str(self.path)
        talk.call("Edit", "done", failed=failed, file_path=at, old_string=old, new_string=new)

    def write(self, content: str) -> None:
        self.talk("Write it").call("Write", "done", file_path=str(self.path), content=content)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def asked(memory: Memory, project: Project, line: str, *, nth: int = 0, text: str = "") -> Why:
    """Why a line is in the file, which is first written as `text`."""
    if text:
        project.path.write_text(text)
    lines = project.path.read_text().splitlines()
    numbers = [number for number, each in enumerate(lines, 1) if each.strip() == line]
    return memory.why(project.path, numbers[nth])


def session_of(found: Why) -> str:
    return found.touch.session.facts.id[7] if found.touch else ""


def test_the_change_that_brought_a_line_is_told_with_what_asked_and_why(
    project: Project, folder: Path
) -> None:
    project.write("a = 1\n")
    project.edit("a = 1", f"a = 1\n{LINE}", said="Clocks differ. I allow 30 s because Safari's clock drifts.")
    project.edit("a = 1", "a = 2")
    with remembered(folder, *project.talks) as memory:
        found = asked(memory, project, LINE, text=f"a = 2\n    {LINE}\n")
        assert (found.found_by, session_of(found), found.others) == ("edit", "2", 0)
        assert found.touch is not None
        assert found.touch.prompt is not None
        assert found.touch.prompt.entry.text == "Make a of it"
        assert found.reason is not None
        assert found.reason.text == "I allow 30 s because Safari's clock drifts."
        assert found.text == LINE


def test_a_file_written_anew_brings_only_what_it_had_not(project: Project, folder: Path) -> None:
    project.write(f"{LINE}\na = 1\n")
    project.write(f"{LINE}\na = 2\nb = 22222222\n")
    with remembered(folder, *project.talks) as memory:
        assert session_of(asked(memory, project, LINE, text=f"{LINE}\na = 2\nb = 22222222\n")) == "1"
        assert session_of(asked(memory, project, "b = 22222222")) == "2"


def test_of_what_was_taken_out_and_brought_back_the_last_counts(project: Project, folder: Path) -> None:
    project.write(f"first of all\n{LINE}\nlast of all\n")
    project.edit(LINE, "nothing")
    project.edit("nothing", LINE)
    with remembered(folder, *project.talks) as memory:
        assert session_of(asked(memory, project, LINE, text=f"first of all\n{LINE}\nlast of all\n")) == "3"


def test_the_same_text_twice_is_told_apart_by_what_stands_around_it(project: Project, folder: Path) -> None:
    project.write("def depth():\n    return None\n")
    project.edit("x", "def width():\n    measured = 3\n    return None")
    text = "def depth():\n    return None\n\n\ndef width():\n    measured = 3\n    return None\n"
    with remembered(folder, *project.talks) as memory:
        first = asked(memory, project, "return None", text=text)
        assert (session_of(first), first.others) == ("1", 1)
        assert session_of(asked(memory, project, "return None", nth=1)) == "2"


def test_what_was_refused_brought_nothing_and_case_matters(project: Project, folder: Path) -> None:
    project.edit("a", LINE, failed=True)
    project.edit("a", LINE.upper())
    with remembered(folder, *project.talks) as memory:
        assert asked(memory, project, LINE, text=f"{LINE}\n").found_by == ""


def test_a_shell_that_wrote_the_line_is_found(project: Project, folder: Path) -> None:
    talk = project.talk("Write it by hand")
    talk.call("Bash", "ok", command=f"cat > src/gauge.py <<'EOF'\na = 1\n{LINE}\nEOF")
    other = project.talk("Write another")
    other.call("Bash", "ok", command=f"cat > src/other.py <<'EOF'\na = 1\n{LINE}\nEOF")
    with remembered(folder, *project.talks) as memory:
        found = asked(memory, project, LINE, text=f"a = 1\n{LINE}\n")
        assert (found.found_by, session_of(found)) == ("edit", "1")


def test_a_line_that_was_moved_is_found_in_the_file_it_came_from(project: Project, folder: Path) -> None:
    project.edit("a", LINE, path=str(project.folder / "old.py"))
    project.edit("b", "}", path=str(project.folder / "old.py"))
    with remembered(folder, *project.talks) as memory:
        found = asked(memory, project, LINE, text=f"{LINE}\n}}\n")
        assert (found.found_by, session_of(found)) == ("text", "1")
        assert asked(memory, project, "}").found_by == ""


def test_a_file_of_this_name_in_another_project_comes_second(project: Project, folder: Path) -> None:
    project.edit("a", LINE)
    far = project.talk("There", "/home/ada/other")
    far.call("Edit", "ok", file_path="/home/ada/other/src/gauge.py", old_string="a", new_string=LINE)
    with remembered(folder, *project.talks) as memory:
        assert session_of(asked(memory, project, LINE, text=f"{LINE}\n")) == "1"


@needs_git
def test_where_no_change_is_known_git_leads_to_the_session(project: Project, folder: Path) -> None:
    work = GitFolder(project.folder)
    project.path.write_text(f"a = 1\n{LINE}\n")
    made = work.commit("gauge: honour clock skew")
    talk = project.talk("Commit what I wrote")
    talk.call("Bash", f"[main {made[:7]}] gauge: honour clock skew", command="git commit -am x")
    with remembered(folder, *project.talks) as memory:
        found = asked(memory, project, LINE)
        assert found.found_by == "commit"
        assert found.path == "src/gauge.py"
        assert found.commit is not None
        assert [each.session.facts.id[7] for each in found.commit.made] == ["1"]


@needs_git
def test_a_commit_that_nobody_is_known_to_have_made_says_so(project: Project, folder: Path) -> None:
    work = GitFolder(project.folder)
    project.path.write_text(f"{LINE}\n")
    made = work.commit("gauge: honour clock skew")
    project.talk("Something else")
    with remembered(folder, *project.talks) as memory:
        found = asked(memory, project, LINE)
        assert found.found_by == ""
        assert found.commit is not None
        assert found.commit.known is not None
        assert found.commit.known.hash == made


def test_a_line_that_is_not_there_is_not_found(project: Project, folder: Path) -> None:
    project.path.write_text("a = 1\n\nb = 2\n")
    project.talk("x")
    with remembered(folder, *project.talks) as memory:
        for number in (0, 2, 4):
            with pytest.raises(NotFound, match=f"line {number}"):
                memory.why(project.path, number)
        with pytest.raises(NotFound):
            memory.why(project.folder / "gone.py", 1)


@needs_git
def test_that_git_could_not_be_asked_is_told_from_that_it_knows_no_commit(
    project: Project, folder: Path
) -> None:
    project.talk("x")
    with remembered(folder, *project.talks) as memory:
        assert asked(memory, project, LINE, text=f"{LINE}\n").git_fails
        work = GitFolder(project.folder)
        work.commit("other", other_py="a\n")
        assert not asked(memory, project, LINE).git_fails
        (project.folder / ".git" / "HEAD").write_text("broken")
        assert asked(memory, project, LINE).git_fails
