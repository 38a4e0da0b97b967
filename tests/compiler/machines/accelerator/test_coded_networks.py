"""Networks whose weights are codes give what the CPU gives, and move fewer bytes."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.hw.isa import Program
from tandem.hw.isa.disasm import disassemble
from tandem.hw.weight_formats import BINARY, INT4, MXFP4, NF4, TERNARY
from tandem.runtime.artifact import Artifact, from_bytes, streams_of, to_bytes
from tandem.runtime.devices import CpuDevice
from tandem.runtime.executor import Executor
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine
from tests.support.compiler.plan.coded_graphs import CodedNet
from tests.support.compiler.plan.offloaded import both, image, run_on
from tests.support.compiler.plan.quantised_graphs import residual_net

ALL = (INT4, MXFP4, TERNARY, NF4, BINARY)


def instructions(artifact: Artifact) -> str:
    return "".join(
        disassemble(Program(each.config, each.program)) for each in streams_of(artifact).values()
    )


@pytest.mark.parametrize("engine", ["functional", "cycle"])
@pytest.mark.parametrize(
    ("config", "formats", "group"),
    [
        ("small8-w", (INT4,), 8),
        ("small8-w", ALL, 16),
        ("tiny-w", (NF4, TERNARY), 4),
        ("pynq-w", ALL, 32),
        # No such extension: the numbers are the same, from int8.
        ("small8-x", ALL, 16),
    ],
)
def test_a_residual_network(config: str, formats: tuple, group: int, engine: str) -> None:
    net = CodedNet(5, formats=formats, group=group)
    alone, shared = both(residual_net(channels=16, net=net), machine(config))
    x = image((1, 3, 16, 16))
    wanted = Executor(alone, [CpuDevice(1)]).run({"x": x}).outputs["out"]
    found = run_on(from_bytes(to_bytes(shared)), engine, x)
    np.testing.assert_array_equal(found.outputs["out"], wanted)
    assert ("wgt_codes" in instructions(shared).lower()) == config.endswith("-w")
