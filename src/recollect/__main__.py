"""`python -m recollect` is the `recollect` command."""

from __future__ import annotations

import os
import sys

# Python puts the current folder first; it is a project's, and nothing of it is imported from here on.
if not sys.flags.safe_path and os.path.realpath(sys.path[0]) == os.path.realpath(os.curdir):
    del sys.path[0]


def main() -> int:
    """Run the command of this process's words.

    Agents wait for their status line after every answer: it does without the command line's own imports.
    """
    if sys.argv[1:] == ["usage", "--statusline"]:
        from recollect.config import load_config
        from recollect.hooks.statusline import print_line

        return print_line(load_config(), 0)
    from recollect.cli import main as run

    return run()


if __name__ == "__main__":
    sys.exit(main())
