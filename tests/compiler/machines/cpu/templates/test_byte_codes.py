"""Codes of weights in bytes, against codes that NumPy packs and unpacks, element by element."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tandem.compiler import te
from tandem.compiler.errors import Refusal
from tandem.compiler.ir.dtypes import BOOL, INT8, INT32, UINT2, UINT4, DType
from tandem.compiler.ir.interpreter import run
from tandem.compiler.ir.ops import index
from tandem.compiler.machines.cpu.intrinsics import CPU_INTRINSICS
from tandem.compiler.machines.cpu.templates.byte_codes import (
    CodeLayout,
    CompressedWeight,
    packed_codes,
    packed_scales,
    scale_of,
    widened_codes,
)
from tandem.compiler.machines.cpu.templates.register_tiles import Tile
from tandem.compiler.te import Tensor
from tandem.compiler.te.build import program_of

Array = npt.NDArray[Any]
TILE = Tile(4, 1, 1)
DTYPES = {1: BOOL, 2: UINT2, 4: UINT4}
DOT = next(each.function for each in CPU_INTRINSICS.values() if each.function.inputs[1].size == 4)


def weight(
    shape: Sequence[int], bits: int, group: int | None = None, scales: Tensor | None = None
) -> CompressedWeight:
    codes = te.placeholder(tuple(shape), DTYPES[bits], "codes")
    widened = te.placeholder(tuple(shape), INT8, "widened")
    table = tuple(10 * entry - 70 for entry in range(1 << bits))
    return CompressedWeight(codes, scales, table, group or shape[1], widened)


def value(tensor: Tensor, given: Tensor, array: Array) -> Array:
    (found,) = run(program_of([tensor], [given]), [array.astype(given.dtype.numpy)])
    return np.asarray(found)


def random_codes(shape: Sequence[int], bits: int) -> Array:
    values = np.random.default_rng([bits, *shape]).integers(0, 1 << bits, shape)
    return values.astype(bool if bits == 1 else np.uint8)


def test_layouts() -> None:
    # Nine outputs in blocks of four; two codes of four bits in a byte.
    found = CodeLayout.of(weight((9, 10), 4), TILE, None)
    assert found == CodeLayout(blocks=3, channels=4, groups=1, steps=5, parts=2, depth=1)
    assert (found.inputs, found.window_names) == (10, ())
    # Ten inputs of dots of four terms: eight at a time.
    dots = CodeLayout.of(weight((8, 10), 4), TILE, DOT)
    assert dots == CodeLayout(2, 4, 1, 2, 2, 4)
    assert dots.inputs == 16
    # Groups of 16 inputs of 40: the last one is cut.
    groups = CodeLayout.of(weight((4, 40, 3, 2), 2, group=16), TILE, DOT)
    assert groups == CodeLayout(1, 4, 3, 1, 4, 4, (3, 2))
    assert groups.window_names == ("ky", "kx")
    # A group that is larger than all inputs.
    assert CodeLayout.of(weight((4, 10), 4, group=64), TILE, None).groups == 1


def test_groups_that_end_within_a_register() -> None:
    with pytest.raises(Refusal) as caught:
        CodeLayout.of(weight((4, 40), 4, group=20), TILE, DOT)
    assert str(caught.value) == "groups of 20 weights, which are widened 8 at a time"
    # A single one may.
    assert CodeLayout.of(weight((4, 20), 4, group=20), TILE, DOT).steps == 3


def inputs_of(layout: CodeLayout) -> Array:
    """The input of each [group, step, part, term]."""
    return np.arange(layout.inputs).reshape(layout.groups, layout.steps, layout.parts, layout.depth)


def test_numbers_of_inputs() -> None:
    layout = CodeLayout(1, 4, 2, 3, 2, 4)
    tensor = te.compute(
        (2, 3, 2, 4), lambda g, s, q, t: te.cast(layout.input_of(g, s, q, t), INT32), "found"
    )
    (found,) = run(program_of([tensor], []), [])
    assert (np.asarray(found) == inputs_of(layout)).all()


@pytest.mark.parametrize("bits", [1, 2, 4])
@pytest.mark.parametrize("window", [(), (2,)])
def test_codes_are_packed_and_widened(bits: int, window: tuple[int, ...]) -> None:
    shape = (5, 11, *window)
    given, codes = weight(shape, bits), random_codes(shape, bits)
    layout = CodeLayout.of(given, TILE, DOT)
    packed = packed_codes(given, layout, "packed")
    assert packed.shape == (2, 1, *window, layout.steps, 4, 4)
    found = value(packed, given.codes, codes)
    assert found.dtype == np.uint8
    # All codes, with zeros beyond the edges: [block, channel, group, step, part, term, ..].
    whole = np.zeros((8, layout.inputs, *window), np.uint8)
    whole[:5, :11] = codes
    whole = whole.reshape(2, 4, 1, layout.steps, layout.parts, 4, *window)
    expected = np.zeros((2, 4, 1, layout.steps, 4, *window), np.uint8)
    for part in range(layout.parts):
        expected |= whole[:, :, :, :, part] << part * bits
    places = "jlgstw" if window else "jlgst"
    wanted = np.einsum(f"{places}->jg{'w' if window else ''}slt", expected)
    assert (found == wanted).all()
    # And back.
    stored = te.placeholder(packed.shape, packed.dtype, "stored")
    entries = value(widened_codes(stored, given, layout, "entries"), stored, found)
    assert entries.dtype == np.int8
    places = "jlgsqtw" if window else "jlgsqt"
    codes_of = np.einsum(f"{places}->jg{'w' if window else ''}sqlt", whole)
    assert (entries == np.array(given.table)[codes_of]).all()


def test_two_scales_lie_in_a_byte() -> None:
    scales = te.placeholder((5, 3), UINT4, "scales")
    given = weight((5, 48), 4, 16, scales)
    layout = CodeLayout.of(given, TILE, DOT)
    assert layout.groups == 3
    packed = packed_scales(scales, layout, "packed")
    assert packed.shape == (2, 2, 4)
    numbers = np.arange(1, 16).reshape(5, 3).astype(np.uint8)
    found = value(packed, scales, numbers)
    whole = np.zeros((8, 4), np.int64)
    whole[:5, :3] = numbers
    expected = (whole[:, 0::2] | whole[:, 1::2] << 4).reshape(2, 4, 2).transpose(0, 2, 1)
    assert (found == expected).all()
    stored = te.placeholder(packed.shape, packed.dtype, "stored")
    single = te.compute((2, 3, 4), lambda jb, g, at: scale_of(stored, jb, g, (), at), "single")
    back = value(single, stored, found)
    assert back.dtype == np.int32
    assert (back == whole[:, :3].reshape(2, 4, 3).transpose(0, 2, 1)).all()


def test_bits_are_those_of_the_codes() -> None:
    kinds: dict[int, DType] = DTYPES
    for bits in kinds:
        assert weight((1, 8), bits).bits == bits
    assert index(0).dtype.bits == 64
