"""The watcher as a service of the person's own: a systemd user unit, or a launchd agent.

Written and removed, never started or stopped: that is one command, which is shown. The file
carries a mark, and one without it is somebody else's. A service does not inherit the shell's
environment, so the variables that say where things are go into the file; nothing else does, a
key in no case.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from recollect.memory.machine import agent_variables, file_change
from recollect.values.errors import UsageError
from recollect.values.text import one_line

MARK = "written by `recollect watch`"  # without dashes: it stands in a comment of XML too
UNIT = "recollect-watch.service"
LABEL = "recollect.watch"
_VARIABLES = (  # what says where our files are
    "RECOLLECT_CACHE",
    "RECOLLECT_CONFIG",
    "RECOLLECT_EMBEDDER",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
)


def variables() -> tuple[str, ...]:
    """The variables of the environment that say where the agents' files are, and ours."""
    return tuple(dict.fromkeys((*agent_variables(), *_VARIABLES)))


@dataclass(frozen=True, slots=True)
class Service:
    """A service's file, and the commands that start it and, once the file is gone, end it."""

    path: Path
    content: bytes
    start: str
    end: str
    links: tuple[Path, ...] = ()  # made by whoever enabled it; they go with the file


def service(
    platform: str, home: Path, environ: Mapping[str, str], command: Sequence[str], *, network: bool = False
) -> Service:
    """The service that runs a command on this kind of machine; `network`: an embedder needs some."""
    passed_on = {name: environ[name] for name in variables() if environ.get(name)}
    for word in (*command, *passed_on.values()):
        if not word.isprintable():
            raise UsageError(f"no service can have such a path: {one_line(word)}", hint="use another folder")
    if platform == "darwin":
        return _agent(home, command, passed_on)
    if platform.startswith("linux"):
        return _unit(home, environ, command, passed_on, network=network)
    raise UsageError(
        f"no service is known for {platform}", hint="let cron run `recollect watch --once` instead"
    )


def install(wanted: Service) -> bool:
    """Put the file in place, for its owner alone; False when it is there already."""
    change = file_change(wanted.path, wanted.content, _is_ours)
    if change is not None:
        change.apply()
    return change is not None


def remove(wanted: Service) -> bool:
    """Take the file away; False when there is none."""
    change = file_change(wanted.path, None, _is_ours)
    for link in wanted.links:
        if link.is_symlink() and os.path.realpath(link) == os.path.realpath(wanted.path):
            link.unlink()
    if change is not None:
        change.apply()
    return change is not None


def _is_ours(content: bytes) -> bool:
    return MARK.encode() in content


# -- systemd -------------------------------------------------------------------------------


def _unit(
    home: Path,
    environ: Mapping[str, str],
    command: Sequence[str],
    variables: Mapping[str, str],
    *,
    network: bool,
) -> Service:
    settings = environ.get("XDG_CONFIG_HOME", "")
    # What is not absolute does not count: so says the XDG specification.
    folder = Path(settings if settings.startswith("/") else home / ".config") / "systemd" / "user"
    lines = [
        f"# {MARK}; `recollect watch --remove` takes it away",
        "[Unit]",
        "Description=Recollect: takes in what coding agents write, as they write it",
        "",
        "[Service]",
        "Type=exec",
        "ExecStart=" + " ".join(_quoted(word.replace("$", "$$")) for word in command),
        *(f"Environment={_quoted(f'{name}={value}')}" for name, value in variables.items()),
        # 2 and 4: words or a store that are wrong stay wrong.
        "Restart=on-failure",
        "RestartSec=60",
        "RestartPreventExitStatus=2 4",
        "Nice=19",
        "IOSchedulingClass=idle",
        "CPUSchedulingPolicy=batch",
        "UMask=0077",
        "NoNewPrivileges=yes",
        *([] if network else ["RestrictAddressFamilies=AF_UNIX"]),
        "",
        "[Install]",
        "WantedBy=default.target",
    ]
    return Service(
        folder / UNIT,
        ("\n".join(lines) + "\n").encode(),
        f"systemctl --user daemon-reload && systemctl --user enable --now {UNIT}",
        f"systemctl --user stop {UNIT}; systemctl --user daemon-reload",
        (folder / "default.target.wants" / UNIT,),
    )


def _quoted(word: str) -> str:
    """A word as systemd reads it back: its own escapes, and no specifiers."""
    return '"' + re.sub(r'(["\\])', r"\\\1", word.replace("%", "%%")) + '"'


# -- launchd -------------------------------------------------------------------------------


def _agent(home: Path, command: Sequence[str], variables: Mapping[str, str]) -> Service:
    import plistlib

    path = home / "Library" / "LaunchAgents" / f"{LABEL}.plist"
    content = plistlib.dumps(
        {
            "Label": LABEL,
            "ProgramArguments": list(command),
            "EnvironmentVariables": dict(variables),
            "RunAtLoad": True,
            "KeepAlive": {"SuccessfulExit": False},
            "ThrottleInterval": 60,
            "ProcessType": "Background",
            "LowPriorityIO": True,
            "Nice": 19,
            "Umask": 0o077,
            "StandardErrorPath": str(home / "Library" / "Logs" / f"{LABEL}.log"),
        }
    )
    marked = content.replace(b"<plist ", f"<!-- {MARK} -->\n<plist ".encode(), 1)
    return Service(
        path,
        marked,
        f'launchctl bootstrap "gui/$(id -u)" {_for_shell(path)}',
        f'launchctl bootout "gui/$(id -u)/{LABEL}"',
    )


def _for_shell(path: Path) -> str:
    import shlex

    return shlex.quote(str(path))
