"""Small decoders, and their texts without a cache."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto, helper, numpy_helper

from tandem.compiler.frontends.onnx import import_model
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.models.decoders import DecoderModel, gpt2_decoder, llama_decoder
from tandem.compiler.models.gpt2 import gpt2_of
from tandem.compiler.models.llama import llama_of
from tandem.compiler.models.transformer import Sizes, TokenPorts
from tandem.compiler.quantise.options import Mode
from tandem.hw.config_files import load_config
from tandem.hw.memory_model import parse_memory
from tandem.runtime.decoder import DecoderArtifact
from tandem.workbench.decoders.compiling import DecoderOptions, compile_decoder
from tandem.workbench.decoders.sources import open_decoder
from tandem.workbench.devices import Accelerator, Cpu

CONTEXT = 12
ONE_LAYER = gpt2_decoder("one-layer", Sizes(16, 2, 32, 1, tokens=1, vocabulary=256), CONTEXT)
"""A decoder of bytes."""
ROTARY = llama_decoder("rotary", Sizes(16, 4, 24, 1, 1, vocabulary=40, key_heads=2), CONTEXT)
"""One with rotary positions and shared keys, whose tokens are no bytes."""


def whole_logits(model: DecoderModel, tokens: Sequence[int]) -> NDArray[np.float32]:
    """The scores after each token [tokens, vocabulary], of the network without a cache, by the
    evaluator of graphs in float32."""
    ports = TokenPorts(replace(model.sizes, tokens=len(tokens), past=0))
    if model is ROTARY:
        proto = llama_of(model.name, ports, 0, model.context)
    else:
        proto = gpt2_of(model.name, ports, model.context)
    imported = import_model(proto)
    values = evaluate(imported.function, [np.array([tokens], np.int64)])
    logits: NDArray[np.float32] = imported.by_name(values)["logits"][0]
    return logits


@cache
def compiled(model: DecoderModel, config: str | None, chunk: int = 4) -> DecoderArtifact:
    """A decoder for an accelerator; None for this processor in float32, `cpu` for it in int8."""
    device = Cpu(1)
    options = DecoderOptions(chunk=chunk, quantise=None if config is None else Mode.MULTIPLIER)
    if config in (None, "cpu"):
        return compile_decoder(open_decoder(model), options, device)
    machine = Accelerator(load_config(str(config)), parse_memory("fast"), host=device)
    return compile_decoder(open_decoder(model), options, machine)


def exported(vocabulary: int = 20, features: int = 8, seed: int = 0) -> ModelProto:
    """A decoder of one layer and one head as exporters write them: all numbers of tokens are open,
    and `present.*` has the rows of `past_key_values.*` before its own."""
    random = np.random.default_rng(seed)
    weights = {
        "words": random.standard_normal((vocabulary, features)),
        "places": random.standard_normal((64, features)),
        **{name: random.standard_normal((features, features)) / 3 for name in "qkv"},
        "head": random.standard_normal((features, vocabulary)),
        "hidden": np.array(-1e4),
        "zero": np.array(0.0),
    }
    whole = {"begin": 0, "step": 1, "one": [1], "two": [2], "first": [0], "axes": [0, 1]}
    nodes: list[tuple[str, list[str], str, dict[str, Any]]] = [
        ("Gather", ["words", "input_ids"], "embedded", {}),
        ("Gather", ["places", "position_ids"], "placed", {}),
        ("Add", ["embedded", "placed"], "x", {}),
        *(("MatMul", ["x", name], f"{name}.tokens", {}) for name in "qkv"),
        *(("Unsqueeze", [f"{name}.tokens", "one"], f"{name}.heads", {}) for name in "qkv"),
        ("Concat", ["past_key_values.0.key", "k.heads"], "present.0.key", {"axis": 2}),
        ("Concat", ["past_key_values.0.value", "v.heads"], "present.0.value", {"axis": 2}),
        ("Transpose", ["present.0.key"], "columns", {"perm": [0, 1, 3, 2]}),
        ("MatMul", ["q.heads", "columns"], "scores", {}),
        ("Shape", ["attention_mask"], "mask.shape", {}),
        ("Gather", ["mask.shape", "step"], "total", {}),
        ("Shape", ["past_key_values.0.key"], "past.shape", {}),
        ("Gather", ["past.shape", "two.scalar"], "past", {}),
        ("Range", ["past", "total", "step"], "rows", {}),
        ("Range", ["begin", "total", "step"], "keys", {}),
        ("Unsqueeze", ["rows", "one"], "rows.column", {}),
        ("LessOrEqual", ["keys", "rows.column"], "earlier", {}),
        ("Cast", ["attention_mask"], "there", {"to": TensorProto.BOOL}),
        ("Unsqueeze", ["there", "one"], "there.rows", {}),
        ("And", ["there.rows", "earlier"], "seen", {}),
        ("Where", ["seen", "zero", "hidden"], "mask", {}),
        ("Add", ["scores", "mask"], "masked", {}),
        ("Softmax", ["masked"], "weights", {"axis": -1}),
        ("MatMul", ["weights", "present.0.value"], "values", {}),
        ("Squeeze", ["values", "one"], "values.tokens", {}),
        ("Add", ["x", "values.tokens"], "result", {}),
        ("MatMul", ["result", "head"], "logits", {}),
    ]
    constants = {name: np.array(value, np.int64) for name, value in whole.items()}
    constants["two.scalar"] = np.array(2, np.int64)
    constants |= {name: array.astype(np.float32) for name, array in weights.items()}
    tokens = ["batch", "sequence"]
    cache_shape: list[str | int | None] = ["batch", 1, "past_sequence", features]
    inputs = [
        helper.make_tensor_value_info("input_ids", TensorProto.INT64, tokens),
        helper.make_tensor_value_info("attention_mask", TensorProto.INT64, ["batch", "total"]),
        helper.make_tensor_value_info("position_ids", TensorProto.INT64, tokens),
    ]
    outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [*tokens, vocabulary])]
    for part in ("key", "value"):
        inputs.append(
            helper.make_tensor_value_info(
                f"past_key_values.0.{part}", TensorProto.FLOAT, cache_shape
            )
        )
        present: list[str | int | None] = ["batch", 1, "total", features]
        outputs.append(
            helper.make_tensor_value_info(f"present.0.{part}", TensorProto.FLOAT, present)
        )
    graph = helper.make_graph(
        [helper.make_node(kind, args, [name], name, **kw) for kind, args, name, kw in nodes],
        "exported",
        inputs,
        outputs,
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    opsets = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)
