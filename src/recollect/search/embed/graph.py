"""The weights of a small BERT, written as one ONNX graph that computes in int8.

In: `input_ids` (1, pieces). Out: `token_embeddings` (1, pieces, hidden); pooling is the caller's. Weights
become signed int8 with one scale a column, in 7 bits of the 8: without VNNI, the sum of two products of
8 bits overflows the 16 that a CPU has for it, and the vectors of two machines would differ. A word's row has
a scale of its own. What flows between layers is quantised as it comes, with a scale from the whole input.

Surprising: there is no attention mask. That scale would make a text's vector depend on the texts it is
computed with, so a run takes one text, and one text needs no padding.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.search.embed.contract import library

Tensors = Mapping[str, NDArray[Any]]

OPSET = 17
NORM_EPSILON = 1e-12
WEIGHT_MAX = 63  # 7 bits, sign included


def model_bytes(weights: Tensors, heads: int) -> bytes:
    """The serialised model; `weights` are named as in the BERT that transformers saves."""
    graph = _Graph()
    x = _embeddings(graph, weights)
    for layer in range(_layers(weights)):
        x = _layer(graph, weights, f"encoder.layer.{layer}", x, heads)
    return graph.serialise(x, hidden=weights["embeddings.LayerNorm.weight"].shape[0])


def quantised(weight: NDArray[np.float32], axis: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Signed int8 and a scale for each place along `axis`: weight = int8 * scale, within half a step."""
    over = tuple(i for i in range(weight.ndim) if i != axis)
    scale = np.abs(weight).max(axis=over, keepdims=True) / WEIGHT_MAX
    scale[scale == 0] = 1
    return np.rint(weight / scale).astype(np.int8), scale.reshape(-1).astype(np.float32)


class _Graph:
    """Nodes and constants in the order they were added; names are numbers."""

    def __init__(self) -> None:
        self._onnx = library("onnx", "minilm")
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def constant(self, value: NDArray[Any]) -> str:
        name = f"c{len(self._constants)}"
        self._constants.append(self._onnx.numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def node(
        self, kind: str, inputs: list[str], outputs: int = 1, domain: str = "", **attributes: Any
    ) -> str:
        """Add a node; the name of its (first) output. Further outputs are that name with `.1`, `.2`."""
        first = f"n{len(self._nodes)}"
        names = [first, *(f"{first}.{number}" for number in range(1, outputs))]
        self._nodes.append(self._onnx.helper.make_node(kind, inputs, names, domain=domain, **attributes))
        return first

    def serialise(self, output: str, hidden: int) -> bytes:
        helper, types = self._onnx.helper, self._onnx.TensorProto
        self._nodes.append(helper.make_node("Identity", [output], ["token_embeddings"]))
        graph = helper.make_graph(
            self._nodes,
            "bert",
            [helper.make_tensor_value_info("input_ids", types.INT64, [1, "pieces"])],
            [helper.make_tensor_value_info("token_embeddings", types.FLOAT, [1, "pieces", hidden])],
            self._constants,
        )
        domains = [helper.make_opsetid("", OPSET), helper.make_opsetid("com.microsoft", 1)]
        model = helper.make_model(graph, opset_imports=domains, ir_version=8, producer_name="recollect")
        content: bytes = model.SerializeToString(deterministic=True)
        return content


def _layers(weights: Tensors) -> int:
    return len([name for name in weights if name.endswith(".attention.output.dense.weight")])


def _embeddings(graph: _Graph, weights: Tensors) -> str:
    """Word, place and (always the first) type of each piece, summed and normed."""
    words, scales = quantised(weights["embeddings.word_embeddings.weight"], axis=0)
    kind = weights["embeddings.token_type_embeddings.weight"][0]
    places = graph.constant(weights["embeddings.position_embeddings.weight"] + kind)
    rows = graph.node("Cast", [graph.node("Gather", [graph.constant(words), "input_ids"])], to=1)
    scale = graph.node("Gather", [graph.constant(scales[:, None]), "input_ids"])
    end = graph.node("Slice", [graph.node("Shape", ["input_ids"]), *_numbers(graph, [1], [2], [0])])
    place = graph.node("Slice", [places, *_numbers(graph, [0]), end, *_numbers(graph, [0])])
    x = graph.node("Add", [graph.node("Mul", [rows, scale]), place])
    norm = [graph.constant(weights[f"embeddings.LayerNorm.{part}"]) for part in ("weight", "bias")]
    return graph.node("LayerNormalization", [x, *norm], epsilon=NORM_EPSILON)


def _layer(graph: _Graph, weights: Tensors, name: str, x: str, heads: int) -> str:
    attended = _attention(graph, weights, f"{name}.attention.self", x, heads)
    x = _dense_and_norm(graph, weights, f"{name}.attention.output", attended, x)
    wide = _matmul(graph, weights[f"{name}.intermediate.dense.weight"], x)
    bias = graph.constant(weights[f"{name}.intermediate.dense.bias"])
    wide = graph.node("BiasGelu", [wide, bias], domain="com.microsoft")
    return _dense_and_norm(graph, weights, f"{name}.output", wide, x)


def _attention(graph: _Graph, weights: Tensors, name: str, x: str, heads: int) -> str:
    parts = ("query", "key", "value")
    weight, scale = quantised(np.concatenate([weights[f"{name}.{part}.weight"] for part in parts]).T, axis=1)
    bias = np.concatenate([weights[f"{name}.{part}.bias"] for part in parts])
    small = graph.node("DynamicQuantizeLinear", [x], outputs=3)
    inputs = [small, graph.constant(weight), graph.constant(bias), f"{small}.1", graph.constant(scale), ""]
    inputs += [f"{small}.2", graph.constant(np.zeros(scale.shape, np.int8))]
    return graph.node("QAttention", inputs, domain="com.microsoft", num_heads=heads)


def _dense_and_norm(graph: _Graph, weights: Tensors, name: str, x: str, skip: str) -> str:
    """LayerNorm(x W + b + skip)."""
    dense = _matmul(graph, weights[f"{name}.dense.weight"], x)
    names = (f"{name}.LayerNorm.weight", f"{name}.LayerNorm.bias", f"{name}.dense.bias")
    inputs = [dense, skip, *(graph.constant(weights[part]) for part in names)]
    return graph.node("SkipLayerNormalization", inputs, domain="com.microsoft", epsilon=NORM_EPSILON)


def _matmul(graph: _Graph, weight: NDArray[np.float32], x: str) -> str:
    small, scale = quantised(weight.T, axis=1)
    inputs = [x, graph.constant(small), graph.constant(scale), graph.constant(np.zeros(scale.shape, np.int8))]
    return graph.node("DynamicQuantizeMatMul", inputs, domain="com.microsoft")


def _numbers(graph: _Graph, *values: list[int]) -> list[str]:
    return [graph.constant(np.array(value, np.int64)) for value in values]
