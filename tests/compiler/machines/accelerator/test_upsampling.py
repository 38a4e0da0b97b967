"""Images that are enlarged between layers stay on the accelerator, in one launch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

import numpy as np
import pytest
from onnx import ModelProto

from tandem.compiler.driver.compile_onnx import PreparedNetwork, prepare_network
from tandem.compiler.graph.types import TensorType
from tandem.compiler.machines.defaults import compile_options
from tandem.hw.isa import Program
from tandem.runtime.artifact import Artifact, Provenance, from_bytes, streams_of, to_bytes
from tandem.runtime.devices import CpuDevice
from tandem.runtime.executor import Executor
from tests.compiler.machines.accelerator.upsampling_models import pyramid, unet
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine
from tests.support.compiler.machines.accelerator.vta import check_for_vta
from tests.support.compiler.plan.offloaded import HOST, image, run_on, targets

MODELS: Mapping[str, Callable[[], ModelProto]] = {"unet": unet, "pyramid": pyramid}
QUICK = [
    *(("unet", "tiny", "rtl"), ("unet", "small8-x", "cycle")),
    ("pyramid", "small8", "functional"),
]
THOROUGH = [
    (name, config, engine)
    for name in MODELS
    for config, engine in (
        *(("tiny", "rtl"), ("tiny-x", "rtl"), ("small8", "rtl"), ("small8-x", "rtl")),
        *(("batch2", "functional"), ("extended", "functional"), ("extended_batch", "functional")),
    )
    if (name, config, engine) not in QUICK
]


@cache
def prepared(name: str) -> tuple[PreparedNetwork, Artifact]:
    """A quantised network, and its artifact for the CPU alone."""
    network = prepare_network(MODELS[name](), Provenance(name), compile_options())
    return network, network.build([HOST])


@pytest.mark.parametrize(
    ("name", "config", "engine"),
    [*QUICK, *(pytest.param(*each, marks=pytest.mark.exhaustive) for each in THOROUGH)],
)
def test_one_launch(name: str, config: str, engine: str) -> None:
    network, alone = prepared(name)
    shared = network.build(targets(machine(config)))
    *before, stream, after = shared.manifest.steps
    assert not stream.on_host
    # Quantised and packed; unpacked and made real.
    assert 1 <= len(before) <= 2
    assert all(step.on_host for step in (*before, after))
    (code,) = streams_of(shared).values()
    check_for_vta(Program.from_bytes(code.config, code.program))
    (param,) = network.function.params
    assert isinstance(param.type, TensorType)
    x = image(param.type.static_shape("x"), seed=1)
    (wanted,) = Executor(alone, [CpuDevice(1)]).run({"x": x}).outputs.values()
    (found,) = run_on(from_bytes(to_bytes(shared)), engine, x).outputs.values()
    assert len(np.unique(wanted)) > 20
    np.testing.assert_array_equal(found, wanted)
