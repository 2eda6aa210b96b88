"""Whether a store's file goes by a second name, beside which other side files would stand.

A symbolic link is followed before anything else. A hard link, or the file mounted by itself elsewhere, cannot
be: the journal beside one name is not seen from the other, and a commit there would write over this one's.
"""

from __future__ import annotations

import os
import sys

from recollect.values.errors import StoreError

TYPE_CHECKING = False  # as `typing` has it; importing that costs a hook milliseconds
if TYPE_CHECKING:
    from recollect.values.errors import Name

_MOUNTS = "/proc/self/mountinfo"


def refuse_second_name(path: Name) -> None:
    """Raise if the file there is known by another name too; for whoever is about to write."""
    try:
        found = os.stat(path)
    except OSError:
        return  # what is wrong with it is for its opener to say
    if found.st_nlink > 1 and found.st_nlink > 1 + _own_links(path, found):
        raise StoreError(
            f"{path}: has a second name, a hard link: what is written beside one is not seen by the other",
            hint="remove the other name, or make it a symbolic link; `recollect snapshot` makes a copy",
        )
    if sys.platform == "linux" and _is_mounted(path):
        raise StoreError(
            f"{path}: is mounted by itself, and its journal would not be seen from where it comes",
            hint="mount the folder it is in instead of the file",
        )


def _own_links(path: Name, found: os.stat_result) -> int:
    """How many names beside it are of our own making: a file being born, one that a repair keeps."""
    folder, name = os.path.split(os.path.abspath(path))
    count = 0
    with os.scandir(folder) as entries:
        for entry in entries:
            ours = entry.name.startswith((f".{name}.", f"{name}.damaged-"))
            if ours and os.path.samestat(entry.stat(follow_symlinks=False), found):
                count += 1
    return count


def _is_mounted(path: Name) -> bool:
    wanted = os.path.abspath(path)
    for plain, escaped in (("\\", "\\134"), (" ", "\\040"), ("\t", "\\011"), ("\n", "\\012")):
        wanted = wanted.replace(plain, escaped)
    try:
        with open(_MOUNTS, "rb") as file:
            return any(line.split(b" ")[4:5] == [os.fsencode(wanted)] for line in file)
    except OSError:
        return False
