"""The steps of custom operations on the functional engine's memories."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.custom_operations import CustomOperation
from tandem.hw.features import Feature
from tandem.hw.isa import Alu, MicroOp, Program, pack_uops
from tandem.hw.isa.columns import make_table
from tandem.sim.semantics.alu import alu
from tandem.sim.semantics.chip import make_chip
from tandem.sim.semantics.custom import make_custom_code
from tandem.sim.semantics.detail import make_detail
from tests.support.hw.custom_operations import MORE, OPERATIONS, SATURATING, Described, machine

NUMBERS = (-(1 << 31), -129, -1, 0, 1, 127, 0xFFFF, (1 << 31) - 1)


def executed(
    config: HardwareConfig, operation: CustomOperation, imm: int, *, from_inp: bool, use_imm: bool
) -> None:
    """Hold all accumulators after an instruction of three loops against the operation itself."""
    chip, custom = make_chip(config), make_custom_code(config)
    rng = np.random.default_rng(imm & 0xFF)
    chip.acc[:] = rng.choice(NUMBERS, len(chip.acc))
    chip.inp[:] = rng.integers(-128, 128, len(chip.inp))
    uops = [MicroOp(dst=0, src=9), MicroOp(dst=5, src=2)]
    chip.uop[:2] = np.frombuffer(pack_uops(config, uops), np.uint32)
    instruction = Alu(
        op=operation,
        use_imm=use_imm,
        imm=imm,
        from_inp=from_inp,
        uop_bgn=0,
        uop_end=2,
        iter_out=2,
        iter_in=3,
        dst_factor_out=10,
        dst_factor_in=1,
        src_factor_out=1,
        src_factor_in=2,
    )
    acc = chip.acc.reshape(-1, config.batch, chip.row_out)[:, :, : config.block_out]
    inp = chip.inp.reshape(-1, config.batch, chip.row_in)[:, :, : config.block_out]
    wanted = acc.copy()
    for o in range(2):
        for i in range(3):
            for uop in uops:
                dst, src = uop.dst + 10 * o + i, uop.src + o + 2 * i
                second = (inp if from_inp else wanted)[src].copy()
                for place in np.ndindex(wanted.shape[1:]):
                    b = imm if use_imm else int(second[place])
                    wanted[dst][place] = operation.apply(int(wanted[dst][place]), b, imm)
    table = make_table(Program.from_instructions(config, [instruction]).columns())
    detail = make_detail()
    # In two parts, as slices do.
    assert alu(chip, custom, table[0], 0, 5, detail) == 0
    assert alu(chip, custom, table[0], 5, 12, detail) == 0
    np.testing.assert_array_equal(acc, wanted)


@pytest.mark.parametrize(
    "operations", [OPERATIONS, MORE, SATURATING], ids=["first", "more", "saturating"]
)
@pytest.mark.parametrize("features", [(), (Feature.INPUT_OPERANDS,)], ids=["base", "inp"])
def test_steps(operations: Described, features: tuple[Feature, ...]) -> None:
    config = machine(operations[: 3 - len(features)], 2).replace(
        log_batch=1,
        log_block_in=2,
        log_block_out=2,
        log_inp_buffer=9,
        log_wgt_buffer=8,
        log_acc_buffer=11,
        features=frozenset(features),
    )
    for operation in config.alu_operations:
        for choose in (0, 1):
            values = {each.name: each.limits[choose] for each in operation.parameters}
            imm = operation.immediate(values) if values else 32767 * choose
            executed(config, operation, imm, from_inp=False, use_imm=False)
            if features:
                executed(config, operation, imm, from_inp=True, use_imm=False)
            if operation.immediate_operand:
                executed(config, operation, imm, from_inp=False, use_imm=True)


def test_machines_without_any() -> None:
    assert make_custom_code(HardwareConfig()) is None
