"""A talk with a secret of its own in every field that we read, and one without any."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from tests.support.canaries import ERASED, KEPT, record, talk, write

GITHUB = "ghp_Zk3uV9xQ2mB7nL5rT8wY1cD4fG6hJ0pSaE2R"
ANTHROPIC = "sk-ant-api03-" + "Qm7Lx2Vb9Tn4Kc8Rw5Yz1Hd6Jf3Gs0P" * 3 + "AA"
PASSWORD = "Tr0ub4dor-and-3-staplers"
NESTED = "glpat-Yk2Vw8Qn5Tb7Lc4Rd9Zs"
ENCODED = "npm_q8Wm3Xk6Vt9Zb2Lc5Rn7Yd4Hs1Jf0Gp3Qa6T"
SHORT = "hunter2-9x"
SECRETS = (GITHUB, ANTHROPIC, PASSWORD, NESTED, ENCODED, SHORT)


def telling(id_: str = ERASED) -> list[dict[str, Any]]:
    """A conversation in which secrets are said in every way."""
    told = talk(id_, "gasket", cwd=f"/home/ada/{GITHUB}", branch=f"fix/{GITHUB}")
    first, answer, result, last, summary = told
    first["message"]["content"] = f"Deploy with GITHUB_TOKEN={GITHUB}, and do not tell anyone."
    call = answer["message"]["content"][1]
    call["input"] = {"command": f"curl -H 'x-api-key: {ANTHROPIC}' https://example.invalid/"}
    answer["message"]["content"][0]["text"] = f"I set ANTHROPIC_API_KEY={ANTHROPIC} for it."
    nested = {"env": {"GITLAB_TOKEN": NESTED}, "log": f"TOKEN={NESTED}\nok"}
    coded = base64.b64encode(f"//registry.invalid/:_authToken={ENCODED}".encode()).decode()
    result["message"]["content"][0]["content"] = json.dumps({"out": json.dumps(nested), "file": coded})
    last["message"]["content"][0]["text"] = (
        f"postgres://ada:{PASSWORD}@db.invalid/harbor works; {PASSWORD} stays."
    )
    summary["summary"] = f"Deploying with {GITHUB}"
    bare = record(id_, 6, "user", f"It was {GITHUB} all along, and mysql -u ada -p{SHORT} too.")
    return [first, answer, result, last, summary, bare]


def write_secrets(folder: Path) -> Path:
    """The logs of two sessions, one of which tells secrets, also in a line that is no record."""
    path = write(folder / "harbor" / f"{ERASED}.jsonl", telling())
    with path.open("a") as file:
        file.write(f"not json: GITHUB_TOKEN={GITHUB}\n")
    write(folder / "harbor" / f"{KEPT}.jsonl", talk(KEPT, "hull"))
    return folder
