"""Changes of shape between layers that move no byte stay on the accelerator, in one launch."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import ModelProto, helper

from tandem.compiler.driver.compile_onnx import prepare_network
from tandem.compiler.machines.defaults import compile_options
from tandem.runtime.artifact import Provenance
from tandem.runtime.devices import CpuDevice
from tandem.runtime.executor import Executor
from tests.support.compiler.frontends.onnx_models import model
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine
from tests.support.compiler.plan.offloaded import HOST, image, run_on, targets


def reshaped(shape: tuple[int, ...]) -> ModelProto:
    """Two convolutions of 8 channels, and between them another shape of the image."""
    rng = np.random.default_rng(0)
    channels = shape[1]
    weights = {
        "v": rng.standard_normal((8, 8, 1, 1)).astype(np.float32),
        "w": rng.standard_normal((8, channels, 1, 1)).astype(np.float32),
        "shape": np.array(shape),
    }
    nodes = [
        helper.make_node("Conv", ["x", "v"], ["a"]),
        helper.make_node("Reshape", ["a", "shape"], ["b"]),
        helper.make_node("Conv", ["b", "w"], ["c"]),
        helper.make_node("Relu", ["c"], ["y"]),
    ]
    return model(nodes, {"x": [1, 8, 4, 6]}, ["y"], weights)


@pytest.mark.parametrize(
    ("shape", "config", "launches"),
    [
        ((1, 8, 2, 12), "tiny", 1),
        ((1, 8, 24, 1), "small8-x", 1),
        # Channels change, and with them what is in a block.
        ((1, 4, 8, 6), "tiny", 2),
    ],
)
def test_launches(shape: tuple[int, ...], config: str, launches: int) -> None:
    network = prepare_network(reshaped(shape), Provenance("views"), compile_options())
    shared = network.build(targets(machine(config)))
    assert sum(not step.on_host for step in shared.manifest.steps) == launches
    x = image((1, 8, 4, 6), seed=1)
    (wanted,) = Executor(network.build([HOST]), [CpuDevice(1)]).run({"x": x}).outputs.values()
    (found,) = run_on(shared, "cycle", x).outputs.values()
    assert len(np.unique(wanted)) > 20
    np.testing.assert_array_equal(found, wanted)
