"""Sums of products as products of matrices, and their tiles."""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tandem.compiler.ir import interpreter
from tandem.compiler.ir.dtypes import FLOAT32, INT8, INT32, UINT8, DType
from tandem.compiler.ir.expr import Expr
from tandem.compiler.ir.stmt import If, Stmt, Store
from tandem.compiler.ir.visit import statements
from tandem.compiler.machines.gpu.check.accesses import accesses
from tandem.compiler.machines.gpu.codegen.opencl import opencl_text
from tandem.compiler.machines.gpu.codegen.ptx import ptx_text
from tandem.compiler.machines.gpu.interpreter import Order, run_program
from tandem.compiler.machines.gpu.intrinsics import DOT_PRODUCTS, is_dot_product
from tandem.compiler.machines.gpu.launch import grid_of, is_barrier
from tandem.compiler.machines.gpu.lower.lowering import gpu_program
from tandem.compiler.machines.gpu.machine import GpuMachine
from tandem.compiler.machines.gpu.schedules.generic import gpu_schedule
from tandem.compiler.machines.gpu.schedules.products import Product, as_products
from tandem.compiler.machines.gpu.schedules.tile import Tile, tile_of
from tandem.compiler.machines.gpu.warps import WARP_PRODUCTS
from tandem.compiler.te import (
    Tensor,
    cast,
    compute,
    maximum,
    placeholder,
    reduce_axis,
    select,
    sum,
)
from tandem.compiler.te.schedule import Schedule
from tests.support.compiler.machines.gpu.kernels_on_host import run_on_host
from tests.support.compiler.machines.gpu.on_opencl import on_opencl
from tests.support.compiler.te.schedules import matmul, random_inputs

MACHINE = GpuMachine(threads=16)


def dense(rows: int = 16, columns: int = 18, terms: int = 17, dtype: DType = INT32) -> Tensor:
    """A dense layer with a bias: weights by rows."""
    x, w = placeholder((rows, terms), dtype, "x"), placeholder((columns, terms), dtype, "w")
    b, k = placeholder((columns,), INT32, "b"), reduce_axis(terms, "k")

    def term(i: Expr, j: Expr) -> Expr:
        return cast(x[i, k], INT32) * cast(w[j, k], INT32)

    y = compute((rows, columns), lambda i, j: sum(term(i, j), axis=k), "y")
    return compute((rows, columns), lambda i, j: y[i, j] + b[j], "z")


def convolution(images: int = 1, channels: int = 2, side: int = 4) -> Tensor:
    """A padded convolution of bytes with an activation."""
    x = placeholder((images, channels, side, side), INT8, "x")
    w = placeholder((16, channels, 3, 3), INT8, "w")
    padded = compute(
        (images, channels, side + 2, side + 2),
        lambda n, c, h, v: select(
            (h >= 1) & (h <= side) & (v >= 1) & (v <= side), x[n, c, h - 1, v - 1], 0
        ),
        "padded",
    )
    c, i, j = reduce_axis(channels, "c"), reduce_axis(3, "i"), reduce_axis(3, "j")
    y = compute(
        (images, 16, side, side),
        lambda n, o, h, v: sum(
            cast(padded[n, c, h + i, v + j], INT32) * cast(w[o, c, i, j], INT32), axis=(c, i, j)
        ),
        "y",
    )
    return compute((images, 16, side, side), lambda n, o, h, v: maximum(y[n, o, h, v], 0), "z")


def batched(left: DType = INT32, right: DType = INT32) -> Tensor:
    """Products of several matrices, of which each row is then shifted by its first element."""
    a, b = placeholder((2, 16, 16), left, "a"), placeholder((2, 16, 17), right, "b")
    k = reduce_axis(16, "k")

    def term(s: Expr, i: Expr, j: Expr) -> Expr:
        return cast(a[s, i, k], INT32) * cast(b[s, k, j], INT32)

    y = compute((2, 16, 17), lambda s, i, j: sum(term(s, i, j), axis=k), "y")
    return compute((2, 16, 17), lambda s, i, j: y[s, i, j] - y[s, i, 0], "z")


CASES: dict[str, Callable[[], Tensor]] = {
    "dense": dense,
    "convolution": convolution,
    "images": lambda: convolution(2, 2, 3),
    "batched": batched,
    "dense of bytes": lambda: dense(dtype=INT8),
    "batched of bytes": lambda: batched(UINT8, INT8),
}


