"""Asking an agent's program about itself."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping

_SECONDS = 10


def version_said(program: str | None, environ: Mapping[str, str]) -> str:
    """What a program prints for --version; "" where there is none, or it does not say."""
    if program is None:
        return ""
    try:
        asked = subprocess.run(
            [program, "--version"],
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return asked.stdout
