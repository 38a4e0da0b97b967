"""Tiles of products by warps: which products have them, what they give, and what they load."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from tandem.compiler.ir import interpreter
from tandem.compiler.ir.dtypes import FLOAT16, FLOAT32, INT8, INT32, UINT8, DType
from tandem.compiler.ir.visit import statements
from tandem.compiler.machines.gpu.codegen.ptx import ptx_text
from tandem.compiler.machines.gpu.interpreter import Order, run_program
from tandem.compiler.machines.gpu.launch import GpuProgram, grid_of
from tandem.compiler.machines.gpu.lower.lowering import gpu_program
from tandem.compiler.machines.gpu.machine import GpuMachine, nvidia_gpu
from tandem.compiler.machines.gpu.schedules.generic import gpu_schedule
from tandem.compiler.machines.gpu.schedules.products import Product, as_products
from tandem.compiler.machines.gpu.schedules.tile import Tile, tile_of
from tandem.compiler.machines.gpu.schedules.warp_tiles import warp_product
from tandem.compiler.machines.gpu.warps import WARP_PRODUCTS, is_warp_product
from tandem.compiler.operators import stored_floats
from tandem.compiler.te import Tensor, cast, compute, maximum, placeholder, reduce_axis, sum
from tandem.compiler.te.schedule import Schedule
from tests.support.compiler.machines.gpu.kernels_on_host import run_on_host
from tests.support.compiler.machines.gpu.on_opencl import on_opencl
from tests.support.compiler.te.schedules import random_inputs

SMALL = Tile(16, 8, 32, 2, 2, warps=True)
"""A warp, whose threads have two rows and two columns."""
BYTES = INT8, INT8
FOUND = WARP_PRODUCTS[BYTES]


def dense(
    rows: int, columns: int, terms: int, left: DType = INT8, right: DType = INT8, batch: int = 1
) -> Tensor:
    """Products of matrices with a bias, of which each element is twice the sum."""
    a = placeholder((batch, rows, terms), left, "A")
    b = placeholder((batch, columns, terms), right, "B")
    s, k = placeholder((columns,), INT32, "S"), reduce_axis(terms, "k")
    y = compute(
        (batch, rows, columns),
        lambda n, i, j: sum(cast(a[n, i, k], INT32) * cast(b[n, j, k], INT32), axis=k),
        "y",
    )
    return compute((batch, rows, columns), lambda n, i, j: y[n, i, j] * 2 + s[j], "z")


def convolution() -> Tensor:
    """A convolution of one image of 5 x 5 pixels, of which a pixel is a row, with an activation."""
    a, b = placeholder((1, 2, 7, 7), UINT8, "A"), placeholder((16, 2, 3, 3), INT8, "B")
    c, u, v = reduce_axis(2, "c"), reduce_axis(3, "u"), reduce_axis(3, "v")
    y = compute(
        (1, 16, 5, 5),
        lambda n, o, i, j: sum(
            cast(a[n, c, i + u, j + v], INT32) * cast(b[o, c, u, v], INT32), axis=(c, u, v)
        ),
        "y",
    )
    return compute((1, 16, 5, 5), lambda n, o, i, j: maximum(y[n, o, i, j], 0), "z")


def by_warps(expression: Tensor, tile: Tile) -> GpuProgram:
    """The launches of an expression."""
    return gpu_program(
        gpu_schedule(expression, machine=nvidia_gpu(), tile=tile).program, GpuMachine()
    )


@pytest.mark.parametrize(
    ("expression", "tile"),
    [
        (dense(16, 16, 32, UINT8), replace(SMALL, slots=1)),
        (dense(17, 18, 65, INT8, UINT8), SMALL),
        (dense(16, 16, 64, batch=2), Tile(16, 16, 64, 2, 4, warps=True)),
        (dense(32, 16, 32), Tile(32, 16, 32, 4, 2, warps=True)),
    ],
    ids=["one product", "no whole tiles", "batches", "two warps"],
)
def test_results(expression: Tensor, tile: Tile) -> None:
    program = by_warps(expression, tile)
    assert any(is_warp_product(each) for each in statements(program.launches[0].body))
    arrays = random_inputs(program.launches[0])
    given = dict(zip([each.name for each in program.inputs], arrays, strict=True))
    a, b, s = (given[name].astype(np.int64) for name in "ABS")
    wanted = (np.einsum("nik,njk->nij", a, b) * 2 + s).astype(np.int32)
    np.testing.assert_array_equal(run_program(program, arrays, Order.INTERLEAVED)[0], wanted)
    np.testing.assert_array_equal(on_opencl(program, arrays)[0], wanted)
    np.testing.assert_array_equal(run_on_host(program, arrays)[0][0], wanted)


def test_pixels_are_rows() -> None:
    """Tiles of an image begin at multiples of a product's rows, whatever the image's size."""
    program = by_warps(convolution(), SMALL)
    assert any(is_warp_product(each) for each in statements(program.launches[0].body))
    arrays = random_inputs(program.launches[0])
    given = dict(zip([each.name for each in program.inputs], arrays, strict=True))
    (wanted,) = interpreter.run(Schedule.of(convolution()).program, [given["A"], given["B"]])
    np.testing.assert_array_equal(on_opencl(program, arrays)[0], wanted)


def halves(side: int = 16) -> Tensor:
    """A product of float16, of which the sums are rounded to float16."""
    a, b = placeholder((side, side), FLOAT16, "A"), placeholder((side, side), FLOAT16, "B")
    k = reduce_axis(side, "k")
    y = compute(
        (side, side),
        lambda i, j: sum(
            stored_floats.cast(a[i, k], FLOAT32) * stored_floats.cast(b[j, k], FLOAT32), axis=k
        ),
        "y",
    )
    return compute((side, side), lambda i, j: stored_floats.cast(y[i, j], FLOAT16), "z")


def test_products_of_float16() -> None:
    """They stay so in shared memory for warps, and for no others."""
    tile = Tile(16, 16, 16, 2, 4, warps=True)
    program = by_warps(halves(), tile)
    assert {each.dtype for each in grid_of(program.launches[0]).shared} == {FLOAT16}
    arrays = random_inputs(program.launches[0])
    (wanted,) = interpreter.run(Schedule.of(halves()).program, arrays)
    (found,) = run_on_host(program, arrays)[0]
    np.testing.assert_array_equal(found.view(np.uint16), wanted.view(np.uint16))
    plain = by_warps(halves(), replace(tile, warps=False))
    assert {each.dtype for each in grid_of(plain.launches[0]).shared} == {FLOAT32}
    (product,) = as_products([halves()])[1]
    assert product.together is WARP_PRODUCTS[FLOAT16, FLOAT16]
    assert (product.bytes, product.stored_bytes) == (4, 2)
    assert as_products([halves()], in_warps=lambda _: True)[1] == (product,)


def test_which_tiles_are_whole_products() -> None:
    product = Product("p", "l", "r", 1, 64, 64, 64, 1, together=FOUND, factors=BYTES)
    assert warp_product(product, SMALL) is FOUND
    assert warp_product(product, replace(SMALL, warps=False)) is None
    assert warp_product(replace(product, together=None), SMALL) is None
    for other in (
        replace(SMALL, rows=8),
        replace(SMALL, columns=4),
        replace(SMALL, depth=16),
        replace(SMALL, thread_rows=1, rows=8),
    ):
        assert warp_product(product, other) is None
    assert warp_product(product, replace(SMALL, thread_columns=1, columns=4)) is None


def test_which_products_have_one() -> None:
    for left, right in ((INT8, INT8), (UINT8, INT8)):
        (found,) = as_products([dense(16, 16, 16, left, right)])[1]
        assert found.together is WARP_PRODUCTS[left, right]
    a, k = placeholder((16, 16), FLOAT32, "A"), reduce_axis(16, "k")
    square = compute((16, 16), lambda i, j: sum(a[i, k] * a[k, j], axis=k), "y")
    assert as_products([square])[1][0].together is None


def test_who_chooses_them() -> None:
    large = Product("p", "l", "r", 1, 4096, 4096, 4096, 1, together=FOUND, factors=BYTES)
    assert tile_of(large, nvidia_gpu()) == Tile(128, 128, 64, 8, 8, warps=True)
    assert not tile_of(large, GpuMachine()).warps
    assert not tile_of(replace(large, together=None), nvidia_gpu()).warps
    assert not tile_of(replace(large, rows=20, columns=20), nvidia_gpu()).warps
    narrow = tile_of(replace(large, rows=64, columns=3136), nvidia_gpu())
    assert narrow == Tile(32, 32, 64, 2, 2, warps=True)
    assert warp_product(large, narrow) is FOUND


def test_loads_of_large_products() -> None:
    """For 64 x 32 sums, 16 products of each 32 terms, the rows and the columns are loaded once."""
    machine = nvidia_gpu()
    large = Product("p", "l", "r", 64, 128, 128, 64, 1, together=FOUND, factors=BYTES)
    found = ptx_text(by_warps(dense(128, 128, 64), tile_of(large, machine)))
    assert len(re.findall(r"mma\.sync", found)) == 2 * 4 * 4
    assert sorted(re.findall(r"ldmatrix\S*\.x(\d)", found)) == ["2"] * 8 + ["4"] * 8
    assert "ld.shared" not in found
    # 16 bytes of either operand at once: a thread has two of 128 rows of 64 bytes.
    assert len(re.findall(r"ld\.global\S*\.v4", found)) == 2 * 2
