"""Long output, read in a person's pager: RECOLLECT_PAGER, else PAGER, else `less`.

The words of the variable are a program and its options; no shell reads them, and the program is found by
PATH alone. Only this process's own environment is asked. Where there is no pager, or it fails, the text is
simply printed.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from recollect.light.processes import feed_program, program_path
from recollect.values.text import cells

if TYPE_CHECKING:
    from collections.abc import Mapping

# The commands whose answers may be long and are complete when they are said.
PAGED = frozenset(
    """
    blame catalog fix how inspect recall saved search sessions show tail threads usage
    """.split()  # noqa: SIM905
)
_COLORS = re.compile(r"\x1b\[[0-9;]*m")
# As git has it: leave at once what fits, let colours through, leave the text on the screen. LESSSECURE: what
# stands in a log can talk a person into a keystroke, so none of them starts a program or writes a file.
_LESS = {"LESS": "FRX", "LESSSECURE": "1"}


def page(text: str, line: int, environ: Mapping[str, str]) -> bool:
    """Show a text in the pager, opened at a line of it; False if there is none or it failed."""
    words = pager_words(environ)
    if words and line > 1 and os.path.basename(words[0]) == "less":
        words.append(f"+{line}")
    settings = {**_LESS, **({"LESS": environ["LESS"]} if "LESS" in environ else {})}
    return bool(words) and feed_program(words, text.encode("utf-8", "backslashreplace"), settings)


def pager_words(environ: Mapping[str, str]) -> list[str]:
    """The pager and its options, by its whole path; nothing where a person wants none or it is not there."""
    import shlex

    asked = environ.get("RECOLLECT_PAGER", environ.get("PAGER") or "less")
    try:
        words = shlex.split(asked)
    except ValueError:  # a quote without an end
        return []
    if not words or words[0] == "cat" or (os.path.dirname(words[0]) and not os.path.isabs(words[0])):
        return []
    program = program_path(words[0], environ)
    return [program, *words[1:]] if program else []


def fits(text: str, width: int, height: int) -> bool:
    """Whether a text can be seen whole on a terminal, with the next prompt below it."""
    lines = text.splitlines()
    if len(lines) >= height:
        return False
    return sum(max(1, -(-cells(_COLORS.sub("", line)) // width)) for line in lines) < height
