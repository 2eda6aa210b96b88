"""What an agent runs at each of its events: `python -I -S entry.py AGENT STORE STATE [HOST]`.

Whatever is wrong, the agent sees success and goes on. This is run as a file, without
site-packages, so that an event costs no more than an interpreter and what it imports.
"""

import os
import sys


def main() -> None:
    try:
        sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
        from recollect.hooks.run import run

        run(sys.argv[1:])
    finally:
        # Whatever was raised. Past the interpreter's own clean-up, which takes milliseconds and could print.
        os._exit(0)


if __name__ == "__main__":
    main()
