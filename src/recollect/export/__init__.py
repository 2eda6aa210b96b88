"""Sessions written out: as the agent's own bytes, as one object per entry, as a page to read."""
