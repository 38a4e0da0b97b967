"""Compilation of a sequence of operators to one instruction stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from tandem.base.errors import BaseError
from tandem.compiler.errors import CapacityError, LoweringError
from tandem.compiler.ir.printer import text
from tandem.compiler.machines.accelerator.lower.commands import ZEROS, Command, Compute, Ints, Site
from tandem.compiler.machines.accelerator.lower.dram_layout import (
    DramTensor,
    Operator,
    addresses_of,
    dram_alignment,
    layout_of,
    rounded_up,
)
from tandem.compiler.machines.accelerator.lower.encode import encode_kernels, encode_stream
from tandem.compiler.machines.accelerator.lower.join import JoinedCommands, join
from tandem.compiler.machines.accelerator.lower.programs import ElaboratedProgram, ProgramCache
from tandem.compiler.machines.accelerator.lower.residency import KernelStore
from tandem.compiler.machines.accelerator.lower.tokens import (
    TokenedCommands,
    await_stores,
    place_tokens,
)
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.hw.config import PAGE_BYTES
from tandem.hw.errors import HardwareError
from tandem.hw.hazards import check_hazards
from tandem.hw.isa import Program
from tandem.hw.isa.disasm import disassemble
from tandem.hw.topology import MemoryId, Unit

_NO_SITE: Site = ("", ())
_UOP_LOAD_SITE: Site = ("micro-ops", ())


@dataclass(frozen=True, slots=True, eq=False)
class Stream:
    """An instruction stream, and the contents of DRAM that the stream runs on.

    Attributes
    ----------
    tensors
        The tensors in DRAM, by name.
    constants
        Contents of DRAM besides tensors, by address: micro-ops and zeros.
    memory_bytes
        The size of the DRAM image, which begins at address 0.
    slots
        The order of the commands, with the tokens that they pop and push.
    joined
        The commands of all operators.
    elaborated
        Each operator with its elaborated program.
    """

    target: AcceleratorTarget
    program: Program
    tensors: Mapping[str, DramTensor]
    constants: Mapping[int, bytes]
    memory_bytes: int
    slots: TokenedCommands
    joined: JoinedCommands
    elaborated: tuple[tuple[Operator, ElaboratedProgram], ...]

    @property
    def commands(self) -> tuple[Command | None, ...]:
        """For each instruction but FINISH its command; None if it only moves tokens."""
        return tuple(None if at < 0 else self._command(at) for at in self.slots.command.tolist())

    @property
    def operator_of(self) -> npt.NDArray[np.int32]:
        """Each instruction's operator number; -1 for FINISH and instructions without a command."""
        return self._per_instruction(self.joined.operator).astype(np.int32)

    @property
    def sites(self) -> tuple[Site, ...]:
        """For each instruction its stage and loop iterations in its operator's program.

        The stage is "" for FINISH and for instructions that only move tokens, and "micro-ops" for
        loads of micro-ops.
        """
        sites = [program.commands.sites for _, program in self.elaborated]
        sources = self._per_instruction(self.joined.source).tolist()
        return tuple(
            sites[operator][at] if at >= 0 else _UOP_LOAD_SITE if operator >= 0 else _NO_SITE
            for operator, at in zip(self.operator_of.tolist(), sources, strict=True)
        )

    def _per_instruction(self, column: Ints) -> Ints:
        """A per-command column, per instruction; -1 for instructions without a command."""
        return np.append(np.append(column, -1)[self.slots.command], -1)

    def image(self, values: Mapping[str, npt.NDArray[np.generic]]) -> npt.NDArray[np.uint8]:
        """The DRAM image: `values` by tensor name, `constants`, and zeros everywhere else.

        Raises
        ------
        LoweringError
            For an unknown tensor, or a value of another shape or type.
        """
        memory = np.zeros(self.memory_bytes, dtype=np.uint8)
        for name, value in values.items():
            tensor = self._tensor(name)
            if value.shape != tensor.shape or value.dtype != tensor.kind:
                raise LoweringError(
                    f"{name} must be {tensor.kind}{list(tensor.shape)}, not "
                    f"{value.dtype}{list(value.shape)}"
                )
            raw = np.frombuffer(np.ascontiguousarray(value).tobytes(), dtype=np.uint8)
            memory[tensor.address : tensor.address + len(raw)] = raw
        for address, data in self.constants.items():
            memory[address : address + len(data)] = np.frombuffer(data, dtype=np.uint8)
        return memory

    def read(self, memory: npt.NDArray[np.uint8], name: str) -> npt.NDArray[np.generic]:
        """A copy of a tensor's values in a DRAM image."""
        tensor = self._tensor(name)
        raw = memory[tensor.address : tensor.address + tensor.size]
        values: npt.NDArray[np.generic] = raw.view(tensor.kind)
        return values.reshape(tensor.shape).copy()

    def dump(self) -> dict[str, str]:
        """The program after each step of lowering as text, by the name of the step; and each
        operator's commands as elaborated and after each pass over them.

        Raises `LoweringError` if one of these is not valid.
        """
        texts: dict[str, str] = {}
        for number, (operator, program) in enumerate(self.elaborated):
            name = operator.title
            name = f"{name} ({number})" if f"{name}: schedule" in texts else name
            texts[f"{name}: schedule"] = text(operator.program)
            texts[f"{name}: lowered"] = text(program.lowered)
            for step, commands in program.stages():
                texts[f"{name}: {step}"] = "\n".join(map(str, commands))
        texts["commands"] = "\n".join(map(self._text, range(len(self.slots))))
        texts["instructions"] = disassemble(self.program)
        return texts

    def _command(self, at: int) -> Command:
        command = self.joined.commands[at]
        if isinstance(command, Compute) and isinstance(command.imm, str):
            return replace(command, imm=int(self.joined.imm[at]))
        return command

    def _text(self, position: int) -> str:
        slots, at = self.slots, int(self.slots.command[position])
        pops = "".join(f" <{each.name.lower()}" for each in sorted(slots.pops(position)))
        pushes = "".join(f" >{each.name.lower()}" for each in sorted(slots.pushes(position)))
        command = "wait" if at < 0 else str(self._command(at))
        return f"{Unit(slots.unit[position]).name.lower():8}{command}{pops}{pushes}"

    def _tensor(self, name: str) -> DramTensor:
        if name not in self.tensors:
            raise LoweringError(f"there is no tensor {name}; there are {', '.join(self.tensors)}")
        return self.tensors[name]


