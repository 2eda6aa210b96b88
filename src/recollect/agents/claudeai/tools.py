"""Claude.ai's tools, which run on its servers or in the browser: none touches a file of this machine."""

from __future__ import annotations

from recollect.agents.tools import Tools

TOOLS = Tools(fetch=frozenset({"web_fetch", "web_search"}))
