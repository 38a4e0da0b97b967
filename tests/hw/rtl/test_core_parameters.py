"""LOADs of PAR and what reads them next."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.features import Feature
from tandem.hw.isa import AluOp, Assembler, MemoryId, Unit
from tests.support.hw.rtl.core_stand import Stand
from tests.support.hw.rtl.rtl import Context, simulate

TINY = load_config("tiny")


@pytest.mark.every(4)
@pytest.mark.parametrize(
    "config",
    [TINY.replace(features=frozenset({Feature.REQUANTISE}), bus_bits=bus) for bus in (64, 512)],
    ids=["many_beats_an_element", "many_elements_a_beat"],
)
@pytest.mark.parametrize("padded", [False, True])
def test_the_last_write_of_parameters_is_there_for_the_next_instruction(
    config: HardwareConfig, padded: bool
) -> None:
    """Which starts in the cycle after the LOAD's end. With a multiplier of 0, the addend alone is
    seen; an element of padding has no addend."""
    assembler = Assembler(config.replace(load_buffer=64))
    config = assembler.config
    columns, size = 4, config.element_bytes(MemoryId.PAR)
    image = np.zeros(0x2000, np.uint8)
    channels = image[:size].view("<i4")
    channels[:] = 77
    image[: 8 * size] = np.tile(image[:size], 8)
    image[: 8 * size].view("<u2")[2::4] = 0
    image[: 8 * size].view(np.uint8)[6::8] = 0
    assembler.load(MemoryId.UOP, sram=0, dram=0x1000 // 4, columns=1)
    assembler.requantise(par=columns - 1)
    assembler.load(
        MemoryId.PAR,
        sram=0,
        dram=0,
        columns=columns - padded,
        pad=(0, 0, 0, int(padded)),
        signals=Unit.COMPUTE,
    )
    assembler.alu(AluOp.ADD, (0, 1), imm=9, waits_for=Unit.LOAD, signals=Unit.STORE)
    assembler.store(sram=0, dram=0x1800 // config.acc_lanes, columns=1, waits_for=Unit.COMPUTE)
    assembler.finish()
    stand = Stand(assembler.build(), image.tobytes(), random.Random(0))

    async def bench(ctx: Context) -> None:
        await stand.finish(ctx)
        load, compute = stand.logs[Unit.LOAD], stand.logs[Unit.COMPUTE]
        assert load.ends[0][1] + 1 == compute.starts[2]
        found = list(stand.content[0x1800 : 0x1800 + config.acc_lanes])
        assert found == [0 if padded else 77] * config.acc_lanes
        assert stand.faults == []

    simulate(stand.design, bench)
