"""A sentence transformer in one ONNX file, run by onnxruntime; neither torch nor a network.

Texts are not batched: a quantised graph takes the scale of each layer's input from the whole batch, and
the same text in two batches came out at a cosine of 0.994. One text a run costs nothing from 60 word
pieces on (140 texts a CPU-second alone, 132 in batches of 32), needs no padding and little memory.
Threads run texts side by side, longest first.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from recollect.search.embed.contract import Idf, Vectors, library, unit_rows
from recollect.values.errors import EmbedderFailed, UsageError

CHARS_PER_PIECE = 16  # a text is cut there before its pieces are counted: a megabyte would take a second


@dataclass(frozen=True, slots=True)
class Reading:
    """How a model wants its texts: what vectors depend on besides the weights."""

    pieces_max: int = 256
    pooling: str = "mean"  # or "cls"
    text_prefix: str = ""
    query_prefix: str = ""


class TransformerEmbedder:
    """Texts through a tokenizer, a graph and pooling. Threads may share one."""

    def __init__(
        self, name: str, model: Path, tokenizer: Path, reading: Reading, *, threads: int | None = None
    ) -> None:
        self.name = name
        self.revision = _revision(model, tokenizer, reading)
        self._reading = reading
        self._threads = threads or os.cpu_count() or 1
        self._tokenizer = _tokenizer(tokenizer, reading.pieces_max)
        self._specials: int = self._tokenizer.num_special_tokens_to_add(is_pair=False)
        self._session = _session(model)
        self._inputs = [put.name for put in self._session.get_inputs()]
        self._output = _output_of(self._session, model)
        self.dims = int(self._output.shape[-1])

    def encode(self, texts: Sequence[str]) -> Vectors:
        """One unit row per text, zeros where it has no pieces; the same bits alone and in any batch."""
        return self._encode(self._reading.text_prefix, texts)

    def encode_query(self, text: str, idf: Idf | None = None) -> Vectors:
        """The vector to search with. Words are not weighed: the model reads them in their order."""
        vector: Vectors = self._encode(self._reading.query_prefix, [text])[0]
        return vector

    def _encode(self, prefix: str, texts: Sequence[str]) -> Vectors:
        pieces = [self._pieces(prefix + text) if text.strip() else [] for text in texts]
        vectors = np.zeros((len(texts), self.dims), dtype=np.float32)
        order = [row for row in sorted(range(len(texts)), key=lambda row: -len(pieces[row])) if pieces[row]]
        with ThreadPoolExecutor(max(1, min(self._threads, len(order)))) as pool:
            for row, vector in zip(order, pool.map(lambda row: self._run(pieces[row]), order), strict=True):
                vectors[row] = vector
        return unit_rows(vectors)

    def _pieces(self, text: str) -> list[int]:
        """The numbers of a text's pieces; none when only the marks around every text are left."""
        text = text[: self._reading.pieces_max * CHARS_PER_PIECE]
        # A lone surrogate has no UTF-8, and the tokenizer takes nothing else.
        found: list[int] = self._tokenizer.encode(text.encode("utf-8", "replace").decode()).ids
        return found if len(found) > self._specials else []

    def _run(self, pieces: list[int]) -> Vectors:
        ids = np.array([pieces], dtype=np.int64)
        given = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        try:
            output = self._session.run([self._output.name], {name: given[name] for name in self._inputs})[0]
        except Exception as error:  # onnxruntime's own errors share no class
            raise EmbedderFailed(f"{self.name}: the model fails on {len(pieces)} word pieces") from error
        if output.ndim == 2:  # the graph pools by itself
            pooled: Vectors = output[0]
            return pooled
        vector: Vectors = output[0, 0] if self._reading.pooling == "cls" else output[0].mean(axis=0)
        return vector


def _revision(model: Path, tokenizer: Path, reading: Reading) -> str:
    digest = hashlib.sha256(repr(astuple(reading)).encode())
    for path in (tokenizer, *sorted(model.parent.glob(f"{model.name}*"))):  # large models keep a second file
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:12]


def _tokenizer(path: Path, pieces_max: int) -> Any:
    tokenizers = library("tokenizers", "minilm")
    try:
        tokenizer = tokenizers.Tokenizer.from_file(str(path))
    except Exception as error:  # it raises nothing narrower
        raise UsageError(f"{path}: not a tokenizer") from error
    tokenizer.no_padding()
    tokenizer.enable_truncation(pieces_max)
    return tokenizer


def _session(model: Path) -> Any:
    runtime = library("onnxruntime", "minilm")
    options = runtime.SessionOptions()
    # One thread inside a run: the order of sums is fixed, and side by side is faster than inside.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    try:
        session = runtime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # as in `_run`
        raise UsageError(f"{model}: onnxruntime cannot load this model") from error
    unknown = {put.name for put in session.get_inputs()} - {"input_ids", "attention_mask", "token_type_ids"}
    if unknown:
        raise UsageError(f"{model}: not a sentence transformer: wants {', '.join(sorted(unknown))}")
    return session


def _output_of(session: Any, model: Path) -> Any:
    """The pooled output if there is one, else the pieces' vectors."""
    outputs = {put.name: put for put in session.get_outputs()}
    for name in ("sentence_embedding", "token_embeddings", "last_hidden_state"):
        if name in outputs and isinstance(outputs[name].shape[-1], int):
            return outputs[name]
    raise UsageError(f"{model}: none of its outputs is an embedding: {', '.join(sorted(outputs))}")
