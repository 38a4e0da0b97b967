"""From models to artifacts in one call."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper

from compiler.build.network import CompileOptions, compile_network, prepare_network
from compiler.codegen import CpuTarget
from compiler.errors import BuildError
from compiler.targets.cpu.target import cpu
from runtime.artifact import Artifact, Provenance, Tensor, to_bytes
from runtime.devices import CpuDevice
from runtime.executor import Executor
from tests.support.models import convolution

HOST = cpu(CpuTarget.host(threads=1))
FLOAT = CompileOptions(quantise=None)


def rectifier(shape: list[int | str]) -> ModelProto:
    graph = helper.make_graph(
        [helper.make_node("Relu", ["in:0"], ["out:0"])],
        "g",
        [helper.make_tensor_value_info("in:0", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("out:0", TensorProto.FLOAT, shape)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def compiled(model: ModelProto, options: CompileOptions = FLOAT) -> Artifact:
    return compile_network(model, Provenance("relu", "digest", seed=5), options, [HOST])


def test_names_are_the_models() -> None:
    artifact = compiled(rectifier([2]))
    run = Executor(artifact, [CpuDevice(1)]).run({"in:0": np.array([-1, 2], np.float32)})
    assert run.outputs["out:0"].tolist() == [0, 2]
    assert artifact.manifest.name == "relu"


def test_where_it_comes_from() -> None:
    found = compiled(rectifier([2])).manifest.provenance
    assert (found.model, found.digest, found.seed) == ("relu", "digest", 5)
    assert found.options == {"quantise": "none"}
    assert {"llvmlite", "numpy", "onnx"} <= found.tools.keys()


def test_a_batch_that_is_open_is_one() -> None:
    assert compiled(rectifier(["N", 3])).manifest.tensors[0].shape == (1, 3)
    with pytest.raises(BuildError, match=r"input in:0 is float32\[N, M\], and M could be any"):
        compiled(rectifier(["N", "M"]))


def test_samples_are_asked_for_by_the_models_names(tmp_path: Path) -> None:
    model = ModelProto.FromString(convolution(tmp_path / "net.onnx").read_bytes())
    asked: list[tuple[Tensor, ...]] = []

    def samples(tensors: tuple[Tensor, ...]) -> list[dict[str, np.ndarray]]:
        asked.append(tensors)
        return [{"image": np.ones((1, 3, 8, 8), np.float32)}]

    artifact = compiled(model, CompileOptions(samples=samples))
    assert [[(each.name, str(each)) for each in them] for them in asked] == [
        [("image", "float32[1, 3, 8, 8]")]
    ]
    steps = {each.name: each.scale.step for each in artifact.manifest.tensors if each.scale}
    assert steps["image_int8"] == pytest.approx(1 / 127, rel=0.01)  # of ones
    assert artifact.manifest.provenance.options["quantise"] == "multiplier"


def test_one_network_for_two_targets() -> None:
    told: list[str] = []
    prepared = prepare_network(rectifier([2]), Provenance("relu"), FLOAT)
    first = prepared.build([HOST], report=told.append)
    assert told.count("compiling relu") == 1
    assert to_bytes(prepared.build([HOST], report=told.append)) == to_bytes(first)
    assert told.count("compiling relu") == 1
    lesser = cpu(HOST.machine.without("avx512f", "avx2", "avx"))
    other = prepared.build([lesser], report=told.append)
    assert told.count("compiling relu") == 2
    assert all("avx2" not in each.features for each in other.kernels.values())
