"""Tensors of several operators in DRAM."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.compiler import te
from tandem.compiler.errors import LoweringError
from tandem.compiler.ir.dtypes import INT8, INT32, DType
from tandem.compiler.ir.stmt import PrimFunc
from tandem.compiler.machines.accelerator.lower.dram_layout import (
    Operator,
    first_address,
    layout_of,
    next_address,
)
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.te import placeholder
from tandem.compiler.te.build import program_of
from tandem.hw.config import PAGE_BYTES
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine

TINY = machine("tiny")


def reader(shape: tuple[int, ...], dtype: DType = INT8) -> PrimFunc:
    """A program that copies a tensor."""
    given = placeholder(shape, dtype, "given")
    return program_of([te.compute(shape, lambda *at: given[at], "copy")])


def addresses(*programs: PrimFunc) -> dict[str, int]:
    """The addresses of the tensor `t`, which all programs read, and of their copies."""
    operators = [
        Operator(program, {"given": "t", "copy": f"copy{number}"})
        for number, program in enumerate(programs)
    ]
    found, _ = layout_of(operators, programs, AcceleratorTarget.of(TINY), {})
    return {name: tensor.address for name, tensor in found.items()}


@pytest.mark.parametrize("other", [(24,), (4, 6), (2, 3, 4), (1, 6, 1, 4), (2, 1, 3, 2, 2)])
def test_tensors_may_be_seen_in_other_blocks(other: tuple[int, ...]) -> None:
    """Keys are an image for the layer that stores them, and weights for the one that reads them."""
    found = addresses(reader((6, 4)), reader(other))
    assert found["t"] == first_address(TINY)
    assert len(set(found.values())) == 3


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (reader((6, 5)), r"t is int8\[6, 4\], and int8\[6, 5\] in copy"),
        (reader((6, 4), INT32), r"and int32\[6, 4\]"),
    ],
)
def test_refuses_other_tensors(other: PrimFunc, message: str) -> None:
    with pytest.raises(LoweringError, match=message):
        addresses(reader((6, 4)), other)


def test_other_tensors_lie_behind_the_reserved_bytes() -> None:
    program = reader((6, 4))
    operators = [Operator(program, {"given": "t", "copy": "u"})]
    first = first_address(TINY)
    placed, reserved = {"t": first + 8}, first + 2 * first
    found, end = layout_of(operators, [program], AcceleratorTarget.of(TINY), placed, reserved)
    assert found["t"].address == first + 8
    assert found["u"].address == reserved
    assert end == reserved + first


@given(
    st.lists(st.integers(0, 3 * PAGE_BYTES), max_size=20),
    st.sampled_from(["tiny", "pynq", "wide_bus", "big32"]),
)
def test_small_tensors_share_pages(sizes: list[int], name: str) -> None:
    """One behind the other; no tensor begins within an element or a beat, or lies in a page more
    than it has to."""
    config, end = machine(name), first_address(machine(name))
    for size in sizes:
        address = next_address(end, size, config)
        assert address >= end
        assert all(address % config.element_bytes(each) == 0 for each in config.memories)
        assert address % config.bus_bytes == 0
        pages = (address + size - 1) // PAGE_BYTES - address // PAGE_BYTES
        assert pages <= -(-size // PAGE_BYTES) - 1 or not size
        if size > PAGE_BYTES:
            assert address % PAGE_BYTES == 0
        end = address + size


def test_vectors_take_little_more_than_their_bytes() -> None:
    """Of 40 vectors of 64 bytes, on a machine with elements of 256 bytes: three pages, not 40."""
    config = machine("pynq")
    first = end = first_address(config)
    for _ in range(40):
        end = next_address(end, 64, config) + 64
    assert end - first == 39 * 256 + 64
