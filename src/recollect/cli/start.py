"""`start`: the first look. This machine's own logs, or a small sample where there are none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recollect.cli.ingest import ingest
from recollect.cli.open_memory import check_store
from recollect.cli.words import add_command
from recollect.memory.machine import are_logs, log_folders
from recollect.present.agents import titles

if TYPE_CHECKING:
    import argparse

    from recollect.cli.screen import Screen


def add_words(commands: Any) -> None:
    add_command(
        commands,
        "start",
        "the first look: this machine's logs, or a sample where there are none",
        f"Takes in whatever {titles()} have written on this machine and says what is now "
        "safe. Where they have written nothing, it shows itself on two invented conversations, in "
        "sample.h5 in the current folder.",
        ("recollect start",),
    )


def start(args: argparse.Namespace, screen: Screen) -> int:
    check_store(args.store)
    args.paths, args.dry_run, args.no_index = [], False, False
    if any(are_logs(folder) for folder in log_folders() if folder.is_dir()):
        return ingest(args, screen)
    # In a store of its own: a person's memory holds nothing that did not happen.
    args.store = args.store or "sample.h5"
    screen.note(f"no agent logs on this machine yet; here is a sample of two conversations, in {args.store}")
    from importlib import resources

    with resources.as_file(resources.files("recollect") / "sample") as sample:
        args.paths = [str(sample)]
        code = ingest(args, screen)
    screen.note(f"the commands above look at the sample with: export RECOLLECT_STORE={args.store}")
    return code
