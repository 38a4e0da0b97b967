"""LLVM types of the loop language's dtypes, and helpers for vectors, calls and loops.

A value is a scalar or a vector of lanes; a scalar beside a vector is broadcast to every lane. A
bool is an `i1` in a register and a byte in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from llvmlite import ir

from tandem.compiler.ir.dtypes import DType

BYTE, I32, I64, MASK = ir.IntType(8), ir.IntType(32), ir.IntType(64), ir.IntType(1)
POINTER = ir.PointerType()
_FLOATS = {32: ir.FloatType(), 64: ir.DoubleType()}


def register_type(dtype: DType) -> Any:
    """The LLVM type of a value of `dtype` in a register."""
    return _FLOATS[dtype.bits] if dtype.is_float else ir.IntType(dtype.bits)


def memory_type(dtype: DType) -> Any:
    """The LLVM type of an element of `dtype` in memory."""
    bits = 8 * dtype.numpy.itemsize
    return _FLOATS[bits] if dtype.is_float else ir.IntType(bits)


def lanes_of(value: Any) -> int | None:
    """The number of lanes of a value; None for a scalar."""
    return value.type.count if isinstance(value.type, ir.VectorType) else None


def vector_type(kind: Any, lanes: int | None) -> Any:
    """The type of a vector of `lanes` elements of `kind`; `kind` if `lanes` is None."""
    return kind if lanes is None else ir.VectorType(kind, lanes)


def in_lanes(kind: Any, like: Any) -> Any:
    """The type of a vector of `kind` with the lanes of `like`; `kind` if `like` is a scalar."""
    return vector_type(kind, lanes_of(like))


def constant(kind: Any, value: Any) -> Any:
    """A constant of type `kind`; a vector type has a single `value` in every lane."""
    if not isinstance(kind, ir.VectorType):
        return _scalar(kind, value)
    if isinstance(value, Sequence):
        return ir.Constant(kind, [_scalar(kind.element, each) for each in value])
    # None is `0.0`, which is shorter text than the bits of a float; -0.0 is no such zero.
    zero = value == 0 and str(value)[0] != "-"
    return ir.Constant(kind, None if zero else [_scalar(kind.element, value)] * kind.count)


def _scalar(kind: Any, value: Any) -> Any:
    """A constant that is no vector; a value of LLVM stays."""
    if isinstance(value, ir.Value):
        return value
    # Modules consist of integers, in offsets and in numbers of lanes; each keeps its text.
    if type(value) is int and isinstance(kind, ir.IntType):
        return _integer(kind.width, value)
    return ir.Constant(kind, value)


@lru_cache(maxsize=4096)
def _integer(bits: int, value: int) -> Any:
    return ir.Constant(ir.IntType(bits), value)


def splat(builder: Any, value: Any, lanes: int | None) -> Any:
    """A vector of `lanes` copies of a scalar; vectors stay, as does a scalar for `lanes` None."""
    if lanes is None or lanes_of(value) is not None:
        return value
    kind = ir.VectorType(value.type, lanes)
    if isinstance(value, ir.Constant):
        return ir.Constant(kind, [value] * lanes)
    if value.type == MASK:
        # LLVM broadcasts a bit into a mask of an odd number of lanes one lane at a time.
        return builder.select(value, constant(kind, 1), constant(kind, 0))
    undefined = ir.Constant(kind, ir.Undefined)
    first = builder.insert_element(undefined, value, ir.Constant(I32, 0))
    return builder.shuffle_vector(first, undefined, constant(ir.VectorType(I32, lanes), 0))


def broadcast_lanes(builder: Any, *values: Any) -> list[Any]:
    """The values with equal numbers of lanes: scalars become vectors if any value is a vector."""
    lanes = next((n for n in map(lanes_of, values) if n is not None), None)
    return [splat(builder, each, lanes) for each in values]


def suffix(kind: Any) -> str:
    """The suffix of a type in the name of an overloaded intrinsic: `v16f32`."""
    if isinstance(kind, ir.VectorType):
        return f"v{kind.count}{suffix(kind.element)}"
    return str(kind.intrinsic_name)


def call_intrinsic(
    builder: Any, name: str, result: Any, arguments: Sequence[Any], fastmath: Sequence[str] = ()
) -> Any:
    """A call of the function `name`, declared at its first call with the arguments' types."""
    function = builder.module.globals.get(name)
    if function is None:
        kind = ir.FunctionType(result, [each.type for each in arguments])
        function = ir.Function(builder.module, kind, name)
    return builder.call(function, arguments, fastmath=fastmath)


@contextmanager
def counted_loop(
    builder: Any, begin: Any, end: Any, nonempty: bool = False, bits: int = 64
) -> Iterator[Any]:
    """A loop from `begin` to `end` - 1 around the instructions emitted in the `with` block.

    Yields the loop's variable, an `i64`. The test is at the end of the body; `nonempty` leaves
    out the test before the first iteration. The variable is counted in `bits`, which have to hold
    `end`: of 32 on a processor of 32 bits, what LLVM derives from it has no more either.
    """
    before = builder.block
    body, after = (builder.append_basic_block(name) for name in ("body", "after"))
    if nonempty:
        builder.branch(body)
    else:
        builder.cbranch(builder.icmp_signed("<", begin, end), body, after)
    builder.position_at_end(body)
    kind = ir.IntType(bits)
    index = builder.phi(kind)
    index.add_incoming(begin, before)
    yield index if kind == I64 else builder.sext(index, I64)
    following = builder.add(index, constant(kind, 1), flags=("nsw",))
    index.add_incoming(following, builder.block)
    builder.cbranch(builder.icmp_signed("<", following, end), body, after)
    builder.position_at_end(after)
