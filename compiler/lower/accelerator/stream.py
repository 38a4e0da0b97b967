"""Operators, one after the other, as one instruction stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from compiler.errors import LoweringError
from compiler.ir.printer import text
from compiler.lower.accelerator.commands import ZEROS, Command, Compute, Site
from compiler.lower.accelerator.encode import encode_kernels, encode_stream
from compiler.lower.accelerator.join import JoinedCommands, join
from compiler.lower.accelerator.places import (
    Operator,
    Place,
    addresses_of,
    grain,
    places_of,
    rounded_up,
)
from compiler.lower.accelerator.programs import ElaboratedProgram, ProgramCache
from compiler.lower.accelerator.residency import KernelStore
from compiler.lower.accelerator.tokens import Slots, place_tokens
from compiler.target import AcceleratorTarget
from hw.errors import HardwareError
from hw.hazards import check_hazards
from hw.isa import Program
from hw.isa.disasm import disassemble
from hw.topology import MemoryId, Module

__all__ = ["Operator", "Place", "ProgramCache", "Stream", "compile_stream"]

_NO_SITES: tuple[Site, Site] = ("", ()), ("micro-ops", ())


@dataclass(frozen=True, slots=True, eq=False)
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
    slots
        The commands' places, with the tokens that they take and give.
    joined
        The commands.
    elaborated
        Each operator, and what its program is elaborated to.
    """

    target: AcceleratorTarget
    program: Program
    tensors: Mapping[str, Place]
    constants: Mapping[int, bytes]
    memory_bytes: int
    slots: Slots
    joined: JoinedCommands
    elaborated: tuple[tuple[Operator, ElaboratedProgram], ...]

    @property
    def commands(self) -> tuple[Command | None, ...]:
        """For each instruction but FINISH its command; None for empty ones."""
        return tuple(None if at < 0 else self._command(at) for at in self.slots.command.tolist())

    @property
    def operator_of(self) -> npt.NDArray[np.int32]:
        """For each instruction the number of its operator; -1 for FINISH and empty ones."""
        return np.append(np.append(self.joined.operator, -1)[self.slots.command], -1).astype(
            np.int32
        )

    @property
    def sites(self) -> tuple[Site, ...]:
        """For each instruction its place in its operator's program; that of FINISH and of empty
        ones is the stage "", that of loads of micro-ops "micro-ops"."""
        lists = [program.commands.sites for _, program in self.elaborated]
        sources = np.append(np.append(self.joined.source, -1)[self.slots.command], -1).tolist()
        return tuple(
            lists[operator][at] if at >= 0 else _NO_SITES[operator >= 0]
            for operator, at in zip(self.operator_of.tolist(), sources, strict=True)
        )

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
        for number, (operator, program) in enumerate(self.elaborated):
            name = operator.title
            name = f"{name} ({number})" if f"{name}: schedule" in found else name
            found[f"{name}: schedule"] = text(operator.program)
            found[f"{name}: lowered"] = text(program.lowered)
        found["commands"] = "\n".join(map(self._slot_text, range(len(self.slots))))
        found["instructions"] = disassemble(self.program)
        return found

    def _command(self, at: int) -> Command:
        command = self.joined.commands[at]
        if isinstance(command, Compute) and isinstance(command.imm, str):
            return replace(command, imm=int(self.joined.imm[at]))
        return command

    def _slot_text(self, place: int) -> str:
        slots, at = self.slots, int(self.slots.command[place])
        pops = "".join(f" <{each.name.lower()}" for each in sorted(slots.pops(place)))
        pushes = "".join(f" >{each.name.lower()}" for each in sorted(slots.pushes(place)))
        what = "wait" if at < 0 else str(self._command(at))
        return f"{Module(slots.module[place]).name.lower():8}{what}{pops}{pushes}"

    def _place(self, name: str) -> Place:
        if name not in self.tensors:
            raise LoweringError(f"there is no tensor {name}; there are {', '.join(self.tensors)}")
        return self.tensors[name]


def compile_stream(
    operators: Sequence[Operator],
    target: AcceleratorTarget,
    placed: Mapping[str, int] = MappingProxyType({}),
    known: ProgramCache | None = None,
) -> Stream:
    """Lower operators and join them, without a barrier between.

    Parameters
    ----------
    placed
        Addresses of tensors, multiples of `grain`. They may share memory: a tensor is there from
        when it is written until another one is written over it. The others get memory of their own.
    known
        Keeps what programs are elaborated to, for further streams of the same target.

    Raises
    ------
    LoweringError
        For what the instruction set cannot express, and tensors that are not the same in two
        operators.
    CapacityError
        Where buffers do not fit on chip.
    """
    known = ProgramCache(target) if known is None else known
    known.check(target)
    programs = [
        known.elaborated(each.program, from_top=bool(number % 2))
        for number, each in enumerate(operators)
    ]
    tensors, end = places_of(operators, [each.lowered for each in programs], target, placed)
    each_grain = grain(target.config)
    zeros, dram_uops = end, end + each_grain
    addresses = [
        {**addresses_of(operator, each.lowered, tensors), ZEROS: zeros}
        for operator, each in zip(operators, programs, strict=True)
    ]
    store = KernelStore()
    at = dram_uops // target.config.element_bytes(MemoryId.UOP)
    pairs = tuple(zip(operators, programs, strict=True))
    joined = join(pairs, addresses, store, at, target.config)
    uops = encode_kernels(store, target.config)
    memory_bytes = rounded_up(dram_uops + len(uops), each_grain)
    slots = place_tokens(joined.commands, joined.footprints, target.config, memory_bytes)
    stream = Stream(
        target=target,
        program=encode_stream(joined.commands, joined.imm, joined.uop, slots, target.config),
        tensors=tensors,
        constants={zeros: bytes(each_grain), dram_uops: uops},
        memory_bytes=memory_bytes,
        slots=slots,
        joined=joined,
        elaborated=pairs,
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
