"""Look-up of vectors of bytes in a table of 256: permutations of registers, or a load a lane.

AVX-512 VBMI picks bytes out of 128 by one instruction, AArch64 out of 64; what lies in the other
parts of the table is picked as well, and the upper bits say which to take.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from llvmlite import ir

from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.byte_tables import ENTRIES
from tandem.compiler.machines.cpu.codegen.cpu_target import CpuTarget
from tandem.compiler.machines.cpu.codegen.frame import Frame
from tandem.compiler.machines.cpu.codegen.lane_parts import lanes_in_parts
from tandem.compiler.machines.cpu.codegen.llvm import (
    BYTE,
    I32,
    I64,
    call_intrinsic,
    constant,
    lanes_of,
)
from tandem.compiler.machines.cpu.codegen.vector_access import read, step

_OF_VBMI, _OF_NEON, _OF_A_LANE = 8, 14, 3
"""Instructions of a look-up: of a vector, and of one lane where lanes are loaded one by one."""
_FLOAT_BITS = 32


def lookup_cost(target: CpuTarget) -> int:
    """The instructions that look up a vector of bytes, of as many as a register has floats."""
    if _has_vbmi(target):
        return _OF_VBMI
    if _has_neon(target):
        return _OF_NEON
    return _OF_A_LANE * (target.register_bits // _FLOAT_BITS)


def looked_up_bytes(frame: Frame, buffer: Buffer, table: Any, bytes_: Any) -> Any:
    """The entries of a table for bytes, one or a vector of them.

    Parameters
    ----------
    table
        The pointer to the table's first entry.
    """
    lanes = lanes_of(bytes_)
    if lanes is None:
        return _entry(frame, buffer, table, bytes_)
    if _has_vbmi(frame.target):
        return lanes_in_parts(
            frame.builder, bytes_, 64, partial(_permuted_128, frame, buffer, table)
        )
    if _has_neon(frame.target):
        return lanes_in_parts(
            frame.builder, bytes_, 16, partial(_picked_by_tbl, frame, buffer, table)
        )
    found = ir.Constant(bytes_.type, ir.Undefined)
    for lane in range(lanes):
        number = constant(I32, lane)
        entry = _entry(frame, buffer, table, frame.builder.extract_element(bytes_, number))
        found = frame.builder.insert_element(found, entry, number)
    return found


def _has_vbmi(target: CpuTarget) -> bool:
    return target.architecture == "x86_64" and {"avx512f", "avx512vbmi"} <= {*target.features}


def _has_neon(target: CpuTarget) -> bool:
    return target.architecture == "aarch64" and "neon" in target.features


def _entry(frame: Frame, buffer: Buffer, table: Any, byte: Any) -> Any:
    """The entry of one byte."""
    return read(frame, buffer, BYTE, step(frame, table, frame.builder.zext(byte, I64), BYTE))


def _registers(frame: Frame, buffer: Buffer, table: Any, width: int) -> list[Any]:
    """The table in vectors of so many bytes."""
    kind = ir.VectorType(BYTE, width)
    return [
        read(frame, buffer, kind, step(frame, table, constant(I64, begin), BYTE))
        for begin in range(0, ENTRIES, width)
    ]


def _permuted_128(frame: Frame, buffer: Buffer, table: Any, bytes_: Any) -> Any:
    """64 entries, of both halves of the table by the lower seven bits; the sign bit chooses."""
    builder, name = frame.builder, "llvm.x86.avx512.vpermi2var.qi.512"
    parts = _registers(frame, buffer, table, bytes_.type.count)
    low, high = (
        call_intrinsic(builder, name, bytes_.type, [parts[at], bytes_, parts[at + 1]])
        for at in (0, 2)
    )
    return builder.select(builder.icmp_signed("<", bytes_, constant(bytes_.type, 0)), high, low)


def _picked_by_tbl(frame: Frame, buffer: Buffer, table: Any, bytes_: Any) -> Any:
    """16 entries, of each quarter of the table: the instruction gives 0 for bytes beyond it."""
    builder, name = frame.builder, "llvm.aarch64.neon.tbl4.v16i8"
    parts = _registers(frame, buffer, table, bytes_.type.count)
    found = None
    for at in range(0, len(parts), 4):
        within = builder.sub(bytes_, constant(bytes_.type, at * bytes_.type.count))
        entries = call_intrinsic(builder, name, bytes_.type, [*parts[at : at + 4], within])
        found = entries if found is None else builder.or_(found, entries)
    return found
