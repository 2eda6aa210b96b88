"""`start`: the first look. This machine's own logs, or a small sample where there are none."""

from __future__ import annotations

import argparse
import os
from importlib import resources
from pathlib import Path

from recollect.cli.ingest import ingest
from recollect.cli.screen import Screen
from recollect.intake.discover import agent_roots, discover


def start(args: argparse.Namespace, screen: Screen) -> int:
    args.paths, args.dry_run, args.no_index = [], False, False
    if discover(agent_roots(Path.home(), os.environ)).found:
        return ingest(args, screen)
    # In a store of its own: a person's memory holds nothing that did not happen.
    args.store = args.store or "sample.h5"
    screen.note(f"no agent logs on this machine yet; here is a sample of two conversations, in {args.store}")
    with resources.as_file(resources.files("recollect") / "sample") as sample:
        args.paths = [str(sample)]
        code = ingest(args, screen)
    screen.note(f"the commands above look at the sample with: export RECOLLECT_STORE={args.store}")
    return code
