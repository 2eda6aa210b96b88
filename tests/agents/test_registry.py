"""Which agents there are, and that nothing outside their folders knows any of them by name."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path, PurePath
from types import SimpleNamespace
from typing import Any

import pytest

import recollect
from recollect.agents import registry
from recollect.agents.contract import Agent, Parser
from recollect.agents.head import Head
from recollect.agents.unknown import UnknownAgent, UnknownParser
from recollect.intake.discover import discover
from recollect.light import agents as light
from recollect.present.agents import Names
from recollect.values.records import SourceFile

PACKAGE = Path(recollect.__file__).parent


class Owl(Agent):
    """An agent of somebody else's, with the least there can be."""

    name = "owl"
    title = "Owl"
    version = 1

    def roots(self, home: PurePath, environ: Any) -> list[PurePath]:
        return [home / ".owl"]

    def recognise(self, path: PurePath, head: Head) -> SourceFile | None:
        return SourceFile(self.name, str(path)) if head.data.startswith(b"OWL1\n") else None

    def parser(self, source: SourceFile, state: Any) -> Parser:
        return UnknownParser(source)


class OwlWithHooks(Owl):
    def hooks(self) -> Any:
        return SimpleNamespace(place=lambda path: (1, 1, "s", ""))


class Installed:
    """The entry points that other packages have."""

    def __init__(self) -> None:
        self.points: list[SimpleNamespace] = []
        self.asked = 0

    def add(self, name: str, agent: Any) -> None:
        def load() -> Any:
            if isinstance(agent, Exception):
                raise agent
            return agent

        self.points.append(SimpleNamespace(name=name, value=f"{name}_package:AGENT", load=load))

    def entry_points(self, *, group: str) -> list[SimpleNamespace]:
        assert group == "recollect.agents"
        self.asked += 1
        return self.points


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[Installed]:
    made = Installed()
    monkeypatch.setattr(metadata, "entry_points", made.entry_points)
    monkeypatch.setattr(light, "_known", {})
    for cached in (registry._installed, registry.all_tools):
        cached.cache_clear()
    yield made
    for cached in (registry._installed, registry.all_tools):
        cached.cache_clear()


