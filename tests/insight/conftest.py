"""One store of hand-written conversations for all that looks into the past."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.claude_talk import Talk
from tests.support.memories import open_memory

from recollect.memory import Memory


@pytest.fixture
def memory(folder: Path) -> Iterator[Memory]:
    first = Talk(1, "/home/ada/harbor")
    first.user("Where are tokens kept?")
    first.call("Read", "class TokenStore: ...", file_path="/home/ada/harbor/src/auth/token_store.py")
    first.assistant("In the token store.")
    second = Talk(2, "/home/ada/harbor")
    second.user("Make the token store honour clock skew")
    second.call(
        "Edit", "done", file_path="/home/ada/harbor/src/auth/token_store.py", old_string="a", new_string="b"
    )
    second.call(
        "Bash",
        "E   psycopg.OperationalError: connection refused on port 5433",
        failed=True,
        command="pytest -q tests/auth",
        description="Run the auth tests",
    )
    second.call(
        "Edit", "done", file_path="/home/ada/harbor/compose.yaml", old_string="5432", new_string="5433"
    )
    second.call("Bash", "ready", command="docker compose up -d db", description="Start the database")
    second.call("Bash", "12 passed", command="pytest -q tests/auth", description="Run the auth tests")
    second.assistant("The database now listens on 5433, and the tests pass.")
    third = Talk(3, "/home/ada/other")
    third.user("Deploy the site to staging")
    third.call("Bash", "uploaded", command="make upload ENV=staging")
    third.call("Write", "done", file_path="/home/ada/other/token_store.py", content="x")
    third.call(
        "Bash", "psycopg.OperationalError: connection refused on port 5433", failed=True, command="./migrate"
    )
    for talk in (first, second, third):
        talk.write(folder / "logs")
    with open_memory(folder / "memory.h5") as made:
        made.ingest([folder / "logs"])
        yield made
