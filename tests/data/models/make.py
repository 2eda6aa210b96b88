"""How the small ONNX files here were made; by hand, once: `pip install onnx`, then `python make.py`.

`minilm/` is not made here: it is what the version with an exporter of its own built out of a BERT of two
layers with random weights, and what people of that version have in their models folder.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HERE = Path(__file__).parent
PIECES, HIDDEN = 128, 16


def main() -> None:
    """Graphs that differ in what they want and give: a table of vectors, as optimum names things."""
    save("optimum.onnx", ["input_ids", "attention_mask", "token_type_ids"], "last_hidden_state")
    save("pooled.onnx", ["input_ids", "attention_mask"], "sentence_embedding")
    save("pixels.onnx", ["input_ids", "pixel_values"], "last_hidden_state")
    save("logits.onnx", ["input_ids"], "logits")


def save(name: str, inputs: list[str], output: str) -> None:
    pooled = output == "sentence_embedding"
    table = np.random.default_rng(0).standard_normal((PIECES, HIDDEN)).astype(np.float32)
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["rows" if pooled else output])]
    if pooled:
        nodes.append(helper.make_node("ReduceMean", ["rows"], [output], axes=[1], keepdims=0))
    shape = ["texts", HIDDEN] if pooled else ["texts", "pieces", HIDDEN]
    graph = helper.make_graph(
        nodes,
        "table",
        [helper.make_tensor_value_info(each, TensorProto.INT64, ["texts", "pieces"]) for each in inputs],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(table, "table")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    (HERE / name).write_bytes(model.SerializeToString(deterministic=True))


if __name__ == "__main__":
    main()
