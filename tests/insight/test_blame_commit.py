"""A commit leads to the session that made it, however much of its hash is known."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.claude_talk import Talk, remembered
from tests.support.git_folder import GitFolder, needs_git

from recollect.memory import Memory
from recollect.store.hdf5.read import Hdf5View
from recollect.values.errors import NotFound


def committing(number: int, hash_: str, subject: str) -> Talk:
    talk = Talk(number, "/home/ada/harbor")
    talk.user("Let's use httpx instead of requests.")
    talk.assistant("I do.")
    talk.user(f"Commit it as {number}")
    talk.call("Bash", f"[main {hash_}] {subject}\n 1 file changed", command="git commit -am x")
    return talk


def test_a_hash_of_either_length_leads_to_the_session(folder: Path) -> None:
    talks = committing(1, "50d8160", "gauge: a float"), committing(2, "aabbccddee", "tide")
    with remembered(folder, *talks) as memory:
        for asked in ("50d8", "50d8160", "50d8160" + "0" * 33, "50D8160"):
            (found,) = memory.blame_commit(asked, folder=str(folder)).made
            assert found.session.facts.id[7] == "1"
            assert found.commit.subject == "gauge: a float"
            assert found.prompt is not None
            assert found.prompt.entry.text == "Commit it as 1"
            assert [each.text for each in found.decisions] == ["Let's use httpx instead of requests."]
            assert not found.by_subject
        assert memory.blame_commit("50d9", folder=str(folder)).made == ()
        assert memory.blame_commit("aabbccddeeff", folder=str(folder)).known is None


def test_what_is_no_hash_is_not_found(folder: Path) -> None:
    with remembered(folder, committing(1, "50d8160", "gauge")) as memory:
        for asked in ("HEAD", "50d", "gauge", ""):
            with pytest.raises(NotFound, match="no commit"):
                memory.blame_commit(asked, folder=str(folder))


@needs_git
def test_a_repository_tells_subject_and_files_and_names_by_any_name(folder: Path, tmp_path: Path) -> None:
    work = GitFolder(tmp_path / "harbor")
    made = work.commit("gauge: a float", gauge_py="a\n")
    with remembered(folder, committing(1, made[:7], "gauge: a float")) as memory:
        found = memory.blame_commit("HEAD", folder=str(work.folder))
        assert found.known is not None
        assert (found.known.hash, found.known.files) == (made, ("gauge.py",))
        assert [each.by_subject for each in found.made] == [False]


@needs_git
def test_a_commit_that_was_rebased_is_known_by_its_subject(folder: Path, tmp_path: Path) -> None:
    work = GitFolder(tmp_path / "harbor")
    work.commit("gauge: a float", gauge_py="a\n")
    talks = committing(1, "1234567", "gauge: a float"), committing(2, "2234567", "gauge: a float of wood")
    with remembered(folder, *talks) as memory:
        assert _subjects(memory, work) == [("1", True)]
        work.commit("fix", gauge_py="b\n")
    with remembered(folder / "short", committing(3, "3234567", "fix")) as memory:
        assert _subjects(memory, work) == []


def _subjects(memory: Memory, work: GitFolder) -> list[tuple[str, bool]]:
    made = memory.blame_commit("HEAD", folder=str(work.folder)).made
    return [(each.session.facts.id[7], each.by_subject) for each in made]


def test_what_a_fork_repeats_counts_once(folder: Path) -> None:
    talk = committing(1, "50d8160", "gauge: a float")
    with remembered(folder, talk, talk.fork(9)) as memory:
        assert len(memory.sessions()) == 2
        assert len(memory.blame_commit("50d8160", folder=str(folder)).made) == 1


def test_a_digest_that_outlives_its_entries_still_tells_who_made_a_commit(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with remembered(folder, committing(1, "50d8160", "gauge: a float")) as memory:
        memory.index()

        def gone(view: object, id_: str) -> None:
            raise NotFound(f"no entry {id_}", hint="")

        monkeypatch.setattr(Hdf5View, "find_entry", gone)
        (found,) = memory.blame_commit("50d8160", folder=str(folder)).made
        assert (found.commit.subject, found.prompt) == ("gauge: a float", None)
        assert found.time_ms == found.session.facts.ended_ms
