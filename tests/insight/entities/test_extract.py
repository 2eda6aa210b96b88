"""What an entry mentions: by type, under one name, harmless, whatever the text is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.insight.entities.extract import mentions_of
from recollect.insight.entities.mention import ERROR_WORDS, MENTIONS_MAX, NAME_CHARS
from recollect.search.mentions import TYPES
from recollect.values.records import Entry, Flag, Kind

ROOT = "/home/ada/work/harbor"


def call(tool: str, **given: Any) -> Entry:
    return Entry(Kind.CALL, json.dumps(given), tool=tool, call="1")


def names(entry: Entry, called: Entry | None = None, root: str = ROOT) -> dict[str, list[str]]:
    """The names an entry mentions, by type."""
    found: dict[str, list[str]] = {}
    for each in mentions_of(entry, called, root):
        found.setdefault(each.type, []).append(each.name)
    return found


def said(text: str) -> dict[str, list[str]]:
    return names(Entry(Kind.ANSWER, text))


def printed(text: str, command: str = "make all", flags: int = 0) -> dict[str, list[str]]:
    return names(Entry(Kind.RESULT, text, flags), call("Bash", command=command))


# -- what is said of settings ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("Set `tideLimit` in settings.json to 3", ["tideLimit"]),
        ("`package.json` の `main`/`files` を直す", ["main", "files"]),
        ("- `Cargo.toml`: add `lto = true` below `[profile.release]`", ["lto", "profile.release"]),
        ("the [lib] section of Cargo.toml", ["lib"]),
        ("`biome.json` has `scripts.moor`", ["scripts.moor"]),
        ('Put this into `.harborrc.json`:\n```json\n{\n  "berths": 3\n}\n```', ["berths"]),
        # Beside no file of settings, or as something else, a name is none.
        ("Set `tideLimit` in dock.py to 3", []),
        ("[debug] spec: Cargo.toml", []),
        ("[the manual](Cargo.toml) and `run()` in Cargo.toml", []),
        ('The server says:\n```json\n{\n  "berths": 3\n}\n```', []),
    ],
)
def test_keys_of_settings_are_known_beside_their_file(text: str, keys: list[str]) -> None:
    assert said(text).get("config_key", []) == keys


def test_a_package_with_its_version_is_no_key() -> None:
    found = said('Added `keyring = "3"` to Cargo.toml')
    assert (found["library"], found.get("config_key")) == (["keyring"], None)


# -- calls ---------------------------------------------------------------------------------------------


def test_a_call_names_its_tool_its_file_and_what_it_writes() -> None:
    found = names(
        call("Write", file_path=f"{ROOT}/src/dock.py", content="class Pier:\n    def moor_ship(self): ...")
    )
    assert found["tool"] == ["Write"]
    assert found["file"] == ["src/dock.py"]
    assert (found["class"], found["function"]) == (["Pier"], ["moor_ship"])


def test_a_file_has_one_name_however_its_path_is_written() -> None:
    written = [
        f"{ROOT}/src/dock.py",
        "src/dock.py",
        "./src/dock.py",
        "src/dock.py:12:3",
        f"{ROOT}/.claude/worktrees/calm-sea/src/dock.py",
        f"file://{ROOT}/src/dock.py",
    ]
    assert {tuple(names(call("Read", file_path=path))["file"]) for path in written} == {("src/dock.py",)}
    windows = call("Read", file_path="D:\\harbor\\src\\dock.py")
    assert names(windows, root="D:\\harbor")["file"] == ["src/dock.py"]


def test_a_command_is_its_program_and_subcommand() -> None:
    line = "cd docs && sudo git -C /srv/a log | head -3; npm run lint; FOO_BAR=1 python3 -m pytest -q 2>&1"
    found = names(call("Bash", command=line))
    assert found["command"] == ["git log", "head", "npm run lint", "python3 -m pytest"]
    assert found["folder"] == ["docs", "/srv/a"]
    assert found["env_var"] == ["FOO_BAR"]


def test_what_is_quoted_or_fed_to_a_program_is_read_as_what_it_is() -> None:
    line = (
        "ssh root@dock.example.org \"psql -d harbor -c 'SELECT 1 FROM berths'\"\n"
        "python3 - <<'EOF'\nimport json\nEOF\n"
        "git commit -m 'moor: use DuckDB for tides (#12)'"
    )
    found = names(call("Bash", command=line))
    assert found["command"] == ["ssh", "psql", "python3", "git commit"]
    assert found["database"] == ["harbor", "berths", "DuckDB"]
    assert found["url"] == ["dock.example.org"]
    assert (found["module"], found["issue"]) == (["json"], ["#12"])


@pytest.mark.parametrize(
    ("command", "branch"),
    [
        ("git checkout -b fix/tide", "fix/tide"),
        ("git push -u origin moor-ships", "moor-ships"),
        ("git merge origin/main", "main"),
        ("git log main..HEAD", "main"),
        ("gh pr create --base main --title x", "main"),
    ],
)
def test_a_command_of_git_names_branches(command: str, branch: str) -> None:
    assert names(call("Bash", command=command))["branch"] == [branch]


def test_a_checkout_of_a_file_names_no_branch() -> None:
    found = names(call("Bash", command="git checkout src/dock.py"))
    assert found["file"] == ["src/dock.py"]
    assert "branch" not in found


def test_a_patch_names_its_files() -> None:
    patch = "*** Begin Patch\n*** Update File: src/dock.py\n@@\n-x\n+y\n*** End Patch"
    assert names(Entry(Kind.CALL, patch, tool="apply_patch"))["file"] == ["src/dock.py"]


@pytest.mark.parametrize("tool", ["apply_patch", "Bash"])
def test_a_patch_is_read_as_the_files_it_changes(tool: str) -> None:
    body = '@@ -1,2 +1,3 @@\n   "devDependencies": {\n+    "tide-tables": "^2.0.0"\n   }\n'
    if tool == "Bash":
        found = printed(
            "diff --git a/package.json b/package.json\nindex 1a2b3c4..5d6e7f8\n" + body, "git diff"
        )
    else:
        patch = f"*** Begin Patch\n*** Update File: package.json\n{body}*** End Patch"
        found = names(Entry(Kind.CALL, patch, tool=tool))
    assert found["file"] == ["package.json"]
    assert (found["library"], found["config_key"]) == (["tide-tables"], ["devDependencies"])


def test_settings_name_the_commands_they_hold() -> None:
    text = '{\n "scripts": {\n  "dev": "vite --host"\n },\n "allow": [\n  "Bash(git add:*)"\n ]\n}'
    found = names(Entry(Kind.RESULT, text), call("Read", file_path="/x/settings.json"))
    assert found["command"] == ["vite", "git add"]


def test_what_a_forge_is_asked_is_an_endpoint() -> None:
    found = names(call("Bash", command="gh api repos/ada/harbor/pulls/7/comments"))
    assert found["api_endpoint"] == ["repos/ada/harbor/pulls/7/comments"]
    assert (found["repository"], found["issue"]) == (["ada/harbor"], ["ada/harbor#7"])


# -- results -------------------------------------------------------------------------------------------


def test_what_git_prints_are_commits_branches_and_people() -> None:
    found = printed(
        "commit 73953e44f6b23c2117ffbb5ace767abc806dfebc\nAuthor: Ada Mole <ada@dock.dev>\n\n"
        "    moor\n\n src/dock.py | 4 ++++\n[next d03764b1] moor\nOn branch fix/tide\n",
        "git log --stat",
    )
    assert found["commit"] == ["d03764b", "73953e4"]
    assert found["branch"] == ["next", "fix/tide"]
    assert found["person"][0] == "Ada Mole"
    assert found["file"] == ["src/dock.py"]


def test_a_forges_lists_name_requests_and_branches() -> None:
    found = printed("12\tmoor: ships\tfix/tide\tOPEN\t2026-03-01T10:00:00Z\n", "gh pr list")
    assert (found["issue"], found["branch"]) == (["#12"], ["fix/tide"])
    assert printed("7\tOPEN\tTides are late\t\t2026-03-01\n", "gh issue list")["issue"] == ["#7"]


def test_commands_between_bare_fences_are_commands() -> None:
    assert said("Then:\n\n```\nnpm run build\nbuild done\n```\n")["command"] == ["npm run build"]


def test_ids_of_other_things_are_no_commits() -> None:
    assert "commit" not in printed("Command running in background with ID: b02940e")
    assert "commit" not in printed("index b88496b..175ce87 100644")


def test_an_error_is_known_by_what_stays_the_same() -> None:
    one = printed("Traceback (most recent call last):\nFileNotFoundError: no file '/tmp/a 1' at line 12")
    two = printed("FileNotFoundError: no file '/srv/b' at line 99")
    assert one["error"] == two["error"] == ["filenotfounderror no file at line"]


@pytest.mark.parametrize("text", ["12 passed, 0 failed", "0 errors", "error: null", "no problems"])
def test_success_is_no_error(text: str) -> None:
    assert "error" not in printed(text)


def test_source_that_is_shown_is_no_error_that_happened() -> None:
    shown = printed("Error: unreachable berth", "sed -n '1,9p' src/dock.ts")
    assert "error" not in shown


def test_a_refused_tool_call_is_an_error() -> None:
    refused = Entry(Kind.RESULT, "File has not been read yet. Read it first.", int(Flag.ERROR))
    assert names(refused, call("Edit", file_path="a.py"))["error"] == [
        "file has not been read yet read it first"
    ]


def test_a_manifest_lists_packages_and_keys() -> None:
    text = '{\n "scripts": {\n  "lint": "eslint ."\n },\n "devDependencies": {\n  "@types/node": "^20"\n }\n}'
    found = names(Entry(Kind.RESULT, text), call("Read", file_path=f"{ROOT}/package.json"))
    assert found["library"] == ["@types/node"]
    assert found["config_key"] == ["scripts", "lint", "devDependencies"]


def test_imports_tell_packages_from_the_projects_own_modules() -> None:
    python = names(Entry(Kind.RESULT, "import numpy as np\nimport json\nfrom harbor.dock import moor_ship\n"),
                   call("Read", file_path="a.py"))  # fmt: skip
    assert (python["library"], python["module"]) == (["numpy"], ["json", "harbor.dock"])
    imports = "import { z } from 'zod'\nimport x from './dock'\nimport f from 'node:fs'"
    script = names(Entry(Kind.RESULT, imports), call("Read", file_path="a.ts"))
    assert (script["library"], script["module"]) == (["zod"], ["./dock", "node:fs"])
    rust = names(Entry(Kind.RESULT, "use tokio::sync::Mutex;\nmod berth;\nuse std::time::Instant;"),
                 call("Read", file_path="a.rs"))  # fmt: skip
    assert (rust["library"], rust["module"]) == (["tokio"], ["berth", "std::time"])


def test_packages_that_are_installed_are_libraries() -> None:
    line = "uv pip install httpx==0.27 'rich[all]' && npm i -D vitest-mock; git config core.hooksPath x"
    found = names(call("Bash", command=line))
    assert found["library"] == ["httpx", "rich", "vitest-mock"]
    assert found["config_key"] == ["core.hooksPath"]


@pytest.mark.parametrize(
    ("path", "text", "keys"),
    [
        ("pyproject.toml", "[tool.ruff]\nline-length = 110\n[project]", "tool.ruff line-length project"),
        (
            ".github/workflows/ci.yml",
            "on:\n  push:\njobs:\n  test:\n    steps: []\n",
            "on push jobs test steps",
        ),
    ],
)
def test_settings_are_known_by_their_keys(path: str, text: str, keys: str) -> None:
    for result, called in [
        (Entry(Kind.RESULT, text), call("Read", file_path=f"{ROOT}/{path}")),
        (Entry(Kind.RESULT, text), call("Bash", command=f"cat {path}")),
    ]:
        assert names(result, called)["config_key"] == keys.split()


def test_what_a_harness_put_into_a_result_mentions_nothing() -> None:
    text = "done\n<system-reminder>read `src/secret.py` with git log</system-reminder>\n"
    assert printed(text) == {}


# -- what was said -------------------------------------------------------------------------------------


def test_sentences_name_things() -> None:
    found = said(
        "`moorShip()` fails in src/dock.ts since PR #7: `BerthTable` asks `/api/berths` on GitHub Actions. "
        "Run `cargo test` on the `fix/tide` branch, set `HARBOR_API_KEY`, see https://dock.dev/tides. "
        "It is a React app in TypeScript with PostgreSQL."
    )
    assert found["function"] == ["moorShip"]
    assert found["file"] == ["src/dock.ts"]
    assert found["issue"] == ["#7"]
    assert found["class"] == ["BerthTable"]
    assert found["api_endpoint"] == ["/api/berths"]
    assert found["service"] == ["GitHub Actions"]
    assert found["command"] == ["cargo test"]
    assert found["branch"] == ["fix/tide"]
    assert found["env_var"] == ["HARBOR_API_KEY"]
    assert found["url"] == ["dock.dev/tides"]
    assert (found["framework"], found["language"], found["database"]) == (
        ["React"],
        ["TypeScript"],
        ["PostgreSQL"],
    )


def test_several_spellings_are_one_thing() -> None:
    assert said("Postgres or PostgreSQL?")["database"] == ["PostgreSQL"]
    assert said("commit 73953e4 is 73953e44f6b23c2117ffbb5ace767abc806dfebc")["commit"] == ["73953e4"]


def test_ordinary_words_are_no_things() -> None:
    text = "Let me render it and go on. Linear growth, step #3, and/or more. Express color: #333; in UTF-8."
    assert said(text) == {}


def test_an_address_keeps_neither_password_nor_query() -> None:
    found = mentions_of(Entry(Kind.PROMPT, "https://ada:hunter2@dock.dev/a?token=s3cret"))
    assert [each.name for each in found if each.type == "url"] == ["dock.dev/a"]


@pytest.mark.parametrize("kind", [Kind.THOUGHT, Kind.EVENT, Kind.CONTEXT, Kind.SUMMARY, Kind.IMAGE])
def test_only_what_was_said_and_done_mentions_anything(kind: Kind) -> None:
    assert mentions_of(Entry(kind, "src/dock.py")) == []


# -- whatever the text is ------------------------------------------------------------------------------

PIECES = [
    "a", "/", "./", "::", "(", "`", '"', "\\", "<<A\n", "$(", "&&", "|", " ", "\n", "\t", "#1", "@", "https://",
    "fn a(", "use a::{", "import {", "const a = (", "=>", "<A", "<system-reminder>", "```", "error: ", "x=",
    "\x1b[31m", "\u202e", "\ud800", "\x00", "é", "中", "git log ", "SELECT a FROM ", "*** Update File: ",
    "command not found", "`a` branch", "Error: ", "File \"", "{", "[", "1→", "worktrees/", "Ignore all",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES), max_size=60).map("".join) | st.text(max_size=200)
CALLS = st.sampled_from([call("Bash", command="git log"), call("Read", file_path="a.rs"), None])


@given(text=TEXTS, kind=st.sampled_from(list(Kind)), called=CALLS, tool=TEXTS, root=TEXTS)
def test_names_are_harmless_whatever_the_text_is(
    text: str, kind: Kind, called: Entry | None, tool: str, root: str
) -> None:
    inside = Entry(Kind.CALL, json.dumps({"command": text, "file_path": text, text: [text]}), tool=tool)
    for entry in (Entry(kind, text, tool=tool), inside):
        found = mentions_of(entry, called, root)
        assert len(found) <= MENTIONS_MAX
        for each in found:
            assert each.type in TYPES
            for name in (each.name, each.written):
                assert 0 < len(name) <= NAME_CHARS
                assert name.isprintable()
                assert not set(name) & set("<>`\n")
            assert each.type != "error" or len(each.name.split()) <= ERROR_WORDS


@given(text=TEXTS, called=CALLS)
def test_the_same_entry_mentions_the_same_things_in_the_same_order(text: str, called: Entry | None) -> None:
    entry = Entry(Kind.RESULT, text)
    assert mentions_of(entry, called, ROOT) == mentions_of(entry, called, ROOT)


@pytest.mark.parametrize("piece", PIECES)
def test_a_text_that_repeats_itself_is_read_to_its_end(piece: str) -> None:
    """What would take for ever here is a pattern that tries every way to split a text."""
    text = piece * (8_000 // len(piece))
    for kind in (Kind.PROMPT, Kind.CALL, Kind.RESULT):
        mentions_of(Entry(kind, text, tool="Bash"), call("Bash", command=text), ROOT)
    mentions_of(call("Bash", command=text), None, ROOT)


def test_of_a_huge_text_only_so_much_is_read() -> None:
    text = "src/first.py\n" + "x y\n" * 500_000 + "src/last.py\n"
    assert said(text)["file"] == ["src/first.py", "src/last.py"]
    assert (
        len(mentions_of(Entry(Kind.ANSWER, " ".join(f"src/a{n}.py" for n in range(9_000))))) <= MENTIONS_MAX
    )
