"""What a call is answered with when it cannot be done: the sentence a client of chroma-mcp knows."""

from __future__ import annotations


class Refused(Exception):
    """A call that is not carried out. Its text is the answer; nothing was changed."""
