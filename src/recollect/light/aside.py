"""Damaged bytes of a store's side files, kept beside it: told of until a person has acknowledged them.

Nothing is deleted on suspicion. What is damaged cannot stay where it was found, because that file has to go
on being written; so its bytes get a file of their own, `<side file>-damaged-<checksum>`.
"""

from __future__ import annotations

import os
import zlib

from recollect.light.disk import Disk, replace_file

TYPE_CHECKING = False  # as `typing` has it; importing that costs a hook milliseconds
if TYPE_CHECKING:
    from recollect.values.errors import Name

_DAMAGED = "-damaged-"
_ACKNOWLEDGED = ".acknowledged"


def keep_aside(path: Name, data: bytes, disk: Disk) -> str:
    """Make damaged bytes of a side file survive it; keeping the same ones twice keeps them once."""
    target = f"{os.fspath(path)}{_DAMAGED}{len(data)}-{zlib.crc32(data):08x}"
    if not os.path.exists(target) and not os.path.exists(target + _ACKNOWLEDGED):
        replace_file(target, data, disk=disk, lasting=True)
    return target


def kept_aside(store: Name) -> list[str]:
    """The files beside a store that hold damaged bytes nobody has acknowledged yet."""
    folder, name = os.path.split(os.path.abspath(store))
    try:
        beside = os.listdir(folder)
    except OSError:
        return []
    return sorted(
        os.path.join(folder, each)
        for each in beside
        if each.startswith(f"{name}-") and _DAMAGED in each and not each.endswith(_ACKNOWLEDGED)
    )


def acknowledge(store: Name, disk: Disk) -> list[str]:
    """Note that a person knows of what is kept aside: it stays, and is told no more. Returns its files."""
    files = kept_aside(store)
    for each in files:
        disk.rename(each, each + _ACKNOWLEDGED)
    return [each + _ACKNOWLEDGED for each in files]
