"""The ONNX file of a network, as PyTorch exports it."""

from __future__ import annotations

import io
import warnings
from pathlib import Path

import onnx
import torch

from tests.support.exported.catalogue import ExportedNetwork
from tests.support.exported.weights import drawn, seeded

_OPSET = 17


def exported(network: ExportedNetwork, seed: int) -> onnx.ModelProto:
    """The network, with weights drawn from `seed`, as ONNX."""
    # One thread: with more, sums could be in another order the next time.
    torch.set_num_threads(1)
    module = seeded(network, seed)
    inputs = drawn(network.inputs)
    with torch.no_grad():
        found = module(*inputs.values())
    outputs = [f"output_{at}" for at in range(len(found) if isinstance(found, tuple) else 1)]
    axes = {name: {0: "N"} for name in (*inputs, *outputs)} if network.open_batch else None
    file = io.BytesIO()
    with warnings.catch_warnings():
        # The exporter warns of itself, and of shapes that it takes for constants.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module,
            tuple(inputs.values()),
            file,
            input_names=list(inputs),
            output_names=outputs,
            dynamic_axes=axes,
            opset_version=_OPSET,
            dynamo=False,
        )
    return onnx.load_from_string(file.getvalue())


def save(model: onnx.ModelProto, path: Path) -> None:
    """Check the model, and write it without what it says of the machine that it comes from."""
    for part in (model, model.graph, *model.graph.node):
        part.ClearField("doc_string")
        part.ClearField("metadata_props")
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, path)
