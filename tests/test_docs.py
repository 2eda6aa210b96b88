"""Nothing a person can meet is undocumented: commands, settings, errors, adapters, variables."""

from __future__ import annotations

import argparse
import ast
import dataclasses
import inspect
import re
from pathlib import Path

import pytest
from tests.support import ROOT

from recollect.agents.contract import Agent
from recollect.agents.registry import built_in
from recollect.cli import reference
from recollect.cli.parser import build_parser
from recollect.config import Config
from recollect.values import errors

DOCS = ROOT / "docs"
AROUND = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")]
PAGES = [
    *AROUND,
    *sorted(DOCS.glob("*.md")),
    *sorted((DOCS / "decisions").glob("*.md")),
    *sorted(ROOT.glob("examples/*/README.md")),
]
ERRORS = {
    name: value
    for name, value in vars(errors).items()
    if inspect.isclass(value) and issubclass(value, errors.RecollectError)
}


def page(name: str) -> str:
    return (DOCS / name).read_text("utf-8")


def commands() -> dict[str, argparse.ArgumentParser]:
    parser = build_parser()
    (sub,) = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return dict(sub.choices)


@pytest.mark.parametrize("name", sorted(ERRORS))
def test_every_error_is_documented_with_its_exit_code_and_what_to_do(name: str) -> None:
    text = page("errors.md")
    tree = re.search(rf"^    [ │├└─]*{name}\b.*exit (\d+)$", text, re.MULTILINE)
    assert tree is not None, "not in the tree"
    assert int(tree[1]) == ERRORS[name].exit_code
    assert re.search(rf"^\| `{name}` \|", text, re.MULTILINE), "not in the table"


@pytest.mark.parametrize("name", sorted(ERRORS))
def test_every_error_is_in_the_tree_of_its_module(name: str) -> None:
    assert re.search(rf"\b{name}\b", errors.__doc__ or "")


def test_no_error_is_documented_that_does_not_exist() -> None:
    assert set(re.findall(r"^\| `(\w+)` \|", page("errors.md"), re.MULTILINE)) == set(ERRORS)


@pytest.mark.parametrize("name", sorted(commands()))
def test_every_command_and_option_is_in_the_reference(name: str) -> None:
    text = page("cli.md")
    section = re.search(rf"^## {name}$(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert section is not None
    shared = text.partition("## ingest")[0]
    for action in commands()[name]._actions:
        for option in action.option_strings:
            if option.startswith("--") and option != "--help":
                assert option in section[1] or option in shared, option


def test_the_readme_leads_to_every_page() -> None:
    reached, ahead = set(), [ROOT / "README.md"]
    while ahead:
        path = ahead.pop()
        if path not in reached:
            reached.add(path)
            ahead += linked_pages(path)
    assert set(PAGES) - reached == set()


def test_the_index_names_every_page_of_its_folder() -> None:
    assert {path for path in linked_pages(DOCS / "README.md") if path.parent == DOCS} == (
        set(DOCS.glob("*.md")) - {DOCS / "README.md"}
    )


def test_the_reference_is_what_the_parser_says() -> None:
    """`python -m recollect.cli.reference` writes it; this fails until that was run."""
    assert page("cli.md") == reference.reference()


@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(Config)])
def test_every_setting_is_documented(name: str) -> None:
    text = page("config.md")
    assert re.search(rf"^\| `{name}` \|", text, re.MULTILINE), "not in the table"
    assert f"**`{name}`**" in text, "not explained"


def test_no_setting_is_documented_that_does_not_exist() -> None:
    table = page("config.md").partition("| setting |")[2].partition("\n\n")[0]
    documented = set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE))
    assert documented == {field.name for field in dataclasses.fields(Config)}


def test_every_variable_we_read_is_documented() -> None:
    found = set()
    for path in (ROOT / "src" / "recollect").rglob("*.py"):
        if "testing" in path.parts:  # what tests read is none of a person's settings
            continue
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found |= set(re.findall(r"^(?:RECOLLECT|CLAUDE|CODEX)_[A-Z_]+$|^NO_COLOR$", node.value))
    assert found
    for name in found:
        assert f"| `{name}` |" in page("config.md"), name


@pytest.mark.parametrize("agent", built_in(), ids=lambda agent: agent.name)
def test_every_agent_is_documented(agent: Agent) -> None:
    name, version = agent.name, agent.version
    text = page("adapters.md")
    assert f"| `{name}` |" in text
    section = re.search(rf"^## {name}$(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert section is not None
    assert f"Version {version}." in section[1]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    for linked, anchor in links(path):
        assert linked.exists(), linked
        if anchor and linked.suffix == ".md":
            heads = re.findall(r"^#+ (.+)$", linked.read_text("utf-8"), re.MULTILINE)
            assert anchor in map(anchor_of, heads), anchor


def links(path: Path) -> list[tuple[Path, str]]:
    """Where the links of a page within this repository lead: a file or folder, and an anchor or ""."""
    found = [
        target.partition("#")[::2]
        for target in re.findall(r"\]\(([^)\s]+)\)", path.read_text("utf-8"))
        if "://" not in target
    ]
    return [((path.parent / file).resolve() if file else path, anchor) for file, anchor in found]


def linked_pages(path: Path) -> list[Path]:
    """The pages a page links to; a link to a folder leads to all in it, which sites show as a list."""
    return [
        page
        for linked, _ in links(path)
        for page in (linked.glob("*.md") if linked.is_dir() else [linked])
        if page.suffix == ".md" and page.exists()
    ]


def anchor_of(head: str) -> str:
    return re.sub(r"[^\w -]", "", head).strip().lower().replace(" ", "-")


def test_decisions_are_numbered_short_and_complete() -> None:
    found = sorted((DOCS / "decisions").glob("*.md"))
    assert [int(path.name[:3]) for path in found] == list(range(1, len(found) + 1))
    for path in found:
        text = path.read_text("utf-8")
        assert len(text.splitlines()) <= 40, path.name
        for part in ("**What.**", "**Why.**", "**Rejected.**"):
            assert part in text, f"{path.name}: {part}"
