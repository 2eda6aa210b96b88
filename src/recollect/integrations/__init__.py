"""Stores and sessions of other packages' agents, kept in a memory: a file for each package, and its contract.

None of these packages is needed by Recollect; each is an extra of its name (docs/integrations.md).
"""
