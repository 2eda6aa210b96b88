"""How a person's own client is asked one question: no tools, no hooks, no log of it, an answer in a form.

A client that can be asked has a module with these names (`Agent.asker`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Asked:
    """What a client is started with: its words behind the program's name, and what it reads."""

    words: tuple[str, ...]
    read: bytes
    files: Mapping[str, bytes]  # that lie in the folder it is started in


@dataclass(frozen=True, slots=True)
class Answered:
    """What it answered. `trouble` says why there is no value; `is_limit`: no other question would get one."""

    value: Any = None
    dollars: float | None = None
    model: str = ""
    trouble: str = ""
    is_limit: bool = False


class Asker(Protocol):
    """What is known of a client that can be asked. A module will do."""

    PROGRAM: str
    MODEL: str  # which is asked unless another is named; "" for whatever its settings say
    MODELS: Mapping[str, str]  # what short names of models stand for, to find their price
    FORGETS: tuple[str, ...]  # variables of the environment that would make it another conversation's part

    def question(
        self,
        role: str,
        text: str,
        schema: Mapping[str, Any],
        *,
        model: str,
        dollars: float,
        environ: Mapping[str, str],
    ) -> Asked:
        """What it is started with; `environ` says where its settings are, where those must be known."""
        ...

    def answer(self, code: int, output: bytes, errors: bytes) -> Answered:
        """What the client's output says; it never fails on any."""
        ...
