"""Entries of tables of 4 or 16 bytes for vectors of codes: one permutation of a register.

SSSE3, AVX2 and AVX-512 BW have PSHUFB on their registers, AArch64 TBL. Where there is neither, the
entries of a table of equal distances are computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from tandem.compiler.machines.cpu.codegen.cpu_target import CpuTarget
from tandem.compiler.machines.cpu.codegen.frame import Frame
from tandem.compiler.machines.cpu.codegen.lane_parts import lanes_in_parts
from tandem.compiler.machines.cpu.codegen.llvm import call_intrinsic, constant, lanes_of

_BLOCK: Final = 16
"""The bytes within which an instruction permutes."""
_SHUFFLES: Final = (
    ("avx512bw", 64, "llvm.x86.avx512.pshuf.b.512"),
    ("avx2", 32, "llvm.x86.avx2.pshuf.b"),
    ("ssse3", 16, "llvm.x86.ssse3.pshuf.b.128"),
)
"""Features of x86-64, the bytes of a register, and the instruction: the widest first."""


def looked_up_entries(frame: Frame, codes: Any, table: Sequence[int]) -> Any:
    """The entries of a vector of bytes, each less than `len(table)`; None of a scalar, or where
    the processor has no instruction for it and entries are at unequal distances."""
    if lanes_of(codes) is None:
        return None
    instruction = _instruction(frame.target, codes.type.count)
    if instruction is None:
        return _computed(frame.builder, codes, table)
    width, name = instruction
    return lanes_in_parts(
        frame.builder, codes, width, partial(_permuted, frame.builder, name, table)
    )


def _instruction(target: CpuTarget, lanes: int) -> tuple[int, str] | None:
    """The width and the name of the widest permutation that so many lanes fill, or else of the
    narrowest; None if the processor has none."""
    features = {*target.features}
    if target.architecture == "aarch64" and "neon" in features:
        return _BLOCK, "llvm.aarch64.neon.tbl1.v16i8"
    if target.architecture != "x86_64":
        return None
    found = [(width, name) for feature, width, name in _SHUFFLES if feature in features]
    return next((each for each in found if each[0] <= lanes), found[-1] if found else None)


def _permuted(builder: Any, name: str, table: Sequence[int], codes: Any) -> Any:
    """The entries of a register of codes."""
    block = [*table, *[0] * (_BLOCK - len(table))]
    register = constant(codes.type, block * (codes.type.count // _BLOCK))
    return call_intrinsic(builder, name, codes.type, [register, codes])


def _computed(builder: Any, codes: Any, table: Sequence[int]) -> Any:
    """Entries at equal distances, of codes as they are or in two's complement; None of others."""
    kind, step, half = codes.type, table[1] - table[0], len(table) // 2
    plain, wrapped = range(len(table)), [*range(half), *range(-half, 0)]
    for numbers in (plain, wrapped):
        if all(
            table[0] + step * number == entry for number, entry in zip(numbers, table, strict=True)
        ):
            if numbers is wrapped:
                flipped = builder.xor(codes, constant(kind, half))
                codes = builder.sub(flipped, constant(kind, half))
            scaled = codes if step == 1 else builder.mul(codes, constant(kind, step))
            return scaled if table[0] == 0 else builder.add(scaled, constant(kind, table[0]))
    return None
