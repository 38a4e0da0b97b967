"""Dense layers from codes: their values, against NumPy's with widened weights; and their loops."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tandem.compiler import te
from tandem.compiler.errors import Refusal, ScheduleError
from tandem.compiler.ir.dtypes import BOOL, FLOAT32, INT8, INT32, UINT2, UINT4, UINT8, DType
from tandem.compiler.ir.expr import Expr
from tandem.compiler.ir.interpreter import run
from tandem.compiler.machines.cpu.schedules.simd import Simd
from tandem.compiler.machines.cpu.templates.byte_codes import CompressedWeight
from tandem.compiler.machines.cpu.templates.compressed_dense import (
    compressed_dense,
    schedule_compressed_dense,
)
from tandem.compiler.machines.cpu.templates.group_sums import CompressedLayer
from tandem.compiler.machines.cpu.templates.register_tiles import Tile
from tandem.compiler.te import Tensor, placeholder
from tandem.compiler.te.build import program_of
from tests.support.compiler.machines.cpu.emitted import AVX2, AVX512, SSE
from tests.support.compiler.te.nests import nest, stages_of

CODES = {1: BOOL, 2: UINT2, 4: UINT4}
TABLES = {1: (-3, 2), 2: (-1, 0, 1, 3), 4: tuple(range(-8, 8))}
DOTS, PLAIN = Simd.of(AVX2), Simd.of(SSE)
SHIFTED = Simd.of(replace(AVX512, features=(*AVX512.features, "avx512vnni")))
"""With dot products whose left operand has no sign."""
TILE = Tile(16, 1, 2)
"""Sixteen outputs of two rows."""
Arrays = dict[str, NDArray[Any]]


def weight(
    outputs: int, inputs: int, bits: int, group: int | None = None
) -> tuple[CompressedWeight, Arrays]:
    """Weights of few bits, with scales where there are groups, and their arrays by name."""
    draw = np.random.default_rng(bits)
    codes = draw.integers(0, 1 << bits, (outputs, inputs)).astype(CODES[bits].numpy)
    values = np.array(TABLES[bits])[codes.astype(int)]
    tensor = placeholder(codes.shape, CODES[bits], "codes")
    widened = placeholder(codes.shape, INT8, "widened")
    if group is None:
        arrays = {"codes": codes, "widened": values.astype(np.int8)}
        return CompressedWeight(tensor, None, TABLES[bits], inputs, widened), arrays
    scales = draw.integers(1, 16, (outputs, -(-inputs // group))).astype(np.uint8)
    values = values * np.repeat(scales, group, 1)[:, :inputs]
    arrays = {
        "codes": codes,
        "scales": scales.astype(UINT4.numpy),
        "widened": values.astype(np.int8),
    }
    scaled = placeholder(scales.shape, UINT4, "scales")
    return CompressedWeight(tensor, scaled, TABLES[bits], group, widened), arrays


def layer(
    given: CompressedWeight, rows: int, data: DType = UINT8, simd: Simd = PLAIN, **options: Any
) -> CompressedLayer:
    x = placeholder((rows, given.codes.shape[1]), data, "x")
    return compressed_dense(x, given, simd=simd, **{"tile": TILE} | options)


def value(tensor: Tensor, arrays: Arrays) -> NDArray[Any]:
    """A tensor from those of the arrays that it reads."""
    inputs = [each for each in te.build.stages([tensor]) if each.source is None]
    (found,) = run(program_of([tensor], inputs), [arrays[each.name] for each in inputs])
    return np.asarray(found)


def result(made: CompressedLayer, arrays: Arrays) -> NDArray[Any]:
    """The layer by its programs, interpreted."""
    packed = {each.name: value(each, arrays) for each in made.packings}
    program = schedule_compressed_dense(made, made.output).program
    given = packed | arrays
    (found,) = run(program, [given[each.name] for each in program.inputs])
    return np.asarray(found)


@pytest.mark.parametrize("simd", [PLAIN, DOTS, SHIFTED], ids=["plain", "dots", "shifted"])
@pytest.mark.parametrize(
    ("outputs", "inputs", "bits", "group", "data", "rows"),
    [
        (17, 13, 4, None, UINT8, 3),
        (8, 32, 4, 16, INT8, 2),
        (10, 32, 2, 16, UINT8, 3),
        (8, 64, 1, 32, INT8, 1),
        (8, 16, 2, None, INT8, 4),
    ],
)
def test_values(
    outputs: int,
    inputs: int,
    bits: int,
    group: int | None,
    data: DType,
    rows: int,
    simd: Simd,
) -> None:
    given, arrays = weight(outputs, inputs, bits, group)
    biased = rows % 2 == 1
    bias = placeholder((outputs,), INT32, "bias") if biased else None
    made = layer(given, rows, data, simd, bias=bias)
    draw = np.random.default_rng(1)
    x = draw.integers(data.low, data.high + 1, (rows, inputs)).astype(data.numpy)
    b = draw.integers(-(10**6), 10**6, outputs).astype(np.int32)
    wanted = x.astype(np.int64) @ arrays["widened"].astype(np.int64).T + (b if biased else 0)
    assert result(made, arrays | {"x": x, "bias": b}).tolist() == wanted.tolist()


def test_parts_of_a_layer() -> None:
    given, _ = weight(17, 48, 4, 16)
    made = layer(given, 3, INT8, SHIFTED, name="fc")
    assert [each.name for each in made.packings] == ["fc_weight", "fc_scales", "fc_excess"]
    assert [each.name for each in made.packed] == ["fc_weight", "fc_scales", "fc_excess"]
    assert all(each.source is None for each in made.packed)
    assert (made.sums.name, made.widened.name, made.output.name) == ("fc_sum", "fc_widened", "fc")
    assert made.partial is not None
    assert (made.partial.name, made.partial.shape) == ("fc_group", (2, 4, 3, 16))
    assert made.sums.shape == (2, 4, 16)
    # Shifted data is a copy, with a row more.
    assert (made.padded.name, made.padded.shape, made.padded.dtype) == ("fc_pad", (4, 48), UINT8)
    assert made.dot is not None
    assert made.lanes == made.dot.outputs[0].size == 16
    assert (made.tile, made.weight) == (TILE, given.widened)
    assert made.inputs == (made.data, *made.packed)


def test_parts_of_a_layer_without_scales_or_dots() -> None:
    given, _ = weight(8, 32, 4)
    made = layer(given, 4)
    assert [each.name for each in made.packings] == ["dense_weight"]
    assert made.partial is None
    assert made.sums.shape == (1, 4, 1, 16)
    assert (made.dot, made.lanes) == (None, PLAIN.lanes(INT32))
    # Whole tiles of whole bytes are read where they are.
    assert made.padded is made.data
    for rows, inputs in ((3, 32), (4, 31)):
        other = layer(weight(8, inputs, 4)[0], rows)
        assert (other.padded.name, other.padded.shape) == ("dense_pad", (4, 32))
    assert layer(given, 4, INT8).padded.name == "x"
    assert layer(given, 4, INT8, DOTS).padded.name == "x"
    assert layer(given, 4, INT8, SHIFTED).padded.name == "dense_pad"


def test_the_tile_is_the_best_by_default() -> None:
    given, _ = weight(64, 32, 4)
    made = layer(given, 6, tile=None)
    assert made.tile.rows == 1
    assert made.tile.columns == 6
    assert layer(given, 1, tile=None).tile.columns == 1


def test_loops() -> None:
    """Sums of groups in registers, and of a group its products; weights are widened in them."""
    given, _ = weight(32, 64, 4, 32)
    made = layer(given, 4, INT8, SHIFTED)
    schedule = schedule_compressed_dense(made, made.output)
    assert nest(schedule, "dense") == "block:2p row:2 i:2u l:16v"
    assert nest(schedule, "dense_sum").endswith("g:2 i:2u vector:1u lane:16v")
    # 32 inputs are four steps of two parts of four terms.
    assert nest(schedule, "dense_group").endswith("s:4 g:1 q:2u i:2u vector:1u")
    assert nest(schedule, "dense_widened").endswith("s:1 q:2u vector:1u byte:64v")
    assert nest(schedule, "dense_pad") == "i:4p k:64v"
    plain = layer(weight(32, 64, 4)[0], 4)
    schedule = schedule_compressed_dense(plain, plain.output)
    assert "dense_pad" not in stages_of(schedule)
    assert nest(schedule, "dense_sum").endswith("s:32 g:1 q:2u i:2u l:16v k:1")
    assert nest(schedule, "dense_sum").startswith("block:2p row:2 ")


def test_what_follows_is_computed_with_a_tile() -> None:
    made = layer(weight(8, 32, 4)[0], 2)
    after = te.compute((2, 8), lambda i, j: te.maximum(made.output[i, j], 0), "z")
    assert stages_of(schedule_compressed_dense(made, after))[-1] == "z"
    axis = te.reduce_axis(8, "r")

    def total(i: Expr) -> Any:
        return te.sum(made.output[i, axis], axis)

    sums = te.compute((2,), total, "sums")
    other = te.compute((2, 1), lambda i, j: sums[i] + 1, "other")
    with pytest.raises(ScheduleError, match="sums is a reduction"):
        schedule_compressed_dense(made, other)


def test_refusals() -> None:
    given, _ = weight(8, 32, 4)
    with pytest.raises(Refusal, match=r"int32\[0, 8\]: sums of int32 are computed from codes"):
        layer(given, 0)
    with pytest.raises(Refusal, match=r"float32\[4, 8\]: sums of int32 are computed from codes"):
        layer(replace(given, widened=placeholder((8, 32), FLOAT32, "widened")), 4, FLOAT32)
    with pytest.raises(Refusal, match="groups of 20 weights, which are widened 8 at a time"):
        layer(weight(8, 40, 4, 20)[0], 4, simd=DOTS)
