"""Dense layers are exact for random shapes, tiles and machines."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from compiler.errors import CapacityError, LoweringError, TensorError
from compiler.ir.dtypes import INT8, INT32
from compiler.operators.accelerator.dense import (
    DenseTiling,
    dense_schedule,
    dense_tiling,
    packed_dense,
)
from compiler.operators.accelerator.epilogue import Pass
from compiler.operators.accelerator.packing import pack_data, pack_weight, unpack_data
from compiler.operators.accelerator.requantise import requantise
from compiler.requantisation import RequantSpec
from compiler.target import AcceleratorTarget
from compiler.te import placeholder
from hw.config import HardwareConfig
from hw.encoding import AluOp
from tests.support.accelerator_operators import drawn_size, machine
from tests.support.alu_passes import Wide, draw_passes, draw_tensor, low_bytes, passed
from tests.support.random_operators import random_tests
from tests.support.streams import Array, run_schedule, stream_of

TINY = machine("tiny")


def _product(data: Array, weight: Array) -> Wide:
    product: Wide = np.einsum("nibk,oilk->nobl", data.astype(np.int64), weight.astype(np.int64))
    return product


def _check(seed: int, config: HardwareConfig, threads: int, engine: str = "functional") -> None:
    rng = np.random.default_rng(seed)
    n, ic, oc = (drawn_size(rng, most) for most in (4, 6, 7))
    data, a = draw_tensor(rng, (n, ic, config.batch, config.block_in), INT8, "data")
    weight, b = draw_tensor(rng, (oc, ic, config.block_out, config.block_in), INT8, "weight")
    drawn = draw_passes(rng, (n, oc, config.batch, config.block_out), 2)
    dense = packed_dense(data, weight, drawn.passes)
    tiling = dense_tiling(dense, config, threads)
    tiling = replace(
        tiling,
        n=drawn_size(rng, tiling.n),
        oc=drawn_size(rng, tiling.oc),
        ic=drawn_size(rng, tiling.ic),
        along=str(rng.choice(["n", "oc"])),
    )
    schedule = dense_schedule(dense, tiling, AcceleratorTarget.of(config))
    tensors = {"data": a, "weight": b, **drawn.values}
    found = run_schedule(schedule, config, tensors, engine)
    expected = low_bytes(passed(_product(a, b), drawn.passes, tensors))
    np.testing.assert_array_equal(found, expected, f"{drawn.passes} in {tiling}")


test_few, test_many, test_few_on_rtl, test_many_on_rtl = random_tests(_check, few=12)


def test_a_layer_with_odd_sizes() -> None:
    """5 vectors of 37 numbers, 21 results, requantised for each channel, on a batch of 2."""
    config = machine("batch2")
    rng = np.random.default_rng(8)
    x = rng.integers(-128, 128, (5, 37), dtype=np.int8)
    w = rng.integers(-128, 128, (21, 37), dtype=np.int8)
    spec = RequantSpec.from_scales(
        rng.uniform(2**-11, 2**-8, 21).tolist(), rng.integers(-999, 999, 21).tolist(), -128, 127
    )
    after = requantise(spec, 21, config, "scale")
    data = pack_data(x[:, :, None, None], config)[:, :, 0, 0]
    weight = pack_weight(w[:, :, None, None], config)[:, :, 0, 0]
    dense = packed_dense(
        placeholder(data.shape, INT8, "data"),
        placeholder(weight.shape, INT8, "weight"),
        after.passes,
    )
    schedule = dense_schedule(dense, dense_tiling(dense, config), AcceleratorTarget.of(config))
    tensors = {"data": data, "weight": weight, **after.values}
    found = run_schedule(schedule, config, tensors, "functional")
    sums = x.astype(np.int64) @ w.T.astype(np.int64)
    np.testing.assert_array_equal(
        unpack_data(found[:, :, None, None], (5, 21, 1, 1))[:, :, 0, 0],
        spec.reference(sums, axis=1),
    )


def test_the_choice_loads_least() -> None:
    """ResNet's last layer on `pynq`: every weight once, and half of WGT for each thread."""
    dense = packed_dense(
        placeholder((1, 32, 1, 16), INT8, "data"), placeholder((63, 32, 16, 16), INT8, "weight"), []
    )
    assert dense_tiling(dense, machine("pynq")) == DenseTiling(1, 32, 16)


def test_threads_share_the_batch_where_there_is_one_block_of_outputs() -> None:
    dense = packed_dense(
        placeholder((6, 2, 1, 4), INT8, "data"), placeholder((1, 2, 4, 4), INT8, "weight"), []
    )
    assert dense_tiling(dense, TINY) == DenseTiling(3, 1, 2, along="n")


def test_refuses() -> None:
    data = placeholder((2, 3, 1, 4), INT8, "data")
    weight = placeholder((2, 3, 4, 4), INT8, "weight")
    with pytest.raises(
        TensorError, match=r"data int32\[2, 3\] has to be packed, int8\[N, IC, B, K"
    ):
        packed_dense(placeholder((2, 3), INT32, "data"), weight, [])
    with pytest.raises(TensorError, match=r"weight int8\[2, 3\] has to be packed, int8\[OC, IC, L"):
        packed_dense(data, placeholder((2, 3), INT8, "weight"), [])
    with pytest.raises(
        TensorError,
        match=r"weight int8\[2, 4, 4, 4\] has other input channels than data int8\[2, 3",
    ):
        packed_dense(data, placeholder((2, 4, 4, 4), INT8, "weight"), [])
    with pytest.raises(TensorError, match=r"b int32\[3, 1, 4\] has to be int32\[2, 1, 4\]"):
        packed_dense(data, weight, [Pass(AluOp.ADD, placeholder((3, 1, 4), INT32, "b"))])


def test_refuses_tiles_that_do_not_fit() -> None:
    dense = packed_dense(
        placeholder((1, 9, 1, 4), INT8, "data"), placeholder((4, 9, 4, 4), INT8, "weight"), []
    )
    schedule = dense_schedule(dense, DenseTiling(1, 2, 9), AcceleratorTarget.of(TINY))
    with pytest.raises(CapacityError, match=r"WGT of tiny has 16 elements; .* 36: 20 too many"):
        stream_of(schedule, TINY)


def test_refuses_what_never_fits() -> None:
    shape = (1, 4, 1, 4)
    operands = [placeholder(shape, INT32, f"r{number}") for number in range(40)]
    dense = packed_dense(
        placeholder((1, 2, 1, 4), INT8, "data"),
        placeholder((4, 2, 4, 4), INT8, "weight"),
        [Pass(AluOp.ADD, each) for each in operands],
    )
    with pytest.raises(
        CapacityError,
        match=r"dense, data int8\[1, 2, 1, 4\] times weight int8\[4, 2, 4, 4\], does not fit on "
        r"tiny: the smallest tiles take 82 elements of ACC, which has 32",
    ):
        dense_tiling(dense, TINY)


def test_refuses_a_shift_that_the_machine_does_not_have() -> None:
    dense = packed_dense(
        placeholder((1, 1, 1, 4), INT8, "data"),
        placeholder((1, 1, 4, 4), INT8, "weight"),
        [Pass(AluOp.SHR, 32)],
    )
    with pytest.raises(LoweringError, match="immediate 32 of SHR: 0 to 31 is allowed"):
        dense_schedule(dense, DenseTiling(1, 1, 1), AcceleratorTarget.of(TINY))
