"""The examples of docs/integrations.md run as they stand."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.clients.standin import StandIn, text
from tests.support import ROOT
from tests.support.children import environment

PAGE = (ROOT / "docs/integrations.md").read_text("utf-8")
EXAMPLES = dict(re.findall(r"^## ([^\n]+)\n\n```python\n(.*?)```", PAGE, re.M | re.S))

# What a person has set up already: a model that answers.
BEFORE = {
    "OpenAI Agents SDK": (
        "import agents\n"
        "from tests.integrations.test_openai_agents import Scripted, spoken\n"
        "agents.set_tracing_disabled(True)\n"
        "agents.models.multi_provider.MultiProvider.get_model = lambda self, name: Scripted(spoken('uv'))\n"
    )
}
SAYS = {
    "Claude Agent SDK": "ResultMessage",
    "OpenAI Agents SDK": "uv",
    "LangGraph": "This team installs with uv.",
    "Pydantic AI": "success (no tool calls)",
}


@pytest.mark.parametrize("name", SAYS)
def test_an_example_runs_as_it_stands_and_what_was_said_is_found(name: str, tmp_path: Path) -> None:
    with StandIn() as standin:
        standin.script("folder", [text("A harbor.")])
        env = {
            **environment(),
            "HOME": str(tmp_path),
            "ANTHROPIC_API_KEY": "sk-dummy",
            "ANTHROPIC_BASE_URL": standin.url,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_TELEMETRY": "1",
            "IS_SANDBOX": "1",
            "LANG": os.environ.get("LANG", "C.UTF-8"),
        }
        words = [sys.executable, "-c", BEFORE.get(name, "") + EXAMPLES[name]]
        done = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert SAYS[name] in done.stdout
        asked = [sys.executable, "-m", "recollect", "--store", "agent.h5", "search", "installer folder"]
        found = subprocess.run(asked, cwd=tmp_path, env=env, capture_output=True, text=True, check=True)
        assert re.search(r"Which installer|What is in this folder", found.stdout)


def test_every_package_has_an_example() -> None:
    assert EXAMPLES.keys() == SAYS.keys()
