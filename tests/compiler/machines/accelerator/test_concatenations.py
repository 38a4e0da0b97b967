"""Concatenations and slices cost no instruction: layers store their results where they are read."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.graph.types import TensorType
from tandem.hw.isa import Program
from tandem.runtime.artifact import from_bytes, streams_of, to_bytes
from tandem.runtime.devices import CpuDevice
from tandem.runtime.executor import Executor
from tests.compiler.machines.accelerator.concatenations import (
    branches,
    dense_block,
    halves,
    hourglass,
)
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine
from tests.support.compiler.machines.accelerator.vta import check_for_vta
from tests.support.compiler.plan.offloaded import both, image, run_on

NETWORKS = {
    "branches": branches(),
    "dense_block": dense_block(),
    "dense_block_joined": dense_block(joined=True),
    "hourglass": hourglass(),
    "halves": halves(),
}


QUICK = [
    ("branches", "small8", "functional"),
    ("halves", "small8", "functional"),
    ("hourglass", "extended_batch", "functional"),
]
THOROUGH = [
    (name, config, engine)
    for name in NETWORKS
    for config, engine in (
        ("small8", "functional"),
        ("small8", "rtl"),
        ("small8-x", "rtl"),
        ("extended", "functional"),
        ("extended_batch", "functional"),
        ("tiny", "cycle"),
    )
    if (name, config, engine) not in QUICK
]


@pytest.mark.parametrize(
    ("name", "config", "engine"),
    [*QUICK, *(pytest.param(*each, marks=pytest.mark.exhaustive) for each in THOROUGH)],
)
def test_one_launch(name: str, config: str, engine: str) -> None:
    function = NETWORKS[name]
    alone, shared = both(function, machine(config))
    first, *others, last = shared.manifest.steps
    assert [each.device for each in others] == ["cpu", "accelerator"]
    assert first.on_host
    assert last.on_host
    (code,) = streams_of(shared).values()
    check_for_vta(Program.from_bytes(code.config, code.program))
    (param,) = function.params
    assert isinstance(param.type, TensorType)
    x = image(param.type.static_shape("x"))
    wanted = Executor(alone, [CpuDevice(1)]).run({"x": x}).outputs["out"]
    found = run_on(from_bytes(to_bytes(shared)), engine, x)
    np.testing.assert_array_equal(found.outputs["out"], wanted)