class TestOurs:
    def test_every_folder_with_an_agent_is_one_of_that_name(self) -> None:
        folders = {path.parent.name for path in PACKAGE.glob("agents/*/agent.py")}
        assert folders == set(registry.names()) == {agent.name for agent in registry.built_in()}
        assert {"claude", "codex"} <= folders

    def test_what_a_hook_finds_by_name_is_what_the_agent_says(self) -> None:
        for agent in registry.built_in():
            assert light.hooks_of(agent.name) is agent.hooks()

    def test_their_names_and_titles_cost_next_to_nothing(self) -> None:
        """Every start of the command asks for them."""
        heavy = {"dataclasses", "orjson", "pathlib", "uuid", "importlib.metadata", "numpy", "tomllib"}
        program = (
            f"import sys; sys.path.insert(0, {str(PACKAGE.parent)!r}); before = set(sys.modules);"
            "from recollect.present import agents; agents.titles(), str(agents.Names('writer'));"
            f"print(*sorted({heavy!r} & (set(sys.modules) - before)))"
        )
        done = subprocess.run(
            [sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == ""

    def test_no_other_package_is_asked_for_one_of_ours(self, installed: Installed) -> None:
        assert registry.agent_of("claude").name == "claude"
        assert registry.agent_of("recollect").name == "recollect"
        assert "claude" in Names("writer")
        assert light.hooks_of("codex") is not None
        assert installed.asked == 0


class TestOfOtherPackages:
    def test_one_is_known_by_name_and_listed_last(self, installed: Installed) -> None:
        installed.add("owl", Owl())
        assert registry.agent_of("owl").title == "Owl"
        assert [agent.name for agent in registry.agents()] == [*registry.names(), "owl"]
        assert installed.asked == 1

    def test_its_files_are_found_by_their_bytes(self, installed: Installed, tmp_path: Path) -> None:
        installed.add("owl", Owl())
        (tmp_path / "talk.owl").write_bytes(b"OWL1\nhello\n")
        (tmp_path / "other.owl").write_bytes(b"OWL2\nhello\n")
        found = discover([tmp_path])
        assert [(each.file.agent, Path(each.file.path).name) for each in found.found] == [("owl", "talk.owl")]
        assert dict(found.skipped) == {"not a known log": 1}

    def test_what_it_cannot_do_is_not_assumed(self, installed: Installed) -> None:
        installed.add("owl", Owl())
        owl = registry.agent_of("owl")
        for capability in ("hooks", "reader", "writer", "tools"):
            assert not owl.has(capability)
            assert getattr(owl, capability)() is None
        assert light.hooks_of("owl") is None
        assert "owl" not in Names("writer")

    def test_hooks_find_it_too(self, installed: Installed) -> None:
        installed.add("owl", OwlWithHooks())
        hooks = light.hooks_of("owl")
        assert hooks is not None
        assert hooks.place("/x") == (1, 1, "s", "")

    @pytest.mark.parametrize(
        ("what", "why"),
        [
            (ImportError("no module named owl"), "ImportError: no module named owl"),
            (RuntimeError("at import"), "RuntimeError: at import"),
            (object(), "not an instance of recollect.agents.contract.Agent"),
            (Owl, "not an instance of recollect.agents.contract.Agent"),
            (UnknownAgent("../owl"), "'../owl' is no name for an agent"),
            (UnknownAgent("claude"), "claude is taken"),
        ],
    )
    def test_a_broken_one_is_reported_and_left_out(
        self, installed: Installed, tmp_path: Path, what: Any, why: str
    ) -> None:
        installed.add("broken", what)
        installed.add("owl", Owl())
        assert [agent.name for agent in registry.agents()] == [*registry.names(), "owl"]
        assert registry.troubles() == (f"agent broken (broken_package:AGENT): {why}",)
        assert dict(discover([tmp_path]).skipped) == {registry.troubles()[0]: 1}

    def test_a_name_that_nobody_has_only_keeps_its_lines(self, installed: Installed) -> None:
        for name in ("", "tomorrow", "../x", "claude.agent"):
            assert isinstance(registry.agent_of(name), UnknownAgent)
            assert light.hooks_of(name) is None


# Programs of others that are called after an agent.
_OTHERS = re.compile(r"claude[-_](?:mem\b|mem_chroma|agent[-_]sdk)", re.IGNORECASE)


def test_nothing_outside_their_folders_names_an_agent() -> None:
    """Not in code, comments or help texts: a new agent must touch its folder alone."""
    words = {
        word
        for agent in registry.built_in()
        for word in (agent.name, agent.title, *agent.moved_by, agent.home.rpartition("/")[2])
        if word and not word.startswith("XDG_")  # everyone's
    }
    # A cursor is also how far a source was read: of the agent, its files are looked for instead.
    words -= {"cursor", "Cursor", ".cursor"}
    words |= {"state.vscdb", "store.db"}
    # A short name is a part of many words, and of what HTML writes for "&".
    named_so = "|".join(map(re.escape, sorted(words)))
    pattern = re.compile(rf"(?<![a-z0-9&])(?:{named_so})(?![a-z0-9])", re.IGNORECASE)
    # An integration is for one package, and named as that is.
    apart = {PACKAGE / "agents", PACKAGE / "integrations", PACKAGE / "memory" / "mirrors.py"}
    files = [path for path in PACKAGE.rglob("*.py") if not apart & {path, *path.parents}]
    assert len(files) > 100
    named = [
        f"{path.relative_to(PACKAGE)}:{number}: {line.strip()}"
        for path in files
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if pattern.search(_OTHERS.sub("", line))
    ]
    assert named == []


def test_no_agent_knows_another() -> None:
    """What two of them share lies beside their folders."""
    for name in registry.names():
        for path in (PACKAGE / "agents" / name).rglob("*.py"):
            others = set(re.findall(r"recollect\.agents\.(\w+)", path.read_text("utf-8"))) & set(
                registry.names()
            )
            assert others <= {name}, path


def test_inside_a_hook_an_agent_nobody_knows_has_no_hooks_and_costs_the_others_nothing() -> None:
    """A hook sees no site-packages, so that asking for installed agents fails there."""
    program = "import sys; sys.path.append(sys.argv[1]); from recollect.light.agents import hooks_of; "
    program += "print(hooks_of('nobody'), hooks_of('claude') is not None)"
    command = [sys.executable, "-I", "-S", "-c", program, str(PACKAGE.parent)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["None", "True"]
