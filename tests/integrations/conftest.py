"""Contracts of other packages, by their own tests where they ship some: `make test-integrations`."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

_NEEDS = {
    "test_claude_agent_sdk.py": "claude_agent_sdk",
    "test_claude_client.py": "claude_agent_sdk",
    "test_langgraph.py": "langgraph",
    "test_page.py": "langgraph",
    "test_openai_agents.py": "agents",
    "test_pydantic_ai.py": "pydantic_ai",
}

# Where a package is not installed its tests cannot even be read; `test_packages.py` tells if one should be.
collect_ignore = [name for name, package in _NEEDS.items() if importlib.util.find_spec(package) is None]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents and item.path.name in _NEEDS:
            item.add_marker(pytest.mark.integrations)
