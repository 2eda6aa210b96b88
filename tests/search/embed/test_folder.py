"""Models in folders: model2vec's tables, sentence transformers, and any ONNX file beside its tokenizer."""

from __future__ import annotations

import json
import shutil
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from tests.support.models import MODELS, safetensors, stand_in, tokenizer_json, vocabulary

from recollect.search.embed import embedder, folder
from recollect.search.embed.contract import Embedder, unit_rows
from recollect.search.embed.transformer import Reading, TransformerEmbedder
from recollect.testing.embedders import TEXTS, EmbedderContract
from recollect.values.errors import EmbedderFailed, UsageError


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


@pytest.fixture(scope="module")
def model() -> bytes:
    for library in ("onnxruntime", "tokenizers"):
        pytest.importorskip(library, reason=f"{library} is not installed: pip install 'recollect[minilm]'")
    return (MODELS / "minilm" / "model.onnx").read_bytes()


def plain() -> TransformerEmbedder:
    """The same model as it reads without a folder's settings."""
    parts = (MODELS / "minilm" / "model.onnx", MODELS / "minilm" / "tokenizer.json")
    return TransformerEmbedder("plain", *parts, Reading())


class TestOnnxFolder(EmbedderContract):
    """As sentence-transformers lays it out."""

    @pytest.fixture(scope="class")
    @classmethod
    def make(cls, model: bytes, tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Embedder]:
        path = sentence_folder(tmp_path_factory.mktemp("onnx") / "small", model, MEAN)
        return lambda: embedder(f"folder:{path}", settings={})

    def test_a_text_is_nearest_to_itself(self, embedder: Embedder) -> None:
        """Not so near as without the prefixes that these tests set."""
        scores = (embedder.encode(TEXTS) @ embedder.encode_query(TEXTS[1])).tolist()
        assert max(scores) == scores[1]

    def test_the_folder_says_how_texts_are_read(self, embedder: TransformerEmbedder) -> None:
        assert embedder.name == "folder-small"
        assert embedder._reading == Reading(64, "mean", "git ", "refresh ")
        assert embedder.encode(["token"]).tobytes() == plain().encode(["git token"]).tobytes()
        assert embedder.encode_query("token").tobytes() == plain().encode_query("refresh token").tobytes()

    def test_cls_pooling_takes_the_first_piece(self, model: bytes, tmp_path: Path) -> None:
        made = [sentence_folder(tmp_path / str(n), model, how) for n, how in enumerate((MEAN, CLS))]
        mean, cls = (folder.load(path).encode(["the token"])[0] for path in made)
        pieces = np.array([plain()._pieces("git the token")])
        ((first, *_),) = folder.load(made[1])._session.run(None, {"input_ids": pieces})[0]
        assert np.allclose(cls, first / np.linalg.norm(first), atol=1e-6)
        assert not np.allclose(mean, cls, atol=0.01)
        made[1].joinpath("1_Pooling/config.json").write_text('{"pooling_mode": "cls"}')
        assert folder.load(made[1]).encode(["the token"])[0].tobytes() == cls.tobytes()

    def test_a_model_that_fails_on_a_text_is_an_error_that_names_it(
        self, model: bytes, tmp_path: Path
    ) -> None:
        path = sentence_folder(tmp_path / "made", model, MEAN)
        (path / "sentence_bert_config.json").write_text('{"max_seq_length": 600}')  # it has 512 places
        with pytest.raises(EmbedderFailed, match="folder-made: the model fails on 600 word pieces"):
            folder.load(path).encode(["token " * 1000])

    def test_a_model_that_is_none_is_a_usage_error(self, model: bytes, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="cannot load"):
            folder.load(sentence_folder(tmp_path / "made", b"no model", MEAN))
        (tmp_path / "made" / "tokenizer.json").write_text("{}")
        with pytest.raises(UsageError, match="not a tokenizer"):
            folder.load(tmp_path / "made")


def export(path: Path, graph: str, name: str = "model.onnx") -> Path:
    """A folder as optimum writes one: the graph, the tokenizer, and a config that says nothing of pooling."""
    (path / name).parent.mkdir(parents=True)
    shutil.copy(MODELS / graph, path / name)
    (path / "tokenizer.json").write_bytes(tokenizer_json())
    (path / "config.json").write_text('{"model_type": "bert", "hidden_size": 16}')
    return path


