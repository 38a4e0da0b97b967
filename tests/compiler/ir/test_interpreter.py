"""Programs run: against NumPy, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.compiler.errors import IRError
from tandem.compiler.ir import LoopKind, PrimFunc
from tandem.compiler.ir.interpreter import run
from tandem.compiler.ir.parser import parse
from tandem.compiler.ir.stmt import For, Stmt
from tandem.compiler.ir.visit import rewrite
from tests.support.compiler.ir.ir_strategies import INTRINSICS, arrays, functions

MATMUL = """
func C(A: float32[6, 5], B: float32[5, 7]) -> (C: float32[6, 7]):
  for C.i_o in 2 parallel:
    for C.k in 5:
      for C.i_i in 4:
        for C.j in 7 vectorized:
          block C(spatial i < 6 = C.i_o * 4 + C.i_i, spatial j < 7 = C.j, reduce k < 5 = C.k):
            where C.i_o * 4 + C.i_i < 6
            init:
              C[i, j] = 0.0
            C[i, j] = C[i, j] + A[i, k] * B[k, j]
"""


def one(text: str, *inputs: Any) -> Any:
    """The only output of a program."""
    (result,) = run(parse(text, INTRINSICS), [np.asarray(each) for each in inputs])
    return result


def test_matrix_product_with_a_guard() -> None:
    random = np.random.default_rng(1)
    a, b = (random.normal(size=shape).astype(np.float32) for shape in ((6, 5), (5, 7)))
    expected = np.zeros((6, 7), np.float32)
    for k in range(5):
        expected = expected + a[:, k : k + 1] * b[k]
    result = one(MATMUL, a, b)
    assert result.dtype == np.float32
    np.testing.assert_array_equal(result, expected)


def test_maximum_of_what_a_nan_is_in() -> None:
    program = """
func M(A: float64[3, 4]) -> (M: float64[3]):
  for M.i in 3:
    for M.k in 4:
      block M(spatial i < 3 = M.i, reduce k < 4 = M.k):
        init:
          M[i] = -inf
        M[i] = max(M[i], A[i, k])
"""
    a = np.arange(12.0).reshape(3, 4)
    a[1, 2] = np.nan
    np.testing.assert_array_equal(one(program, a), a.max(axis=1))


def test_select_keeps_an_index_inside() -> None:
    program = """
func P(A: int8[4]) -> (P: int8[6]):
  for P.i in 6:
    P[P.i] = select((0 < P.i) & (P.i <= 4), A[P.i - 1], -1)
"""
    a = np.array([5, 6, 7, 8], np.int8)
    np.testing.assert_array_equal(one(program, a), np.pad(a, 1, constant_values=-1))


def test_allocations_begin_undefined_in_each_turn() -> None:
    program = """
func D(A: int32[3, 2]) -> (D: int32[3]):
  for D.i in 3:
    alloc T: int32[2] @ local
    for D.j in 2:
      T[D.j] = A[D.i, 1 - D.j] * 10
    D[D.i] = T[0] - T[1]
"""
    a = np.arange(6, dtype=np.int32).reshape(3, 2) ** 2
    np.testing.assert_array_equal(one(program, a), (a[:, 1] - a[:, 0]) * 10)
    stale = program.replace("for D.j in 2:", "if D.i == 0:").replace("D.j", "0")
    with pytest.raises(IRError, match=r"^T\[1\] \(shape \(2,\)\) is read before it is written"):
        one(stale, a)
    stale = stale.replace("- T[1]", "")
    with pytest.raises(IRError, match=r"^T\[0\] .*, at D.i = 1$"):
        one(stale, a)


def test_scalars_and_buffers_of_no_elements() -> None:
    program = """
func S(A: float32[0, 3], B: int64[]) -> (S: int64[], E: float32[0, 3]):
  for S.i in 0:
    E[S.i, 0] = A[S.i, 0]
  S[] = B[] + 1
"""
    first, second = run(parse(program), [np.zeros((0, 3), np.float32), np.array(41)])
    assert first.shape == ()
    assert first == 42
    assert second.shape == (0, 3)


def test_an_extent_may_follow_from_an_outer_loop() -> None:
    program = """
func T() -> (T: int64[4, 4]):
  for T.i in 4:
    for T.z in 4:
      T[T.i, T.z] = 0
    for T.j in T.i + 1:
      T[T.i, T.j] = T.i + T.j
