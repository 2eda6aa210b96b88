"""A model that lies in a folder on this machine: model2vec's, sentence-transformers', or any ONNX export.

What a folder is, its `modules.json` says; without one, an ONNX file beside a tokenizer is a transformer, as
optimum lays it out. An ONNX file is used where there is one, because that needs 80 MB of libraries and not
5 GB. Nothing is ever fetched: a folder that is not complete is an error.
"""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from recollect.search.embed.contract import Embedder, Idf, Vectors, library, unit_rows
from recollect.search.embed.transformer import Reading, TransformerEmbedder
from recollect.values.errors import UsageError

ONNX = ("onnx/model.onnx", "model.onnx", "onnx/model*.onnx", "model*.onnx")  # the first that is there
TOKENIZER = "tokenizer.json"
IN_ONNX = {"Transformer", "Pooling", "Normalize"}  # the modules that `TransformerEmbedder` stands for
HASHED = {".bin", ".json", ".model", ".safetensors", ".txt"}  # whatever in a folder can change its vectors
GPU_TEXTS = 64  # at a time, each as long as the others
TEXT_CHARS_MAX = 100_000  # what follows in a text is not read by a static table


def load(folder: Path) -> Embedder:
    """The embedder in that folder."""
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder", hint="name one that holds a model: `folder:PATH`")
    try:
        modules = _modules(folder)
        reading = _reading(folder, modules)
        is_table = (
            "StaticEmbedding" in modules or _json(folder / "config.json", {}).get("model_type") == "model2vec"
        )
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise UsageError(f"{folder}: its JSON files are not as sentence-transformers writes them") from error
    model = onnx_file(folder)
    if is_table or not (modules or model):
        return Model2VecEmbedder(folder)
    if model and set(modules) <= IN_ONNX and reading.pooling in ("mean", "cls"):
        return TransformerEmbedder(_name(folder), model, folder / TOKENIZER, reading)
    return SentenceEmbedder(folder, reading)


def onnx_file(folder: Path) -> Path | None:
    """The model in a folder, where sentence-transformers or optimum put it; None without its tokenizer."""
    if not (folder / TOKENIZER).exists():
        return None
    return next((path for pattern in ONNX for path in sorted(folder.glob(pattern))), None)


class Model2VecEmbedder:
    """A static table with its tokenizer, by `model2vec`."""

    def __init__(self, folder: Path) -> None:
        static_model = library("model2vec", "model2vec").StaticModel
        try:
            self._model = static_model.from_pretrained(folder)
        except Exception as error:  # model2vec, tokenizers and safetensors share no class
            raise UsageError(
                f"{folder}: neither a model2vec nor a sentence-transformers folder, nor an ONNX export",
                hint="it should hold model.safetensors or model.onnx, with tokenizer.json, or modules.json",
            ) from error
        self.name, self.revision = _name(folder), _revision(folder)
        self.dims = int(self._model.dim)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """One unit row per text, zeros where it has no pieces."""
        if not texts:
            return np.zeros((0, self.dims), dtype=np.float32)
        clean = [_utf8(text[:TEXT_CHARS_MAX]) for text in texts]
        return unit_rows(self._model.encode(clean, max_length=None, use_multiprocessing=False))

    def encode_query(self, text: str, idf: Idf | None = None) -> Vectors:
        """The vector to search with; `idf` is not used, the table has its weights inside."""
        vector: Vectors = self.encode([text])[0]
        return vector


