"""The inner product of a GEMM: in plain Python, and as LLVM vectors for compiled code.

The vectors are processor-independent, in the form that LLVM recognises as a multiply-add of
pairs of int16: `vpdpwssd` or `vpmaddwd` on x86, the equivalent elsewhere.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tandem.base.jit import in_llvm
from tandem.sim.semantics.chip import LANES, PAIR

_PRODUCTS = LANES * PAIR
_FIRST = f"<{LANES} x i32> zeroinitializer"
"""The mask of a shuffle: the first lane everywhere."""


def _every(second: int) -> str:
    """The mask of a shuffle: one product of each pair."""
    return f"<{LANES} x i32> <{', '.join(f'i32 {PAIR * at + second}' for at in range(LANES))}>"


# The parameters: pointer and length of `acc`, `a`, then `inp`, `s`, `wgt`, `w` likewise; `pairs`.
# Weights are widened to int16 first, so that LLVM recognises the operands of its multiply-add.
_VECTORS = f"""
entry:
  %acc = getelementptr i32, ptr %p0, i64 %p2
  %inp = getelementptr i16, ptr %p3, i64 %p5
  %wgt = getelementptr i8, ptr %p6, i64 %p8
  br label %test
test:
  %pair = phi i64 [0, %entry], [%next, %step]
  %sums = phi <{LANES} x i32> [zeroinitializer, %entry], [%more, %step]
  %going = icmp slt i64 %pair, %p9
  br i1 %going, label %step, label %done
step:
  %inputs = getelementptr <{PAIR} x i16>, ptr %inp, i64 %pair
  %word = load i32, ptr %inputs, align 2
  %one = insertelement <{LANES} x i32> undef, i32 %word, i32 0
  %words = shufflevector <{LANES} x i32> %one, <{LANES} x i32> undef, {_FIRST}
  %input = bitcast <{LANES} x i32> %words to <{_PRODUCTS} x i16>
  %weights = getelementptr <{_PRODUCTS} x i8>, ptr %wgt, i64 %pair
  %bytes = load <{_PRODUCTS} x i8>, ptr %weights, align 1
  %weight = sext <{_PRODUCTS} x i8> %bytes to <{_PRODUCTS} x i16>
  %a = sext <{_PRODUCTS} x i16> %input to <{_PRODUCTS} x i32>
  %b = sext <{_PRODUCTS} x i16> %weight to <{_PRODUCTS} x i32>
  %products = mul <{_PRODUCTS} x i32> %a, %b
  %evens = shufflevector <{_PRODUCTS} x i32> %products, <{_PRODUCTS} x i32> undef, {_every(0)}
  %odds = shufflevector <{_PRODUCTS} x i32> %products, <{_PRODUCTS} x i32> undef, {_every(1)}
  %sum = add <{LANES} x i32> %evens, %odds
  %more = add <{LANES} x i32> %sums, %sum
  %next = add nsw i64 %pair, 1
  br label %test
done:
  %old = load <{LANES} x i32>, ptr %acc, align 4
  %new = add <{LANES} x i32> %old, %sums
  store <{LANES} x i32> %new, ptr %acc, align 4
  ret void
"""


@in_llvm(_VECTORS)
def dot(
    acc: npt.NDArray[np.int32],
    a: int,
    inp: npt.NDArray[np.int16],
    s: int,
    wgt: npt.NDArray[np.int8],
    w: int,
    pairs: int,
) -> None:
    """Add the products of `pairs` pairs of inputs from index `s` to 16 accumulators from index `a`.

    The weights, from index `w`, are [pairs][16][2]. Sums wrap to 32 bits. Nothing is checked.
    """
    for lane in range(LANES):
        total = int(acc[a + lane])
        for pair in range(pairs):
            for half in range(PAIR):
                weight = wgt[w + (pair * LANES + lane) * PAIR + half]
                total += int(inp[s + pair * PAIR + half]) * int(weight)
        acc[a + lane] = (total + (1 << 31) & 0xFFFFFFFF) - (1 << 31)
