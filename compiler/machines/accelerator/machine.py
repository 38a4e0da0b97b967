"""The accelerator that a program is compiled for, with its tensor instructions."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tandem.compiler.errors import LoweringError
from tandem.compiler.ir.buffer import Scope
from tandem.compiler.machines.accelerator.intrinsics.base import (
    TensorInstruction,
    base_instructions,
    immediate_by_name,
)
from tandem.compiler.machines.accelerator.intrinsics.custom import custom_instructions
from tandem.compiler.machines.accelerator.intrinsics.extensions import extension_instructions
from tandem.compiler.machines.accelerator.intrinsics.scopes import OnChip
from tandem.hw.config import HardwareConfig
from tandem.hw.topology import MemoryId


@dataclass(frozen=True, slots=True)
class AcceleratorTarget:
    """An accelerator of one configuration.

    Attributes
    ----------
    config
        Sizes of its array and memories.
    instructions
        Its tensor instructions, without those of which there is one for each immediate.
    small_host
        Whether the processor beside it moves bytes one by one, so that the accelerator had better
        take images as they are.
    """

    config: HardwareConfig
    instructions: tuple[TensorInstruction, ...]
    small_host: bool = False

    def __hash__(self) -> int:
        # The programs of instructions are long.
        return hash((self.config, *(each.name for each in self.instructions)))

    @staticmethod
    def of(config: HardwareConfig, *, small_host: bool = False) -> AcceleratorTarget:
        """The accelerator with the base instruction set, and those of its features."""
        extended = (*extension_instructions(config), *custom_instructions(config))
        every = (*base_instructions(config), *extended)
        return AcceleratorTarget(config, every, small_host)

    def with_instructions(self, *more: TensorInstruction) -> AcceleratorTarget:
        """The accelerator with further instructions.

        Raises
        ------
        LoweringError
            For a name that is taken, or a feature that the configuration does not have.
        """
        for number, instruction in enumerate(more):
            name = instruction.name
            taken = {other.name for other in (*self.instructions, *more[:number])}
            if name in taken or immediate_by_name(self.config, name):
                raise LoweringError(f"there is an instruction {name} already")
            missing = instruction.features - self.config.features
            if missing:
                names = ", ".join(sorted(feature.value for feature in missing))
                raise LoweringError(f"{name} needs {names}, which {self.config.name} does not have")
        return replace(self, instructions=(*self.instructions, *more))

    def instruction(self, name: str) -> TensorInstruction:
        """The instruction of this name.

        Raises
        ------
        LoweringError
            If there is none.
        """
        for instruction in self.instructions:
            if instruction.name == name:
                return instruction
        found = immediate_by_name(self.config, name)
        if found is None:
            names = ", ".join(each.name for each in self.instructions)
            raise LoweringError(
                f"{self.config.name} has no tensor instruction {name}; it has {names}, "
                f"alu_<op>_imm_<n> and fill_<n>"
            )
        return found

    def memory(self, scope: Scope) -> MemoryId | None:
        """The on-chip memory of a scope; None for DRAM.

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
            case OnChip.PAR if MemoryId.PAR in self.config.memories:
                return MemoryId.PAR
            case _:
                par = "par, " * (MemoryId.PAR in self.config.memories)
                raise LoweringError(
                    f"a buffer cannot lie in {scope.value} of the accelerator: {par}inp, wgt, acc "
                    f"and global are its scopes"
                )
