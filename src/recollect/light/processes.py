"""Every program that Recollect starts, and every command of ours that others are given to start.

The current folder is a project's, and so is much of the environment: nothing that lies there may become
code of ours. A Python is therefore started without its folder on the path (`-P`) and without the variables
that choose code for it, a program of somebody else only by its whole path.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # as `typing` has it; importing that costs a hook milliseconds
if TYPE_CHECKING:
    from collections.abc import Mapping
    from subprocess import Popen
    from typing import Any

_SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# What chooses code for a process: Python's own, the HDF5 library's filters, what a linker is told to load.
_HDF5 = ("HDF5_PLUGIN", "HDF5_VOL_CONNECTOR", "HDF5_DRIVER")
_CHOOSES_CODE = ("PYTHON", *_HDF5, "LD_PRELOAD", "LD_AUDIT", "DYLD_INSERT")


def python_words(module: str, *arguments: str) -> list[str]:
    """The words that run `main()` of one of our modules in a process of its own, made for `environment()`."""
    # Behind what the interpreter finds itself, so that nothing of its own is shadowed.
    program = f"import sys; sys.path += {_library_folders()!r}; from {module} import main; main()"
    return [sys.executable, "-P", "-c", program, *arguments]


def command_words(*words: str) -> list[str]:
    """The words of a `recollect` command that others start: in whatever folder, with whatever environment."""
    return [sys.executable, *_isolation(), "-m", "recollect", *words]


def hook_words(entry: str, *words: str) -> list[str]:
    """The words of a hook: a file that is run with nothing but the standard library."""
    return [sys.executable, "-I", "-S", entry, *words]


def environment(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of what we start: this one, without the variables that choose code."""
    given = os.environ if environ is None else environ
    return {name: value for name, value in given.items() if not name.startswith(_CHOOSES_CODE)}


def forget_libraries() -> None:
    """Take out of this process's own environment what would make the HDF5 library load code."""
    for name in [each for each in os.environ if each.startswith(_HDF5)]:
        del os.environ[name]
    os.environ["HDF5_PLUGIN_PRELOAD"] = "::"  # the library's own word for: no plugins


def start_python(module: str, *arguments: str, **options: Any) -> Popen[bytes]:
    """Run `main()` of one of our modules; `options` are those of `subprocess.Popen`."""
    from subprocess import Popen

    return Popen(python_words(module, *arguments), env=environment(), **options)


def spawn_python(module: str, *arguments: str, extra: Mapping[str, str]) -> None:
    """As `start_python`, for one that nobody waits for: detached, silent, with `extra` in its environment.

    It inherits the descriptors that are inheritable.
    """
    nothing = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in range(3)]
    words = python_words(module, *arguments)
    os.posix_spawn(words[0], words, {**environment(), **extra}, file_actions=nothing, setsid=True)


def program_path(name: str, environ: Mapping[str, str]) -> str | None:
    """Where a person's program lies, by the folders of PATH that are whole paths."""
    from shutil import which

    folders = environ.get("PATH", "").split(os.pathsep)
    return which(name, path=os.pathsep.join(filter(os.path.isabs, folders)) or os.devnull)


def program_output(words: list[str], environ: Mapping[str, str], *, seconds: float) -> str:
    """What a program prints, run away from the current folder; "" if it fails or takes too long."""
    from subprocess import DEVNULL, SubprocessError, run

    try:
        done = run(
            words,
            env=environment(environ),
            cwd=os.path.abspath(os.sep),
            stdin=DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            check=True,
        )
    except (OSError, SubprocessError):
        return ""
    return done.stdout


def run_program(
    words: list[str], environ: Mapping[str, str], data: bytes, folder: str, *, seconds: float
) -> tuple[int, bytes, bytes]:
    """Run a person's program in a folder with `data` to read: how it ended, what it printed, its errors.

    All that it started goes with it, when it takes too long (TimeoutError) or this process is stopped.
    """
    import signal
    from subprocess import PIPE, Popen, TimeoutExpired

    program = Popen(
        words, env=dict(environ), cwd=folder, stdin=PIPE, stdout=PIPE, stderr=PIPE, start_new_session=True
    )
    try:
        output, errors = program.communicate(data, timeout=seconds)
    except BaseException as error:
        if program.returncode is None:  # nobody waited for it yet, so its number is still its own
            os.killpg(program.pid, signal.SIGKILL)
        program.communicate()
        if isinstance(error, TimeoutExpired):
            raise TimeoutError(f"no answer within {seconds:.0f} s") from None
        raise
    return program.returncode, output, errors


def start_program(words: list[str], environ: Mapping[str, str]) -> Popen[bytes]:
    """Start a person's program to talk to, away from the current folder and from the terminal."""
    from subprocess import PIPE, Popen

    return Popen(
        words,
        env=environment(environ),
        cwd=os.path.abspath(os.sep),
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        bufsize=0,
        start_new_session=True,
    )


def feed_program(words: list[str], data: bytes, extra: Mapping[str, str]) -> bool:
    """Run a person's program on their terminal with `data` to read, until they leave it; False if it fails.

    It has `extra` in its environment, and runs away from the current folder.
    """
    import signal
    from subprocess import PIPE, Popen

    try:
        program = Popen(words, env={**environment(), **extra}, cwd=os.path.abspath(os.sep), stdin=PIPE)
    except OSError:
        return False
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # what Ctrl-C means is for the program to say
    try:
        program.communicate(data)  # that they left before all of it was read is no error
    finally:
        signal.signal(signal.SIGINT, before)
    return program.returncode == 0


def _library_folders() -> list[str]:
    """Where this process finds its libraries, and our own: without the current folder."""
    here = os.path.realpath(os.curdir) if os.path.isdir(os.curdir) else ""
    others = [each for each in sys.path if os.path.isabs(each) and os.path.realpath(each) != here]
    return [_SOURCE, *(each for each in others if each != _SOURCE)]


def _isolation() -> list[str]:
    """`-I`, or as much of it as leaves us where a person installed us."""
    from site import getusersitepackages

    if _SOURCE in map(os.path.abspath, os.environ.get("PYTHONPATH", "").split(os.pathsep)):
        return ["-P"]
    return ["-E", "-P"] if getusersitepackages() in sys.path else ["-I"]
