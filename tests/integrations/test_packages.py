"""The packages that integrations are for: named where one is missing, pinned where they are tested."""

from __future__ import annotations

import importlib
import importlib.metadata
import re
import sys
import tomllib

import pytest
from tests.support import ROOT

from recollect.values.errors import UsageError

EXTRAS = {
    "claude-agent-sdk": ("claude_agent_sdk", "claude_agent_sdk"),
    "langgraph": ("langgraph", "langgraph.checkpoint.base"),
    "openai-agents": ("openai_agents", "agents.memory"),
    "pydantic-ai": ("pydantic_ai", "pydantic_ai.messages"),
}
IMPORTS = r"^\s*(?:from|import) (?:claude_agent_sdk|langgraph|agents|pydantic_ai)\b"


@pytest.mark.parametrize("extra", EXTRAS)
def test_a_missing_package_is_told_with_the_line_that_installs_it(
    extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, package = EXTRAS[extra]
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, f"recollect.integrations.{module}", raising=False)
    with pytest.raises(UsageError, match="is not installed") as told:
        importlib.import_module(f"recollect.integrations.{module}")
    assert told.value.hint == f'pip install "recollect[{extra}]"'


def test_every_integration_is_an_extra_and_nothing_else_needs_its_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    assert EXTRAS.keys() <= extras.keys()
    assert f"recollect[{','.join(EXTRAS)}]" in extras["integrations"]
    others = [path for path in (ROOT / "src").rglob("*.py") if "integrations" not in path.parts]
    assert len(others) > 100
    assert [path for path in others if re.search(IMPORTS, path.read_text("utf-8"), re.M)] == []


@pytest.mark.integrations
def test_the_versions_that_are_tested_are_those_that_are_pinned() -> None:
    text = (ROOT / "constraints-integrations.txt").read_text("utf-8")
    pins = dict(re.findall(r"^([\w.-]+)==([\w.]+)$", text, re.M))
    assert len(pins) == len(text.splitlines()) - 1, "it holds something else"
    assert {"claude-agent-sdk", "langgraph", "openai-agents", "pydantic-ai-slim"} <= pins.keys()
    assert {name: importlib.metadata.version(name) for name in pins} == pins
