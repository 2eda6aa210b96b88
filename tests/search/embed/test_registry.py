"""An embedder by its name: ours, and those that packages bring."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Sequence
from importlib.metadata import EntryPoint, EntryPoints
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from tests.support.models import MODELS

from recollect.search import embed
from recollect.search.embed import embedder, names
from recollect.search.embed.contract import Embedder, Idf, unit_rows
from recollect.search.embed.static import StaticEmbedder
from recollect.testing.embedders import EmbedderContract
from recollect.values.errors import UsageError


class TestStatic(EmbedderContract):
    @pytest.fixture(scope="class")
    @classmethod
    def make(cls) -> Callable[[], Embedder]:
        return lambda: embedder("static", settings={})


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
        self, module: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(UsageError, match=f"{module} is not installed") as caught:
            embedder("minilm", settings={}, models=MODELS)
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

    def encode_query(self, text: str, idf: Idf | None = None) -> np.ndarray:
        return self.encode([text])[0]


@given(rows=npst.arrays(np.float32, (4, 3), elements=st.floats(width=32)))
def test_unit_rows_are_unit_or_zeros_whatever_comes(rows: np.ndarray) -> None:
    made = unit_rows(rows)
    lengths = np.linalg.norm(made.astype(np.float64), axis=1)
    assert (np.isclose(lengths, 1, atol=1e-5) | (lengths == 0)).all()
