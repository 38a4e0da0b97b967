"""Elements of vectors: beside each other, apart, anywhere; and where lanes must not touch them."""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tandem.compiler.errors import CodegenError
from tandem.compiler.ir.parser import parse
from tandem.compiler.machines.cpu.codegen import CpuTarget, compile_function
from tandem.runtime.element_types import dtype_of
from tests.support.compiler.machines.cpu.native import EXACT, HOST, run_text, same

TARGETS = [HOST, EXACT]
LANES = [2, 3, 5, 7, 8, 12, 16, 17, 28, 31, 40, 64, 65, 100, 130, 300]
DTYPES = ["bool", "int4", "uint2", "int8", "uint16", "int32", "float32", "int64", "float64"]


def numbers(shape: tuple[int, ...], dtype: str = "float32") -> NDArray[Any]:
    values = np.random.default_rng(1).integers(0, 100, shape)
    return values.astype(dtype_of(dtype)) if dtype != "bool" else values < 50


@pytest.mark.parametrize("target", TARGETS, ids=["wide", "narrow"])
@pytest.mark.parametrize("lanes", LANES)
def test_neighbours(lanes: int, target: CpuTarget) -> None:
    arrays = [numbers((3, lanes), dtype) for dtype in DTYPES]
    inputs = ", ".join(f"A{n}: {dtype}[3, {lanes}]" for n, dtype in enumerate(DTYPES))
    outputs = ", ".join(f"C{n}: {dtype}[3, {lanes}]" for n, dtype in enumerate(DTYPES))
    loops = "".join(
        f"""
  for r{n} in 3:
    for i{n} in {lanes} vectorized:
      C{n}[r{n}, i{n}] = A{n}[2 - r{n}, i{n}]"""
        for n in range(len(DTYPES))
    )
    found = run_text(f"func f({inputs}) -> ({outputs}):{loops}\n", *arrays, target=target)
    for one, other in zip(found, arrays, strict=True):
        same(one, other[::-1])


@pytest.mark.parametrize("target", TARGETS, ids=["wide", "narrow"])
@pytest.mark.parametrize("stride", [-2, -1, 1, 2, 3, 4, 5, 9])
def test_apart(stride: int, target: CpuTarget) -> None:
    """Reads and writes at equal distances, to the very ends of the arrays."""
    for lanes in (2, 7, 16, 33):
        extent = abs(stride) * (lanes - 1) + 1
        first = 0 if stride > 0 else extent - 1
        for dtype in ("int8", "float32", "float64"):
            run_text(
                f"""
func f(A: {dtype}[{extent}]) -> (C: {dtype}[{lanes}], D: {dtype}[{extent}]):
  for z in {extent}:
    D[z] = A[z]
  for i in {lanes} vectorized:
    C[i] = A[{first} + i * {stride}]
    D[{first} + i * {stride}] = A[i]
""",
                numbers((extent,), dtype),
                target=target,
            )


@pytest.mark.parametrize("target", TARGETS, ids=["wide", "narrow"])
def test_anywhere(target: CpuTarget) -> None:
    run_text(
        """
func f(A: float32[50], P: int64[20]) -> (C: float32[20], D: float32[50], E: float32[20]):
  for z in 50:
    D[z] = 0.0
  for i in 20 vectorized:
    C[i] = A[P[i]]
    D[P[i]] = A[i]
    E[i] = A[i // 3 * 7 + i % 3]
""",
        numbers((50,)),
        np.random.default_rng(2).permutation(50)[:20],
        target=target,
    )


@pytest.mark.parametrize("target", TARGETS, ids=["wide", "narrow"])
def test_one_for_all_lanes(target: CpuTarget) -> None:
    """The last lane's store is the one that stays, as if they ran in order."""
    program = """
func f(A: float32[20], B: float32[3]) -> (C: float32[20], D: float32[2]):
  for i in 20 vectorized:
    C[i] = B[1] * A[i]
    D[0] = B[2]
    D[1] = A[i]
"""
    a, b = numbers((20,)), numbers((3,))
    c, d = compile_function(parse(program), target)(a, b)
    same(c, b[1] * a)
    same(d, np.array([b[2], a[19]]))