def compile_stream(
    operators: Sequence[Operator],
    target: AcceleratorTarget,
    placed: Mapping[str, int] = MappingProxyType({}),
    cache: ProgramCache | None = None,
    reserved: int = 0,
) -> Stream:
    """Compile operators to one stream, without barriers between operators.

    Parameters
    ----------
    placed
        Fixed addresses of tensors, multiples of the elements that commands copy. Placed tensors
        may overlap: a tensor is valid until an overlapping one is written. All other tensors get
        disjoint memory, from `first_address` on.
    cache
        Elaborated programs, to share with other streams for the same target.
    reserved
        Bytes from address 0 in which tensors are only where they are placed.

    Raises
    ------
    LoweringError
        If the instruction set cannot express an operator, or if a tensor's shape or type differs
        between operators.
    CapacityError
        If buffers do not fit on chip, or the stream does not fit in the machine's address space.
    """
    cache = ProgramCache(target) if cache is None else cache
    cache.check(target)
    programs = [
        cache.elaborated(operator.program, from_top=bool(number % 2))
        for number, operator in enumerate(operators)
    ]
    tensors, end = layout_of(
        operators, [each.lowered for each in programs], target, placed, reserved
    )
    alignment = dram_alignment(target.config)
    zeros, dram_uops = end, end + alignment
    addresses = [
        {**addresses_of(operator, program.lowered, tensors), ZEROS: zeros}
        for operator, program in zip(operators, programs, strict=True)
    ]
    store = KernelStore()
    store_address = dram_uops // target.config.element_bytes(MemoryId.UOP)
    pairs = tuple(zip(operators, programs, strict=True))
    joined = join(pairs, addresses, store, store_address, target.config)
    uops = encode_kernels(store, target.config)
    memory_bytes = rounded_up(dram_uops + len(uops), alignment)
    slots = await_stores(
        place_tokens(joined.commands, joined.footprints, target.config, memory_bytes)
    )
    program = encode_stream(joined.commands, joined.imm, joined.uop, slots, target.config)
    _check_address_space(program, memory_bytes)
    stream = Stream(
        target=target,
        program=program,
        tensors=tensors,
        constants={zeros: bytes(alignment), dram_uops: uops},
        memory_bytes=memory_bytes,
        slots=slots,
        joined=joined,
        elaborated=pairs,
    )
    _check_tokens(stream)
    return stream


def _check_address_space(program: Program, memory_bytes: int) -> None:
    """Check that the machine reaches the image and, on the pages above it, the program."""
    config, program_bytes = program.config, len(program.data)
    needed = rounded_up(memory_bytes, PAGE_BYTES) + program_bytes
    if needed > 1 << config.address_bits:
        raise CapacityError(
            f"configuration {config.name} has addresses of {config.address_bits} bits, which reach "
            f"{1 << config.address_bits:,} bytes; the stream needs {needed:,}: "
            f"{memory_bytes:,} for tensors and micro-ops, and {program_bytes:,} for the program"
        )


def _check_tokens(stream: Stream) -> None:
    """Check the tokens with the hazard checker, which shares no code with `place_tokens`."""
    try:
        check_hazards(stream.program, image=stream.image({})).raise_if_any()
    except (BaseError, HardwareError) as error:
        message = f"compiler bug, please report it: the stream is not valid: {error}"
        raise LoweringError(message) from error
