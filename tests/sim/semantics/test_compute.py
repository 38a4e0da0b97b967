"""GEMM and ALU with OUT and PAR: slices, and faults behind which OUT holds what has been done."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tandem.hw.config_files import load_config
from tandem.hw.isa import Alu, AluOp, Gemm, MemoryId, Requantise
from tandem.hw.isa.columns import InstructionFields
from tandem.sim.semantics.chip import Chip, make_chip
from tandem.sim.semantics.compute import compute
from tandem.sim.semantics.detail import INDEX, MEMORY, NONE, POSITION, SRAM_INDEX, make_detail
from tandem.sim.semantics.requantiser import Requantiser, make_requantiser
from tests.support.sim.rows import row_of

TINY = load_config("tiny-x")
INP, ACC, PAR = (TINY.depth(each) for each in (MemoryId.INP, MemoryId.ACC, MemoryId.PAR))
LOOPS: dict[str, Any] = {"uop_bgn": 0, "uop_end": 1, "iter_out": 1, "iter_in": 4}
FACTORS: dict[str, Any] = {
    "dst_factor_out": 0,
    "dst_factor_in": 1,
    "src_factor_out": 0,
    "src_factor_in": 0,
}


def machine() -> tuple[Chip, Requantiser]:
    """Accumulator n is n in all lanes, OUT 77; channel parameters double, and add the element."""
    chip = make_chip(TINY)
    requantiser = make_requantiser(TINY, chip)
    assert requantiser is not None
    chip.acc.reshape(-1, 16)[:] = np.arange(ACC)[:, None]
    requantiser.out[:] = 77
    par = requantiser.par.reshape(PAR, 3, 16)
    par[:, 0], par[:, 1] = np.arange(PAR)[:, None], 2
    return chip, requantiser


def adding(amount: int, dst: int = 1) -> InstructionFields:
    """Accumulators 0, `dst`, 2 * `dst` and 3 * `dst` grow by `amount`."""
    factors = {**FACTORS, "dst_factor_in": dst}
    return row_of(TINY, Alu(op=AluOp.ADD, use_imm=True, imm=amount, **LOOPS, **factors))


def out_of(requantiser: Requantiser, step: int = 1) -> list[int]:
    values: npt.NDArray[np.uint8] = requantiser.out.reshape(-1, 16)[: 5 * step : step, 0]
    return values.tolist()


def test_without_an_own_out() -> None:
    chip, _ = machine()
    assert compute(chip, None, None, adding(5), 1, 3, make_detail()) == NONE
    assert chip.acc.reshape(-1, 16)[:4, 0].tolist() == [0, 6, 7, 3]


def test_out_gets_the_results_of_the_slice_alone() -> None:
    chip, requantiser = machine()
    assert compute(chip, requantiser, None, adding(256), 1, 3, make_detail()) == NONE
    assert chip.acc.reshape(-1, 16)[:4, 0].tolist() == [0, 257, 258, 3]
    assert out_of(requantiser) == [77, 1, 2, 77, 77]


def test_results_are_requantised_while_the_mode_is_active() -> None:
    chip, requantiser = machine()
    active = Requantise(active=True, par_base=2, par_factor_in=3)
    requantiser.mode[:] = row_of(TINY, active)
    assert compute(chip, requantiser, None, adding(10), 0, 4, make_detail()) == NONE
    # Twice 10 + i, plus 2 + 3 * i.
    assert out_of(requantiser) == [22, 27, 32, 37, 77]
    requantiser.mode[:] = row_of(TINY, Requantise(active=False, par_base=PAR - 1, par_factor_in=3))
    assert compute(chip, requantiser, None, adding(10), 0, 4, make_detail()) == NONE
    assert out_of(requantiser) == [20, 21, 22, 23, 77]


def test_a_gemm_is_requantised_as_an_alu_is() -> None:
    chip, requantiser = machine()
    chip.inp[:4], chip.wgt[:2] = [3, 4, 5, 6], [1, 2]
    requantiser.mode[:] = row_of(TINY, Requantise(active=True, par_base=1))
    gemm = Gemm(reset=False, **LOOPS, **FACTORS, wgt_factor_out=0, wgt_factor_in=0)
    assert compute(chip, requantiser, None, row_of(TINY, gemm), 0, 2, make_detail()) == NONE
    # Lane 0: 3 * 1 + 4 * 2 is added.
    assert chip.acc.reshape(-1, 16)[:3, 0].tolist() == [11, 12, 2]
    assert out_of(requantiser) == [23, 25, 77, 77, 77]


def test_parameters_beyond_par() -> None:
    """Micro-op 2 has the first: those before it are done, of which OUT tells."""
    row, beyond = adding(10), Requantise(active=True, par_base=PAR - 2, par_factor_in=1)
    for start, done in ((0, [0, 10, 11, 2]), (1, [0, 0, 11, 2])):
        chip, requantiser = machine()
        requantiser.mode[:] = row_of(TINY, beyond)
        detail = make_detail()
        assert compute(chip, requantiser, None, row, start, 4, detail) == SRAM_INDEX
        assert [int(detail[each]) for each in (POSITION, MEMORY, INDEX)] == [2, MemoryId.PAR, PAR]
        assert chip.acc.reshape(-1, 16)[:3, 0].tolist() == [done[1] or 0, 11, 2]
        assert out_of(requantiser)[2:] == [77] * 3
    # A slice that ends before it has no fault.
    chip, requantiser = machine()
    requantiser.mode[:] = row_of(TINY, beyond)
    assert compute(chip, requantiser, None, row, 0, 2, make_detail()) == NONE
    assert chip.acc.reshape(-1, 16)[:4, 0].tolist() == [10, 11, 2, 3]


@pytest.mark.parametrize(
    ("par_factor", "fault_at", "memory"), [(1, 2, MemoryId.PAR), (0, 3, MemoryId.ACC)]
)
def test_the_first_of_two_faults(par_factor: int, fault_at: int, memory: MemoryId) -> None:
    """Accumulators are beyond ACC from micro-op 3 on."""
    chip, requantiser = machine()
    step = (ACC - 1) // 2
    assert 2 * step < ACC <= 3 * step
    mode = Requantise(active=True, par_base=PAR - 2, par_factor_in=par_factor)
    requantiser.mode[:] = row_of(TINY, mode)
    detail = make_detail()
    row = adding(-200, step)
    assert compute(chip, requantiser, None, row, 0, 4, detail) == SRAM_INDEX
    assert [int(detail[each]) for each in (POSITION, MEMORY)] == [fault_at, memory]
    assert int(detail[INDEX]) == (PAR if memory is MemoryId.PAR else 3 * step)
    written = requantiser.out.reshape(-1, 16)[: 2 * step + 1 : step, 0]
    assert np.count_nonzero(written != 77) == fault_at
