"""Dangerous operations among a session's commands, each with what came of it.

What counts is a command that was run or refused, never a word in a text: a commit message may speak of force
pushes, and a script that is only written deletes nothing yet. What happens in throw-away folders is none, and
neither is what only looks: at another machine, into a database, through what was downloaded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise, takewhile

from recollect.insight.digest.steps import Exchange, Step, once
from recollect.insight.shell import COMMAND_CHARS_MAX, Simple
from recollect.redact import has_secret
from recollect.values.digests import Danger

DELETE = "recursive delete"
FORCE_PUSH = "force push"
REWRITE = "history rewrite"
REMOTE_DELETE = "remote branch deletion"
DROP = "drop or truncate"
SECRET = "secret printed"
PASTED = "secret pasted"
PIPED = "download piped into a shell"
PERMISSIONS = "permissions opened"
PRODUCTION = "production target"
DISK = "disk overwritten"

_COMMAND_CHARS = 200
_PROMPT_CHARS = 20_000  # in which a secret is looked for


def dangers(made: Iterable[Exchange]) -> list[Danger]:
    """The dangerous operations, in order; one of a kind for each command."""
    found: list[Danger] = []
    for exchange in made:
        if exchange.prompt is not None and pastes_secret(exchange):
            found.append(Danger(PASTED, "", "done", exchange.prompt.id))
        for step in exchange.steps:
            for kind, part in kinds_of(step).items():
                where = (f"{part.host}:",) if part.host else ()
                words = " ".join((*where, *part.words, *(f"> {path}" for path in part.writes)))
                line = " ".join(words[: _COMMAND_CHARS * 2].split())[:_COMMAND_CHARS]
                found.append(Danger(kind, line, _came_of(step), step.call.id))
    return found


@once
def pastes_secret(exchange: Exchange) -> bool:
    """Whether a person gave a secret away in what they said."""
    return has_secret(exchange.asked[:_PROMPT_CHARS])


@once
def kinds_of(step: Step) -> dict[str, Simple]:
    """Which kinds a step's command is of, each with the part that makes it so."""
    found: dict[str, Simple] = {}
    line: list[Simple] = []  # what is piped into the next one
    taker: Simple | None = None  # what takes the next one's output as a part of itself
    assigned = dict(_ASSIGNED.findall(step.command[:COMMAND_CHARS_MAX])) if "=" in step.command else {}
    for part in step.parts:
        if assigned and any("$" in word for word in part.words):
            part = replace(part, words=tuple(_expanded(word, assigned) for word in part.words))
        for kind in _kinds(part):
            found.setdefault(kind, part)
        if deleting := _deletes_what_it_reads(part, line):
            found.setdefault(DELETE, deleting)
        if piped := _runs_download(part, line, taker):
            found.setdefault(PIPED, piped)
        line = [*line, part] if part.piped else []
        taker = part if part.reads else None
    return found


def _deletes_what_it_reads(part: Simple, line: Sequence[Simple]) -> Simple | None:
    """What is told of `... | xargs rm -rf`, unless what is piped into it looks for what is thrown away."""
    if part.program != "xargs" or "rm" not in part.arguments or "git" in part.arguments:
        return None
    recursive = any(_RECURSIVE.match(word) for word in part.words[part.words.index("rm") :])
    if not recursive or any(_is_throw_away(word) for each in line for word in each.arguments):
        return None
    return _joined([*line, part])


def _runs_download(part: Simple, line: Sequence[Simple], taker: Simple | None) -> Simple | None:
    """What is told of a download that a shell or an interpreter runs: piped, or as a part of its words."""
    if part.program in _FETCHES and taker is not None and _is_what_runs(taker):
        opening = "$(" if taker.words[-1] == "$" else "<("
        words = [word for word in taker.words if word != "$"]
        return replace(taker, words=(*words, f"{opening}{' '.join(part.words)})"))
    if part.program in _RUNS and any(map(_FETCHED.match, part.words[1:])) and _is_what_runs(part):
        return part
    fetching = next((each for each in line if each.program in _FETCHES), None)
    if fetching is not None and part.program in _SHELLS and _runs_what_it_reads(part):
        return _joined([fetching, part])
    return None


