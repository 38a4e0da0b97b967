"""What a program is compiled for: a value, not a condition."""

from __future__ import annotations

from dataclasses import dataclass, replace

from compiler.errors import LoweringError
from compiler.intrinsics.accelerator import (
    TensorInstruction,
    base_instructions,
    immediate_called,
)
from compiler.intrinsics.scopes import OnChip
from compiler.ir.buffer import Scope
from hw.config import HardwareConfig
from hw.topology import MemoryId

__all__ = ["AcceleratorTarget"]


@dataclass(frozen=True, slots=True)
class AcceleratorTarget:
    """An accelerator of some configuration.

    Attributes
    ----------
    config
        Sizes of its array and memories.
    instructions
        Its tensor instructions, beside those with an immediate, which are one for each number.
    """

    config: HardwareConfig
    instructions: tuple[TensorInstruction, ...]

    @staticmethod
    def of(config: HardwareConfig) -> AcceleratorTarget:
        """With the base instruction set."""
        return AcceleratorTarget(config, base_instructions(config))

    def with_instructions(self, *more: TensorInstruction) -> AcceleratorTarget:
        """With further ones.

        Raises
        ------
        LoweringError
            For a name that is taken, or a feature that the configuration does not have.
        """
        for number, each in enumerate(more):
            taken = {other.name for other in (*self.instructions, *more[:number])}
            if each.name in taken or immediate_called(self.config, each.name):
                raise LoweringError(f"there is an instruction {each.name} already")
            missing = each.features - self.config.features
            if missing:
                names = ", ".join(sorted(feature.value for feature in missing))
                raise LoweringError(
                    f"{each.name} needs {names}, which {self.config.name} does not have"
                )
        return replace(self, instructions=(*self.instructions, *more))

    def instruction(self, name: str) -> TensorInstruction:
        """The instruction that a program calls so.

        Raises
        ------
        LoweringError
            If there is none.
        """
        for each in self.instructions:
            if each.name == name:
                return each
        found = immediate_called(self.config, name)
        if found is None:
            names = ", ".join(each.name for each in self.instructions)
            raise LoweringError(
                f"{self.config.name} has no tensor instruction {name}; it has {names}, "
                f"alu_<op>_imm_<n> and fill_<n>"
            )
        return found

    def memory(self, scope: Scope) -> MemoryId | None:
        """The on-chip memory that a scope is; None for DRAM.

        Raises
        ------
        LoweringError
            For a scope that buffers of the accelerator cannot have.
        """
        match scope:
            case Scope.GLOBAL:
                return None
            case OnChip.INP:
                return MemoryId.INP
            case OnChip.WGT:
                return MemoryId.WGT
            case OnChip.ACC:
                return MemoryId.ACC
            case _:
                raise LoweringError(
                    f"a buffer cannot lie in {scope.value} of the accelerator: inp, wgt, acc and "
                    f"global are its scopes"
                )
