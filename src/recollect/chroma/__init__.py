"""The tools of chroma-mcp, answered from a store: what claude-mem talks to instead of Chroma."""