class SentenceEmbedder:
    """What only `sentence_transformers` can read: a folder without ONNX, or with layers of its own."""

    def __init__(self, folder: Path, reading: Reading, *, device: str | None = None) -> None:
        """`device`: where torch computes; a GPU where there is one unless it says otherwise."""
        sentences = library("sentence_transformers", "sentence-transformers")
        self._device = device or _torch_device()
        self._model = sentences.SentenceTransformer(str(folder), device=self._device, local_files_only=True)
        self._reading = reading
        self.name, self.revision = _name(folder), _revision(folder)
        self.dims = int(self._model.get_sentence_embedding_dimension())

    def encode(self, texts: Sequence[str]) -> Vectors:
        """One unit row per text, zeros where there is none."""
        return self._encode(self._reading.text_prefix, texts)

    def encode_query(self, text: str, idf: Idf | None = None) -> Vectors:
        """The vector to search with, with the prefix that the model wants before a question."""
        vector: Vectors = self._encode(self._reading.query_prefix, [text])[0]
        return vector

    def _encode(self, prefix: str, texts: Sequence[str]) -> Vectors:
        vectors = np.zeros((len(texts), self.dims), dtype=np.float32)
        whole = {row: prefix + _utf8(text) for row, text in enumerate(texts) if text.strip()}
        for rows in self._batches(whole):
            # As many as ever, the last one again and again: another shape is another order of sums.
            given = [whole[row] for row in rows]
            given += given[-1:] * (self._batch - len(given))
            found = self._model.encode(given, prompt="", show_progress_bar=False, batch_size=self._batch)
            vectors[rows] = found[: len(rows)]
        return unit_rows(vectors)

    @property
    def _batch(self) -> int:
        return 1 if self._device == "cpu" else GPU_TEXTS

    def _batches(self, whole: dict[int, str]) -> Iterator[list[int]]:
        """Rows of texts with as many pieces each: beside a longer one a text is padded, its bits change."""
        if self._batch == 1:
            yield from ([row] for row in whole)
            return
        if not whole:
            return
        limit = self._model.max_seq_length
        read = self._model.tokenizer(list(whole.values()), truncation=True, max_length=limit)
        pieces = dict(zip(whole, map(len, read["input_ids"]), strict=True))
        for _, same in groupby(sorted(whole, key=pieces.__getitem__), key=pieces.__getitem__):
            rows = list(same)
            yield from (rows[at : at + self._batch] for at in range(0, len(rows), self._batch))


def _torch_device() -> str:
    try:
        return "cuda" if importlib.import_module("torch").cuda.is_available() else "cpu"
    except (ImportError, OSError, RuntimeError):  # not there, or one that does not load here
        return "cpu"


def _modules(folder: Path) -> dict[str, str]:
    """The last word of each module's type, and the folder of its settings; nothing without the file."""
    found = _json(folder / "modules.json", [])
    return {str(item["type"]).rpartition(".")[2]: str(item.get("path", "")) for item in found}


def _reading(folder: Path, modules: dict[str, str]) -> Reading:
    prompts = _json(folder / "config_sentence_transformers.json", {}).get("prompts") or {}
    pieces = _json(folder / "sentence_bert_config.json", {}).get("max_seq_length")
    return Reading(
        pieces_max=int(pieces or Reading().pieces_max),
        pooling=_pooling(_json(folder / modules.get("Pooling", "1_Pooling") / "config.json", {})),
        text_prefix=str(prompts.get("document") or prompts.get("passage") or ""),
        query_prefix=str(prompts.get("query") or ""),
    )


def _pooling(config: dict[str, Any]) -> str:
    """One word, or several with `+`: `pooling_mode_cls_token` and its like are switches."""
    if "pooling_mode" in config:
        return str(config["pooling_mode"])
    on = [name for name, value in config.items() if name.startswith("pooling_mode_") and value is True]
    return "+".join(name.removeprefix("pooling_mode_").partition("_token")[0] for name in on) or "mean"


def _json(path: Path, absent: Any) -> Any:
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        return absent
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error


def _name(folder: Path) -> str:
    return f"folder-{folder.resolve().name}"


def _revision(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.suffix in HASHED and path.is_file()):
        with path.open("rb") as file:
            digest.update(f"{path.relative_to(folder)}\0".encode(errors="surrogateescape"))
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:12]


def _utf8(text: str) -> str:
    return text.encode("utf-8", "replace").decode()  # a lone surrogate has no UTF-8
