"""Every ALU operation on the values where they differ, against plain integers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.hw.config_files import load_config
from tandem.hw.features import Feature
from tandem.hw.isa import Alu, AluOp, MemoryId, Program
from tandem.hw.isa.columns import make_table
from tandem.sim.semantics.alu import alu
from tandem.sim.semantics.chip import make_chip
from tandem.sim.semantics.detail import INDEX, NONE, SHIFT, VALUE, Detail, make_detail
from tests.support.hw.alu_cases import CASES, Case, alu_result, fits_immediate

INT32 = st.one_of(
    st.integers(-(1 << 31), (1 << 31) - 1),
    st.sampled_from([-(1 << 31), -(1 << 31) + 1, -1, 0, 1, (1 << 31) - 1]),
)
INT16 = st.one_of(st.integers(-(1 << 15), (1 << 15) - 1), st.sampled_from([-(1 << 15), -1, 0]))
AMOUNTS = st.integers(-31, 31)

CONFIG = load_config("batch2").replace(features=frozenset(Feature))
LANES = CONFIG.acc_lanes
OPERATIONS = [op for op in AluOp if op is not AluOp.RESIDUAL]
"""Those that take an operand from everywhere."""


def execute(
    op: AluOp, a: list[int], b: list[int] | int, source: MemoryId = MemoryId.ACC
) -> list[int]:
    """ACC[1] = op(ACC[1], b) on a machine where ACC[1] holds `a`, and element 2 of `source` holds
    `b` if it is many."""
    fault, result = attempt(op, a, b, source, make_detail())
    assert fault == NONE
    return result


def attempt(
    op: AluOp, a: list[int], b: list[int] | int, source: MemoryId, detail: Detail
) -> tuple[int, list[int]]:
    """The fault, with its `detail`, and ACC[1] afterwards."""
    chip = make_chip(CONFIG)
    chip.uop[0] = 1 | 2 << chip.src_shift
    chip.acc[LANES : 2 * LANES] = a
    immediate = isinstance(b, int)
    if not immediate:
        memory = chip.inp if source is MemoryId.INP else chip.acc
        memory[2 * LANES : 3 * LANES] = b
    instruction = Alu(
        op=op,
        use_imm=immediate,
        from_inp=source is MemoryId.INP,
        imm=b if isinstance(b, int) else 0,
        uop_bgn=0,
        uop_end=1,
        iter_out=1,
        iter_in=1,
        dst_factor_out=0,
        dst_factor_in=0,
        src_factor_out=0,
        src_factor_in=0,
    )
    table = make_table(Program.from_instructions(CONFIG, [instruction]).columns())
    fault = alu(chip, None, table[0], 0, 1, detail)
    assert not chip.acc[:LANES].any()
    return fault, [int(value) for value in chip.acc[LANES : 2 * LANES]]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_cases(case: Case) -> None:
    op, a, b, result = case
    if op is not AluOp.RESIDUAL:
        assert execute(op, [a] * LANES, [b] * LANES) == [result] * LANES
        if fits_immediate(b):
            assert execute(op, [a] * LANES, b) == [result] * LANES
    if -128 <= b <= 127:
        assert execute(op, [a] * LANES, [b] * LANES, MemoryId.INP) == [result] * LANES


@pytest.mark.parametrize("op", OPERATIONS)
@given(data=st.data())
def test_immediate(op: AluOp, data: st.DataObject) -> None:
    a = data.draw(st.lists(INT32, min_size=LANES, max_size=LANES))
    b = data.draw(AMOUNTS if op is AluOp.SHR else INT16)

    assert execute(op, a, b) == [alu_result(op, x, b) for x in a]


@pytest.mark.parametrize("op", OPERATIONS)
@given(data=st.data())
def test_accumulator(op: AluOp, data: st.DataObject) -> None:
    operand = AMOUNTS if op is AluOp.SHR else INT32
    a = data.draw(st.lists(INT32, min_size=LANES, max_size=LANES))
    b = data.draw(st.lists(operand, min_size=LANES, max_size=LANES))

    assert execute(op, a, b) == [alu_result(op, x, y) for x, y in zip(a, b, strict=True)]


@pytest.mark.parametrize("op", AluOp)
@given(data=st.data())
def test_input(op: AluOp, data: st.DataObject) -> None:
    operand = AMOUNTS if op is AluOp.SHR else st.integers(-128, 127)
    a = data.draw(st.lists(INT32, min_size=LANES, max_size=LANES))
    b = data.draw(st.lists(operand, min_size=LANES, max_size=LANES))

    result = execute(op, a, b, MemoryId.INP)
    assert result == [alu_result(op, x, y) for x, y in zip(a, b, strict=True)]


@pytest.mark.parametrize("source", [MemoryId.ACC, MemoryId.INP])
@given(data=st.data())
def test_the_first_amount_out_of_range_is_told_and_nothing_is_shifted(
    source: MemoryId, data: st.DataObject
) -> None:
    amounts = data.draw(st.lists(AMOUNTS, min_size=LANES, max_size=LANES))
    refused = data.draw(st.sets(st.integers(0, LANES - 1), min_size=1))
    for lane in refused:
        amounts[lane] = data.draw(st.sampled_from([-128, -32, 32, 127]))
    a, detail = list(range(LANES)), make_detail()
    assert attempt(AluOp.SHR, a, amounts, source, detail) == (SHIFT, a)
    assert (detail[INDEX], detail[VALUE]) == (2, amounts[min(refused)])
