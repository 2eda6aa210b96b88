"""How each client is run: what it is told, how it is asked, where its conversations lie.

Each has its settings written into the home of a `Machine` and talks to the stand-in; nothing of it comes
from whoever runs the tests. What a client calls its shell, and what it wants with it, is here too.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from tests.clients.clients import Ended, Machine, binary, claude_environment, ended
from tests.clients.sessions import encoded
from tests.clients.standin import Block, use
from tests.clients.terminal import Terminal

MODEL = "stand-in"


class Driver(ABC):
    """One client. `kept_in` are the folders, below a home, that hold what it keeps of conversations."""

    name: ClassVar[str]
    kept_in: ClassVar[tuple[str, ...]]
    takes_images: ClassVar[bool] = True

    def settings(self, url: str) -> Mapping[str, str]:
        """The files it is configured by, as paths below the home."""
        return {}

    @abstractmethod
    def environment(self, url: str) -> dict[str, str]: ...

    @abstractmethod
    def words(self, prompt: str, resume: str, image: Path | None) -> list[str]:
        """The command line that asks one prompt, without the client's own name."""

    @abstractmethod
    def session(self, machine: Machine, ended: Ended) -> str:
        """The id of the conversation that was had."""

    @abstractmethod
    def shell(self, command: str) -> Block:
        """The model calls the client's shell."""

    @abstractmethod
    def write(self, path: Path, content: str) -> Block:
        """The model has the client write a file that is not there yet."""

    def prepare(self, machine: Machine) -> None:
        for path, data in self.settings(machine.model).items():
            target = machine.home / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(data)

    def start(
        self, machine: Machine, prompt: str, *, resume: str = "", image: Path | None = None
    ) -> subprocess.Popen[bytes]:
        words = [str(binary(self.name)), *self.words(prompt, resume, image)]
        return machine.start(words, self.environment(machine.model))

    def ask(self, machine: Machine, prompt: str, *, resume: str = "", image: Path | None = None) -> str:
        """One prompt and all that comes of it; returns the id of the conversation."""
        return self.session(machine, ended(self.start(machine, prompt, resume=resume, image=image)))

    def files(self, machine: Machine) -> dict[str, bytes]:
        """What it keeps now, by the path below the home."""
        found = [path for folder in self.kept_in for path in (machine.home / folder).rglob("*")]
        return {
            str(path.relative_to(machine.home)): path.read_bytes() for path in sorted(found) if path.is_file()
        }

    def stop(self, machine: Machine) -> None:  # noqa: B027  most leave nothing
        """End what the client leaves running when it has answered."""


class Claude(Driver):
    name = "claude"
    kept_in = (".claude/projects",)

    def environment(self, url: str) -> dict[str, str]:
        return claude_environment(url)

    def words(self, prompt: str, resume: str, image: Path | None) -> list[str]:
        known = ["--resume", resume] if resume else []
        shown = f" @{image}" if image else ""
        return ["-p", prompt + shown, "--output-format", "json", "--allowedTools", "Bash,Write", *known]

    def session(self, machine: Machine, ended: Ended) -> str:
        return ended.session

    def shell(self, command: str) -> Block:
        return use("Bash", command=command, description="a step")

    def write(self, path: Path, content: str) -> Block:
        return use("Write", file_path=str(path), content=content)


class ClaudeNewest(Claude):
    name = "claude-newest"


class Codex(Driver):
    """Its settings are there: every `Machine` has them."""

    name = "codex"
    kept_in = (".codex/sessions",)

    def environment(self, url: str) -> dict[str, str]:
        return {"OPENAI_API_KEY": "dummy"}

    def words(self, prompt: str, resume: str, image: Path | None) -> list[str]:
        free = "--dangerously-bypass-approvals-and-sandbox"
        known = ["resume", resume] if resume else []
        shown = ["-i", str(image), "--"] if image else []
        return ["exec", "--skip-git-repo-check", "--json", free, *known, *shown, prompt]

    def session(self, machine: Machine, ended: Ended) -> str:
        return ended.session

    def shell(self, command: str) -> Block:
        return use("exec_command", cmd=command, yield_time_ms=20_000)

    def write(self, path: Path, content: str) -> Block:
        lines = "".join(f"+{line}\n" for line in content.splitlines())
        patch = f"*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch"
        return self.shell(f"apply_patch <<'EOF'\n{patch}\nEOF")


