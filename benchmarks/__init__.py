"""Measurements against the marks of the issue, and the peers they are compared with.

Nothing in here is shipped with the package; `benchmarks/README.md` says how to run it.
"""
