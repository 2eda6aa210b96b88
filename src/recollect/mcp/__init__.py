"""The memory as an MCP server: tools for an agent that wants to know what happened before."""
