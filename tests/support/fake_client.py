"""A program that poses as a person's `claude`: it answers as it is told, and keeps what it was given."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

_PROGRAM = """\
#!{python} -I
import json, os, re, signal, sys, time
place = {place!r}
asked = sys.stdin.read()
with open(os.path.join(place, "asked.jsonl"), "a") as file:
    told = dict(words=sys.argv[1:], asked=asked, folder=os.getcwd(), files=os.listdir("."))
    told["environ"] = dict(os.environ)
    file.write(json.dumps(told) + "\\n")
number = len(open(os.path.join(place, "asked.jsonl")).readlines())
plan = json.load(open(os.path.join(place, "plan.json")))
turn = plan[min(number, len(plan)) - 1]
if "sleep" in turn:
    os.spawnlp(os.P_NOWAIT, "sleep", "sleep", "600")
    time.sleep(600)
if "kill" in turn:
    os.kill(os.getpid(), signal.SIGKILL)
if "print" in turn:
    sys.stdout.write(turn["print"])
    sys.exit(turn.get("code", 0))
session = asked.rpartition("The session:")[2]
label = r"^\\[([0-9a-f.]+) (?:user|assistant|tool)[^\\]]*\\]\\n((?:  .*\\n?)+)"
shown = dict(re.findall(label, session, re.M))
known = dict((text, id_) for id_, text in re.findall(r"^\\[([0-9a-f]+)\\] \\w+: (.*)$", asked, re.M))
facts = []
for each in turn["facts"]:
    entry = next((id_ for id_, text in shown.items() if each["in"] in text), None)
    if entry is None:
        continue
    cited = each.get("cites") or [dict(entry=entry, quote=each.get("quote", each["in"]))]
    facts.append(dict(text=each["text"], tag=each.get("tag", "decision"), citations=cited,
        supersedes=[known.get(text, text) for text in each.get("supersedes", [])]))
answer = dict(type="result", subtype="success", is_error=False, result="done")
answer |= dict(total_cost_usd=turn.get("cost", 0.01), modelUsage={{"claude-toy": {{}}}})
print(json.dumps(answer | dict(structured_output=dict(facts=facts))))
"""


class FakeClient:
    """Installed in a folder of its own; `plan` says what each question is answered with, the last again."""

    def __init__(self, folder: Path, name: str = "claude") -> None:
        folder.mkdir(parents=True)
        self._folder = folder
        program = folder / name
        program.write_text(_PROGRAM.format(python=sys.executable, place=str(folder)))
        program.chmod(0o755)

    def plan(self, *turns: dict[str, Any]) -> None:
        (self._folder / "plan.json").write_text(json.dumps(turns))
        (self._folder / "asked.jsonl").unlink(missing_ok=True)

    @property
    def asked(self) -> list[dict[str, Any]]:
        path = self._folder / "asked.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def environment(self, home: Path, **more: str) -> dict[str, str]:
        return {"PATH": f"{self._folder}:/usr/bin:/bin", "HOME": str(home), **more}
