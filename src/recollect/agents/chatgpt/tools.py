"""ChatGPT's tools, which run on its servers: none of them touches a file of this machine."""

from __future__ import annotations

from recollect.agents.tools import Tools

TOOLS = Tools(fetch=frozenset({"browser", "browser.open", "browser.search", "web", "web.run", "web.search"}))