class TestExport(EmbedderContract):
    """An ONNX file beside its tokenizer, without `modules.json`."""

    @pytest.fixture(scope="class")
    @classmethod
    def make(cls, model: bytes, tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Embedder]:
        path = export(tmp_path_factory.mktemp("export") / "small", "optimum.onnx")
        return lambda: embedder(f"folder:{path}", settings={})

    @pytest.mark.parametrize("name", ["onnx/model.onnx", "onnx/model_quantized.onnx", "model_O2.onnx"])
    def test_it_is_found_by_any_name_that_is_in_use(
        self, name: str, embedder: Embedder, tmp_path: Path
    ) -> None:
        made = folder.load(export(tmp_path / "made", "optimum.onnx", name))
        assert made.encode(TEXTS).tobytes() == embedder.encode(TEXTS).tobytes()

    def test_the_whole_model_is_taken_before_a_quantised_one(self, model: bytes, tmp_path: Path) -> None:
        path = export(tmp_path / "made", "optimum.onnx", "onnx/model.onnx")
        (path / "onnx" / "model_int8.onnx").write_bytes(b"not read")
        assert folder.load(path).dims == 16

    def test_a_graph_that_pools_by_itself_is_taken_at_its_word(
        self, embedder: Embedder, tmp_path: Path
    ) -> None:
        made = folder.load(export(tmp_path / "made", "pooled.onnx"))
        assert np.allclose(made.encode(TEXTS), embedder.encode(TEXTS), atol=1e-6)

    @pytest.mark.parametrize(("graph", "why"), [("pixels.onnx", "pixel_values"), ("logits.onnx", "logits")])
    def test_a_graph_that_wants_or_gives_something_else_is_a_usage_error(
        self, graph: str, why: str, model: bytes, tmp_path: Path
    ) -> None:
        with pytest.raises(UsageError, match=why):
            folder.load(export(tmp_path / "made", graph))

    def test_without_its_tokenizer_it_is_no_model(self, tmp_path: Path) -> None:
        (export(tmp_path / "made", "optimum.onnx") / "tokenizer.json").unlink()
        assert folder.onnx_file(tmp_path / "made") is None

    def test_a_table_with_an_onnx_file_is_still_a_table(self, model2vec_folder: Path, tmp_path: Path) -> None:
        shutil.copytree(model2vec_folder, tmp_path / "table")
        shutil.copy(MODELS / "optimum.onnx", tmp_path / "table" / "model.onnx")
        assert isinstance(folder.load(tmp_path / "table"), folder.Model2VecEmbedder)


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


class FakeDevice(FakeSentences):
    """On a GPU the last bits of a row depend on how many texts there are, and on the longest of them."""

    max_seq_length = 12

    def tokenizer(self, texts: list[str], *, truncation: bool, max_length: int) -> dict[str, list[list[int]]]:
        assert truncation
        return {"input_ids": [[0] * min(len(text), max_length) for text in texts]}

    def encode(self, texts: list[str], **options: Any) -> np.ndarray:
        assert len(texts) == options["batch_size"]
        shape = len(texts) + max(min(len(text), self.max_seq_length) for text in texts)
        return super().encode(texts, **options) + np.float32(shape / 1000)


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


class TestSentenceTransformersOnAGpu(EmbedderContract):
    @pytest.fixture(scope="class")
    @classmethod
    def make(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Embedder]]:
        module = types.ModuleType("sentence_transformers")
        module.SentenceTransformer = FakeDevice  # type: ignore[attr-defined]
        torch = types.SimpleNamespace(cuda=types.SimpleNamespace(is_available=lambda: True))
        path = sentence_folder(tmp_path_factory.mktemp("gpu") / "small", None, MEAN)
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(sys.modules, "sentence_transformers", module)
            patch.setitem(sys.modules, "torch", torch)
            yield lambda: embedder(f"folder:{path}", settings={})

    def test_it_is_opened_there(self, make: Callable[[], Embedder]) -> None:
        FakeSentences.opened.clear()
        make()
        assert [options["device"] for options in FakeSentences.opened] == ["cuda"]

    def test_many_texts_are_few_calls(self, embedder: Embedder, monkeypatch: pytest.MonkeyPatch) -> None:
        calls: list[int] = []
        encode = FakeDevice.encode
        monkeypatch.setattr(
            FakeDevice, "encode", lambda self, texts, **kw: calls.append(1) or encode(self, texts, **kw)
        )
        embedder.encode([f"word {number:03}" for number in range(300)])
        assert len(calls) == -(-300 // folder.GPU_TEXTS)


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
