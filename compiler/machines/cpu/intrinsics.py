"""Dot-product intrinsics of CPUs: n sums of a few products of bytes, in wrapping int32.

    C[i] = C[i] + int32(A[k]) * int32(B[i, k])      for i in n, for k in depth

A is the same for all sums. Or B is, and A are overlapping windows of a row, with a stride s:

    C[i] = C[i] + int32(A[i * s + k]) * int32(B[k])

Their code is emitted by `codegen.tensor_intrinsics`.
"""

from __future__ import annotations

from dataclasses import dataclass

from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.dtypes import INT8, INT32, UINT8, DType
from tandem.compiler.ir.expr import Var
from tandem.compiler.ir.ops import cast, index, load
from tandem.compiler.ir.stmt import For, LoopKind, PrimFunc, Store

DEPTH = 4
"""Products in a sum: the bytes of a 32-bit lane."""
_PAIR = 2
"""Products in a sum where an instruction adds two 16-bit lanes to one of 32 bits."""
_SHARING = 4
"""Instructions that share a vector of data, of which each takes a lane."""


@dataclass(frozen=True, slots=True)
class CpuIntrinsic:
    """A tensor intrinsic of CPUs with certain features.

    Attributes
    ----------
    function
        The behaviour. The function's name is the key of its code emitter.
    features
        The processor features that the intrinsic needs, by LLVM's names.
    shifts
        Whether its code adds 128 to the left operand and subtracts the excess again.
    steps
        How many such dot products take their left operands from one vector that is loaded once, if
        these are side by side; 1 if each loads its own.
    scratch
        Registers for what its instructions compute before they add it to the sums.
    lane_time
        The time in which a left operand is copied to all lanes, relative to a dot product's.
    stride
        The distance of windows; None if the left operand is the same for all sums.
    """

    function: PrimFunc
    features: frozenset[str]
    shifts: bool = False
    steps: int = 1
    scratch: int = 0
    lane_time: float = 0
    stride: int | None = None


def dot_product(name: str, left: DType, lanes: int, depth: int = DEPTH) -> PrimFunc:
    """The behaviour of a dot product: `lanes` sums of `depth` products, type `left` times int8."""
    c = Buffer("C", (lanes,), INT32)
    a = Buffer("A", (depth,), left)
    b = Buffer("B", (lanes, depth), INT8)
    i, k = Var(f"{name}.i"), Var(f"{name}.k")
    product = cast(load(a, k), INT32) * cast(load(b, i, k), INT32)
    body = Store(c, (i,), load(c, i) + product)
    inner = For(k, index(depth), LoopKind.SERIAL, body)
    return PrimFunc(name, (c, a, b), (c,), For(i, index(lanes), LoopKind.SERIAL, inner))


WINDOWS_READ = 64
"""The bytes of a row that an intrinsic of windows may read: a register, whatever the stride."""


def window_product(name: str, left: DType, lanes: int, stride: int) -> PrimFunc:
    """The behaviour of `lanes` sums of windows, `stride` bytes apart: type `left` times int8."""
    c = Buffer("C", (lanes,), INT32)
    a = Buffer("A", (WINDOWS_READ,), left)
    b = Buffer("B", (DEPTH,), INT8)
    i, k = Var(f"{name}.i"), Var(f"{name}.k")
    product = cast(load(a, i * stride + k), INT32) * cast(load(b, k), INT32)
    body = Store(c, (i,), load(c, i) + product)
    inner = For(k, index(DEPTH), LoopKind.SERIAL, body)
    return PrimFunc(name, (c, a, b), (c,), For(i, index(lanes), LoopKind.SERIAL, inner))


_VNNI = frozenset({"avx512f", "avx512vnni"})
_VBMI = _VNNI | {"avx512vbmi"}
_AVX2 = frozenset({"avx2"})
_NEON = frozenset({"neon"})
_DOTPROD = frozenset({"dotprod", "neon"})

CPU_INTRINSICS = {
    intrinsic.function.name: intrinsic
    for intrinsic in (
        CpuIntrinsic(dot_product("vnni_u8s8_16x4", UINT8, 16), _VNNI),
        CpuIntrinsic(dot_product("vnni_s8s8_16x4", INT8, 16), _VNNI, shifts=True),
        CpuIntrinsic(dot_product("avx2_u8s8_8x4", UINT8, 8), _AVX2),
        CpuIntrinsic(dot_product("avx2_s8s8_8x4", INT8, 8), _AVX2),
        CpuIntrinsic(dot_product("sdot_s8s8_4x4", INT8, 4), _DOTPROD, steps=_SHARING, scratch=2),
        CpuIntrinsic(
            dot_product("smull_s8s8_4x2", INT8, 4, _PAIR),
            _NEON,
            steps=_SHARING,
            scratch=4,
            lane_time=0.5,
        ),
        *(
            CpuIntrinsic(
                window_product(f"vnni_windows_{stride}_16x4", UINT8, 16, stride),
                _VBMI,
                stride=stride,
            )
            for stride in (1, 2, 3, 4)
        ),
    )
}
"""The intrinsics, by name."""
