"""Descriptions of processors' vector units."""

from __future__ import annotations

from dataclasses import dataclass

from tandem.compiler.ir.dtypes import INT8, INT32, UINT8, DType
from tandem.compiler.ir.stmt import PrimFunc
from tandem.compiler.machines.cpu.codegen.cpu_target import CpuTarget
from tandem.compiler.machines.cpu.intrinsics import CPU_INTRINSICS

_ADDRESSES = 14
"""Registers of integers that hold addresses, counters and products, and no sums."""


@dataclass(frozen=True, slots=True)
class Simd:
    """A processor's vector registers and dot products.

    Attributes
    ----------
    bytes
        The size of a register.
    registers
        The number of registers.
    dots
        The names of the supported dot products among `CPU_INTRINSICS`.
    permuted
        The sizes, in bits, of elements of which one instruction permutes two registers.
    lanes_are_registers
        Whether there are no vectors: each lane is a register of its own.
    loaded
        Registers of elements that instructions cannot take from memory, and are loaded ahead.
    latency
        Independent multiplications that keep all multipliers busy.
    load_time
        The time of a load beside multiplications, relative to one of these: processors that do not
        reorder instructions wait for it.
    """

    bytes: int
    registers: int
    dots: frozenset[str] = frozenset()
    permuted: frozenset[int] = frozenset()
    lanes_are_registers: bool = False
    loaded: int = 1
    latency: int = 8
    load_time: float = 0

    @classmethod
    def of(cls, machine: CpuTarget) -> Simd:
        """The vector unit of a processor."""
        known = frozenset(machine.features)
        dots = frozenset(name for name, each in CPU_INTRINSICS.items() if each.features <= known)
        permuted = frozenset(bits for bits in (8, 16, 32, 64) if machine.permutes(bits))
        size = machine.register_bits // 8
        if machine.architecture == "aarch64":
            return cls(
                *(size, machine.registers, dots, permuted), loaded=4, latency=10, load_time=0.25
            )
        scalar = machine.architecture.startswith("riscv") and not machine.has_vectors
        return cls(size, machine.registers, dots, permuted, lanes_are_registers=scalar)

    def lanes(self, dtype: DType) -> int:
        """The number of elements of type `dtype` in a register."""
        return self.bytes * 8 // dtype.bits

    def tile_registers(self, dtype: DType) -> int:
        """The vector registers for a tile of sums of this type, and its operands."""
        if not self.lanes_are_registers:
            return self.registers
        free = self.registers - (0 if dtype.is_float else _ADDRESSES)
        return free // self.lanes(dtype)

    def layer_dot(self, left: DType, right: DType, sums: DType) -> PrimFunc | None:
        """The dot product of a layer, of shifted data where that costs less."""
        return self.dot_of_shifted(left, right, sums) or self.dot(left, right, sums)

    def dot(self, left: DType, right: DType, sums: DType) -> PrimFunc | None:
        """The widest dot product of these types; None if there is none."""
        if sums != INT32:
            return None
        found = [
            intrinsic.function
            for intrinsic in (CPU_INTRINSICS[name] for name in sorted(self.dots))
            if intrinsic.stride is None
            and tuple(each.dtype for each in intrinsic.function.inputs[1:]) == (left, right)
        ]
        return max(found, key=lambda function: function.outputs[0].size, default=None)

    def windows(self, stride: int) -> PrimFunc | None:
        """The dot product of windows of unsigned bytes at a distance; None if there is none."""
        found = (CPU_INTRINSICS[name] for name in sorted(self.dots))
        return next((each.function for each in found if each.stride == stride), None)

    def dot_of_shifted(self, left: DType, right: DType, sums: DType) -> PrimFunc | None:
        """The dot product of a signed left operand plus 128, as unsigned bytes; None if there is
        none, or if products of signed bytes cost no more."""
        signed, unsigned = self.dot(left, right, sums), self.dot(UINT8, right, sums)
        if left != INT8 or signed is None or unsigned is None:
            return None
        return unsigned if CPU_INTRINSICS[signed.name].shifts else None
