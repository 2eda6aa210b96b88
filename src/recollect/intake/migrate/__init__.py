"""Memories that other programs keep in SQLite: recognised by their tables, read, and made into notes."""