def _joined(line: Sequence[Simple]) -> Simple:
    words = [word for each in line for word in ("|", *each.words)]
    return replace(line[0], words=tuple(words[1:]))


def _kinds(part: Simple) -> Iterator[str]:
    judge = _JUDGES.get(part.program) or (_disk if part.program.split(".")[0] == "mkfs" else None)
    if judge is not None:
        yield from judge(part)
    if part.host and _is_machine(part.host) and _acts(part):
        yield PRODUCTION


def _came_of(step: Step) -> str:
    if step.is_refused:
        return "refused"
    if not step.is_ended:
        return "unknown"
    return "failed" if step.has_failed else "done"


# -- programs ------------------------------------------------------------------------------------


def _rm(part: Simple) -> Iterator[str]:
    if any(_RECURSIVE.match(word) for word in part.words[1:]) and not all(
        map(_is_throw_away, part.arguments or ("",))
    ):
        yield DELETE


def _remove_item(part: Simple) -> Iterator[str]:
    if any(word.lower() in ("-recurse", "-r") for word in part.words) and not all(
        map(_is_throw_away, part.arguments)
    ):
        yield DELETE


def _find(part: Simple) -> Iterator[str]:
    named = [name for option, name in pairwise(part.words) if option in ("-name", "-iname", "-path")]
    roots = list(takewhile(lambda word: word[0] not in "-(!\\", part.words[1:]))
    is_harmless = any(looked and all(map(_is_throw_away, looked)) for looked in (named, roots))
    if (part.has("-delete") or "rm" in part.words) and not is_harmless:
        yield DELETE


def _git(part: Simple) -> Iterator[str]:
    given = [word for word in part.arguments if not word.startswith("/")]
    verb = next((word for word in given if word in _GIT), "")
    if part.has("--dry-run", "--help"):
        return
    if verb == "push":
        if part.has("--force", "-f", "--force-with-lease", "--force-if-includes", "--mirror") or any(
            word.startswith("+") for word in given
        ):
            yield FORCE_PUSH
        if part.has("--delete", "-d") or any(word.startswith(":") and len(word) > 1 for word in given):
            yield REMOTE_DELETE
    elif verb == "clean" and any(map(_CLEANS.match, part.words)) and not any(map(_TRIES.match, part.words)):
        yield DELETE
    elif (
        (verb == "reset" and part.has("--hard"))
        or (verb == "rebase" and not part.has("--abort", "--continue", "--skip"))
        or (verb == "reflog" and "expire" in given)
        or (verb == "update-ref" and part.has("-d"))
        or verb in ("filter-branch", "filter-repo")
    ):
        yield REWRITE


def _jj(part: Simple) -> Iterator[str]:
    if part.arguments[:1] in (("abandon",), ("rebase",)):
        yield REWRITE


def _gh(part: Simple) -> Iterator[str]:
    if part.arguments[:2] in (("repo", "delete"), ("release", "delete")):
        yield DELETE
    elif part.arguments[:2] == ("auth", "token") and not part.piped:
        yield SECRET
    elif part.arguments[:1] == ("api",) and "DELETE" in part.words and any(map(_REFS.search, part.words)):
        yield REMOTE_DELETE


def _database(part: Simple) -> Iterator[str]:
    if _DROPS.search(" ".join(part.words)):
        yield DROP


def _chmod(part: Simple) -> Iterator[str]:
    if any(_OPENED.fullmatch(word) for word in part.words[1:]) and not all(
        map(_is_throw_away, part.arguments[1:] or ("",))
    ):
        yield PERMISSIONS


def _show(part: Simple) -> Iterator[str]:
    if any(_SECRET_FILE.search(word) for word in part.arguments) and not part.piped:
        yield SECRET


def _echo(part: Simple) -> Iterator[str]:
    if any(_SECRET_NAME.search(word) for word in part.words[1:]) and not part.writes and not part.piped:
        yield SECRET