"""
    i, j = np.indices((4, 4))
    np.testing.assert_array_equal(one(program), np.where(j <= i, i + j, 0))


def test_an_output_that_is_an_input_is_updated_and_the_array_is_not() -> None:
    program = """
func U(C: int8[3]) -> (C: int8[3]):
  C[1] = C[1] + 100
"""
    c = np.array([1, 100, 3], np.int8)
    np.testing.assert_array_equal(one(program, c), np.array([1, -56, 3], np.int8))
    np.testing.assert_array_equal(c, [1, 100, 3])


def test_inputs_may_have_strides() -> None:
    a = np.arange(24, dtype=np.int16).reshape(4, 6)[::2, ::-3]
    program = """
func C(A: int16[2, 2]) -> (C: int16[2, 2]):
  for C.i in 2:
    for C.j in 2:
      C[C.i, C.j] = A[C.i, C.j]
"""
    np.testing.assert_array_equal(one(program, a), a)


def test_init_runs_where_every_reduced_axis_is_0() -> None:
    program = """
func S(A: int32[3, 2]) -> (S: int32[]):
  for S.r in 3:
    for S.s in 2:
      block S(reduce r < 3 = S.r, reduce s < 2 = S.s):
        init:
          S[] = 1000
        S[] = S[] + A[r, s]
"""
    a = np.arange(6, dtype=np.int32).reshape(3, 2)
    assert one(program, a) == 1000 + a.sum()
    without = program.replace("        init:\n          S[] = 1000\n", "")
    with pytest.raises(IRError, match=r"^S\[\] \(shape \(\)\) is read before it is written"):
        one(without, a)


def test_intrinsics_work_on_windows() -> None:
    m, v = "M[R.i * 2 :+ 2, 0 :+ 1, R.j :+ 3]", "V[1 :+ 1, R.j * 6 :+ 3]"
    program = f"""
func R(M: int8[4, 1, 5], V: int8[3, 9]) -> (R: int32[2, 2, 1, 2]):
  for R.i in 2 parallel:
    for R.j in 2:
      for R.c in 2:
        R[R.i, R.j, 0, R.c] = 7
      invoke matvec({m}, {v}, R[R.i :+ 1, R.j :+ 1, 0 :+ 1, 0 :+ 2])
"""
    random = np.random.default_rng(2)
    matrix = random.integers(-128, 128, (4, 1, 5), np.int8)
    vectors = random.integers(-128, 128, (3, 9), np.int8)
    expected = np.empty((2, 2, 1, 2), np.int32)
    for i in range(2):
        for j in range(2):
            window = matrix[2 * i : 2 * i + 2, 0, j : j + 3].astype(np.int32)
            expected[i, j, 0] = 7 + window @ vectors[1, 6 * j : 6 * j + 3].astype(np.int32)
    np.testing.assert_array_equal(one(program, matrix, vectors), expected)
    beyond = program.replace("R.j * 6 :+ 3", "R.j * 7 :+ 3")
    with pytest.raises(
        IRError,
        match=r"^operand \(1, 3\) of matvec, from V\[1, 7\] \(shape \(3, 9\)\), reaches beyond "
        r"the buffer, at R.i = 1, R.j = 1$",
    ):
        one(beyond, matrix, vectors)
    before = program.replace("V[1 :+", "V[R.i - 1 :+")
    with pytest.raises(IRError, match=r"^operand \(1, 3\) of matvec, from V\[-1, 0\] \(shape"):
        one(before, matrix, vectors)


def test_an_intrinsic_may_invoke_another() -> None:
    pair = parse(
        """
func pair(x: float32[2, 4]) -> (y: float32[4, 2]):
  alloc t: float32[1, 4]
  for i in 2:
    invoke copy4(x[i :+ 1, 0 :+ 4], t[0 :+ 1, 0 :+ 4])
    for j in 4:
      y[j, i] = t[0, j]
""",
        INTRINSICS,
    )
    program = """
func C(A: float32[3, 5]) -> (C: float32[4, 2]):
  invoke pair(A[1 :+ 2, 1 :+ 4], C[0 :+ 4, 0 :+ 2])
"""
    a = np.arange(15, dtype=np.float32).reshape(3, 5)
    (result,) = run(parse(program, {"pair": pair}), [a])
    np.testing.assert_array_equal(result, a[1:, 1:].T)


@pytest.mark.parametrize("kind", [LoopKind.PARALLEL, LoopKind.VECTORIZED, LoopKind.VIRTUAL_THREAD])
def test_a_dependence_between_turns_shows(kind: LoopKind) -> None:
    program = f"""
