"""Products of matrices by a warp: what they do, in every language, and what is refused."""

from __future__ import annotations

import re
from itertools import product as combinations

import numpy as np
import pytest

from tandem.compiler.errors import CodegenError, IRError
from tandem.compiler.ir.dtypes import FLOAT16, FLOAT32, INT8, INT32, UINT8, DType
from tandem.compiler.ir.parser import parse
from tandem.compiler.ir.printer import text
from tandem.compiler.ir.stmt import Invoke
from tandem.compiler.ir.visit import statements
from tandem.compiler.machines.gpu.check.races import RaceError, check_races
from tandem.compiler.machines.gpu.codegen.opencl import opencl_text
from tandem.compiler.machines.gpu.codegen.ptx import PROCESSORS, ptx_text
from tandem.compiler.machines.gpu.interpreter import Order, run_program
from tandem.compiler.machines.gpu.intrinsics import behaviour
from tandem.compiler.machines.gpu.launch import INTRINSICS
from tandem.compiler.machines.gpu.warps import WARP_PRODUCTS, is_warp_product, terms_of
from tests.support.compiler.machines.gpu.kernels_on_host import run_on_host
from tests.support.compiler.machines.gpu.on_opencl import on_opencl
from tests.support.compiler.machines.gpu.warps import warp_arrays, warp_program

TYPES = pytest.mark.parametrize(("left", "right"), [*WARP_PRODUCTS], ids=str)


@TYPES
def test_in_every_language(left: DType, right: DType) -> None:
    program = warp_program(left, right)
    arrays, wanted = warp_arrays(program)
    for order in Order:
        np.testing.assert_array_equal(run_program(program, arrays, order)[0], wanted)
    np.testing.assert_array_equal(on_opencl(program, arrays)[0], wanted)
    (found,), waited = run_on_host(program, arrays)
    np.testing.assert_array_equal(found, wanted)
    assert waited == [1]


@TYPES
@pytest.mark.parametrize("processor", PROCESSORS)
def test_ptx_instructions(left: DType, right: DType, processor: str) -> None:
    found = ptx_text(warp_program(left, right), processor)
    names = {INT8: "s8", UINT8: "u8", FLOAT16: "f16"}
    size, sums = ("m16n8k16", "f32") if left == FLOAT16 else ("m16n8k32", "s32")
    assert re.findall(r"mma\S*", found) == [
        f"mma.sync.aligned.{size}.row.col.{sums}.{names[left]}.{names[right]}.{sums}"
    ]
    assert re.findall(r"ldmatrix\S*", found) == [
        f"ldmatrix.sync.aligned.m8n8.x{count}.shared.b16" for count in (4, 2)
    ]


@pytest.mark.parametrize("order", Order)
def test_threads_that_do_not_come(order: Order) -> None:
    some = warp_program(around="if gpu.thread < 31:")
    with pytest.raises(IRError, match=r"warp 0: 31 of 32 threads come to mma_int8_int8"):
        run_program(some, warp_arrays(some)[0], order)
    less = warp_program(wait="invoke barrier()", around="if gpu.thread < 32:", threads=40)
    arrays, wanted = warp_arrays(less)
    np.testing.assert_array_equal(run_program(less, arrays, order)[0], wanted)


def test_a_missing_barrier_is_found() -> None:
    (launch,) = warp_program().launches
    check_races(launch)
    program = warp_program(wait="sums[0, 0] = sums[0, 0]")
    (launch,) = program.launches
    with pytest.raises(RaceError, match=r"an element of a is read while another thread"):
        check_races(launch)


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (warp_program(by_rows=False), "terms of a are no neighbours"),
        (warp_program(shift=8), "terms of a do not begin at a multiple of 16 bytes"),
    ],
    ids=["columns", "shifted"],
)
def test_what_ptx_cannot_load(program: object, message: str) -> None:
    assert isinstance(program, type(warp_program()))
    arrays, wanted = warp_arrays(program)
    np.testing.assert_array_equal(run_program(program, arrays, Order.FORWARDS)[0], wanted)
    assert "int" in opencl_text(program)
    with pytest.raises(CodegenError, match=rf"mma_int8_int8: {message}"):
        ptx_text(program)


def test_of_which_types() -> None:
    bytes_ = (INT8, UINT8)
    assert {*WARP_PRODUCTS} == {*combinations(bytes_, bytes_), (FLOAT16, FLOAT16)}
    for (left, _), found in WARP_PRODUCTS.items():
        assert found.outputs[0].dtype == (FLOAT32 if left == FLOAT16 else INT32)
        assert terms_of(found) * left.numpy.itemsize == 32


def test_text_and_back() -> None:
    (launch,) = warp_program().launches
    names = {each.name: each for each in WARP_PRODUCTS.values()}
    assert parse(text(launch), {**INTRINSICS, **names}) == launch


def test_behaviour() -> None:
    (launch,) = warp_program().launches
    (found,) = [each for each in statements(launch.body) if is_warp_product(each)]
    assert isinstance(found, Invoke)
    assert terms_of(found.intrinsic) == 32
    i, j, h, t = (f"mma_int8_int8.{each}" for each in "ijht")
    a, b = f"a[0 + {h}, 0 + {i}, gpu.thread // 4 % 8, 0 + {t}]", f"b[0 + {h}, gpu.thread % 4, 0 + "
    assert text(behaviour(found)) == (
        f"for {i} in 2:\n  for {j} in 2:\n    for {h} in 2:\n      for {t} in 16:\n"
        f"        sums[0 + {i}, 0 + {j}] = sums[0 + {i}, 0 + {j}]"
        f" + int32({a}) * int32({b}{j}, 0 + {t}])\n"
    )
