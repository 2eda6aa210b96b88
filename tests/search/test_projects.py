"""One repository, one project: what is learnt from sessions, and what a person decides over it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.views import named_sessions

from recollect.agents.decisions import DecisionParser, decision_of, record_of
from recollect.search.project_names import ProjectNames
from recollect.store.walks import clues_of
from recollect.values.errors import NotFound, UsageError
from recollect.values.projects import JOIN, LABEL, RENAME, SPLIT, Decision
from recollect.values.records import SessionFacts
from recollect.values.stored import Session

REMOTE = "github.com/ada/harbor"


def session(
    project: str,
    cwd: str = "",
    *,
    branch: str = "",
    host: str = "here",
    imported: bool = False,
    ended_ms: int = 1,
) -> Session:
    facts = SessionFacts("claude", f"{project}{cwd}{host}", project, cwd, branch, ended_ms=ended_ms)
    return Session(facts, host, 1, imported)


def names_of(sessions: Iterable[Session], decided: Iterable[Decision] = ()) -> ProjectNames:
    return ProjectNames(clues_of(enumerate(sessions)), decided)


def called(*sessions: Session, decided: tuple[Decision, ...] = ()) -> list[str]:
    names = names_of(sessions, decided)
    return [names.called(each.clue).name for each in sessions]


class TestWhatSessionsTell:
    def test_a_remote_known_of_a_folder_holds_for_all_its_sessions(self) -> None:
        assert called(session("harbor", "/srv/harbor"), session(REMOTE, "/srv/harbor")) == [REMOTE, REMOTE]

    def test_a_worktree_is_its_repository(self) -> None:
        inside = session("1", "/srv/harbor/.worktrees/1")
        agents = session("a1", "/srv/harbor/.claude/worktrees/a1")
        assert called(inside, agents) == ["harbor", "harbor"]
        assert called(inside, agents, session(REMOTE, "/srv/harbor")) == [REMOTE] * 3
        assert (
            called(session("harbor", "/srv/harbor"), session(REMOTE, "/srv/harbor/.worktrees/1"))
            == [REMOTE] * 2
        )

    def test_a_folder_below_one_with_a_remote_is_part_of_it(self) -> None:
        assert called(session("docs", "/srv/harbor/docs"), session(REMOTE, "/srv/harbor")) == [REMOTE] * 2
        assert called(session("docs", "/srv/harbor-docs"), session(REMOTE, "/srv/harbor")) == ["docs", REMOTE]

    def test_a_folder_below_one_in_git_is_part_of_it_where_git_was_too(self) -> None:
        top, below = session("harbor", "/srv/harbor", branch="main"), "/srv/harbor/docs"
        deep = session("img", f"{below}/img", branch="dev")
        assert called(session("docs", below, branch="dev"), deep, top) == ["harbor"] * 3
        assert called(session("docs", below), top) == ["docs", "harbor"]
        assert called(session("docs", below, branch="dev"), session("harbor", "/srv/harbor"))[0] == "docs"
        assert called(session("docs", below, branch="dev", host="there"), top)[0] == "docs"

    def test_a_folder_below_a_clone_that_is_gone_is_of_its_remote(self) -> None:
        clone = session("harbor", "/old/harbor", branch="main")
        below = session("docs", "/old/harbor/docs", branch="main")
        assert called(below, clone, session(REMOTE, "/srv/harbor")) == [REMOTE] * 3

    @pytest.mark.parametrize("home", ["/home/ada", "/Users/ada", "/root", "C:\\Users\\ada"])
    def test_not_everything_in_a_home_that_is_in_git_is_one(self, home: str) -> None:
        below = session("harbor", f"{home}/harbor", branch="main")
        assert called(below, session("ada", home, branch="main"))[0] == "harbor"

    @pytest.mark.parametrize("home", ["/home/ada", "/Users/ada", "/root", "C:\\Users\\ada"])
    def test_the_remote_of_a_home_holds_for_that_folder_alone(self, home: str) -> None:
        dotfiles = session("github.com/ada/dotfiles", home)
        below = session("notes", f"{home}/notes"), session("taxes", f"{home}/taxes", branch="main")
        assert called(*below, dotfiles)[:2] == ["notes", "taxes"]
        assert called(session("ada", home), dotfiles) == ["github.com/ada/dotfiles"] * 2

    def test_the_nearest_folder_counts(self) -> None:
        inner = session("github.com/ada/crane", "/srv/harbor/crane")
        below = session("src", "/srv/harbor/crane/src")
        assert called(below, inner, session(REMOTE, "/srv/harbor"))[0] == "github.com/ada/crane"

    def test_a_clone_that_is_gone_is_known_by_its_name_where_git_was(self) -> None:
        known = session(REMOTE, "/srv/harbor")
        assert called(session("harbor", "/old/harbor", branch="main"), known) == [REMOTE, REMOTE]
        assert called(session("harbor", "/old/harbor"), known) == ["harbor", REMOTE]

    def test_a_folder_that_is_there_is_no_clone_where_git_is_not(self) -> None:
        names = names_of([session(REMOTE, "/srv/harbor")])
        assert names.name_at("harbor", "/tmp/harbor", "here", in_git=False) == "harbor"
        assert names.name_at("harbor", "/tmp/harbor", "here", in_git=True) == REMOTE

    @pytest.mark.parametrize("below", ["/d" * 64, "/d/" + "d" * 4_096])
    def test_what_is_far_below_a_repository_is_not_looked_up(self, below: str) -> None:
        """A log can claim any folder; each level of each would be looked at."""
        known = session(REMOTE, "/srv/harbor")
        assert called(session("d", f"/srv/harbor{below}"), known)[0] != REMOTE
        assert called(session("d", "/srv/harbor" + "/d" * 63), known)[0] == REMOTE

    def test_two_remotes_of_one_name_or_folder_decide_nothing(self) -> None:
        other = session("github.com/bob/harbor", "/srv/fork")
        gone = session("harbor", "/old/harbor", branch="main")
        assert called(gone, other, session(REMOTE, "/srv/harbor"))[0] == "harbor"
        box = [session("box", "/box"), session(REMOTE, "/box"), session("github.com/ada/crane", "/box")]
        assert called(*box) == ["box", REMOTE, "github.com/ada/crane"]

    def test_a_folder_of_another_host_is_another_folder(self) -> None:
        assert called(session("harbor", "/w", host="there"), session(REMOTE, "/w")) == ["harbor", REMOTE]

    def test_a_remote_is_one_however_it_is_spelt(self) -> None:
        spelt = session("github.com/Ada/Harbor", "/a", ended_ms=5), session(REMOTE, "/b")
        assert called(*spelt) == ["github.com/Ada/Harbor"] * 2

    def test_a_remote_that_names_no_repository_is_none(self) -> None:
        assert called(session("github.com/.", "/srv/harbor"), session(REMOTE, "/srv/harbor")) == [REMOTE] * 2

    def test_own_sessions_learn_nothing_from_imported_ones(self) -> None:
        own = session("harbor", "/srv/harbor", branch="main")
        claims = session("evil.example/x/harbor", "/srv/harbor", imported=True)
        assert called(own, claims) == ["harbor", "evil.example/x/harbor"]
        names = names_of([session(REMOTE, "/w"), session("bank", "/w", imported=True)])
        assert names.called(session(REMOTE, "/w").clue).aliases == ()

    def test_imported_sessions_learn_from_own_ones(self) -> None:
        assert called(session("harbor", "/w", imported=True), session(REMOTE, "/w")) == [REMOTE, REMOTE]


class TestWhatAPersonDecides:
    old, new = session("old-harbor", "/srv/old"), session(REMOTE, "/srv/harbor")

    def test_joined_projects_have_the_name_of_the_first(self) -> None:
        joined = names_of([self.old, self.new]).join("ada/harbor", "old")
        assert joined == Decision(JOIN, REMOTE, "old-harbor")
        assert called(self.old, self.new, decided=(joined,)) == [REMOTE, REMOTE]
        (project,) = names_of([self.old, self.new], [joined]).projects([self.old, self.new])
        assert (project.name, project.aliases, project.sessions) == (REMOTE, ("old-harbor",), 2)
        assert set(project.folders) == {"/srv/old", "/srv/harbor"}

    def test_a_split_takes_back_a_join(self) -> None:
        joined = Decision(JOIN, REMOTE, "old-harbor")
        split = names_of([self.old, self.new], [joined]).split("old-harbor")
        assert called(self.old, self.new, decided=(joined, split)) == ["old-harbor", REMOTE]
        again = replace(joined)
        assert called(self.old, self.new, decided=(joined, split, again)) == [REMOTE, REMOTE]

    def test_a_split_parts_what_was_found_to_be_one(self) -> None:
        clone = session("harbor", "/old/harbor", branch="main")
        split = names_of([clone, self.new]).split("harbor")
        assert called(clone, self.new, decided=(split,)) == ["harbor", REMOTE]

    def test_only_another_name_can_be_split_off(self) -> None:
        names = names_of([self.old, self.new])
        for name in (REMOTE, "nobody"):
            with pytest.raises(NotFound):
                names.split(name)

    def test_a_new_name_is_shown_and_old_ones_still_find_it(self) -> None:
        renamed = names_of([self.new]).rename(REMOTE, "Quay")
        names = names_of([self.old, self.new], [renamed])
        shown = names.called(self.new.clue)
        assert (shown.name, shown.aliases) == ("Quay", (REMOTE,))
        assert shown.is_of_project("quay")
        assert shown.is_of_project("ada/harb")
        assert names.find("ada/harbor") == names.find("quay") == "Quay"

    def test_every_name_that_was_given_still_finds_it_and_is_free_again(self) -> None:
        given = Decision(RENAME, REMOTE, "Quay"), Decision(RENAME, REMOTE, "Pier")
        names = names_of([self.old, self.new], given)
        assert names.find("quay") == names.find("pier") == "Pier"
        assert names.called(self.new.clue).aliases == ("Quay", REMOTE)
        with pytest.raises(NotFound, match="not another name"):
            names.split("Quay")
        names = names_of([self.old, self.new], [*given, names.rename("old", "Quay")])
        assert (names.find("quay"), names.find("old-harbor")) == ("Quay", "Quay")

    def test_what_can_be_split_off_is_told_without_what_it_is_called(self) -> None:
        clone = session("clone", "/srv/harbor")
        names = names_of([clone, self.new], [Decision(RENAME, REMOTE, "Quay")])
        with pytest.raises(NotFound) as told:
            names.split("Quay")
        assert told.value.hint == "its other names: clone"

    def test_nothing_is_decided_about_a_name_too_long_to_be_noted(self) -> None:
        long = session("x" * 1_001, "/srv/" + "x" * 1_001)
        names = names_of([long, self.old, self.new])
        for decide in (
            lambda: names.rename("xxx", "Quay"),
            lambda: names.label("xxx", "domain=keys"),
            lambda: names.join("xxx", "old"),
            lambda: names.join("old", "xxx"),
        ):
            with pytest.raises(UsageError, match="1,000"):
                decide()

    def test_a_given_name_holds_and_no_two_projects_are_called_the_same(self) -> None:
        renamed, later = Decision(RENAME, REMOTE, "port"), session("port", "/srv/port")
        claims = session("Port", "/evil/port", imported=True)
        names = names_of([self.new, later, claims], [renamed])
        assert names.called(self.new.clue).name == names.find("port") == "port"
        assert names.called(later.clue).name == names.find("/srv/port") == "/srv/port"
        assert names.name_at("port", "/srv/elsewhere/port", "there", in_git=False) == "/srv/port"
        gone = names_of([self.new], [renamed])
        assert gone.name_at("port", "/srv/port", "here", in_git=False) == "/srv/port"

    def test_own_projects_choose_their_names_before_imported_ones(self) -> None:
        claims = session("port", "/evil/port", imported=True)
        names = names_of([self.new, claims])
        renamed = names.rename(REMOTE, "port")
        assert called(self.new, claims, decided=(renamed,)) == ["port", "/evil/port"]

    def test_an_own_project_is_found_before_any_imported_one(self) -> None:
        claims = [session(name, f"/evil/{name}", imported=True, ended_ms=9) for name in ("harbor", "ada")]
        names = names_of([self.new, *claims])
        assert names.find("harbor") == names.find("ada") == REMOTE
        assert names.label("harbor", "domain=keys").project == REMOTE
        assert names_of([self.old, *claims]).find("ada") == "ada"

    def test_an_own_project_is_not_known_by_what_imported_logs_call_it(self) -> None:
        claims = session("bank", "/srv/harbor", imported=True)
        (project,) = names_of([self.new, claims]).projects([self.new, claims])
        assert (project.name, project.aliases) == (REMOTE, ())

    def test_a_name_that_was_given_before_a_join_still_finds_it(self) -> None:
        given = (Decision(RENAME, "old-harbor", "Pier"), Decision(JOIN, REMOTE, "old-harbor"))
        names = names_of([self.old, self.new], given)
        assert names.find("pier") == REMOTE
        assert names.called(self.new.clue).aliases == ("Pier", "old-harbor")
        assert called(self.old, decided=(*given, names.split("Pier"))) == ["Pier"]

    def test_a_name_that_another_project_has_is_refused(self) -> None:
        with pytest.raises(UsageError, match="already"):
            names_of([self.old, self.new]).rename(REMOTE, "Old-Harbor")
        with pytest.raises(UsageError, match="already"):
            names_of([self.old, self.new]).join(REMOTE, "ada/harbor")

    @pytest.mark.parametrize(
        "name", ["", "a\x1b[31mb", "a\nb", "x" * 10_000_000, "e" + "\u0301" * 200, "\u202eevil"]
    )
    def test_a_name_that_steers_a_terminal_or_fills_it_is_refused(self, name: str) -> None:
        names = names_of([self.new])
        with pytest.raises(UsageError):
            names.rename(REMOTE, name)
        if name:
            with pytest.raises(UsageError):
                names.label(REMOTE, f"domain={name}")
        assert decision_of({"type": "project", "op": RENAME, "project": REMOTE, "name": name}) is None

    @pytest.mark.parametrize("label", ["domain", "=x", "Do main=x", "\x1b=x", "x" * 10_000_000 + "=y"])
    def test_a_label_has_a_plain_key(self, label: str) -> None:
        with pytest.raises(UsageError, match="KEY=VALUE"):
            names_of([self.new]).label(REMOTE, label)

    def test_labels_are_of_the_project_and_can_be_taken_back(self) -> None:
        said = (
            Decision(LABEL, REMOTE, "payments", "domain"),
            Decision(LABEL, "old-harbor", "core", "team"),
            Decision(LABEL, "old-harbor", "past", "domain"),
            Decision(JOIN, REMOTE, "old-harbor"),
        )
        names = names_of([self.old, self.new], said)
        assert names.called(self.old.clue).labels == ("domain=payments", "team=core")
        assert names.called(self.old.clue).is_labelled("Payments")
        parted = names_of([self.old, self.new], [*said, Decision(SPLIT, "old-harbor")])
        assert parted.called(self.old.clue).labels == ("domain=past", "team=core")
        back = names_of([self.new], [*said[:1], Decision(LABEL, REMOTE, "", "domain")])
        assert back.called(self.new.clue).labels == ()


class TestWhatWasDecidedBeforeARemoteWasKnown:
    """A decision names a project as it was called that day; another session then knows its remote."""

    before, known = session("harbor", "/srv/harbor", branch="main"), session(REMOTE, "/srv/harbor")
    other = session("old", "/srv/old", branch="main")

    @pytest.mark.parametrize(
        "known", [known, session(REMOTE, "/moved/harbor"), session("x.io/o/quay", "/srv/harbor")]
    )
    def test_its_name_and_labels_stay(self, known: Session) -> None:
        decided = Decision(RENAME, "harbor", "Port"), Decision(LABEL, "harbor", "payments", "domain")
        names = names_of([self.before, known], decided)
        for each in (self.before, known):
            assert names.called(each.clue)[::2] == ("Port", ("domain=payments",))
        later = names.rename("port", "Pier"), names.label("port", "domain=")
        names = names_of([self.before, known], (*decided, *later))
        assert names.called(known.clue)[::2] == ("Pier", ())

    @pytest.mark.parametrize("known", [known, session("github.com/ada/old", "/srv/old")])
    def test_what_was_joined_stays_so_until_it_is_split(self, known: Session) -> None:
        sessions = [self.before, self.other, known]
        joined = names_of(sessions[:2]).join("harbor", "old")
        names = names_of(sessions, [joined])
        assert len(names.projects(sessions)) == 1
        split = names.split("old")
        parted = names_of(sessions, [joined, split])
        assert len(parted.projects(sessions)) == 2
        assert parted.name_decided(split) == parted.called(self.other.clue).name

    def test_what_was_parted_stays_so(self) -> None:
        sessions = [self.before, self.known]
        joined, split = Decision(JOIN, REMOTE, "harbor"), Decision(SPLIT, "harbor")
        assert called(*sessions, decided=(joined, split)) == ["harbor", REMOTE]
        renamed = Decision(RENAME, "harbor", "Port")
        assert called(*sessions, decided=(split, renamed)) == ["Port", REMOTE]

    def test_a_project_that_is_still_called_so_keeps_what_is_said_of_it(self) -> None:
        there = session("harbor", "/srv/harbor", host="there")
        names = names_of([self.before, self.known, there], [Decision(LABEL, "harbor", "payments", "domain")])
        assert names.called(there.clue) == ("harbor", (), ("domain=payments",))
        assert names.called(self.known.clue).labels == ()

    def test_what_was_said_of_a_part_is_not_said_of_the_whole(self) -> None:
        part = session("docs", "/srv/harbor/docs", branch="main")
        decided = Decision(RENAME, "docs", "Manual"), Decision(LABEL, "docs", "docs", "kind")
        names = names_of([part, self.known], decided)
        assert names.called(part.clue) == (REMOTE, ("Manual", "docs"), ())


# -- whatever is said and decided ---------------------------------------------------------------

NAMES = st.sampled_from(["a", "b", "c", "x.io/o/a", "x.io/o/b", "y.io/o/a"])
FOLDERS = st.sampled_from(["", "/w/a", "/w/b", "/w/a/.worktrees/1", "/w/a/src", "/v/a", "D:\\w\\a"])
SESSIONS = st.lists(
    st.builds(
        session,
        NAMES,
        FOLDERS,
        branch=st.sampled_from(["", "main"]),
        imported=st.booleans(),
        ended_ms=st.integers(1, 9),
    ),
    min_size=1,
    max_size=8,
)
DECISIONS = st.lists(
    st.one_of(
        st.builds(Decision, st.just(JOIN), NAMES, NAMES),
        st.builds(Decision, st.just(SPLIT), NAMES),
        st.builds(Decision, st.just(RENAME), NAMES, st.sampled_from(["Quay", "Pier"])),
        st.builds(Decision, st.just(LABEL), NAMES, st.sampled_from(["", "v"]), st.sampled_from(["k", "l"])),
    ),
    max_size=8,
)


@given(sessions=SESSIONS, decided=DECISIONS)
def test_every_session_is_of_one_project_whatever_was_decided(
    sessions: list[Session], decided: list[Decision]
) -> None:
    names = names_of(sessions, decided)
    shown = [names.called(each.clue) for each in sessions]
    projects = names.projects(sessions)
    assert sum(each.sessions for each in projects) == len(sessions)
    assert {each.name for each in shown} == {each.name for each in projects}
    for after in shown:
        assert after.name not in after.aliases
    assert len({each.name.casefold() for each in projects}) == len(projects)
    assert {names.find(each.name) for each in projects if not each.imported} == {
        each.name for each in projects if not each.imported
    }


@given(sessions=SESSIONS)
def test_a_named_session_differs_in_nothing_but_its_name(sessions: list[Session]) -> None:
    names, told = names_of(sessions), [replace(each.facts) for each in sessions]
    view = named_sessions(dict(enumerate(sessions)))
    for before, after in zip(sessions, view.sessions(), strict=True):
        called = names.called(before.clue)
        assert after.facts == replace(before.facts, project=called.name)
        assert after == replace(before, facts=after.facts, aliases=called.aliases, labels=called.labels)
        wanted = [row for row, each in enumerate(view.sessions()) if each.facts.project == called.name]
        assert view.rows_called(lambda each, name=called.name: each.name == name) == wanted
    assert [each.facts for each in sessions] == told


@given(sessions=SESSIONS, decided=DECISIONS, data=st.data())
def test_the_order_in_which_logs_come_changes_nothing(
    sessions: list[Session], decided: list[Decision], data: st.DataObject
) -> None:
    unlike = [replace(each, facts=replace(each.facts, ended_ms=n + 1)) for n, each in enumerate(sessions)]
    shuffled = data.draw(st.permutations(unlike))
    one, other = names_of(unlike, decided), names_of(shuffled, decided)
    assert [one.called(each.clue) for each in unlike] == [other.called(each.clue) for each in unlike]


@given(sessions=SESSIONS)
def test_own_sessions_are_called_the_same_with_and_without_imported_ones(sessions: list[Session]) -> None:
    own = [each for each in sessions if not each.imported]
    alone, among = names_of(own), names_of(sessions)
    assert [alone.called(each.clue) for each in own] == [among.called(each.clue) for each in own]


@given(sessions=SESSIONS, data=st.data())
def test_a_join_makes_one_and_its_split_makes_two(sessions: list[Session], data: st.DataObject) -> None:
    before = names_of(sessions)
    known = sorted(each.name for each in before.projects(sessions) if not each.imported)
    if len(known) < 2:
        return
    into, other = data.draw(st.permutations(known))[:2]
    joined = Decision(JOIN, into, other)
    after = names_of(sessions, [joined])
    renamed = [into if name == other else name for name in (before.called(s.clue).name for s in sessions)]
    assert [after.called(each.clue).name for each in sessions] == renamed
    split = names_of(sessions, [joined, Decision(SPLIT, other)])
    assert [split.called(each.clue) for each in sessions] == [before.called(each.clue) for each in sessions]


@given(value=st.recursive(st.none() | st.integers() | st.text(), lambda of: st.dictionaries(st.text(), of)))
def test_any_line_is_a_decision_or_none(value: object) -> None:
    assert decision_of(value) is None
    assert DecisionParser({}).parse(value).entries


@given(DECISIONS)
def test_a_decision_is_read_back_as_it_was_noted(decided: list[Decision]) -> None:
    for each in decided:
        assert decision_of(record_of(each)) == each
