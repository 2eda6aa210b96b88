"""Asking an agent's program about itself."""

from __future__ import annotations

from collections.abc import Mapping

from recollect.light.processes import program_output

_SECONDS = 10


def version_said(program: str | None, environ: Mapping[str, str]) -> str:
    """What a program prints for --version; "" where there is none, or it does not say."""
    return program_output([program, "--version"], environ, seconds=_SECONDS) if program else ""
