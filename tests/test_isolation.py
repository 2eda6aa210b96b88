"""A project's folder is hostile: nothing that lies there, or in its environment, becomes code of ours."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support import SOURCE
from tests.support.children import environment
from tests.support.logs import claude_path, said, uuid_of

from recollect.cli.parser import build_parser
from recollect.config import Config
from recollect.hooks.command import mcp_command
from recollect.intake.workers import WORTH_BYTES
from recollect.light import processes

STARTERS = {
    "os": r"system|popen|exec\w+|spawn\w+|posix_spawnp?|fork|forkpty|startfile",
    "subprocess": r"Popen|run|call|check_call|check_output|getoutput|getstatusoutput",
    "asyncio": r"create_subprocess_\w+|subprocess",
    "sys": r"executable|_base_executable",
    "multiprocessing": r".*",
    "concurrent.futures": r"ProcessPoolExecutor|process",
    "pty": r".*",
}
SESSION = uuid_of(1)


def starts(tree: ast.Module) -> Iterator[str]:
    """Whatever in a module could start a program, or names the Python that would be one."""
    typed = {node for block in ast.walk(tree) if _is_for_types(block) for node in ast.walk(block)}
    for node in ast.walk(tree):
        if node in typed:
            continue
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield from _starter(node.value.id, node.attr)
        elif isinstance(node, ast.ImportFrom):
            for name in node.names:
                yield from _starter(node.module or "", name.name)
        elif isinstance(node, ast.Import):
            for name in node.names:
                if name.name.split(".")[0] in ("multiprocessing", "pty", "subprocess"):
                    yield name.name


def _starter(module: str, name: str) -> Iterator[str]:
    if re.fullmatch(STARTERS.get(module, "(?!)"), name):
        yield f"{module}.{name}"


def _is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)


def test_one_module_starts_programs() -> None:
    found = {
        str(path.relative_to(SOURCE / "recollect")): names
        for path in sorted((SOURCE / "recollect").rglob("*.py"))
        if (names := sorted(set(starts(ast.parse(path.read_text("utf-8"))))))
    }
    del found["light/processes.py"]
    # Types of what was started there: they start nothing by themselves.
    assert {path for path, names in found.items() if names != ["subprocess.Popen"]} == set()
    for path in found:
        called = [
            node
            for node in ast.walk(ast.parse((SOURCE / "recollect" / path).read_text("utf-8")))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Popen"
        ]
        assert not called, path


@pytest.mark.parametrize(
    "line",
    [
        "import subprocess",
        "from subprocess import run",
        "import os\nos.execv('x', [])",
        "import sys\n[sys.executable, '-c', 'pass']",
        "from os import system",
        "import multiprocessing.pool",
        "import asyncio\nasyncio.create_subprocess_exec('x')",
    ],
)
def test_the_walk_sees_every_way_of_starting_one(line: str) -> None:
    assert list(starts(ast.parse(line)))


# -- a folder full of traps ----------------------------------------------------------------------------


class Trap:
    """A project's folder whose modules, programs and settings leave a mark if anything runs them."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.mark = folder / "project", folder / "mark"
        self.folder.mkdir()
        self.home = folder / "home"
        self.home.mkdir()
        self._modules()
        self._programs()
        self._settings()

    def _modules(self) -> None:
        deps = ("h5py", "numpy", "tantivy", "rich", "orjson", "zstandard", "mcp", "recollect", "watchfiles")
        for name in (*sys.stdlib_module_names, *deps, "sitecustomize", "usercustomize"):
            if name not in ("__main__", "sys", "builtins"):
                (self.folder / f"{name}.py").write_text(f"open({str(self.mark)!r}, 'a').write('{name} ')\n")

    def _programs(self) -> None:
        for name in ("claude", "codex", "gemini", "git", "python", "python3", "less", "sh"):
            program = self.folder / name
            program.write_text(f"#!/bin/sh\necho {name} >> '{self.mark}'\n")
            program.chmod(0o700)

    def _settings(self) -> None:
        run = f"sh -c 'echo settings >> {self.mark}'"
        hook = {"hooks": [{"type": "command", "command": run}]}
        claude = {"hooks": {"SessionStart": [hook]}, "env": {"PYTHONPATH": "."}, "apiKeyHelper": run}
        for name, text in {
            ".env": f"PYTHONPATH={self.folder}\nRECOLLECT_STORE={self.folder}/other.h5\n",
            ".claude/settings.json": json.dumps(claude),
            ".mcp.json": json.dumps({"mcpServers": {"x": {"command": "sh", "args": ["-c", run]}}}),
            ".git/HEAD": "ref: refs/heads/main\n",
            ".git/config": f'[core]\n\tfsmonitor = "{run}"\n\thooksPath = .\n\tpager = "{run}"\n'
            f'\tsshCommand = "{run}"\n[include]\n\tpath = ../.env\n[remote "origin"]\n\turl = ext::{run}\n',
            ".gitattributes": "* filter=x diff=x\n",
            "pyvenv.cfg": f"home = {self.folder}\n",
            "recollect.toml": f'store = "{self.folder}/other.h5"\n',
        }.items():
            path = self.folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)

    def environment(self) -> dict[str, str]:
        """What a shell in that folder may have set: relative folders first, every variable of Python's."""
        path = os.environ["PATH"]
        return {
            "PATH": os.pathsep.join([".", "", str(Path("sub") / ".."), path]),
            "HOME": str(self.home),
            "PYTHONPATH": str(self.folder),
            "PYTHONUSERBASE": str(self.folder),
            "PYTHONSTARTUP": str(self.folder / "json.py"),
            "PYTHONHOME": str(self.folder),
            "PYTHONPLATLIBDIR": ".",
            "HDF5_PLUGIN_PATH": str(self.folder),
            "RECOLLECT_STORE": str(self.home / "memory.h5"),
            "RECOLLECT_CONFIG": str(self.home / "config.toml"),
        }

    def fill(self) -> None:
        """Logs of an agent, enough for worker processes to be worth their start."""
        text = "the harbor light " * 4000
        for session in range(1, 1 + WORTH_BYTES // (20 * len(text)) + 2):
            lines = [said(number, text, session) for number in range(20)]
            path = claude_path(self.home / ".claude", session)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"\n".join(lines) + b"\n")

    def begin(self, *words: str) -> subprocess.Popen[str]:
        """A command as a person gives it there.

        What the script of an installation and its interpreter find is their own business (-E).
        """
        program = f"import sys; sys.path.append({str(SOURCE)!r}); from recollect.cli import main; "
        program += "sys.exit(main())"
        return subprocess.Popen(
            [sys.executable, "-E", "-P", "-c", program, *words],
            cwd=self.folder,
            env=self.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        process = self.begin(*words)
        out, err = process.communicate()
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    def sprung(self) -> str:
        return self.mark.read_text() if self.mark.exists() else ""


@pytest.fixture
def trap(tmp_path: Path) -> Trap:
    return Trap(tmp_path)


def _message(number: int, method: str, **params: object) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n"


_HANDSHAKE = (
    _message(
        1,
        "initialize",
        protocolVersion="2025-06-18",
        capabilities={},
        clientInfo={"name": "test", "version": "1"},
    )
    + json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"})
    + "\n"
)


@pytest.mark.parametrize("words", ["ingest", "init --yes", "watch --once", "start"])
def test_workers_of_a_large_ingest_import_nothing_of_it(trap: Trap, words: str) -> None:
    trap.fill()
    done = trap.run(*words.split())
    assert done.returncode == 0, done.stderr
    assert "harbor" in trap.run("search", "harbor light").stdout
    assert not trap.sprung()


def test_nor_do_those_of_the_mcp_tool(trap: Trap) -> None:
    trap.fill()
    call = _message(2, "tools/call", name="ingest_sessions", arguments={})
    with trap.begin("mcp") as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(_HANDSHAKE + call)
        server.stdin.flush()
        assert any(json.loads(line).get("id") == 2 for line in server.stdout)
        server.stdin.close()
    assert not trap.sprung()
    assert "harbor" in trap.run("search", "harbor light").stdout


# Every command, with words it can do something with; {session} is in the store, {out} is no file yet.
COMMANDS = {
    "activity": "",
    "assemble": "the harbor light",
    "blame": "src/harbor.py",
    "catalog": "",
    "check": "",
    "chroma": "",
    "compact": "",
    "complete": "project",
    "completion": "bash",
    "convert": "{log} {out}",
    "digest": "{session}",
    "digests": "harbor",
    "embedder": "list",
    "entities": "",
    "entity": "src/harbor.py",
    "erase": "{session} --dry-run",
    "export": "{session} --to md",
    "facts": "",
    "fleet": "status",
    "fix": "ModuleNotFoundError: harbor",
    "graph": "harbor",
    "hook": "install --yes",
    "how": "run tests",
    "index": "--rebuild",
    "ingest": "",
    "init": "--yes",
    "inspect": "{store}",
    "lessons": "",
    "mcp": "",
    "merge": "{store}",
    "migrate": "{log} --dry-run",
    "notes": "",
    "projects": "",
    "recall": "harbor light",
    "remember": "harbor-light",
    "reparse": "",
    "resume": "{session} --to codex --dry-run",
    "retention": "",
    "saved": "",
    "search": "harbor",
    "sessions": "",
    "show": "{session}",
    "snapshot": "{out}",
    "start": "",
    "status": "",
    "tail": "{session}",
    "thread": "{session}",
    "threads": "--tree",
    "today": "",
    "usage": "",
    "watch": "--once",
    "week": "",
    "why": "src/harbor.py:1",
}


def test_no_command_is_left_out() -> None:
    of_commands = next(action for action in build_parser()._actions if action.metavar == "COMMAND")
    assert set(COMMANDS) == set(of_commands.choices or ())


def test_no_command_imports_or_runs_anything_of_it(trap: Trap) -> None:
    log = claude_path(trap.home / ".claude", 1)
    log.parent.mkdir(parents=True)
    log.write_bytes(said(1, "harbor light", cwd=str(trap.folder)) + b"\n")
    (trap.folder / "src").mkdir()
    (trap.folder / "src" / "harbor.py").write_text("harbor = 1\n")
    assert trap.run("ingest").returncode == 0
    said_by = {}
    for number, (command, words) in enumerate(COMMANDS.items()):
        out = trap.home / f"out-{number}"
        filled = words.format(session=SESSION, out=out, log=log, store=trap.home / "memory.h5")
        done = trap.run(command, *filled.split())
        assert "Traceback" not in done.stderr, done.stderr
        if trap.sprung():
            said_by[command] = trap.sprung()
            trap.mark.unlink()
    assert not said_by
    assert not (trap.folder / "other.h5").exists()


def test_nor_do_the_commands_that_agents_are_given(trap: Trap, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent starts them there, with whatever a project's settings put into its environment."""
    monkeypatch.delenv("PYTHONPATH", raising=False)
    config = Config(store=trap.home / "memory.h5", cache=trap.home / "cache", host="here")
    words = mcp_command(config)
    at = words.index("-m")
    # The package under test may itself be found by PYTHONPATH only, which these words switch off.
    reach = f"import sys; sys.path.append({str(SOURCE)!r}); import runpy; runpy.run_module('recollect')"
    assert set(words[1:at]) <= {"-I", "-E", "-P"}
    assert "-I" in words or {"-E", "-P"} <= set(words)
    done = subprocess.run(
        [*words[:at], "-c", reach, *words[at + 2 :]],
        cwd=trap.folder,
        env=trap.environment(),
        input=_HANDSHAKE,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    assert not trap.sprung()


def test_a_program_is_found_by_whole_paths_only(trap: Trap, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(trap.folder)
    assert processes.program_path("claude", {"PATH": os.pathsep.join([".", "", "sub/.."])}) is None
    assert processes.program_path("claude", {}) is None
    found = processes.program_path("claude", {"PATH": os.pathsep.join([".", str(trap.folder)])})
    assert found == str(trap.folder / "claude")


def test_a_program_runs_away_from_the_current_folder(tmp_path: Path) -> None:
    words = [shutil.which("pwd") or "/bin/pwd"]
    assert processes.program_output(words, environment(), seconds=60).strip() == os.sep


def test_libraries_that_only_this_process_can_find_are_found_by_those_it_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind those of the interpreter, whose names they cannot take."""
    (tmp_path / "lighthouse.py").write_text("def main():\n    import json; print(json.__file__)\n")
    (tmp_path / "json.py").write_text("raise SystemExit(3)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    child = processes.start_python("lighthouse", stdout=subprocess.PIPE)
    told, _ = child.communicate()
    assert child.returncode == 0
    assert str(tmp_path) not in told.decode()


def test_nothing_that_chooses_code_is_handed_on() -> None:
    given = {"PYTHONPATH": "x", "HDF5_PLUGIN_PATH": "x", "LD_PRELOAD": "x", "HOME": "/home/ada"}
    assert processes.environment(given) == {"HOME": "/home/ada"}