def outputs(expression: Tensor, order: Order | None) -> tuple[NDArray[Any], NDArray[Any]]:
    """What an expression gives with its products by tiles, interpreted, and without."""
    plain = Schedule.of(expression)
    arrays = random_inputs(plain.program)
    (wanted,) = interpreter.run(plain.program, arrays)
    named = zip(plain.program.inputs, arrays, strict=True)
    by_name = {each.name: array for each, array in named}
    schedule = gpu_schedule(expression, machine=MACHINE)
    given = [by_name[each.name] for each in schedule.program.inputs]
    if order is None:
        return wanted, interpreter.run(schedule.program, given)[0]
    return wanted, run_program(gpu_program(schedule.program, MACHINE), given, order)[0]


@pytest.mark.parametrize("name", CASES)
def test_schedules_keep_the_result(name: str) -> None:
    np.testing.assert_array_equal(*outputs(CASES[name](), None))


@pytest.mark.parametrize("name", ["convolution", "batched", "batched of bytes"])
def test_launches_keep_the_result(name: str) -> None:
    np.testing.assert_array_equal(*outputs(CASES[name](), Order.BACKWARDS))


def test_which_are_products() -> None:
    whole = Product("y_product", "y_left", "y_right", 1, 16, 18, 17)
    whole = replace(whole, factors=(INT32, INT32), kind=INT32)
    assert as_products([dense()])[1] == (whole,)
    of_bytes = INT8, INT8
    found = Product("y_product", "y_left", "y_right", 1, 32, 16, 18, 1, DOT_PRODUCTS[of_bytes])
    found = replace(found, together=WARP_PRODUCTS[of_bytes], factors=of_bytes, kind=INT32)
    assert found.stored_bytes == 1
    assert as_products([convolution(2)])[1] == (found,)
    assert as_products([batched()])[1][0].batch == 2
    small = matmul()
    assert as_products([small]) == ((small,), ())


@pytest.mark.parametrize("name", ["dense of bytes", "convolution", "batched of bytes"])
def test_products_of_bytes(name: str) -> None:
    """They are dot products of four bytes, and have the CPU's bits."""
    expression = CASES[name]()
    program = gpu_program(gpu_schedule(expression, machine=MACHINE).program, MACHINE)
    assert dots(program.launches[0].body) == 1
    plain = Schedule.of(expression)
    arrays = random_inputs(plain.program)
    (wanted,) = interpreter.run(plain.program, arrays)
    by_name = {each.name: array for each, array in zip(plain.program.inputs, arrays, strict=True)}
    (found,) = on_opencl(program, [by_name[each.name] for each in program.inputs])
    np.testing.assert_array_equal(found, wanted)


def dots(body: Stmt) -> int:
    """The dot products in the text of a statement."""
    return len([each for each in statements(body) if is_dot_product(each)])


@pytest.mark.parametrize(("depth", "count"), [(4, 1), (6, 0), (8, 1)])
def test_tiles_of_other_depths(depth: int, count: int) -> None:
    """Dot products need terms in fours."""
    tile = Tile(16, 16, depth, 4, 4)
    schedule = gpu_schedule(dense(dtype=INT8), machine=MACHINE, tile=tile)
    assert dots(schedule.program.body) == count
    assert dots(gpu_schedule(dense(), machine=MACHINE, tile=tile).program.body) == 0


