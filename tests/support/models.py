"""Small models: a tokenizer of a few words, tables in safetensors, vectors that stand for a model's."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
from tests.support import ROOT

MODELS = ROOT / "tests" / "data" / "models"
WORDS = [
    "the",
    "token",
    "expired",
    "refresh",
    "in",
    "database",
    "connection",
    "was",
    "refused",
    "tests",
    "git",
    "commit",
]


def vocabulary() -> list[str]:
    letters = [chr(n) for n in range(ord("a"), ord("z") + 1)]
    return ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS, *letters, *(f"##{letter}" for letter in letters)]


def tokenizer_json() -> bytes:
    numbers = {piece: number for number, piece in enumerate(dict.fromkeys(vocabulary()))}
    single = [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
    single.append({"SpecialToken": {"id": "[SEP]", "type_id": 0}})
    marks = {name: {"id": name, "ids": [numbers[name]], "tokens": [name]} for name in ("[CLS]", "[SEP]")}
    return json.dumps(
        {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": [],
            "normalizer": {
                "type": "BertNormalizer",
                "clean_text": True,
                "handle_chinese_chars": True,
                "strip_accents": None,
                "lowercase": True,
            },
            "pre_tokenizer": {"type": "BertPreTokenizer"},
            "post_processor": {
                "type": "TemplateProcessing",
                "single": single,
                "pair": single,
                "special_tokens": marks,
            },
            "decoder": None,
            "model": {
                "type": "WordPiece",
                "unk_token": "[UNK]",
                "continuing_subword_prefix": "##",
                "max_input_chars_per_word": 100,
                "vocab": numbers,
            },
        }
    ).encode()


def safetensors(tensors: dict[str, np.ndarray]) -> bytes:
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    content = b""
    for name, value in tensors.items():
        kind = {"float32": "F32", "int64": "I64"}[value.dtype.name]
        offsets = [len(content), len(content) + value.nbytes]
        header[name] = {"dtype": kind, "shape": list(value.shape), "data_offsets": offsets}
        content += value.tobytes()
    head = json.dumps(header).encode()
    return len(head).to_bytes(8, "little") + head + content


def stand_in(text: str, dims: int) -> list[float]:
    """A vector from the words of a text: their random vectors, summed."""
    total = np.zeros(dims)
    for word in text[:10_000].split() or [text]:
        seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "little")
        total += np.random.default_rng(seed).standard_normal(dims)
    return [float(number) for number in total]
