"""Put on the path of chroma-mcp: its default embedding function gives the vectors of our own embedder.

So both sides rank by the same numbers, and what is compared is everything else.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from types import ModuleType
from typing import Any

MODULE = "chromadb.utils.embedding_functions.onnx_mini_lm_l6_v2"


class Patched(importlib.abc.MetaPathFinder):
    """Finds the module as usual, and changes it once it has run."""

    def find_spec(
        self, fullname: str, path: Any, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != MODULE:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        assert spec is not None
        loader: Any = spec.loader
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            _change(module)

        loader.exec_module = exec_module
        return spec


def _change(module: Any) -> None:
    sys.path.insert(0, os.environ["RECOLLECT_SOURCE"])
    static = importlib.import_module("recollect.search.embed.static")
    sys.path.pop(0)
    embedder = static.StaticEmbedder.load()
    module.ONNXMiniLM_L6_V2.__call__ = lambda self, input: list(embedder.encode(list(input)))


sys.meta_path.insert(0, Patched())
