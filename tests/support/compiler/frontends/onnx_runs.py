"""ONNX models run by ONNX Runtime and by Tandem: the evaluator, and the compiled artifact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from onnx import ModelProto

from tandem.compiler.driver import build
from tandem.compiler.frontends.onnx import Imported, import_model
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.runner import NativeRunner
from tandem.compiler.machines.cpu.target import cpu
from tandem.runtime.artifact import Artifact, Provenance, from_bytes, to_bytes
from tandem.runtime.devices.cpu import CpuDevice
from tandem.runtime.executor import Executor

Array = NDArray[Any]


def rival_outputs(model: ModelProto, feeds: Mapping[str, Array]) -> list[Array]:
    """The model's outputs as ONNX Runtime computes them, without rewriting the model."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return [np.asarray(each) for each in session.run(None, dict(feeds))]


def evaluated(imported: Imported, feeds: Mapping[str, Array]) -> list[Array]:
    """The model's outputs by the evaluator."""
    found = evaluate(imported.function, [feeds[name] for name in imported.inputs], NativeRunner(1))
    return [*imported.by_name(found).values()]


def compiled(imported: Imported) -> Artifact:
    """The model's artifact for this CPU, as it is read from its bytes."""
    made = build(
        imported.function,
        [cpu(CpuTarget.host(threads=1))],
        Provenance("model"),
        inputs=imported.inputs,
        outputs=imported.outputs,
        counts=imported.counts,
    )
    return from_bytes(to_bytes(made))


def agree(model: ModelProto, feeds: Mapping[str, Array], tolerance: float = 1e-5) -> Artifact:
    """Assert that evaluator and artifact give ONNX Runtime's outputs; returns the artifact."""
    imported = import_model(model)
    wanted = rival_outputs(model, feeds)
    artifact = compiled(imported)
    run = Executor(artifact, [CpuDevice(1)]).run({name: feeds[name] for name in imported.inputs})
    _same(evaluated(imported, feeds), wanted, tolerance)
    _same([run.outputs[name] for name in imported.outputs], wanted, tolerance)
    return artifact


def _same(found: Sequence[Array], wanted: Sequence[Array], tolerance: float) -> None:
    assert len(found) == len(wanted)
    for ours, theirs in zip(found, wanted, strict=True):
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)
