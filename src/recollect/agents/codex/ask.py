"""Asking `codex exec` one question: nothing kept of it, no shell, no hooks, no servers, no search."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any, Final

from recollect.agents.asking import Answered, Asked
from recollect.agents.codex import paths
from recollect.agents.fields import dict_of, text_of

PROGRAM = "codex"
MODEL = ""
MODELS: Mapping[str, str] = {}
FORGETS: tuple[str, ...] = ()

_FORM: Final = "form.json"
_OFF: Final = (
    "shell_tool",
    "unified_exec",
    "hooks",
    "view_image",
    "multi_agent",
    "image_generation",
    "apps",
    "plugins",
)
_LIMITS: Final = ("usage limit", "rate limit", "quota", "unauthorized", "401", "not logged in")


def question(
    role: str, text: str, schema: Mapping[str, Any], *, model: str, dollars: float, environ: Mapping[str, str]
) -> Asked:
    words = (
        "exec",
        "--ephemeral",
        "--skip-git-repo-check",
        "--sandbox",
        "read-only",
        "--json",
        "--output-schema",
        _FORM,
        *(word for name in _OFF for word in ("--disable", name)),
        "-c",
        f"mcp_servers={{{','.join(f'{_key(name)}={{enabled=false}}' for name in _servers(environ))}}}",
        "-c",
        'web_search="disabled"',
        *(("--model", model) if model else ()),
        "-",
    )
    return Asked(words, f"{role}\n\n{text}".encode("utf-8", "replace"), {_FORM: json.dumps(schema).encode()})


def _servers(environ: Mapping[str, str]) -> list[str]:
    """The MCP servers of its settings: they are switched off one by one, as nothing switches off all."""
    home = environ.get("HOME") or os.path.expanduser("~")
    try:
        with open(os.path.join(paths.folder(home, environ), "config.toml"), "rb") as file:
            told = dict_of(tomllib.load(file))
    except (OSError, ValueError, RecursionError):
        return []
    return list(dict_of(told.get("mcp_servers")))


def _key(name: str) -> str:
    """A key as TOML has it; JSON's quotation is one of TOML's."""
    return json.dumps(name)


def answer(code: int, output: bytes, errors: bytes) -> Answered:
    """The last message; Codex tells no price."""
    said, trouble = "", ""
    for event in _events(output):
        item = dict_of(event.get("item"))
        if event.get("type") == "item.completed" and item.get("type") == "agent_message":
            said = text_of(item.get("text"))
        elif event.get("type") in ("turn.failed", "error"):
            trouble = text_of(dict_of(event.get("error")).get("message")) or text_of(event.get("message"))
    trouble = trouble or (errors.decode("utf-8", "replace") if code else "")
    if code or (trouble and not said):
        told = " ".join(trouble.split())[:200] or f"it ended with {code}"
        return Answered(None, None, "", told, any(mark in trouble.lower() for mark in _LIMITS))
    try:
        return Answered(json.loads(said))
    except (ValueError, RecursionError):
        return Answered(trouble="no answer in the form that was asked for")


def _events(output: bytes) -> Iterator[dict[str, Any]]:
    for line in output.splitlines():
        try:
            yield dict_of(json.loads(line))
        except (ValueError, RecursionError):
            continue
