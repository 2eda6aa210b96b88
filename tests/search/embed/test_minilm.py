"""MiniLM: what the version before built still gives its vectors, and any ONNX file of it takes its place."""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.support.models import MODELS, tokenizer_json

from recollect.search.embed import embedder, minilm
from recollect.search.embed.contract import Embedder
from recollect.search.embed.transformer import Reading, TransformerEmbedder
from recollect.testing.embedders import TEXTS, EmbedderContract
from recollect.values.errors import UsageError

for library in ("onnxruntime", "tokenizers"):
    pytest.importorskip(library, reason=f"{library} is not installed: pip install 'recollect[minilm]'")

BUILT = MODELS / "minilm"
# As the version that built it had them.
REVISION = "7a1191fd7ed7"
VECTOR = [
    0.0791,
    0.0193,
    0.0741,
    0.0037,
    -0.3888,
    -0.1819,
    0.2572,
    -0.1038,
    0.15,
    0.3737,
    0.0564,
    0.2777,
    -0.6646,
    -0.0989,
    0.1226,
    0.1327,
]


class TestMiniLM(EmbedderContract):
    @pytest.fixture(scope="class")
    @classmethod
    def make(cls) -> Callable[[], Embedder]:
        return lambda: embedder("minilm", settings={}, models=MODELS)

    def test_what_the_version_before_built_gives_the_vectors_it_gave(self, embedder: Embedder) -> None:
        assert (embedder.name, embedder.revision, embedder.dims) == ("minilm-l6-v2-int8", REVISION, 16)
        assert np.allclose(embedder.encode(["the token expired"])[0], VECTOR, atol=1e-3)

    def test_a_text_without_pieces_becomes_zeros(self, embedder: Embedder) -> None:
        assert not embedder.encode(["\0\x01", "\u0301"]).any()
        assert not embedder.encode_query("\0").any()

    def test_threads_change_no_bit(self) -> None:
        parts = (BUILT / "model.onnx", BUILT / "tokenizer.json")
        alone = TransformerEmbedder("one", *parts, Reading(), threads=1)
        many = TransformerEmbedder("five", *parts, Reading(), threads=5)
        assert alone.encode(TEXTS * 5).tobytes() == many.encode(TEXTS * 5).tobytes()

    def test_what_follows_256_pieces_is_not_read(self, embedder: Embedder) -> None:
        one, two = embedder.encode(["token " * 254 + "git", "token " * 254 + "commit"])
        assert one.tobytes() == two.tobytes()
        assert one.tobytes() != embedder.encode(["token " * 253 + "git"])[0].tobytes()

    def test_how_it_reads_and_what_is_in_its_files_make_its_revision(self, tmp_path: Path) -> None:
        model, tokenizer = (BUILT / name for name in ("model.onnx", "tokenizer.json"))
        spaced = tmp_path / "tokenizer.json"
        spaced.write_bytes(tokenizer.read_bytes() + b"\n")
        other = MODELS / "optimum.onnx"
        readings = [Reading(), Reading(pieces_max=128), Reading(pooling="cls"), Reading(text_prefix="a ")]
        made = [TransformerEmbedder("x", model, tokenizer, reading) for reading in readings]
        made.append(TransformerEmbedder("x", model, spaced, Reading()))
        made.append(TransformerEmbedder("x", other, tokenizer, Reading()))
        assert len({one.revision for one in made}) == len(made)


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder as the published model is laid out, and its 16 numbers in place of that one's."""
    monkeypatch.setattr(minilm, "DIMS", 16)
    path = tmp_path / "all-MiniLM-L6-v2"
    (path / "onnx").mkdir(parents=True)
    shutil.copy(MODELS / "optimum.onnx", path / "onnx" / "model.onnx")
    (path / "tokenizer.json").write_bytes(tokenizer_json())
    (path / "model.safetensors").write_bytes(b"weights that are not read")
    return path


