"""The inner product of a GEMM: in plain Python, and as LLVM vectors for compiled code.

The vectors are processor-independent, in the form that LLVM recognises as a multiply-add of
pairs of int16: `vpdpwssd` or `vpmaddwd` on x86, the equivalent elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba.core import cgutils, types

from hw.jit import intrinsic, overload
from sim.semantics.chip import LANES, PAIR

_TOOLS: Any = cgutils  # untyped


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


@overload(dot)
def _compiled_dot(
    acc: Any, a: Any, inp: Any, s: Any, wgt: Any, w: Any, pairs: Any
) -> Callable[..., None]:
    # Numba requires equal signatures, annotations included.
    def vector(acc: Any, a: Any, inp: Any, s: Any, wgt: Any, w: Any, pairs: Any) -> None:
        _vector_dot(acc, a, inp, s, wgt, w, pairs)

    return vector


_PRODUCTS = LANES * PAIR
_INT8, _INT16, _INT32, _INT64 = (ir.IntType(bits) for bits in (8, 16, 32, 64))
_SUMS = ir.VectorType(_INT32, LANES)


@intrinsic
def _vector_dot(
    context: Any, acc: Any, a: Any, inp: Any, s: Any, wgt: Any, w: Any, pairs: Any
) -> Any:
    index = types.int64
    return types.void(acc, index, inp, index, wgt, index, index), _emit


def _emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    acc, inp, wgt = (
        builder.gep(context.make_array(kind)(context, builder, array).data, [at])
        for kind, array, at in zip(
            signature.args[0:6:2], arguments[0:6:2], arguments[1:6:2], strict=True
        )
    )
    total = _TOOLS.alloca_once(builder, _SUMS)
    builder.store(ir.Constant(_SUMS, [0] * LANES), total)
    with _TOOLS.for_range(builder, arguments[6], intp=_INT64) as loop:
        step = _multiply_add(builder, inp, wgt, loop.index)
        builder.store(builder.add(builder.load(total), step), total)
    where = builder.bitcast(acc, _SUMS.as_pointer())
    old = builder.load(where, align=_INT32.width // 8)
    builder.store(builder.add(old, builder.load(total)), where, align=_INT32.width // 8)
    return context.get_dummy_value()


def _multiply_add(builder: Any, inp: Any, wgt: Any, pair: Any) -> Any:
    """16 sums of two products: one pair of inputs with 16 pairs of weights."""
    inputs = _broadcast(builder, _load(builder, inp, pair, _INT32, PAIR, _INT16.width // 8))
    inputs = builder.bitcast(inputs, ir.VectorType(_INT16, _PRODUCTS))
    weights = _load(builder, wgt, pair, ir.VectorType(_INT8, _PRODUCTS), _PRODUCTS, 1)
    wide = ir.VectorType(_INT32, _PRODUCTS)
    # Widened to int16 first, so that LLVM recognises the operands of its multiply-add.
    weights = builder.sext(weights, ir.VectorType(_INT16, _PRODUCTS))
    products = builder.mul(builder.sext(inputs, wide), builder.sext(weights, wide))
    evens, odds = (
        builder.shuffle_vector(
            products, products, ir.Constant(_SUMS, list(range(half, _PRODUCTS, PAIR)))
        )
        for half in range(PAIR)
    )
    return builder.add(evens, odds)


def _load(builder: Any, base: Any, step: Any, kind: Any, stride: int, align: int) -> Any:
    """A value of type `kind`, `step` times `stride` entries after `base`."""
    where = builder.gep(base, [builder.mul(step, ir.Constant(_INT64, stride))])
    return builder.load(builder.bitcast(where, kind.as_pointer()), align=align)


def _broadcast(builder: Any, value: Any) -> Any:
    one = builder.insert_element(ir.Constant(_SUMS, ir.Undefined), value, ir.Constant(_INT32, 0))
    return builder.shuffle_vector(one, one, ir.Constant(_SUMS, [0] * LANES))
