"""Micro-ops that instructions execute, read from images of a few bytes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from tandem.hw.config_files import load_config
from tandem.hw.hazards.hazard_report import Unknown
from tandem.hw.hazards.micro_ops import MicroOpSource, kernels_of
from tandem.hw.isa import Gemm, Instruction, Load, MemoryId, Program

TINY = load_config("tiny")
LOAD = Load(memory=MemoryId.UOP, sram_base=0, dram_base=0, y_size=1, x_size=1, x_stride=1)
IMAGE = np.arange(64, dtype=np.uint8)
"""Its word at 4 * n begins with byte 4 * n, the lowest."""


def word(number: int) -> int:
    return int.from_bytes(bytes(range(4 * number, 4 * number + 4)), "little")


def source(
    *loads: Instruction,
    image: npt.NDArray[np.uint8] | None = IMAGE,
    base: int = 0,
    stored: frozenset[int] = frozenset(),
) -> MicroOpSource:
    columns = Program.from_instructions(TINY, loads).columns()
    return MicroOpSource(columns, base, image, stored)


def test_a_load_with_padding_and_a_stride() -> None:
    """Two rows of two, five apart, with a zero at the left and a row above."""
    load = replace(LOAD, dram_base=1, y_size=2, x_size=2, x_stride=5, y_pad_0=1, x_pad_0=1)
    words, unknown = source(load, base=8).read(0)
    assert words.tolist() == [0, 0, 0, 0, word(3), word(4), 0, word(8), word(9)]
    assert unknown.tolist() == [0] * 9
    other = replace(load, y_pad_0=0, x_pad_0=0, y_pad_1=1, x_pad_1=2)
    words, _ = source(other).read(0)
    assert words.tolist() == [word(1), word(2), 0, 0, word(6), word(7), 0, 0, 0, 0, 0, 0]


def test_words_that_are_not_known() -> None:
    """The last word of the image is known, one that ends behind it is not."""
    words, unknown = source(replace(LOAD, dram_base=15, x_size=2, x_pad_1=1)).read(0)
    assert words.tolist() == [word(15), 0, 0]
    assert unknown.tolist() == [0, Unknown.BEYOND_IMAGE, 0]
    words, unknown = source(replace(LOAD, x_size=2), image=IMAGE[:7]).read(0)
    assert (words.tolist(), unknown.tolist()) == ([word(0), 0], [0, Unknown.BEYOND_IMAGE])
    words, unknown = source(replace(LOAD, x_pad_0=1), image=None).read(0)
    assert (words.tolist(), unknown.tolist()) == ([0, 0], [0, Unknown.NO_IMAGE])
    _, unknown = source(LOAD, LOAD, stored=frozenset({1})).read(1)
    assert unknown.tolist() == [Unknown.STORED]
    _, unknown = source(LOAD, LOAD, stored=frozenset({1})).read(0)
    assert unknown.tolist() == [0]


def gemm(begin: int, end: int) -> Gemm:
    return Gemm(
        reset=True,
        uop_bgn=begin,
        uop_end=end,
        iter_out=1,
        iter_in=1,
        dst_factor_out=0,
        dst_factor_in=0,
        src_factor_out=0,
        src_factor_in=0,
        wgt_factor_out=0,
        wgt_factor_in=0,
    )


def test_kernels_of_a_program() -> None:
    """Distinct ones once, as the LOADs before each user left the memory."""
    program: list[Instruction] = [
        gemm(0, 1),
        replace(LOAD, x_size=3),
        gemm(0, 2),
        gemm(1, 3),
        gemm(2, 4),
        replace(LOAD, sram_base=1, dram_base=0, x_size=2),
        gemm(1, 3),
        gemm(0, 2),
        gemm(3, 4),
    ]
    found, which = kernels_of(
        TINY, source(*program), np.array([1, 5]), np.array([0, 2, 3, 4, 6, 7, 8])
    )
    assert [kernel.tolist() for kernel in found] == [
        [word(0), word(1)],
        [word(1), word(2)],
        [word(0), word(0)],
    ]
    unloaded = -Unknown.UNLOADED
    assert which.tolist() == [unloaded, 0, 1, unloaded, 0, 2, unloaded]


def test_only_the_micro_ops_of_an_instruction_count() -> None:
    program: list[Instruction] = [replace(LOAD, sram_base=5, dram_base=2), gemm(5, 6), gemm(5, 7)]
    found, which = kernels_of(TINY, source(*program), np.array([0]), np.array([1, 2]))
    assert [kernel.tolist() for kernel in found] == [[word(2)]]
    assert which.tolist() == [0, -Unknown.UNLOADED]


def test_the_greatest_reason_counts() -> None:
    program: list[Instruction] = [
        replace(LOAD, dram_base=15, x_size=2),
        gemm(0, 1),
        gemm(0, 2),
        gemm(1, 3),
    ]
    _, which = kernels_of(TINY, source(*program), np.array([0]), np.array([1, 2, 3]))
    worst = max(Unknown.BEYOND_IMAGE, Unknown.UNLOADED)
    assert which.tolist() == [0, -Unknown.BEYOND_IMAGE, -worst]