def test_a_place_is_computed_anew_when_memory_that_it_depends_on_changes() -> None:
    program = """
func f(A: float32[12]) -> (C: float32[4, 2], M: int64[1]):
  for i in 4:
    M[0] = 1
    C[i, 0] = A[i + M[0]]
    M[0] = 5
    C[i, 1] = A[i + M[0]]
"""
    a = numbers((12,))
    found, _ = compile_function(parse(program), EXACT)(a)
    same(found, np.stack([a[1:5], a[5:9]], axis=1))


def test_lanes_that_run_or_not_cannot_write_one_element() -> None:
    program = """
func f(A: float32[16]) -> (D: float32[1]):
  D[0] = 0.0
  for i in 16 vectorized:
    if A[i] < 4.0:
      D[0] = A[i]
"""
    with pytest.raises(CodegenError, match=r"f / i: lanes write different values .* of D"):
        compile_function(parse(program), HOST)


def at_a_wall(values: NDArray[Any], before: bool = False) -> NDArray[Any]:
    """A copy right before (or behind) memory that nobody may touch."""
    page = mmap.PAGESIZE
    size = -(-values.nbytes // page) * page
    area = mmap.mmap(-1, size + page)
    start = ctypes.addressof(ctypes.c_char.from_buffer(area))
    libc = ctypes.CDLL(None, use_errno=True)
    wall = start if before else start + size
    assert libc.mprotect(ctypes.c_void_p(wall), ctypes.c_size_t(page), 0) == 0
    offset = page if before else size - values.nbytes
    copy = np.frombuffer(area, values.dtype, values.size, offset).reshape(values.shape)
    copy[...] = values
    return copy


@pytest.mark.parametrize("target", TARGETS, ids=["wide", "narrow"])
@pytest.mark.parametrize("dtype", ["int8", "int16", "float32", "float64"])
def test_masked_lanes_touch_nothing(dtype: str, target: CpuTarget) -> None:
    """Arrays end at a page that is not there: a guard, a lazy select, a rest of lanes, a stride."""
    program = f"""
func f(A: {dtype}[50], B: {dtype}[52]) -> (C: {dtype}[50], D: {dtype}[50], E: {dtype}[25],\
 F: {dtype}[16]):
  for o in 4:
    for i in 16 vectorized:
      if o * 16 + i < 50:
        C[o * 16 + i] = A[o * 16 + i]
  for p in 4:
    for j in 16 vectorized:
      if p * 16 + j < 50:
        D[p * 16 + j] = select(p * 16 + j < 2, B[p * 16 + j + 50], A[p * 16 + j - 2])
  for k in 25 vectorized:
    E[k] = A[k * 2 + 1]
  for l in 16 vectorized:
    F[l] = A[l * 2 + 19]
"""
    function = compile_function(parse(program), target)
    a, b = numbers((50,), dtype), numbers((52,), dtype)
    wanted = function(a, b)
    same(wanted[0], a)
    same(wanted[1], np.concatenate([b[50:], a[:48]]))
    same(wanted[2], a[1::2])
    same(wanted[3], a[19::2])
    for before in (False, True):
        out = tuple(at_a_wall(np.zeros_like(each), before) for each in wanted)
        function(at_a_wall(a, before), at_a_wall(b, before), out=out)
        for one, other in zip(out, wanted, strict=True):
            same(one, other)


def test_a_condition_that_lanes_share_is_a_branch() -> None:
    run_text(
        """
func f(A: float32[3, 16]) -> (C: float32[4, 16]):
  for r in 4:
    for i in 16 vectorized:
      C[r, i] = select(r < 3, A[r, i], 7.0)
      if r == 2:
        C[r, i] = C[r, i] + 1.0
""",
        numbers((3, 16)),
    )


@pytest.mark.parametrize("target", TARGETS, ids=["wide", "narrow"])
def test_each_lane_has_what_it_allocates(target: CpuTarget) -> None:
    run_text(
        """
func f(A: float32[100, 5]) -> (C: float32[100]):
  for i in 100 vectorized:
    alloc t: float32[5] @ local
    for k in 5:
      t[k] = A[i, k] * 2.0
    C[i] = 0.0
    for l in 5:
      C[i] = C[i] + t[4 - l]
""",
        numbers((100, 5)),
        target=target,
    )


def test_a_vectorized_loop_inside_another_is_written_out() -> None:
    run_text(
        """
func f(A: float32[4, 16]) -> (C: float32[16, 4]):
  for i in 16 vectorized:
    for j in 4 vectorized:
      C[i, j] = A[j, i]
""",
        numbers((4, 16)),
    )


def test_loops_of_other_extents_inside_lanes() -> None:
    program = """
func f() -> (C: float32[16]):
  for i in 16 vectorized:
    C[i] = 0.0
    for j in i:
      C[i] = C[i] + 1.0
"""
    with pytest.raises(CodegenError, match="f / i: j: its extent differs between lanes"):
        compile_function(parse(program), HOST)


@pytest.mark.parametrize("compare", ["<", "<="])
@pytest.mark.parametrize(
    "form",
    [
        "o * 16 + i {} 50",
        "50 {} o * 16 + i",
        "i * 3 {} o * 2 + 7",
        "i {} o * 1099511627776",
        "i + o * 1099511627777 {} 5",
        "o * 1099511627776 - 2199023255545 {} i",
    ],
)
def test_tests_of_lanes(form: str, compare: str) -> None:
    run_text(
        f"""
func f() -> (C: int32[5, 33]):
  for o in 5:
    for i in 33 vectorized:
      C[o, i] = select({form.format(compare)}, 1, 0)
""",
    )


@pytest.mark.parametrize("dtype", ["int2", "int4", "uint2", "uint4"])
def test_integers_of_fewer_than_8_bits(dtype: str) -> None:
    """All bytes, whose high bits mean nothing; results are those of the low bits, and wrap."""
    kind = dtype_of(dtype)
    every = np.arange(256, dtype=np.uint8).view(kind)
    text = f"""
func f(A: {dtype}[256]) -> (C: {dtype}[256], D: int32[256], E: {dtype}[256]):
  for i in 256 vectorized:
    C[i] = A[i] + {dtype}(1)
  for j in 256:
    D[j] = int32(A[j])
    E[j] = A[255 - j]
"""
    bits, signed = int(dtype[-1]), dtype[0] == "i"
    low = (np.arange(256) & ((1 << bits) - 1)).astype(np.int64)
    whole = np.where(signed & (low >> (bits - 1) == 1), low - (1 << bits), low)
    added, wide, turned = run_text(text, every)
    wrapped = (whole + 1 + (signed << (bits - 1))) % (1 << bits) - (signed << (bits - 1))
    assert added.astype(np.int64).tolist() == wrapped.tolist()
    assert wide.tolist() == whole.tolist()
    assert turned.astype(np.int64).tolist() == whole[::-1].tolist()


@pytest.mark.parametrize("dtype", ["float32", "int32", "float64", "int8"])
@pytest.mark.parametrize(("inside", "lanes"), [(2, 16), (7, 16), (9, 16), (10, 32), (2, 64)])
def test_parts_of_a_vector_that_are_never_active(inside: int, lanes: int, dtype: str) -> None:
    """LLVM 22 reads such parts whole, or ends with an assertion, on a processor with AVX2."""
    program = f"""
func f(A: {dtype}[5, {inside}]) -> (B: {dtype}[6, {lanes}]):
  for i in 6:
    for k in {lanes} vectorized:
      B[i, k] = select((i < 5) & (k < {inside}), A[i, k], {"0.0" if "float" in dtype else "0"})
"""
    data = (np.arange(5 * inside) + 1).astype(dtype).reshape(5, inside)
    run_text(program, data, target=HOST.without("avx512f"))
