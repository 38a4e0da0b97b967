"""Code of the tensor intrinsics in `compiler.machines.cpu.intrinsics`: dot products of bytes.

AVX-512 VNNI multiplies unsigned by signed bytes. 128 is added to a signed left operand by
flipping sign bits, and 128 times the sum of the right operand is subtracted from the accumulator: a
second VNNI instruction, which LLVM shares between accumulators with the same right operand.

AVX2's instruction for unsigned by signed bytes saturates. So bytes are widened to 16 bits in
place, even and odd bytes separately, and pairs of products are added.

AArch64's SDOT multiplies signed bytes exactly. Without it, SMULL multiplies eight pairs of bytes to
16 bits, and SADALP adds neighbours to lanes of 32 bits: exact too, as no sum is kept in 16 bits.

The windows of a row are picked out of a register of its bytes, by one instruction of AVX-512 VBMI.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from llvmlite import ir

from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.stmt import Invoke, Region, kept_axes, parameters
from tandem.compiler.machines.cpu.codegen import load_store
from tandem.compiler.machines.cpu.codegen.expressions import evaluate
from tandem.compiler.machines.cpu.codegen.frame import Frame
from tandem.compiler.machines.cpu.codegen.llvm import (
    BYTE,
    I32,
    I64,
    call_intrinsic,
    constant,
    splat,
)
from tandem.compiler.machines.cpu.codegen.offset import Offset, offset_of
from tandem.compiler.machines.cpu.codegen.vector_access import prefetch, read, step, write
from tandem.compiler.machines.cpu.intrinsics import CPU_INTRINSICS, DEPTH, WINDOWS_READ

_Emitter = Callable[[Any, Any, Any, Any], Any]
"""(builder, C, A, B) -> C: C is a vector of 32-bit lanes, B one of as many lanes of bytes, A the
bytes of a lane as an integer; or A a vector of bytes, and B a single lane."""

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
    # The last operand may be a lane of a register.
    operands = [c, builder.bitcast(b, quads), left]
    return call_intrinsic(builder, "llvm.aarch64.neon.sdot.v4i32.v16i8", c.type, operands)


def _smull(builder: Any, c: Any, a: Any, b: Any) -> Any:
    octet = ir.VectorType(BYTE, 2 * c.type.count)
    left = builder.bitcast(splat(builder, a, c.type.count), octet)
    pairs = ir.VectorType(_I16, octet.count)
    operands = [left, builder.bitcast(b, octet)]
    products = call_intrinsic(builder, "llvm.aarch64.neon.smull.v8i16", pairs, operands)
    sums = call_intrinsic(builder, "llvm.aarch64.neon.saddlp.v4i32.v8i16", c.type, [products])
    return builder.add(c, sums)


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
    "smull_s8s8_4x2": _smull,
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
    c, a, b = (
        _operand(frame, name, parameter, region)
        for parameter, region in zip(parameters(stmt.intrinsic), stmt.operands, strict=True)
    )
    (lanes,) = stmt.intrinsic.outputs[0].shape
    sums = read(frame, c.buffer, ir.VectorType(I32, lanes), c.pointer)
    if known.stride is not None:
        left = read(frame, a.buffer, ir.VectorType(BYTE, WINDOWS_READ), a.pointer)
        right = read(frame, b.buffer, I32, b.pointer)
    else:
        lane = ir.IntType(_BYTE_BITS * stmt.intrinsic.inputs[2].shape[1])
        left = _lane_of_a_vector(frame, a, lane, known.steps)
        columns = ir.VectorType(lane, lanes)
        prefetch(frame, b.buffer, columns, b.pointer, b.offset)
        right = read(frame, b.buffer, columns, b.pointer)
    write(frame, c.buffer, EMITTERS[name](frame.builder, sums, left, right), c.pointer)


@dataclass(frozen=True, slots=True)
class _Operand:
    """A region of a buffer: the offset of its first element, and the pointer to it."""

    buffer: Buffer
    offset: Offset
    pointer: Any


def _operand(frame: Frame, name: str, parameter: Buffer, region: Region) -> _Operand:
    """An operand, checked to lie in memory as the instruction takes it."""
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
    offset = offset_of(frame.place(region.buffer), region.lower, frame)
    pointer = load_store.address(frame, region.buffer, region.lower, partial(evaluate, frame))
    return _Operand(region.buffer, offset, pointer)


def _lane_of_a_vector(frame: Frame, operand: _Operand, lane: Any, steps: int) -> Any:
    """The operand: a lane of a vector of `steps` operands, which other dot products share, if the
    buffer consists of such vectors; else an element that is loaded by itself."""
    size = lane.width // _BYTE_BITS
    whole, offset = steps * size, operand.offset
    divisible = (operand.buffer.shape[-1], *offset.terms.values())
    if steps == 1 or offset.constant % size or any(each % whole for each in divisible):
        return read(frame, operand.buffer, lane, operand.pointer)
    behind = offset.constant % whole
    first = (
        step(frame, operand.pointer, constant(I64, -behind), BYTE) if behind else operand.pointer
    )
    vector = read(frame, operand.buffer, ir.VectorType(lane, steps), first)
    return frame.builder.extract_element(vector, constant(I32, behind // size))
