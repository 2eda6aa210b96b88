"""The one place where HDF5 is loaded: it never loads code that a file or the environment names.

A file may name a filter that the library does not have; HDF5 then looks for a shared object in the
folders of `HDF5_PLUGIN_PATH` and runs what it finds. Other variables make it load drivers as soon as
it starts. They are taken away before that, and the folders after it. Every other module imports `h5py`
from here.
"""

from __future__ import annotations

from recollect.light.processes import forget_libraries

forget_libraries()

import h5py  # noqa: E402

while h5py.h5pl.size():  # it was loaded before us, or has folders of its own
    h5py.h5pl.remove(0)

__all__ = ["h5py"]
