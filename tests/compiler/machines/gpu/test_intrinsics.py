"""Dot products of bytes: what they do, in every language, and where they are."""

from __future__ import annotations

import re
from itertools import product as combinations

import numpy as np
import pytest

from tandem.compiler.errors import CodegenError, IRError
from tandem.compiler.ir.buffer import Buffer, Scope
from tandem.compiler.ir.dtypes import INT8, INT32, UINT8, DType
from tandem.compiler.ir.expr import Var
from tandem.compiler.ir.ops import index
from tandem.compiler.ir.parser import parse
from tandem.compiler.ir.printer import text
from tandem.compiler.ir.stmt import Invoke, Region
from tandem.compiler.ir.visit import statements
from tandem.compiler.machines.gpu.check.races import RaceError, check_races
from tandem.compiler.machines.gpu.codegen.opencl import opencl_text
from tandem.compiler.machines.gpu.codegen.ptx import PROCESSORS, ptx_text
from tandem.compiler.machines.gpu.interpreter import Order, run_program
from tandem.compiler.machines.gpu.intrinsics import (
    DOT_PRODUCTS,
    behaviour,
    is_aligned,
    is_dense,
    is_dot_product,
)
from tandem.compiler.machines.gpu.launch import INTRINSICS
from tests.support.compiler.machines.gpu.dots import dot_arrays, dot_program
from tests.support.compiler.machines.gpu.kernels_on_host import run_on_host
from tests.support.compiler.machines.gpu.on_opencl import on_opencl

BYTES = (INT8, UINT8)
TYPES = pytest.mark.parametrize(("left", "right"), [*combinations(BYTES, BYTES)])


@TYPES
@pytest.mark.parametrize("order", Order)
def test_interpreted(left: DType, right: DType, order: Order) -> None:
    program = dot_program(left, right)
    arrays, wanted = dot_arrays(program)
    np.testing.assert_array_equal(run_program(program, arrays, order)[0], wanted)


@TYPES
@pytest.mark.parametrize("shift", [0, 1, 4])
def test_opencl(left: DType, right: DType, shift: int) -> None:
    program = dot_program(left, right, shift)
    arrays, wanted = dot_arrays(program)
    np.testing.assert_array_equal(on_opencl(program, arrays)[0], wanted)


@TYPES
@pytest.mark.parametrize("shift", [0, 1])
def test_ptx_on_this_processor(left: DType, right: DType, shift: int) -> None:
    program = dot_program(left, right, shift)
    arrays, wanted = dot_arrays(program)
    (found,), waited = run_on_host(program, arrays)
    np.testing.assert_array_equal(found, wanted)
    assert waited == [1]


@TYPES
@pytest.mark.parametrize("processor", PROCESSORS)
def test_ptx_instruction(left: DType, right: DType, processor: str) -> None:
    found = re.findall(r"dp4a\S*", ptx_text(dot_program(left, right), processor))
    signs = {INT8: "s32", UINT8: "u32"}
    assert found == [f"dp4a.{signs[left]}.{signs[right]}"]


def test_registers_are_loaded_at_once_where_they_are_aligned() -> None:
    for shift, aligned in ((0, True), (4, True), (2, False)):
        program = dot_program(shift=shift)
        assert ("ld.shared.b32" in ptx_text(program)) == aligned
        opencl = opencl_text(program)
        assert ("*(local const char4 *)&b_a[" in opencl) == aligned
        assert ("vload4(0, &b_a[" in opencl) != aligned


def test_bytes_that_are_no_neighbours() -> None:
    program = dot_program(by_rows=False)
    arrays, wanted = dot_arrays(program)
    np.testing.assert_array_equal(run_program(program, arrays, Order.FORWARDS)[0], wanted)
    for write in (opencl_text, ptx_text):
        with pytest.raises(CodegenError, match=r"dp4a_int8_int8: bytes of a are no neighbours"):
            write(program)


def test_a_missing_barrier_is_found() -> None:
    (launch,) = dot_program().launches
    check_races(launch)
    program = dot_program(synchronised=False)
    (launch,) = program.launches
    with pytest.raises(RaceError, match=r"an element of a is read while another thread"):
        check_races(launch)
    with pytest.raises(IRError, match=r"read before it is written"):
        run_program(program, dot_arrays(program)[0], Order.FORWARDS)


def test_text_and_back() -> None:
    (launch,) = dot_program().launches
    names = {each.name: each for each in DOT_PRODUCTS.values()}
    assert parse(text(launch), {**INTRINSICS, **names}) == launch


def test_behaviour() -> None:
    (launch,) = dot_program(shift=4).launches
    invokes = (each for each in statements(launch.body) if isinstance(each, Invoke))
    (dot,) = (each for each in invokes if is_dot_product(each))
    assert text(behaviour(dot)) == (
        "for dp4a_int8_int8.k in 4:\n"
        "  total[] = total[] + int32(a[(7 - gpu.thread) * 4 + 0 + 4 + dp4a_int8_int8.k])"
        " * int32(b[(7 - gpu.thread) * 4 + 0 + 4 + dp4a_int8_int8.k])\n"
    )


def test_places_in_memory() -> None:
    i, shared = Var("i"), Scope("shared")
    rows = Buffer("rows", (2, 8, 12), INT8, shared)
    assert is_aligned(Region(rows, (i, i + 3, i * 4 + 8), (1, 1, 4)), 4)
    assert not is_aligned(Region(rows, (i, i, i * 4 + 2), (1, 1, 4)), 4)
    assert not is_aligned(Region(rows, (i, i, i // 2), (1, 1, 4)), 4)
    assert not is_aligned(Region(Buffer("odd", (8, 6), INT8, shared), (i, index(0)), (1, 4)), 4)
    assert is_dense(Region(rows, (i, i, i), (1, 1, 4)), (4,))
    assert not is_dense(Region(rows, (i, i, i), (1, 4, 1)), (4,))


def test_only_bytes_have_one() -> None:
    assert {*DOT_PRODUCTS} == {*combinations(BYTES, BYTES)}
    assert all(each.outputs[0].dtype == INT32 for each in DOT_PRODUCTS.values())