func S(A: int32[4]) -> (S: int32[4]):
  S[0] = A[0]
  for S.i in 3 {kind.value}:
    S[S.i + 1] = S[S.i] + A[S.i + 1]
"""
    a = np.arange(4, dtype=np.int32)
    np.testing.assert_array_equal(one(program.replace(f" {kind.value}", ""), a), a.cumsum())
    with pytest.raises(IRError, match=r"^S\[2\] .* before it is written, at S.i = 2$"):
        one(program, a)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("B[k, j]", "B[k, j + 1]", r"^B\[0, 7\] \(shape \(5, 7\)\) lies outside the buffer, at "),
        ("A[i, k]", "A[i, k - 1]", r"^A\[4, -1\] \(shape \(6, 5\)\) lies outside the buffer, at "),
        (
            "C[i, j] = 0.0",
            "C[i, j * 2] = 0.0",
            r"^C\[4, 12\] \(shape \(6, 7\)\) lies outside the buffer, at C.i_o = 1, C.k = 0, "
            r"C.i_i = 0, C.j = 6, i = 4, j = 6, k = 0$",
        ),
        (
            "            where C.i_o * 4 + C.i_i < 6\n",
            "",
            r"^axis i of block C is 6, outside its extent 6, at C.i_o = 1",
        ),
        ("i < 6 = C", "i < 6 = 0 - C", r"^axis i of block C is -4, outside"),
        (
            "C.i_i < 6",
            "C.i_i < 5",
            r"^7 elements of an output are never written, first C\[5, 0\] \(shape \(6, 7\)\)$",
        ),
        ("for C.k in 5", "for C.k in C.i_o - 1", r"^loop C.k has -1 iterations, at C.i_o = 0$"),
        ("for C.k in 5", "for C.k in 6", r"^axis k of block C is 5, outside its extent 5"),
    ],
)
def test_refusals(old: str, new: str, message: str) -> None:
    assert old in MATMUL
    arrays = [np.ones((6, 5), np.float32), np.ones((5, 7), np.float32)]
    with pytest.raises(IRError, match=message):
        run(parse(MATMUL.replace(old, new)), arrays)


def test_incomplete_outputs_on_request() -> None:
    program = parse("func S() -> (S: int8[3]):\n  S[1] = 5\n")
    (result,) = run(program, [], complete=False)
    np.testing.assert_array_equal(result, [0, 5, 0])


def test_arrays_that_do_not_fit() -> None:
    program = parse(MATMUL)
    a, b = np.ones((6, 5), np.float32), np.ones((5, 7), np.float32)
    wrong: list[tuple[list[Any], str]] = [
        ([a], r"^C takes 2 arrays \(A, B\), not 1$"),
        ([a, a], r"^input B of C has the shape \(5, 7\), not \(6, 5\)$"),
        ([a.astype(float), b], r"^input A of C is float32, not float64$"),
        ([a.astype(">f4"), b], r"^input A of C is float32, not >f4$"),
        ([a.tolist(), b], r"^input A of C is a NumPy array, not list$"),
    ]
    for inputs, message in wrong:
        with pytest.raises(IRError, match=message):
            run(program, inputs)


def test_a_program_that_is_not_legal_does_not_run() -> None:
    with pytest.raises(IRError, match="variable x is not in scope"):
        run(parse("func S() -> (S: int64[]):\n  S[] = x\n"), [])


@given(st.data())
def test_random_programs_run_and_loop_kinds_do_not_matter(data: st.DataObject) -> None:
    program = data.draw(functions())
    inputs = data.draw(arrays(program))
    copies = [each.copy() for each in inputs]
    results = run(program, inputs)
    for array, copy in zip(inputs, copies, strict=True):
        np.testing.assert_array_equal(array, copy)
    for array, buffer in zip(results, program.outputs, strict=True):
        assert (array.shape, array.dtype) == (buffer.shape, buffer.dtype.numpy)
    for array, expected in zip(run(_serial(program), inputs), results, strict=True):
        np.testing.assert_array_equal(array, expected)


def _serial(program: PrimFunc) -> PrimFunc:
    def change(stmt: Stmt) -> Stmt:
        if isinstance(stmt, For):
            return For(stmt.var, stmt.extent, LoopKind.SERIAL, stmt.body)
        return stmt

    return PrimFunc(program.name, program.inputs, program.outputs, rewrite(program.body, change))
