"""A sync of the fleet every hour, as a service of the person's own: a systemd user timer, or a launchd agent.

As with the watcher's service: written and removed, never started or stopped; that is one command, shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from recollect.setup.service import WRITTEN, Service, for_shell, quoted, units_folder, variables_passed_on
from recollect.values.errors import UsageError

NAME = "recollect-fleet"
LABEL = "recollect.fleet"
_MARK = WRITTEN + "fleet`"
_EVERY_SECONDS = 3600


def timer(
    platform: str, home: Path, environ: Mapping[str, str], command: Sequence[str]
) -> tuple[Service, ...]:
    """The files that have a command run every hour on this kind of machine; the last one is started."""
    passed_on = variables_passed_on(environ, command)
    if platform == "darwin":
        return (_agent(home, command, passed_on),)
    if platform.startswith("linux"):
        return _units(units_folder(home, environ), command, passed_on)
    raise UsageError(f"no timer is known for {platform}", hint="let cron run `recollect fleet sync` instead")


def _units(folder: Path, command: Sequence[str], variables: Mapping[str, str]) -> tuple[Service, ...]:
    mark = f"# {_MARK}; `recollect fleet remove-service` takes it away"
    service = [
        mark,
        "[Unit]",
        "Description=Recollect: takes in what coding agents wrote on other machines",
        "",
        "[Service]",
        "Type=oneshot",
        "ExecStart=" + " ".join(quoted(word.replace("$", "$$")) for word in command),
        *(f"Environment={quoted(f'{name}={value}')}" for name, value in variables.items()),
        "SuccessExitStatus=8",  # that a machine is off is no failure
        "Nice=19",
        "IOSchedulingClass=idle",
        "UMask=0077",
        "NoNewPrivileges=yes",
    ]
    unit = f"{NAME}.timer"
    clock = [
        mark,
        "[Unit]",
        "Description=Recollect: visits other machines every hour",
        "",
        "[Timer]",
        "OnCalendar=hourly",
        "RandomizedDelaySec=300",
        "Persistent=true",
        "",
        "[Install]",
        "WantedBy=timers.target",
    ]
    return (
        Service(folder / f"{NAME}.service", _text(service), "", ""),
        Service(
            folder / unit,
            _text(clock),
            f"systemctl --user daemon-reload && systemctl --user enable --now {unit}",
            f"systemctl --user stop {unit}; systemctl --user daemon-reload",
            (folder / "timers.target.wants" / unit,),
        ),
    )


def _text(lines: Sequence[str]) -> bytes:
    return ("\n".join(lines) + "\n").encode()


def _agent(home: Path, command: Sequence[str], variables: Mapping[str, str]) -> Service:
    import plistlib

    path = home / "Library" / "LaunchAgents" / f"{LABEL}.plist"
    content = plistlib.dumps(
        {
            "Label": LABEL,
            "ProgramArguments": list(command),
            "EnvironmentVariables": dict(variables),
            "StartInterval": _EVERY_SECONDS,
            "RunAtLoad": True,
            "ProcessType": "Background",
            "LowPriorityIO": True,
            "Nice": 19,
            "Umask": 0o077,
            "StandardErrorPath": str(home / "Library" / "Logs" / f"{LABEL}.log"),
        }
    )
    return Service(
        path,
        content.replace(b"<plist ", f"<!-- {_MARK} -->\n<plist ".encode(), 1),
        f'launchctl bootstrap "gui/$(id -u)" {for_shell(path)}',
        f'launchctl bootout "gui/$(id -u)/{LABEL}"',
    )
