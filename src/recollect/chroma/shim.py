"""The program `uvx` that claude-mem starts: it runs this server for chroma-mcp, and uv's own for the rest.

claude-mem looks for `uvx` first in the folder that CLAUDE_MEM_CHROMA_UVX_PATH names. A shell script, so that
the server is the very process that claude-mem started and nothing stands between them.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Final

from recollect.light.processes import command_words
from recollect.memory.machine import write_target
from recollect.values.errors import UsageError

if TYPE_CHECKING:
    from recollect.config import Config

NAME: Final = "uvx"
VARIABLE: Final = "CLAUDE_MEM_CHROMA_UVX_PATH"
PARENT: Final = (
    "RECOLLECT_CHROMA_PARENT"  # whoever started the program, known before anything could take time
)
_MARK: Final = (
    "# Written by `recollect chroma --install-shim`; `recollect chroma --install-shim --remove` removes it."
)

# `find` leaves in `skip` how many words stand before those of chroma-mcp, 0 where something else is run: also
# for a Chroma on a server, which only the real one talks to.
_SCRIPT: Final = """\
#!/bin/sh
{mark}
find() {{
  skip=0 at=0
  while [ $# -gt 0 ]; do
    case $1 in
      --from|--with|--with-editable|--with-requirements|--python|-p|--index|--default-index|--index-url|-i|--cache-dir)
        [ $# -gt 1 ] || return 0
        shift 2; at=$((at + 2)) ;;
      -*) shift; at=$((at + 1)) ;;
      chroma-mcp|chroma-mcp@*|chroma-mcp==*) shift; skip=$((at + 1)); break ;;
      *) return 0 ;;
    esac
  done
  while [ $# -gt 0 ]; do
    case $1 in
      --client-type=http|--client-type=cloud) skip=0 ;;
      --client-type) case $2 in http|cloud) skip=0 ;; esac ;;
    esac
    shift
  done
}}
find "$@"
if [ "$skip" -gt 0 ]; then
  shift "$skip"
  {parent}=$PPID exec {command} "$@"
fi
IFS=:
for folder in $PATH; do
  [ -x "$folder/uvx" ] || continue
  [ "$(sed -n 2p "$folder/uvx" 2>/dev/null)" = {quoted_mark} ] && continue
  exec "$folder/uvx" "$@"
done
echo "uvx: not found (this one, $0, only stands in for chroma-mcp)" >&2
exit 127
"""


def shim_folder(config: Config) -> Path:
    """Where the program is put where nobody says."""
    return config.plugins.with_name("claude-mem")


def install(folder: Path, config: Config) -> Path:
    """Put the program into a folder; another program of its name is left alone, and refused."""
    path = folder.absolute() / NAME
    if path.exists() and not is_ours(path):
        raise UsageError(
            f"{path}: there is another uvx", hint="name a folder of its own: --install-shim FOLDER"
        )
    command = shlex.join(command_words("--store", config.url, "chroma"))
    script = _SCRIPT.format(mark=_MARK, quoted_mark=shlex.quote(_MARK), command=command, parent=PARENT)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_target(path, [script.encode()], force=True)
        path.chmod(0o700)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror or error}") from error
    return path


def remove(folder: Path) -> Path | None:
    """Take the program out again, and its folder where nothing else is in it; None where it is not there."""
    path = folder.absolute() / NAME
    if not path.exists() or not is_ours(path):
        return None
    path.unlink()
    if not any(path.parent.iterdir()):
        path.parent.rmdir()
    return path


def is_ours(path: Path) -> bool:
    """Whether a file is the program that `install` writes."""
    try:
        return path.read_bytes().split(b"\n", 2)[1:2] == [_MARK.encode()]
    except OSError:
        return False
