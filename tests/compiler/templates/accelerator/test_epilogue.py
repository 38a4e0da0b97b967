"""Passes after sums: names, operands, refusals; convolutions with a residual are exact."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.errors import TensorError
from compiler.ir.dtypes import INT8, INT32
from compiler.operators.accelerator.conv2d import packed_conv2d
from compiler.operators.accelerator.conv2d_cost import ConvShape
from compiler.operators.accelerator.conv2d_schedule import conv2d_schedule
from compiler.operators.accelerator.conv2d_tiles import fits
from compiler.operators.accelerator.epilogue import (
    DATA_AXES,
    Pass,
    epilogue,
    in_accumulators,
    operands_of,
)
from compiler.operators.accelerator.packing import pack_data, pack_weight
from compiler.operators.accelerator.passes_schedule import OperandCounts
from compiler.operators.accelerator.tiling import Order, Tiling
from compiler.target import AcceleratorTarget
from compiler.te import Tensor, placeholder
from compiler.te.build import stages
from hw.config import HardwareConfig
from hw.encoding import AluOp
from tests.support.alu_passes import DrawnPasses, draw_passes, draw_tensor, low_bytes, passed
from tests.support.random_convolutions import convolve
from tests.support.random_operators import random_tests
from tests.support.streams import run_schedule

SHAPE = (1, 2, 3, 3, 1, 4)
RESIDUAL = placeholder(SHAPE, INT8, "residual")
SCALE = placeholder((2, 1, 4), INT32, "scale")


def _sums() -> Tensor:
    return in_accumulators(placeholder(SHAPE, INT32, "data"), "sums", DATA_AXES)


def test_stages_are_named_by_their_passes() -> None:
    passes = [
        Pass(AluOp.MUL, SCALE),
        Pass(AluOp.ADD, RESIDUAL, (Pass(AluOp.MUL, SCALE), Pass(AluOp.SHR, 2))),
    ]
    output, steps = epilogue(_sums(), passes, "out")
    assert steps == (("out_0_mul", passes[0]), ("out_1_add", passes[1]))
    assert [each.name for each in stages([output]) if each.source is not None] == [
        "sums",
        "out_0_mul",
        "out_1_add_operand",
        "out_1_add_operand_0_mul",
        "out_1_add_operand_1_shr",
        "out_1_add",
        "out",
    ]
    assert operands_of(passes) == (SCALE, RESIDUAL)
    assert OperandCounts.of(steps) == OperandCounts(channels=1, elements=1)


def _residual(rng: np.random.Generator, shape: tuple[int, ...]) -> DrawnPasses:
    """A shift, a residual with a scale of its own, and passes of all kinds around."""
    residual, values = draw_tensor(rng, shape, INT8, "residual")
    first, last = (draw_passes(rng, shape, 1, name=name) for name in ("first", "last"))
    own = draw_passes(rng, shape, 2, least=1, name="own")
    passes = (
        *first.passes,
        Pass(AluOp.SHR, int(rng.integers(0, 12))),
        Pass(AluOp.ADD, residual, own.passes),
        *last.passes,
    )
    return DrawnPasses(passes, {"residual": values, **first.values, **own.values, **last.values})


def _check(seed: int, config: HardwareConfig, threads: int, engine: str = "functional") -> None:
    """A convolution with one row of outputs a tile, or as many as fit."""
    rng = np.random.default_rng(seed)
    height, width, tall = (int(rng.integers(1, 6)) for _ in range(3))
    tall = min(tall, 3, height + 2)
    image = rng.integers(-128, 128, (config.batch, 5, height, width), dtype=np.int8)
    kernel = rng.integers(-128, 128, (9, 5, tall, 1), dtype=np.int8)
    data, weight = pack_data(image, config), pack_weight(kernel, config)
    sums = convolve(image, kernel, (1, 1), (1, 0, 1, 0), (1, 1))
    rows = sums.shape[2]
    outputs = weight.shape[0] * config.block_out
    padded = np.zeros((config.batch, outputs, rows, width), dtype=np.int64)
    padded[:, :9] = sums
    packed = padded.reshape(1, config.batch, -1, config.block_out, rows, width).transpose(
        0, 2, 4, 5, 1, 3
    )
    drawn = _residual(rng, packed.shape)
    conv = packed_conv2d(
        placeholder(data.shape, INT8, "data"),
        placeholder(weight.shape, INT8, "weight"),
        drawn.passes,
        padding=(1, 0, 1, 0),
    )
    shape = ConvShape.of(conv)
    tiling = next(
        found
        for number in (threads, 1)
        for y in range(rows, 0, -1)
        for x in (width, 1)
        if fits(shape, found := Tiling(1, y, x, 1, Order.OUTPUTS, number, "y"), config)
    )
    tensors = {"data": data, "weight": weight, **drawn.values}
    schedule = conv2d_schedule(conv, tiling, AcceleratorTarget.of(config))
    found_values = run_schedule(schedule, config, tensors, engine)
    expected = low_bytes(passed(packed, drawn.passes, tensors))
    np.testing.assert_array_equal(found_values, expected, f"{drawn.passes} in {tiling}")


CONFIGS = ("tiny", "small8", "batch2", "tall")
test_few, test_many, test_few_on_rtl, test_many_on_rtl = random_tests(
    _check, few=10, many=60, configs=CONFIGS
)


@pytest.mark.parametrize(
    ("each", "message"),
    [
        (
            Pass(AluOp.ADD, placeholder((1, 1, 4), INT32, "b")),
            r"^add out_0_add: b int32\[1, 1, 4\] has to be int32\[2, 1, 4\], or int8 or int32 "
            r"\[1, 2, 3, 3, 1, 4\]$",
        ),
        (Pass(AluOp.MAX, placeholder((2, 1, 4), INT8, "b")), r"^max out_0_max: b int8\[2, 1, 4\]"),
        (
            Pass(AluOp.ADD, RESIDUAL, (Pass(AluOp.MUL, placeholder((3, 1, 4), INT32, "m")),)),
            r"^mul out_0_add_operand_0_mul: m int32\[3, 1, 4\] has to be",
        ),
        (
            Pass(AluOp.MUL, SCALE, (Pass(AluOp.SHR, 1),)),
            r"^mul out_0_mul: only an operand for each element has passes of its own$",
        ),
        (
            Pass(AluOp.MUL, 3, (Pass(AluOp.SHR, 1),)),
            r"^mul out_0_mul: only an operand for each element has passes of its own$",
        ),
    ],
)
def test_refuses(each: Pass, message: str) -> None:
    with pytest.raises(TensorError, match=message):
        epilogue(_sums(), [each], "out")
