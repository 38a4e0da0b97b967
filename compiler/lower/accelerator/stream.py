"""Operators, one after the other, as one instruction stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from compiler.errors import LoweringError
from compiler.ir.printer import text
from compiler.ir.stmt import Function
from compiler.lower.accelerator.commands import Command, Compute, Origin
from compiler.lower.accelerator.elaborate import Dram, elaborate
from compiler.lower.accelerator.encode import encode_kernels, encode_stream
from compiler.lower.accelerator.footprints import Footprints
from compiler.lower.accelerator.immediates import immediates_of
from compiler.lower.accelerator.onchip import ChipMemory
from compiler.lower.accelerator.pipeline import accelerator_passes
from compiler.lower.accelerator.places import (
    Operator,
    Place,
    addresses_of,
    grain,
    places_of,
    rounded_up,
)
from compiler.lower.accelerator.residency import KernelStore, keep_kernels
from compiler.lower.accelerator.tidy import drop_unused_loads, late_resets
from compiler.lower.accelerator.tokens import Slot, place_tokens
from compiler.lower.pipeline import lower
from compiler.target import AcceleratorTarget
from hw.errors import HardwareError
from hw.hazards import check_hazards
from hw.isa import Program
from hw.isa.disasm import disassemble
from hw.memories import MemoryId

__all__ = ["Operator", "Place", "Stream", "compile_stream"]


@dataclass(frozen=True, slots=True)
class Stream:
    """An instruction stream and the memory that it works on.

    Attributes
    ----------
    tensors
        Where they lie, by name.
    constants
        What has to be in memory beside tensors, by address: micro-ops and zeros.
    memory_bytes
        From address 0 to the end of everything.
    origins
        For each instruction, where it comes from; None for FINISH and for empty instructions.
    slots
        The commands, with the tokens that they take and give.
    programs
        Each operator, and what its program is lowered to.
    """

    target: AcceleratorTarget
    program: Program
    tensors: Mapping[str, Place]
    constants: Mapping[int, bytes]
    memory_bytes: int
    origins: tuple[Origin | None, ...]
    slots: tuple[Slot, ...]
    programs: tuple[tuple[Operator, Function], ...]

    def image(self, values: Mapping[str, npt.NDArray[np.generic]]) -> npt.NDArray[np.uint8]:
        """Memory with tensors in it; those that are not given are zero.

        Raises
        ------
        LoweringError
            For an unknown tensor, another shape, another type.
        """
        memory = np.zeros(self.memory_bytes, dtype=np.uint8)
        for name, value in values.items():
            place = self._place(name)
            wanted = place.buffer
            if value.shape != wanted.shape or value.dtype != wanted.dtype.numpy:
                raise LoweringError(
                    f"{name} is {wanted.dtype}{list(wanted.shape)}, not "
                    f"{value.dtype}{list(value.shape)}"
                )
            raw = np.frombuffer(np.ascontiguousarray(value).tobytes(), dtype=np.uint8)
            memory[place.address : place.address + len(raw)] = raw
        for address, data in self.constants.items():
            memory[address : address + len(data)] = np.frombuffer(data, dtype=np.uint8)
        return memory

    def read(self, memory: npt.NDArray[np.uint8], name: str) -> npt.NDArray[np.generic]:
        """A tensor's values out of memory."""
        place = self._place(name)
        raw = memory[place.address : place.address + place.size]
        values: npt.NDArray[np.generic] = raw.view(place.buffer.dtype.numpy).reshape(
            place.buffer.shape
        )
        return values.copy()

    def dump(self) -> dict[str, str]:
        """Each stage as text, by name."""
        found: dict[str, str] = {}
        for number, (operator, lowered) in enumerate(self.programs):
            name = operator.title
            name = f"{name} ({number})" if f"{name}: schedule" in found else name
            found[f"{name}: schedule"] = text(operator.program)
            found[f"{name}: lowered"] = text(lowered)
        found["commands"] = "\n".join(_slot_text(each) for each in self.slots)
        found["instructions"] = disassemble(self.program)
        return found

    def _place(self, name: str) -> Place:
        if name not in self.tensors:
            raise LoweringError(f"there is no tensor {name}; there are {', '.join(self.tensors)}")
        return self.tensors[name]


def compile_stream(
    operators: Sequence[Operator],
    target: AcceleratorTarget,
    placed: Mapping[str, int] = MappingProxyType({}),
) -> Stream:
    """Lower operators and join them, without a barrier between.

    Parameters
    ----------
    placed
        Addresses of tensors, multiples of `grain`. They may share memory: a tensor is there from
        when it is written until another one is written over it. The others get memory of their own.

    Raises
    ------
    LoweringError
        For what the instruction set cannot express, and tensors that are not the same in two
        operators.
    CapacityError
        Where buffers do not fit on chip.
    """
    lowered = [lower(each.program, accelerator_passes(target)) for each in operators]
    tensors, end = places_of(operators, lowered, target, placed)
    each_grain = grain(target.config)
    zeros = end
    dram_uops = zeros + each_grain
    commands: list[Command] = []
    footprints = Footprints(target.config)
    for number, (operator, function) in enumerate(zip(operators, lowered, strict=True)):
        dram = Dram(addresses_of(operator, function, tensors), zeros, each_grain)
        chip = ChipMemory(target.config, from_top=bool(number % 2))
        found = list(elaborate(function, target, dram, chip, operator.title))
        numbers = immediates_of(operator, found, target.config)
        found = [
            replace(each, imm=numbers[each.imm])
            if isinstance(each, Compute) and isinstance(each.imm, str)
            else each
            for each in found
        ]
        commands += late_resets(drop_unused_loads(found, footprints), footprints)
    store = KernelStore()
    size = target.config.element_bytes(MemoryId.UOP)
    residents = list(keep_kernels(commands, store, target.config, dram_uops // size))
    uops = encode_kernels(store, target.config)
    memory_bytes = rounded_up(dram_uops + len(uops), each_grain)
    slots = place_tokens(residents, footprints, memory_bytes)
    program = encode_stream(slots, target.config)
    origins = [None if each.what is None else each.what.command.origin for each in slots]
    stream = Stream(
        target=target,
        program=program,
        tensors=tensors,
        constants={zeros: bytes(each_grain), dram_uops: uops},
        memory_bytes=memory_bytes,
        origins=(*origins, None),
        slots=tuple(slots),
        programs=tuple(zip(operators, lowered, strict=True)),
    )
    _check_order(stream)
    return stream


def _check_order(stream: Stream) -> None:
    """Have the tokens proved by code that knows nothing of the code that placed them."""
    try:
        check_hazards(stream.program, image=stream.image({})).raise_if_any()
    except HardwareError as error:
        message = f"the compiler made a wrong stream, please report it: {error}"
        raise LoweringError(message) from error


def _slot_text(slot: Slot) -> str:
    pops = "".join(f" <{each.name.lower()}" for each in sorted(slot.pops))
    pushes = "".join(f" >{each.name.lower()}" for each in sorted(slot.pushes))
    what = "wait" if slot.what is None else str(slot.what.command)
    return f"{slot.module.name.lower():8}{what}{pops}{pushes}"
