"""Code of the tensor intrinsics in `compiler.machines.cpu.intrinsics`: dot products of bytes.

AVX-512 VNNI multiplies unsigned by signed bytes. 128 is added to a signed left operand by
flipping sign bits, and 128 times the sum of the right operand is subtracted from the accumulator: a
second VNNI instruction, which LLVM shares between accumulators with the same right operand.

AVX2's instruction for unsigned by signed bytes saturates. So bytes are widened to 16 bits in
place, even and odd bytes separately, and pairs of products are added.

AArch64's SDOT multiplies signed bytes exactly.

The windows of a row are picked out of a register of its bytes, by one instruction of AVX-512 VBMI.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from functools import partial
from typing import Any

from llvmlite import ir

from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.stmt import Invoke, Region, kept_axes, parameters
from tandem.compiler.machines.cpu.codegen import load_store
from tandem.compiler.machines.cpu.codegen.expressions import evaluate
from tandem.compiler.machines.cpu.codegen.frame import Frame
from tandem.compiler.machines.cpu.codegen.llvm import BYTE, I32, call_intrinsic, constant, splat
from tandem.compiler.machines.cpu.codegen.offset import offset_of
from tandem.compiler.machines.cpu.codegen.vector_access import prefetch, read, write
from tandem.compiler.machines.cpu.intrinsics import CPU_INTRINSICS, DEPTH, WINDOWS_READ

_Emitter = Callable[[Any, Any, Any, Any], Any]
"""(builder, C, A, B) -> C: vectors of 32-bit lanes, A a single lane of four bytes; or A a vector of
bytes and B a single lane."""

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


def _sdot(builder: Any, c: Any, a: Any, b: Any) -> Any:
    quads = ir.VectorType(BYTE, 4 * c.type.count)
    left = builder.bitcast(splat(builder, a, c.type.count), quads)
    operands = [c, left, builder.bitcast(b, quads)]
    return call_intrinsic(builder, "llvm.aarch64.neon.sdot.v4i32.v16i8", c.type, operands)


def _vnni_windows(builder: Any, c: Any, a: Any, b: Any, stride: int) -> Any:
    lanes = c.type.count
    picked = [lane * stride + k for lane in range(lanes) for k in range(DEPTH)]
    undefined = ir.Constant(a.type, ir.Undefined)
    numbers = constant(ir.VectorType(I32, len(picked)), picked)
    windows = builder.bitcast(builder.shuffle_vector(a, undefined, numbers), c.type)
    return _vnni(builder, c, windows, splat(builder, b, lanes))


EMITTERS: Mapping[str, _Emitter] = {
    "vnni_u8s8_16x4": _vnni_unsigned,
    "vnni_s8s8_16x4": _vnni_signed,
    "avx2_u8s8_8x4": lambda builder, c, a, b: _avx2(builder, c, a, b, signed=False),
    "avx2_s8s8_8x4": lambda builder, c, a, b: _avx2(builder, c, a, b, signed=True),
    "sdot_s8s8_4x4": _sdot,
    **{
        name: partial(_vnni_windows, stride=intrinsic.stride)
        for name, intrinsic in CPU_INTRINSICS.items()
        if intrinsic.stride is not None
    },
}
"""The functions that emit intrinsics, by the intrinsic's name."""


def emit_invoke(frame: Frame, stmt: Invoke) -> None:
    """Emit the code of a tensor intrinsic.

    Raises
    ------
    CodegenError
        If operands are not dense, the processor lacks the instruction, or inside a vectorized loop.
    """
    name = stmt.intrinsic.name
    known = CPU_INTRINSICS.get(name)
    if known is None or known.function != stmt.intrinsic:
        raise frame.error(f"{name} is no tensor intrinsic of a CPU: {', '.join(CPU_INTRINSICS)}")
    missing = sorted(known.features - {*frame.target.features})
    if missing:
        raise frame.error(f"{name} needs {', '.join(missing)}, which the target lacks")
    if frame.lanes is not None:
        raise frame.error(f"{name} is a vector of its own and cannot run in lanes")
    by_parameter = list(zip(parameters(stmt.intrinsic), stmt.operands, strict=True))
    regions = {parameter.name: region for parameter, region in by_parameter}
    operands = {
        parameter.name: (region.buffer, _dense(frame, name, parameter, region))
        for parameter, region in by_parameter
    }
    (lanes,) = stmt.intrinsic.outputs[0].shape
    vector = ir.VectorType(I32, lanes)
    values = []
    kinds = (I32, vector)
    if known.stride is not None:
        kinds = (ir.VectorType(BYTE, WINDOWS_READ), I32)
    for operand, kind in zip(("C", "A", "B"), (vector, *kinds), strict=True):
        buffer, pointer = operands[operand]
        if operand == "B" and known.stride is None:
            prefetch(frame, buffer, kind, pointer, _key(frame, regions[operand]))
        values.append(read(frame, buffer, kind, pointer))
    buffer, pointer = operands["C"]
    write(frame, buffer, EMITTERS[name](frame.builder, *values), pointer)


def _key(frame: Frame, region: Region) -> Hashable:
    """A key that is equal for equal regions."""
    return offset_of(frame.place(region.buffer), region.lower, frame).key(region.buffer)


def _dense(frame: Frame, name: str, parameter: Buffer, region: Region) -> Any:
    """The pointer to an operand's first element."""
    axes = kept_axes(region.shape, parameter.shape)
    if axes is None or region.buffer.dtype != parameter.dtype:
        raise frame.error(
            f"{name}: {parameter.name} is {parameter.dtype} {parameter.shape}, "
            f"not {region.buffer.dtype} {region.shape} of {region.buffer.name}"
        )
    strides = tuple(region.buffer.strides[axis] for axis in axes)
    if strides != parameter.strides:
        raise frame.error(
            f"{name}: {parameter.name} lies in {region.buffer.name} with strides {strides}; "
            f"the instruction takes {parameter.strides}"
        )
    return load_store.address(frame, region.buffer, region.lower, partial(evaluate, frame))
