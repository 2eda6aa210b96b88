"""A model that asks its memory: one turn for each tool, and what their answers must say.

The two clients differ in how a tool is named and in what they wrap its answer in, and in nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from tests.clients.standin import Block, Request, Turn

FENCE = "<recollect-memory "
CATALOG = 'kind="catalog"'
QUESTION = "Where do we dry the quinces this year?"
ANSWER = "I hung the quinces from the third beam, behind the blue curtain."

Tool = Callable[..., Block]


def every_tool(tool: Tool) -> list[Turn]:
    """The turns of a script named "ask", each of one call."""

    def read(request: Request) -> list[Block]:
        """The model takes the id from the hits it was given."""
        hit = re.search(r"^([0-9a-f]{8,})\s", request.results["toolu_ask_1_0"], re.MULTILINE)
        assert hit, request.results
        return [tool("read_memory", id=hit[1])]

    return [
        [tool("memory_status")],
        [tool("search_memory", query="quinces beam curtain")],
        read,
        [tool("recall_context", search_terms=["quinces", "beam"], question="Where are they?")],
        [tool("list_threads")],
        [tool("ingest_sessions")],
    ]


def check_answers(results: Mapping[str, str], session: str) -> None:
    """Each answer is a real one about the conversation of `QUESTION` and `ANSWER`."""
    status, search, reading, recall, threads, ingest = (results[key] for key in sorted(results))
    assert re.search(r'"sessions": ?[1-9]', status)
    for answer in (search, reading, recall, threads):
        assert FENCE in answer
    assert "behind the blue curtain" in search
    assert QUESTION in reading
    assert ANSWER in reading
    assert ANSWER in recall
    assert "quinces" in threads
    assert session[:8] in search
    assert session[:8] in threads
    assert re.search(r'"sources": ?[1-9]', ingest)
