"""ResNet-18, layer by layer: against real numbers, against NumPy's integers, and against a model
that ONNX Runtime quantised."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from numpy.typing import NDArray
from onnxruntime.quantization import (
    CalibrationDataReader,
    QuantFormat,
    QuantType,
    quantize_static,
)

from tandem.compiler.frontends.onnx import import_model
from tandem.compiler.graph import Var
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.passes import Fuse, transform
from tandem.compiler.machines.cpu.runner import NativeRunner
from tandem.compiler.machines.defaults import compile_options
from tandem.compiler.models import built_in
from tandem.compiler.quantise.layer_errors import layer_errors
from tandem.compiler.quantise.layers import layers
from tandem.compiler.quantise.network import quantise_network
from tandem.compiler.quantise.options import Mode, QuantiseOptions
from tandem.compiler.quantise.samples import synthetic
from tests.support.compiler.quantise.networks import called
from tests.support.compiler.quantise.quantised_reference import reference

pytestmark = pytest.mark.exhaustive

EXACT_ON = compile_options().exact_on
SHAPES = {"input": (1, 3, 224, 224)}


@pytest.mark.parametrize("mode", list(Mode))
def test_every_layer(mode: Mode) -> None:
    """30 dB or more by itself; and bit for bit as NumPy's integers."""
    function = import_model(built_in("resnet18"), shapes=SHAPES).function
    run = NativeRunner(threads=2)
    found = quantise_network(
        function, list(synthetic(function)), run, QuantiseOptions(mode), EXACT_ON
    )
    (sample,) = synthetic(function, 1, seed=99)
    errors = layer_errors(found, [sample], run)
    for error in errors:
        print(f"{mode.value} {error.name:24} {error.sqnr:6.2f} dB, itself {error.own_sqnr:6.2f} dB")
    assert len(errors) >= 24
    assert min(each.own_sqnr for each in errors) >= 30
    native = evaluate(transform(found.function, (Fuse(),)), sample, run)
    result = found.function.body.result
    assert isinstance(result, Var)
    np.testing.assert_array_equal(native, reference(found.function, sample)[result.name])


class Noise(CalibrationDataReader):  # type: ignore[misc]
    """Samples for ONNX Runtime's calibration."""

    def __init__(self, count: int) -> None:
        function = import_model(built_in("resnet18"), shapes=SHAPES).function
        self._samples = synthetic(function, count)

    def get_next(self) -> dict[str, Any] | None:
        """The next one."""
        found = next(self._samples, None)
        return None if found is None else {"input": found[0]}


@pytest.mark.parametrize("unsigned", [False, True])
def test_a_model_that_others_quantised(tmp_path: Path, unsigned: bool) -> None:
    """Layer by layer on the same int8 inputs: in 99.9 % of elements within 1 unit."""
    plain, path = tmp_path / "plain.onnx", tmp_path / "qdq.onnx"
    onnx.save(built_in("resnet18"), plain)
    quantize_static(
        plain,
        path,
        Noise(2),
        quant_format=QuantFormat.QDQ,
        per_channel=True,
        activation_type=QuantType.QUInt8 if unsigned else QuantType.QInt8,
        weight_type=QuantType.QInt8,
    )
    model = onnx.load(path)
    theirs = tensors_of(model)
    imported = import_model(model, shapes=SHAPES)
    run = NativeRunner(threads=2)
    found = quantise_network(imported.function, [], run, targets=EXACT_ON)
    assert set(called(found.function)) == {
        *("quantise", "pad", "conv2d", "requantise", "max_pool", "cast", "requantise_add"),
        *("reduce_sum", "reshape", "dense", "dequantise"),
    }
    known = {}
    for node in model.graph.node:
        if node.op_type == "QuantizeLinear" and node.output[0] in theirs:
            known[imported.names[node.input[0]]] = signed(theirs[node.output[0]])
    compared = 0
    for layer in layers(found):
        if layer.scale is None or layer.name not in known or None in dict(layer.inputs).values():
            continue
        given = [known[name] for name, _ in layer.inputs]
        ours = evaluate(transform(layer.function, (Fuse(),)), given, run)
        assert isinstance(ours, np.ndarray)
        off = np.abs(ours.astype(int) - known[layer.name])
        print(f"{layer.name:24} equal {np.mean(off == 0):.4%}, within 1 {np.mean(off <= 1):.4%}")
        assert np.mean(off <= 1) >= 0.999
        compared += 1
    assert compared >= 30
    (sample,) = synthetic(imported.function, 1, seed=99)
    whole = evaluate(transform(found.function, (Fuse(),)), sample, run)
    result = found.function.body.result
    assert isinstance(result, Var)
    np.testing.assert_array_equal(whole, reference(found.function, sample)[result.name])


def tensors_of(model: onnx.ModelProto) -> dict[str, NDArray[Any]]:
    """What ONNX Runtime has at every QuantizeLinear for one sample, by its output's name."""
    names = [each.output[0] for each in model.graph.node if each.op_type == "QuantizeLinear"]
    watched = onnx.ModelProto()
    watched.CopyFrom(model)
    for name in names:
        watched.graph.output.append(onnx.ValueInfoProto(name=name))
    session = onnxruntime.InferenceSession(
        watched.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    (sample,) = synthetic(import_model(built_in("resnet18"), shapes=SHAPES).function, 1, seed=99)
    values = session.run(names, {"input": sample[0]})
    return dict(zip(names, map(np.asarray, values), strict=True))


def signed(values: NDArray[Any]) -> NDArray[np.int8]:
    """Of what has no sign 128 is taken off, as the graph does."""
    moved = values.astype(np.int16) - (128 if values.dtype == np.uint8 else 0)
    return moved.astype(np.int8)