class Pi(Driver):
    name = "pi"
    kept_in = (".pi/agent/sessions",)

    def settings(self, url: str) -> Mapping[str, str]:
        model = {
            "id": MODEL,
            "reasoning": True,
            "input": ["text", "image"],
            "contextWindow": 200_000,
            "maxTokens": 8_000,
            "cost": {"input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75},
        }
        local = {"baseUrl": f"{url}/v1", "api": "openai-completions", "apiKey": "dummy", "models": [model]}
        return {".pi/agent/models.json": json.dumps({"providers": {"local": local}})}

    def environment(self, url: str) -> dict[str, str]:
        return {"PI_OFFLINE": "1", "PI_TELEMETRY": "0"}

    def words(self, prompt: str, resume: str, image: Path | None) -> list[str]:
        known = ["--session", resume] if resume else []
        shown = [f"@{image}"] if image else []
        return ["--provider", "local", "--model", MODEL, "--mode", "json", *known, "-p", *shown, prompt]

    def session(self, machine: Machine, ended: Ended) -> str:
        return str(_found(ended, "session")["id"])

    def shell(self, command: str) -> Block:
        return use("bash", command=command)

    def write(self, path: Path, content: str) -> Block:
        return use("write", path=str(path), content=content)


class Qwen(Driver):
    name = "qwen"
    kept_in = (".qwen/projects", ".qwen/usage")

    def environment(self, url: str) -> dict[str, str]:
        # By its name it knows what a model can be shown.
        return {"OPENAI_API_KEY": "dummy", "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_MODEL": "qwen3-vl-plus"}

    def words(self, prompt: str, resume: str, image: Path | None) -> list[str]:
        known = ["--resume", resume] if resume else []
        shown = f" @{image}" if image else ""
        return ["--auth-type", "openai", "-y", *known, "--output-format", "json", "-p", prompt + shown]

    def session(self, machine: Machine, ended: Ended) -> str:
        """From the beginning: of what is more than a pipe holds, it leaves without having said the rest."""
        found = re.search(r'"session_id":"([^"]+)"', ended.out)
        assert found, ended
        return found[1]

    def shell(self, command: str) -> Block:
        return use("run_shell_command", command=command, description="a step", is_background=False)

    def write(self, path: Path, content: str) -> Block:
        return use("write_file", file_path=str(path), content=content)


class Gemini(Driver):
    name = "gemini"
    kept_in = (".gemini/tmp",)

    def settings(self, url: str) -> Mapping[str, str]:
        auth = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
        return {".gemini/settings.json": json.dumps(auth)}

    def environment(self, url: str) -> dict[str, str]:
        return {
            "GEMINI_API_KEY": "dummy",
            "GOOGLE_GEMINI_BASE_URL": url,
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
        }

    def words(self, prompt: str, resume: str, image: Path | None) -> list[str]:
        known = ["--resume", resume] if resume else []
        shown = f" @{image}" if image else ""
        return ["--yolo", "-m", "gemini-2.5-pro", *known, "--output-format", "json", "-p", prompt + shown]

    def session(self, machine: Machine, ended: Ended) -> str:
        return ended.session

    def shell(self, command: str) -> Block:
        return use("run_shell_command", command=command, description="a step")

    def write(self, path: Path, content: str) -> Block:
        return use("write_file", file_path=str(path), content=content)


class Copilot(Driver):
    name = "copilot"
    kept_in = (".copilot",)

    def environment(self, url: str) -> dict[str, str]:
        return {
            "COPILOT_OFFLINE": "true",
            "COPILOT_AUTO_UPDATE": "false",
            "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
            "COPILOT_PROVIDER_TYPE": "openai",
            "COPILOT_PROVIDER_API_KEY": "dummy",
            "COPILOT_MODEL": MODEL,
        }

    def words(self, prompt: str, resume: str, image: Path | None) -> list[str]:
        known = [f"--resume={resume}"] if resume else []
        shown = ["--attachment", str(image)] if image else []
        return ["--allow-all-tools", "--output-format", "json", *known, *shown, "-p", prompt]

    def session(self, machine: Machine, ended: Ended) -> str:
        return str(_found(ended, "result")["sessionId"])

    def shell(self, command: str) -> Block:
        return use("bash", command=command, description="a step", mode="sync")

    def write(self, path: Path, content: str) -> Block:
        return use("create", path=str(path), file_text=content)


class OpenCode(Driver):
    name = "opencode"
    kept_in = (".local/share/opencode",)

    def settings(self, url: str) -> Mapping[str, str]:
        model = {
            "name": MODEL,
            "reasoning": True,
            "attachment": True,
            "tool_call": True,
            "interleaved": {"field": "reasoning_content"},
            "modalities": {"input": ["text", "image"], "output": ["text"]},
            "cost": {"input": 3, "output": 15, "cache_read": 0.3, "cache_write": 3.75},
            "limit": {"context": 200_000, "output": 8_000},
        }
        options = {"baseURL": f"{url}/v1", "apiKey": "dummy"}
        local = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": {MODEL: model}}
        named = f"local/{MODEL}"
        whole = {"model": named, "small_model": named, "autoupdate": False, "provider": {"local": local}}
        return {".config/opencode/opencode.json": json.dumps(whole)}

    def environment(self, url: str) -> dict[str, str]:
        return {
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        }

    def words(self, prompt: str, resume: str, image: Path | None) -> list[str]:
        known = ["--session", resume] if resume else []
        shown = ["--file", str(image)] if image else []
        return ["run", "--format", "json", *known, prompt, *shown]

    def session(self, machine: Machine, ended: Ended) -> str:
        return str(json.loads(ended.out.splitlines()[0])["sessionID"])

    def shell(self, command: str) -> Block:
        return use("bash", command=command, description="a step")

    def write(self, path: Path, content: str) -> Block:
        return use("write", filePath=str(path), content=content)


class Grok(Driver):
    name = "grok"
    kept_in = (".grok/sessions",)

    def settings(self, url: str) -> Mapping[str, str]:
        lines = [
            "[models]",
            'default = "local"',
            "[model.local]",
            f'model = "{MODEL}"',
            'name = "local"',
            f'base_url = "{url}/v1"',
            'api_key = "dummy"',
            'api_backend = "chat_completions"',
            "context_window = 200000",
        ]
        return {".grok/config.toml": "\n".join(lines) + "\n"}

    def environment(self, url: str) -> dict[str, str]:
        return {
            "XAI_API_KEY": "dummy",
            "GROK_TELEMETRY_ENABLED": "0",
            "DISABLE_TELEMETRY": "1",
            "GROK_DISABLE_AUTOUPDATER": "1",
            "GROK_XAI_API_BASE_URL": f"{url}/v1",
            "GROK_CLI_CHAT_PROXY_BASE_URL": f"{url}/v1",
        }

    def words(self, prompt: str, resume: str, image: Path | None) -> list[str]:
        known = ["--resume", resume] if resume else []
        fixed = ["--always-approve", "--model", "local", "--output-format", "json", *known]
        if image is None:
            return [*fixed, "-p", prompt]
        shown = {"type": "image", "mimeType": "image/png", "data": encoded(image.read_bytes())}
        return [*fixed, "--prompt-json", json.dumps([{"type": "text", "text": prompt}, shown])]

    def session(self, machine: Machine, ended: Ended) -> str:
        return str(ended.json["sessionId"])

    def shell(self, command: str) -> Block:
        return use("run_terminal_command", command=command, description="a step")

    def write(self, path: Path, content: str) -> Block:
        return use("write", file_path=str(path), content=content)


class Cline(Driver):
    name = "cline"
    kept_in = (".cline/data",)

    def prepare(self, machine: Machine) -> None:
        words = ["auth", "-p", "openai-compatible", "-k", "dummy", "-m", MODEL, "-b", f"{machine.model}/v1"]
        ended(machine.start([str(binary(self.name)), *words], self.environment(machine.model)))

    def environment(self, url: str) -> dict[str, str]:
        return {"CLINE_NO_AUTO_UPDATE": "1"}

    def words(self, prompt: str, resume: str, image: Path | None) -> list[str]:
        assert not resume, "it goes on with a conversation in a terminal alone"
        return ["--json", f"{prompt} @{image}" if image else prompt]

    def ask(self, machine: Machine, prompt: str, *, resume: str = "", image: Path | None = None) -> str:
        if not resume:
            return super().ask(machine, prompt, image=image)
        environment = machine.environment(**self.environment(machine.model))
        with Terminal([str(binary(self.name)), "--id", resume], environment, machine.work) as terminal:
            # It takes keys before it has read the conversation, and then forgets them.
            terminal.show(self._last_words(machine, resume))
            terminal.type(prompt)
            terminal.wait(lambda: self._has_answered(machine, resume, prompt), "it does not answer")
        return resume

    def _has_answered(self, machine: Machine, session: str, prompt: str) -> bool:
        said = self._messages(machine, session)
        return prompt in json.dumps(said) and said[-1]["role"] == "assistant"

    def _last_words(self, machine: Machine, session: str) -> str:
        """How the last text begins, which is all of it that is sure to stand on the screen in one piece."""
        blocks = [block for message in self._messages(machine, session) for block in message["content"]]
        return " ".join([block["text"] for block in blocks if block["type"] == "text"][-1].split()[:3])

    def _messages(self, machine: Machine, session: str) -> list[dict[str, Any]]:
        path = machine.home / f".cline/data/sessions/{session}/{session}.messages.json"
        return list(json.loads(path.read_bytes())["messages"])

    def session(self, machine: Machine, ended: Ended) -> str:
        """It tells its id to nobody; what it wrote last is what it had."""
        kept = (machine.home / ".cline/data/sessions").glob("*/*.messages.json")
        return max(kept, key=lambda path: path.stat().st_mtime_ns).parent.name

    def shell(self, command: str) -> Block:
        return use("run_commands", commands=[command])

    def write(self, path: Path, content: str) -> Block:
        return use("editor", path=str(path), new_text=content)

    def stop(self, machine: Machine) -> None:
        for process, called in machine.processes().items():
            if "--cline-hub-daemon" in called:
                os.kill(process, signal.SIGTERM)
        machine.settle()


class Droid(Driver):
    name = "droid"
    kept_in = (".factory/sessions",)
    takes_images = False

    def settings(self, url: str) -> Mapping[str, str]:
        model = {
            "id": f"custom:{MODEL}-0",
            "index": 0,
            "model": MODEL,
            "displayName": MODEL,
            "provider": "generic-chat-completion-api",
            "baseUrl": f"{url}/v1",
            "apiKey": "dummy",
            "maxOutputTokens": 8_000,
        }
        return {".factory/settings.json": json.dumps({"customModels": [model], "cloudSessionSync": False})}

    def environment(self, url: str) -> dict[str, str]:
        return {"FACTORY_API_KEY": "fk-dummy", "FACTORY_API_BASE_URL": url}

    def words(self, prompt: str, resume: str, image: Path | None) -> list[str]:
        known = ["--session-id", resume] if resume else []
        fixed = ["exec", "--auto", "high", "-m", f"custom:{MODEL}-0", "--output-format", "json"]
        return [*fixed, *known, prompt]

    def session(self, machine: Machine, ended: Ended) -> str:
        return ended.session

    def shell(self, command: str) -> Block:
        risk = {"riskLevel": "low", "riskLevelReason": "It only prints."}
        return use("Execute", command=command, summary="a step", timeout=60, **risk)

    def write(self, path: Path, content: str) -> Block:
        return use("Create", file_path=str(path), content=content)


DRIVERS: dict[str, Driver] = {
    driver.name: driver
    for driver in (
        Claude(),
        ClaudeNewest(),
        Codex(),
        Pi(),
        Qwen(),
        Gemini(),
        Copilot(),
        OpenCode(),
        Grok(),
        Cline(),
        Droid(),
    )
}


def _found(ended: Ended, kind: str) -> dict[str, Any]:
    """The first line of this type that a client printed."""
    lines = (json.loads(line) for line in ended.out.splitlines() if line.startswith("{"))
    return next(line for line in lines if line.get("type") == kind)
