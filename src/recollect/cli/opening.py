"""Opening the store a command works on."""

from __future__ import annotations

import argparse

from recollect.config import load_config
from recollect.memory import Memory


def open_memory(args: argparse.Namespace, *, create: bool = False) -> Memory:
    """The store that --store, the environment or the config names."""
    return Memory.open(config=load_config(args.store), create=create)
