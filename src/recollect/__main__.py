"""`python -m recollect` is the `recollect` command."""

from __future__ import annotations

import os
import sys

# Python puts the current folder first; it is a project's, and nothing of it is imported from here on.
if not sys.flags.safe_path and os.path.realpath(sys.path[0]) == os.path.realpath(os.curdir):
    del sys.path[0]

from recollect.cli import main

if __name__ == "__main__":
    sys.exit(main())
