"""Measuring tiles by OpenCL: the device's own time, wrong results, tuning from end to end."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from typer.testing import CliRunner

from tandem.compiler.graph.passes import InferTypes
from tandem.compiler.machines.gpu.machine import GpuMachine
from tandem.compiler.machines.gpu.schedules.tile_template import default_choice, products_of
from tandem.compiler.tune.records import read_records
from tandem.compiler.tune.trial import Status
from tandem.runtime.devices.opencl import OpenClDevice
from tandem.scripts.cli import app
from tandem.workbench.devices import OpenCl
from tandem.workbench.measurers import on_gpu
from tandem.workbench.measurers.on_gpu import GpuLayer, GpuMeasurer
from tests.support.compiler.graph.graphs import graph
from tests.support.compiler.machines.gpu.on_opencl import opencl_device

MACHINE = GpuMachine()
KERNEL = InferTypes().apply(
    graph(
        """
kernel @k(a: float32[32, 24], b: float32[24, 32]):
  c = matmul(a, b)
  return c
"""
    )
)
LAYER = GpuLayer(MACHINE, KERNEL)


def two_products() -> onnx.ModelProto:
    """A product of matrices, a ReLU, and another product."""
    nodes = [
        onnx.helper.make_node("MatMul", ["x", "v"], ["a"]),
        onnx.helper.make_node("Relu", ["a"], ["b"]),
        onnx.helper.make_node("MatMul", ["b", "w"], ["y"]),
    ]
    rng = np.random.default_rng(4)
    weights = {"v": (24, 48), "w": (48, 32)}
    arrays = [
        onnx.numpy_helper.from_array(rng.normal(size=shape).astype(np.float32), name)
        for name, shape in weights.items()
    ]
    x, y = (
        onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
        for name, shape in (("x", (32, 24)), ("y", (32, 32)))
    )
    graph = onnx.helper.make_graph(nodes, "net", [x], [y], arrays)
    opset = onnx.helper.make_opsetid("", 20)
    return onnx.helper.make_model(graph, opset_imports=[opset], ir_version=9)


def test_a_median_of_seconds() -> None:
    opencl_device()
    choice = default_choice(products_of(KERNEL), MACHINE)
    outcome = GpuMeasurer(OpenClDevice)(LAYER, choice, float("inf"))
    assert outcome.status is Status.MEASURED, outcome.reason
    assert 0 < outcome.cost < 1


def test_a_wrong_result_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    opencl_device()
    monkeypatch.setattr(on_gpu, "reference_of", lambda kernel, arrays: np.zeros((32, 32)))
    choice = default_choice(products_of(KERNEL), MACHINE)
    outcome = GpuMeasurer(OpenClDevice)(LAYER, choice, float("inf"))
    assert outcome.reason == "its result differs from the reference"


def test_a_choice_that_cannot_be_compiled() -> None:
    opencl_device()
    choice = {**default_choice(products_of(KERNEL), MACHINE), "rows": 128, "thread_rows": 1}
    outcome = GpuMeasurer(OpenClDevice)(LAYER, choice, float("inf"))
    assert outcome.reason.startswith("CapacityError: ")


def test_records_are_of_a_device(tmp_path: Path) -> None:
    """Tuning writes records by the device's name, of which a run takes the choices."""
    device = opencl_device()
    model, records = str(tmp_path / "net.onnx"), str(tmp_path / "records.jsonl")
    onnx.save(two_products(), model)
    given = ["--device", "opencl", "--records", records]
    tuned = CliRunner().invoke(app, ["tune", model, *given, "--trials", "2", "--json"])
    assert tuned.exit_code == 0, tuned.output
    tasks = json.loads(tuned.stdout)["tasks"]
    assert tasks
    assert {task["template"] for task in tasks} == {"gpu_tiles"}
    found, _ = read_records(Path(records))
    assert {record.target for record in found} == {"opencl"}
    assert {record.machine["name"] for record in found} == {device.model}
    assert OpenCl().own_records(found) == tuple(found)
    run = CliRunner().invoke(app, ["run", model, *given])
    assert run.exit_code == 0, run.output
    count = sum(len(task["layers"]) for task in tasks)
    assert f"schedules: {count} of {count} layers by records" in run.output