def _password(part: Simple) -> Iterator[str]:
    if len(part.words) > 2 and part.words[1].startswith("-p"):
        given = part.words[1][2:] or part.words[2]
        if not given.startswith("$"):
            yield SECRET


def _disk(part: Simple) -> Iterator[str]:
    if any(map(_DEVICE.match, part.arguments)):
        yield DISK


def _environment(part: Simple) -> Iterator[str]:
    if part.program == "printenv" and not part.piped:
        yield SECRET


def _cluster(part: Simple) -> Iterator[str]:
    if part.arguments[:1] and part.arguments[0] in (
        "delete",
        "apply",
        "destroy",
        "drain",
        "uninstall",
        "upgrade",
        "rollout",
        "scale",
    ):
        yield PRODUCTION


def _deploys(part: Simple) -> Iterator[str]:
    if part.has("--prod", "--production") or any(_PRODUCTION.search(word) for word in part.words[1:]):
        yield PRODUCTION


def _acts(part: Simple) -> bool:
    """Whether a command changes something where it runs, as far as one can tell by its name."""
    if part.program in _DATABASES:
        return bool(_WRITES.search(" ".join(part.words)))
    if part.program in _ASKED:
        return any(word in _ACTS for word in part.words[1:])
    if part.program == "cp" and part.arguments and _BACKUP.search(part.arguments[-1]):
        return False
    return part.program in _CHANGES or any(_SYSTEM.match(path) for path in part.writes)


def _is_what_runs(part: Simple) -> bool:
    """Whether a shell, an interpreter or `eval` is handed a download as its program: its first word."""
    given = [word for word in part.words[1:] if not word.startswith("-")]
    return part.program in _RUNS and (not given or given[0] == "$" or bool(_FETCHED.match(given[0])))


def _runs_what_it_reads(part: Simple) -> bool:
    """Whether a shell or an interpreter is handed no program of its own, and so runs its input."""
    given = [word for word in part.words[1:] if word != "-"]
    return not given or given[0] == "-s" or all(word.startswith("-") and word not in _OWN for word in given)


def _expanded(word: str, assigned: dict[str, str]) -> str:
    return _VARIABLE.sub(lambda found: assigned.get(found[1], found[0]), word)


def _is_machine(host: str) -> bool:
    return "@" in host or ("." in host and not host.startswith((".", "/")))


def _is_throw_away(path: str) -> bool:
    return ".." not in path.split("/")[1:] and bool(_THROW_AWAY.search(path))


