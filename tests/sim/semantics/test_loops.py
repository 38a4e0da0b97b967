"""Bounds and slices of the loops, against the obvious enumeration."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tandem.hw.config_files import load_config
from tandem.hw.isa import Gemm, Program
from tandem.hw.isa.columns import make_table
from tandem.sim.semantics.chip import make_chip
from tandem.sim.semantics.detail import INDEX, MEMORY, POSITION, make_detail
from tandem.sim.semantics.loops import micro_ops, micro_ops_in_bounds

CONFIG = load_config("tiny")
DEPTHS = {3: 32, 2: 32, 1: 16}
"""Elements of ACC, INP and WGT, by memory id."""
FIVE_BITS, FOUR_BITS = st.integers(0, 31), st.integers(0, 15)


@given(
    kernel=st.lists(st.tuples(FIVE_BITS, FIVE_BITS, FOUR_BITS), min_size=1, max_size=4),
    iters=st.tuples(st.integers(1, 5), st.integers(1, 5)),
    outer=st.tuples(FIVE_BITS, FIVE_BITS, FOUR_BITS),
    inner=st.tuples(FIVE_BITS, FIVE_BITS, FOUR_BITS),
    small=st.booleans(),
)
def test_room_finds_the_first_micro_op_with_an_index_beyond_its_memory(
    kernel: list[tuple[int, int, int]],
    iters: tuple[int, int],
    outer: tuple[int, int, int],
    inner: tuple[int, int, int],
    small: bool,
) -> None:
    if small:  # So that indices stay inside, or leave late.
        outer = (outer[0] % 4, outer[1] % 4, outer[2] % 3)
        inner = (inner[0] % 3, inner[1] % 3, inner[2] % 2)
    chip = make_chip(CONFIG)
    for k, (dst, src, wgt) in enumerate(kernel):
        chip.uop[k] = dst | src << chip.src_shift | wgt << chip.wgt_shift
    gemm = Gemm(
        reset=False,
        uop_bgn=0,
        uop_end=len(kernel),
        iter_out=iters[0],
        iter_in=iters[1],
        dst_factor_out=outer[0],
        dst_factor_in=inner[0],
        src_factor_out=outer[1],
        src_factor_in=inner[1],
        wgt_factor_out=outer[2],
        wgt_factor_in=inner[2],
    )
    row = make_table(Program.from_instructions(CONFIG, [gemm]).columns())[0]
    detail = make_detail()

    found = micro_ops_in_bounds(chip, row, detail)

    everything = [
        [field + o * out + i * inn for field, out, inn in zip(uop, outer, inner, strict=True)]
        for o in range(iters[0])
        for i in range(iters[1])
        for uop in kernel
    ]
    bad = [
        (number, memory, index)
        for number, indices in enumerate(everything)
        for (memory, depth), index in zip(DEPTHS.items(), indices, strict=True)
        if index >= depth
    ]
    assert micro_ops(row) == len(everything)
    assert found == (bad[0][0] if bad else len(everything))
    if bad:
        assert (detail[POSITION], detail[MEMORY], detail[INDEX]) == bad[0]
