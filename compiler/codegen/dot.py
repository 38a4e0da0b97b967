"""The dot products of `compiler.intrinsics.cpu`, in instructions.

AVX-512 VNNI multiplies unsigned by signed bytes. A signed left side gets 128 added, which flips its
sign bits, and what that adds to the sums is taken off again: 128 times the sum of the right side, a
second instruction that LLVM shares between sums over one right side.

AVX2 has an instruction of unsigned by signed bytes too, but it saturates. Bytes are widened to 16
bits instead, even and odd ones apart so that nothing has to move, and pairs of products added.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from llvmlite import ir

from compiler.codegen.lanes import I32, call_intrinsic, constant, splat

__all__ = ["EMITTERS", "Emitter"]

Emitter = Callable[[Any, Any, Any, Any], Any]
"""(builder, C, A, B) -> C: vectors of 32-bit lanes, A a single lane of four bytes."""

_I16 = ir.IntType(16)
_BYTE_BITS = 8
_SIGNS = 0x80808080
"""The sign bit of each byte: as unsigned bytes, 128 each."""


def _vnni(builder: Any, c: Any, a: Any, b: Any) -> Any:
    # The intrinsic takes its bytes as 32-bit lanes.
    return call_intrinsic(builder, "llvm.x86.avx512.vpdpbusd.512", c.type, [c, a, b])


def _vnni_unsigned(builder: Any, c: Any, a: Any, b: Any) -> Any:
    return _vnni(builder, c, splat(builder, a, c.type.count), b)


def _vnni_signed(builder: Any, c: Any, a: Any, b: Any) -> Any:
    signs = constant(I32, _SIGNS)
    shifted = splat(builder, builder.xor(a, signs), c.type.count)
    excess = _vnni(builder, constant(c.type, 0), splat(builder, signs, c.type.count), b)
    return builder.sub(_vnni(builder, c, shifted, b), excess)


def _avx2(builder: Any, c: Any, a: Any, b: Any, signed: bool) -> Any:
    pairs = ir.VectorType(_I16, 2 * c.type.count)
    left = builder.bitcast(splat(builder, a, c.type.count), pairs)
    right = builder.bitcast(b, pairs)
    byte = constant(pairs, _BYTE_BITS)
    extend = builder.ashr if signed else builder.lshr
    for x, y in (
        (extend(builder.shl(left, byte), byte), builder.ashr(builder.shl(right, byte), byte)),
        (extend(left, byte), builder.ashr(right, byte)),
    ):
        sums = call_intrinsic(builder, "llvm.x86.avx2.pmadd.wd", c.type, [x, y])
        c = builder.add(c, sums)
    return c


EMITTERS: Mapping[str, Emitter] = {
    "vnni_u8s8_16x4": _vnni_unsigned,
    "vnni_s8s8_16x4": _vnni_signed,
    "avx2_u8s8_8x4": lambda builder, c, a, b: _avx2(builder, c, a, b, signed=False),
    "avx2_s8s8_8x4": lambda builder, c, a, b: _avx2(builder, c, a, b, signed=True),
}
"""By the intrinsic's name."""