_Judge = Callable[[Simple], Iterator[str]]
_DATABASES = ("psql", "mysql", "sqlite3", "mongosh", "mongo", "redis-cli", "clickhouse-client", "duckdb")
_JUDGES: dict[str, _Judge] = {
    "rm": _rm,
    "remove-item": _remove_item,
    "Remove-Item": _remove_item,
    "find": _find,
    "git": _git,
    "jj": _jj,
    "gh": _gh,
    "chmod": _chmod,
    "cat": _show,
    "less": _show,
    "head": _show,
    "tail": _show,
    "bat": _show,
    "echo": _echo,
    "printf": _echo,
    "printenv": _environment,
    "sshpass": _password,
    "dd": _disk,
    "kubectl": _cluster,
    "helm": _cluster,
    "terraform": _cluster,
    **dict.fromkeys(_DATABASES, _database),
    **dict.fromkeys(
        ("vercel", "netlify", "fly", "flyctl", "wrangler", "firebase", "serverless", "ansible-playbook"),
        _deploys,
    ),
}
_GIT = frozenset({"push", "reset", "rebase", "filter-branch", "filter-repo", "clean", "reflog", "update-ref"})
_SHELLS = frozenset({"bash", "sh", "zsh", "python", "python3", "node", "iex"})
_RUNS = _SHELLS | {"eval", "source", "."}
_FETCHES = ("curl", "wget")
_ASKED = frozenset(
    {"systemctl", "service", "docker", "podman", "nginx", "apt", "apt-get", "dnf", "yum", "git"}
)
_ACTS = frozenset(
    """
    autoremove checkout compose disable down enable exec install kill mask prune pull purge reload remove
    reset restart rm run start stop up upgrade -s
    """.split()  # noqa: SIM905
)
_CHANGES = frozenset(
    """
    chgrp chmod chown cp crontab dd deploy install iptables kill killall ln make mkfs mount mv pkill poweroff
    reboot rm rsync shutdown sysctl tee truncate ufw umount useradd userdel usermod
    """.split()  # noqa: SIM905
)
_OWN = frozenset({"-c", "-m", "-e", "-p", "--eval", "--print"})
_RECURSIVE = re.compile(r"-[a-zA-Z]*[rR][a-zA-Z]*$|--recursive$")
_CLEANS = re.compile(r"-[a-zA-Z]*f|--force$")
_TRIES = re.compile(r"-[a-zA-Z]*n")
_DROPS = re.compile(
    r"\b(?:drop\s+(?:table|database|schema|index|view|column|user)|truncate\s+(?:table\s+)?\w|flushall"
    r"|flushdb|dropdatabase"
    r"|delete\s+from\s+[\w.\"`]{1,80}\s{0,4}(?:;|\"|'|$))",
    re.IGNORECASE,
)
_WRITES = re.compile(
    r"\b(?:insert\s+into|update\s+[\w.\"`]{1,80}\s+set|delete\s+from|drop|truncate|alter|create|grant|revoke"
    r"|vacuum|reindex|flushall|flushdb|(?:^|\s)(?:set|del|hset|rename)\s)",
    re.IGNORECASE,
)
_SYSTEM = re.compile(r"/(?:etc|usr|opt|srv|var/www|root|home)/")
_BACKUP = re.compile(r"\b(?:bak|backup|orig|old)\b")
_FETCHED = re.compile(r"\s{0,8}(?:\$\(|`)\s{0,8}(?:curl|wget)\s")
_REFS = re.compile(r"git/refs/")
_ASSIGNED = re.compile(r"(?:^|[\s;&(])([A-Za-z_]\w{0,40})=[\"']?([^\s\"';&]{1,300})")
_VARIABLE = re.compile(r"\$\{?([A-Za-z_]\w{0,40})\}?")
_OPENED = re.compile(r"[0-7]?[0-7][0-7][2367]|[ao]+[+=][rx]*w[rwx]*|o\+[rwx]+")
_DEVICE = re.compile(r"(?:of=)?/dev/(?!(?:null|zero|full|std\w+|fd|shm|tty\w*|pts|loop\d*|ram\d*)(?:/|$))\w")
_SECRET_FILE = re.compile(
    r"(?:^|/)\.env(?:\.(?!example|sample|template)\w+)?$|id_(?:rsa|ed25519|ecdsa)$|\.pem$"
    r"|credentials(?:\.json)?$|\.netrc$|\.pgpass$",
    re.I,
)
_SECRET_NAME = re.compile(
    r"(?<!-n )(?<!-z )\$\{?\w{0,40}(?:TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|PRIVATE_KEY)\w{0,20}(?!\w|:\+)\}?"
)
_PRODUCTION = re.compile(r"(?:^|[=:/_-])prod(?:uction)?(?:$|[:/_.-])", re.IGNORECASE)
_THROW_AWAY = re.compile(
    r"^(?:[a-z]:)?(?:/private)?/(?:tmp|var/folders)/|appdata/local/temp/"
    r"|(?:^|/)(?:tmp|temp|\.tmp|scratch\w*|node_modules"
    r"|dist|build|out|target|coverage|\.cache|[\w*.-]*\.egg-info|\.pnpm-store|\.wrangler|\.mypy_cache|\.tox"
    r"|__pycache__|\.pytest_cache|\.next|\.turbo|\.venv|venv|test-results)(?:/|$)|^\$\{?(?:TMP|TMPDIR"
    r"|TEMP|tmp\w*|work\w*|scratch\w*)\b|^\$\(mktemp|\*\.py[co]$|^$",
    re.IGNORECASE,
)
