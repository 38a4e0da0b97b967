"""Calling: what is refused, and what is copied."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tandem.compiler.ir.parser import parse
from tandem.compiler.machines.cpu.codegen import NativeFunction, compile_function, load
from tandem.runtime.errors import NativeCodeError
from tests.support.compiler.machines.cpu.native import EXACT

PROGRAM = """
func add(A: float32[4, 6], B: float32[6], R: int32[6]) -> (C: float32[4, 6], R: int32[6]):
  for i in 4:
    for j in 6 vectorized:
      C[i, j] = A[i, j] + B[j]
  for k in 6 vectorized:
    R[k] = R[k] + 1
"""


@pytest.fixture(scope="module")
def add() -> NativeFunction:
    return compile_function(parse(PROGRAM), EXACT)


def good() -> list[Any]:
    return [np.ones((4, 6), np.float32), np.arange(6, dtype=np.float32), np.zeros(6, np.int32)]


def test_outputs_are_new(add: NativeFunction) -> None:
    a, b, r = good()
    c, q = add(a, b, r)
    np.testing.assert_array_equal(c, a + b)
    np.testing.assert_array_equal(q, [1] * 6)
    assert not r.any()


def test_outputs_of_the_caller(add: NativeFunction) -> None:
    a, b, r = good()
    c, q = np.empty_like(a), np.empty_like(r)
    found = add(a, b, r, out=(c, q))
    assert found[0] is c
    assert found[1] is q
    np.testing.assert_array_equal(q, [1] * 6)
    assert not r.any()


def test_an_input_may_be_its_own_output(add: NativeFunction) -> None:
    a, b, r = good()
    c = np.empty_like(a)
    for iteration in range(3):
        add(a, b, r, out=(c, r))
        np.testing.assert_array_equal(r, [iteration + 1] * 6)


@pytest.mark.parametrize(
    ("number", "value", "message"),
    [
        (0, np.ones((4, 5), np.float32), r"input A of add must have shape \(4, 6\), not \(4, 5\)"),
        (0, np.ones((4, 6)), "input A of add must be float32, not float64"),
        (0, np.ones((4, 6), ">f4"), "input A of add must be float32, not >f4"),
        (0, np.ones((6, 4), np.float32).T, r"input A of add must be dense.* \(4, 16\)"),
        (1, [1.0] * 6, "input B of add must be a NumPy array, not list"),
        (1, np.ones(25, np.uint8)[1:].view(np.float32), "input B of add must be dense"),
    ],
)
def test_arrays_that_do_not_fit(add: NativeFunction, number: int, value: Any, message: str) -> None:
    arrays = good()
    arrays[number] = value
    with pytest.raises(NativeCodeError, match=message):
        add(*arrays)


def test_the_number_of_arrays(add: NativeFunction) -> None:
    with pytest.raises(NativeCodeError, match=r"add has 3 inputs \(A, B, R\), not 2"):
        add(*good()[:2])
    with pytest.raises(NativeCodeError, match=r"add has 2 outputs \(C, R\), not 1"):
        add(*good(), out=(np.empty((4, 6), np.float32),))


def test_outputs_that_overlap(add: NativeFunction) -> None:
    a, b, r = good()
    with pytest.raises(NativeCodeError, match="add: output C and input A overlap in memory"):
        add(a, b, r, out=(a, r))
    memory = np.zeros(30, np.float32)
    c, q = memory[:24].reshape(4, 6), memory[20:26].view(np.int32)
    with pytest.raises(NativeCodeError, match="add: output C and output R overlap in memory"):
        add(a, b, r, out=(c, q))


def test_outputs_that_are_read_only(add: NativeFunction) -> None:
    c, q = np.empty((4, 6), np.float32), np.empty(6, np.int32)
    q.flags.writeable = False
    with pytest.raises(NativeCodeError, match="output R of add must be writeable"):
        add(*good(), out=(c, q))


def test_a_workspace_that_no_machine_has(add: NativeFunction) -> None:
    huge = load(replace(add.object_code, shared_bytes=1 << 60))
    with pytest.raises(NativeCodeError, match=r"add needs \d+ bytes for its workspace, more than"):
        huge(*good())


def test_without_checks(add: NativeFunction) -> None:
    """One array is both the input and the output R."""
    a, b, r = good()
    c = np.empty_like(a)
    for iteration in range(2):
        add.unchecked()([a, b, r], [c, r])
        np.testing.assert_array_equal(c, a + b)
        np.testing.assert_array_equal(r, [iteration + 1] * 6)


def test_no_elements() -> None:
    program = """
func f(A: float32[0, 3]) -> (C: float32[0, 3], D: float32[3]):
  for i in 0:
    for j in 3 vectorized:
      C[i, j] = A[i, j]
  for k in 3:
    D[k] = 0.0
"""
    c, d = compile_function(parse(program), EXACT)(np.empty((0, 3), np.float32))
    assert c.shape == (0, 3)
    assert not d.any()


def test_a_function_may_be_called_like_one_of_the_library() -> None:
    program = "func sinf(A: float32[1]) -> (C: float32[1]):\n  C[0] = sin(A[0])\n"
    (found,) = compile_function(parse(program), EXACT)(np.ones(1, np.float32))
    np.testing.assert_allclose(found, np.sin(1.0), rtol=1e-6)