@pytest.mark.parametrize(
    ("name", "loads"),
    [
        # Whole tiles of a row-major matrix are loaded by rows, 16 bytes at once.
        ("whole", ["vload4", "vload4"]),
        # Of bytes the terms are neighbours in shared memory: in memory they are so on the left.
        ("whole of bytes", ["vload16"]),
        ("weights by rows", ["vload16", "vload16"]),
        # Of a matrix that ends in a tile vectors are loaded whole, or zeros stored.
        ("rows in a tile", ["vload16", "vload16"]),
        ("terms in a tile", ["vload4"]),
        # A row of 17 terms is loaded one by one.
        ("dense of bytes", []),
    ],
)
def test_loads_of_vectors(name: str, loads: list[str]) -> None:
    expression = {
        "whole": lambda: square(INT32, by_columns=False),
        "whole of bytes": lambda: square(INT8, by_columns=False),
        "rows in a tile": lambda: dense(17, 18, 32, INT8),
        "terms in a tile": lambda: dense(17, 18, 20),
        "weights by rows": lambda: square(INT8, by_columns=True),
        **CASES,
    }[name]()
    program = gpu_program(gpu_schedule(expression, machine=MACHINE).program, MACHINE)
    assert re.findall(r"vload\d+", opencl_text(program)) == loads
    wide = re.findall(r"ld\.global\S*\.v4\.b32", ptx_text(program))
    assert len(wide) == len(loads)
    np.testing.assert_array_equal(*outputs(expression, Order.INTERLEAVED))
    plain = Schedule.of(expression)
    arrays = random_inputs(plain.program)
    (wanted,) = interpreter.run(plain.program, arrays)
    by_name = {each.name: array for each, array in zip(plain.program.inputs, arrays, strict=True)}
    given = [by_name[each.name] for each in program.inputs]
    np.testing.assert_array_equal(on_opencl(program, given)[0], wanted)
    np.testing.assert_array_equal(run_on_host(program, given)[0][0], wanted)


def square(dtype: DType, *, by_columns: bool) -> Tensor:
    """A product of matrices of whole tiles."""
    shape = (16, 32) if by_columns else (32, 16)
    a, b = placeholder((16, 32), dtype, "a"), placeholder(shape, dtype, "b")
    k = reduce_axis(32, "k")

    def term(i: Expr, j: Expr) -> Expr:
        return cast(a[i, k], INT32) * cast(b[j, k] if by_columns else b[k, j], INT32)

    return compute((16, 16), lambda i, j: sum(term(i, j), axis=k), "y")


def test_launches() -> None:
    # What reads the sums once is computed with them, and what reads them twice is not.
    for expression, count in ((dense(), 1), (convolution(), 1), (batched(), 2)):
        program = gpu_program(gpu_schedule(expression, machine=MACHINE).program, MACHINE)
        assert len(program.launches) == count
        # Of two slots one is read while the other is written.
        assert barriers(program.launches[0].body) == 1


def barriers(body: Stmt) -> int:
    """The barriers in the text of a statement."""
    return len([each for each in statements(body) if is_barrier(each)])


def test_no_product_is_under_a_condition() -> None:
    """Of matrices that are no whole tiles, what lies beyond is loaded as zeros."""
    for make in (dense, convolution):
        program = gpu_program(gpu_schedule(make(), machine=MACHINE).program, MACHINE)
        body = grid_of(program.launches[0]).body
        sums = {
            store.buffer.name
            for test in statements(body)
            if isinstance(test, If)
            for store in statements(test.body)
            if isinstance(store, Store)
        }
        # The rows that there are not are not written.
        assert sums <= {"z"}
    (product,) = as_products([dense()], lambda _: (16, 16, 8))[1]
    assert (product.rows, product.columns, product.terms) == (16, 18, 17)


def test_tiles() -> None:
    machine = GpuMachine()
    large = Product("p", "l", "r", 1, 4096, 4096, 4096)
    assert tile_of(large, machine) == Tile(128, 128, 16, 8, 8)
    assert tile_of(Product("p", "l", "r", 1, 64, 3136, 576), machine) == Tile(32, 32, 16, 2, 2)
    assert tile_of(Product("p", "l", "r", 1, 20, 30, 40), machine) == Tile(16, 16, 16, 1, 1)
    assert tile_of(large, GpuMachine(threads=64)).threads == 64


def test_intensity_of_large_products() -> None:
    """Products for each element that a block loads: at least those of tiles of 128 x 128 x 32."""
    a, b = placeholder((64, 128, 64), FLOAT32, "a"), placeholder((64, 64, 128), FLOAT32, "b")
    k = reduce_axis(64, "k")
    c = compute((64, 128, 128), lambda s, i, j: sum(a[s, i, k] * b[s, k, j], axis=k), "c")
    machine = GpuMachine()
    (launch,) = gpu_program(gpu_schedule(c, machine=machine).program, machine).launches
    body = grid_of(launch).body

    def times(*names: str) -> int:
        """How often a thread accesses buffers."""
        return builtins.sum(prod(it.loops.values()) for it in accesses(body, frozenset(names)))

    assert times("c_left") - times("a") == 128 * 128 * 64 // 256
    products, elements = times("c_left") - times("a"), times("a", "b")
    assert products / elements >= 128 * 128 * 32 / (128 * 32 + 32 * 128)