class TestBuild:
    def test_an_onnx_file_of_a_folder_becomes_minilm(self, source: Path, tmp_path: Path) -> None:
        minilm.build(source, tmp_path / "models" / "minilm")
        made = embedder("minilm", settings={}, models=tmp_path / "models")
        assert (made.name, made.dims) == ("minilm-l6-v2", 16)
        assert (made.encode(["the token expired"]) @ made.encode_query("token expired"))[0] > 0.5
        assert sorted(os.listdir(tmp_path / "models")) == ["minilm"]

    def test_a_wheel_serves_as_well_as_a_folder(self, source: Path, tmp_path: Path) -> None:
        wheel = tmp_path / "small-1.0-py3-none-any.whl"
        with zipfile.ZipFile(wheel, "w") as archive:
            for path in source.rglob("*.*"):
                archive.write(path, Path("small", path.relative_to(source)))
        minilm.build(wheel, tmp_path / "minilm")
        assert (tmp_path / "minilm" / "model.onnx").read_bytes() == (MODELS / "optimum.onnx").read_bytes()

    def test_what_was_built_before_is_replaced(self, source: Path, tmp_path: Path) -> None:
        shutil.copytree(BUILT, tmp_path / "minilm")
        (tmp_path / "minilm.new").mkdir()  # of a build that was killed
        minilm.build(source, tmp_path / "minilm")
        assert minilm.load(tmp_path / "minilm").name == "minilm-l6-v2"
        assert sorted(os.listdir(tmp_path / "minilm")) == ["model.onnx", "tokenizer.json"]

    def test_another_model_is_refused_and_nothing_is_changed(
        self, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(minilm, "DIMS", 384)
        shutil.copytree(BUILT, tmp_path / "minilm")
        with pytest.raises(UsageError, match="vectors have 16 numbers and not 384") as caught:
            minilm.build(source, tmp_path / "minilm")
        assert "folder:PATH" in caught.value.hint
        assert minilm.load(tmp_path / "minilm").revision == REVISION
        assert not (tmp_path / "minilm.new").exists()

    def test_weights_without_an_onnx_file_are_refused_with_the_next_step(
        self, source: Path, tmp_path: Path
    ) -> None:
        (source / "onnx" / "model.onnx").unlink()
        with pytest.raises(UsageError, match="no ONNX file of them") as caught:
            minilm.build(source, tmp_path / "minilm")
        assert "optimum-cli export onnx" in caught.value.hint

    @pytest.mark.parametrize("kind", ["nothing", "empty folder", "no archive", "empty archive"])
    def test_a_source_without_a_model_is_a_usage_error(self, kind: str, tmp_path: Path) -> None:
        source = tmp_path / "source"
        if kind == "empty folder":
            source.mkdir()
        elif kind == "no archive":
            source.write_bytes(b"PK\3\4 no")
        elif kind == "empty archive":
            zipfile.ZipFile(source, "w").close()
        with pytest.raises(UsageError, match="source"):
            minilm.build(source, tmp_path / "minilm")

    def test_a_target_that_cannot_be_written_is_a_usage_error(self, source: Path, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        with pytest.raises(UsageError, match="could not write"):
            minilm.build(source, tmp_path / "file" / "minilm")

    def test_before_it_is_built_the_error_says_how(self, tmp_path: Path) -> None:
        for models in (tmp_path, None):
            with pytest.raises(UsageError, match="not built") as caught:
                embedder("minilm", settings={}, models=models)
            assert "embedder build minilm --from" in caught.value.hint

    @pytest.mark.skipif(
        "RECOLLECT_MINILM" not in os.environ, reason="RECOLLECT_MINILM names a folder of the model with ONNX"
    )
    def test_the_published_model_knows_what_is_related(self, tmp_path: Path) -> None:
        minilm.build(Path(os.environ["RECOLLECT_MINILM"]), tmp_path / "minilm")
        made = minilm.load(tmp_path / "minilm")
        texts = ["cannot connect to the sql server", "bake a chocolate cake"]
        near, far = made.encode(texts) @ made.encode_query("database connection refused")
        assert near > 0.5 > far + 0.3
