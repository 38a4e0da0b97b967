"""Networks whose weights are codes give what the CPU gives, and move fewer bytes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tandem.hw.isa import Program
from tandem.hw.isa.disasm import disassemble
from tandem.hw.weight_formats import BINARY, INT4, MXFP4, NF4, TERNARY, WeightFormat
from tandem.runtime.artifact import Artifact, from_bytes, streams_of, to_bytes
from tandem.runtime.devices import CpuDevice
from tandem.runtime.executor import Executor
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine
from tests.support.compiler.plan.coded_graphs import CodedNet
from tests.support.compiler.plan.offloaded import both, image, run_on
from tests.support.compiler.plan.quantised_graphs import residual_net

ALL = (INT4, MXFP4, TERNARY, NF4, BINARY)


def instructions(artifact: Artifact) -> str:
    codes = streams_of(artifact).values()
    return "".join(disassemble(Program(code.config, code.program)) for code in codes)


@pytest.mark.every(2)
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
def test_a_residual_network(
    config: str, formats: Sequence[WeightFormat], group: int, engine: str
) -> None:
    net = CodedNet(5, formats=formats, group=group)
    alone, shared = both(residual_net(channels=16, net=net), machine(config))
    x = image((1, 3, 16, 16))
    wanted = Executor(alone, [CpuDevice(1)]).run({"x": x}).outputs["out"]
    found = run_on(from_bytes(to_bytes(shared)), engine, x)
    np.testing.assert_array_equal(found.outputs["out"], wanted)
    assert ("wgt_codes" in instructions(shared).lower()) == config.endswith("-w")


def test_on_the_verilog() -> None:
    net = CodedNet(7, formats=ALL, group=8)
    alone, shared = both(residual_net(channels=8, net=net), machine("tiny-w"))
    x = image((1, 3, 16, 16), seed=2)
    wanted = Executor(alone, [CpuDevice(1)]).run({"x": x}).outputs["out"]
    found, timed = run_on(shared, "rtl", x), run_on(shared, "cycle", x)
    np.testing.assert_array_equal(found.outputs["out"], wanted)
    assert found.profile.cycles == timed.profile.cycles


def test_a_table_is_set_where_it_changes() -> None:
    def tables(*formats: WeightFormat) -> int:
        net = CodedNet(5, formats=formats, group=8)
        _, shared = both(residual_net(channels=16, net=net), machine("small8-w"))
        return instructions(shared).upper().count("TABLE")

    # The first layer's windows are packed by the host, and its weights are int8 in int4's groups.
    assert tables(INT4) == 2
    assert tables(TERNARY) == 1
    assert tables(INT4, MXFP4) > 2


def test_codes_take_less_memory() -> None:
    sizes = []
    for name in ("small8-x", "small8-w"):
        net = CodedNet(5, formats=(TERNARY,))
        _, shared = both(residual_net(channels=64, net=net), machine(name))
        (code,) = streams_of(shared).values()
        sizes.append(code.image.size)
    plain, coded = sizes
    assert coded < 0.5 * plain
