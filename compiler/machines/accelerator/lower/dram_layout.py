"""The layout of a stream's tensors in DRAM."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tandem.compiler.errors import LoweringError
from tandem.compiler.ir.buffer import Buffer, Scope
from tandem.compiler.ir.stmt import PrimFunc
from tandem.compiler.ir.visit import buffers_in
from tandem.compiler.machines.accelerator.lower.coded_blocks import CodedBlocks
from tandem.compiler.machines.accelerator.lower.commands import SetTable
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.hw.config import PAGE_BYTES, HardwareConfig
from tandem.hw.topology import MemoryId


@dataclass(frozen=True, slots=True)
class Operator:
    """A scheduled program, and the tensors that its buffers stand for.

    Attributes
    ----------
    tensors
        Tensor names by buffer name; inputs and outputs left out keep their names.
    name
        The name in messages; if empty, the program's. Operators may share a program.
    immediates
        The values of the program's inputs in IMM, by name.
    coded
        The weights that lie in DRAM as codes, by the names of their buffers, which are int8.
    """

    program: PrimFunc
    tensors: Mapping[str, str]
    name: str = ""
    immediates: Mapping[str, int] = field(default_factory=dict)
    coded: Mapping[str, CodedBlocks] = field(default_factory=dict)

    @property
    def tables(self) -> tuple[SetTable, ...]:
        """The commands that set the table of its codes."""
        return tuple(each for coded in self.coded.values() for each in coded.tables)

    @property
    def title(self) -> str:
        """The operator's name in messages."""
        return self.name or self.program.name


@dataclass(frozen=True, slots=True)
class DramTensor:
    """A tensor in DRAM: dense, row-major, from `address`; or its codes."""

    address: int
    buffer: Buffer
    coded: CodedBlocks | None = None

    @property
    def size(self) -> int:
        """The size in bytes."""
        if self.coded is not None:
            return self.coded.data.size
        return self.buffer.size * self.buffer.dtype.numpy.itemsize

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array that lies there."""
        return self.buffer.shape if self.coded is None else self.coded.data.shape

    @property
    def kind(self) -> np.dtype[np.generic]:
        """The type of the array that lies there."""
        return np.dtype(self.buffer.dtype.numpy if self.coded is None else np.uint8)


def dram_alignment(config: HardwareConfig) -> int:
    """The alignment of tensors in bytes: a page, and whole elements of every memory."""
    return max(PAGE_BYTES, *(config.element_bytes(each) for each in MemoryId))


def small_alignment(config: HardwareConfig) -> int:
    """The alignment in bytes of tensors that share a page: whole elements of every memory, and
    whole beats of the bus."""
    return max(config.bus_bytes, *(config.element_bytes(each) for each in config.memories))


def next_address(end: int, size: int, config: HardwareConfig) -> int:
    """The first address from `end` on for a tensor of `size` bytes.

    A tensor that fits in a page does not lie in two, and a larger one begins with a page: so no
    row of a tensor is cut into more bursts than at the begin of a page, and time does not depend
    on what lies before it.
    """
    if size > PAGE_BYTES:
        return rounded_up(end, dram_alignment(config))
    address = rounded_up(end, small_alignment(config))
    crosses = address // PAGE_BYTES < (address + size - 1) // PAGE_BYTES
    return rounded_up(address, dram_alignment(config)) if crosses else address


def first_address(config: HardwareConfig) -> int:
    """The lowest address that tensors are placed at by default: VTA's memory manager has no page 0.

    A page, or more where an element is larger than a page.
    """
    return dram_alignment(config)


def rounded_up(address: int, alignment: int) -> int:
    """The next multiple of `alignment`."""
    return -(-address // alignment) * alignment


def _global_buffers(function: PrimFunc) -> list[Buffer]:
    """A program's inputs, outputs and allocated buffers in DRAM."""
    return [each for each in buffers_in(function) if each.scope == Scope.GLOBAL]


def _tensor_name(operator: Operator, buffer: Buffer) -> str:
    program = operator.program
    if buffer.name in operator.tensors:
        return operator.tensors[buffer.name]
    outside = {each.name for each in (*program.inputs, *program.outputs)}
    return buffer.name if buffer.name in outside else f"{operator.title}.{buffer.name}"


def layout_of(
    operators: Sequence[Operator],
    lowered: Sequence[PrimFunc],
    target: AcceleratorTarget,
    placed: Mapping[str, int],
    reserved: int = 0,
) -> tuple[dict[str, DramTensor], int]:
    """The tensors with their addresses, and the first free address behind them.

    Tensors without an address in `placed` come after those with one and after the `reserved` bytes
    from address 0, one behind the other (`next_address`), from `first_address` on.
    """
    config = target.config
    page = dram_alignment(config)
    found: dict[str, Buffer] = {}
    coded: dict[str, CodedBlocks] = {}
    for operator, function in zip(operators, lowered, strict=True):
        buffers = _global_buffers(function)
        unknown = operator.tensors.keys() - {each.name for each in buffers}
        if unknown:
            raise LoweringError(
                f"{operator.title} has no buffer {', '.join(sorted(unknown))}; it has "
                f"{', '.join(each.name for each in buffers)}"
            )
        for buffer in buffers:
            name = _tensor_name(operator, buffer)
            if buffer.name in operator.coded:
                coded[name] = operator.coded[buffer.name]
            existing = found.setdefault(name, buffer)
            if not _same_tensor(existing, buffer):
                raise LoweringError(
                    f"{name} is {existing.dtype}{list(existing.shape)}, and "
                    f"{buffer.dtype}{list(buffer.shape)} in {operator.title}"
                )
    tensors: dict[str, DramTensor] = {}
    end = max(first_address(config), rounded_up(reserved, page))
    for name in placed.keys() & found.keys():
        tensors[name] = DramTensor(placed[name], found[name], coded.get(name))
        end = max(end, rounded_up(placed[name] + tensors[name].size, page))
    for name, buffer in found.items():
        if name not in tensors:
            tensor = DramTensor(end, buffer, coded.get(name))
            address = next_address(end, tensor.size, config)
            tensors[name] = replace(tensor, address=address)
            end = address + tensor.size
    return {name: tensors[name] for name in found}, rounded_up(end, page)


def _same_tensor(one: Buffer, other: Buffer) -> bool:
    """Whether two buffers can be one tensor, whose bytes each sees in blocks of its own: that they
    are the same elements was found where the graph's conversions were removed."""
    return one.size == other.size and one.dtype == other.dtype


def addresses_of(
    operator: Operator, function: PrimFunc, tensors: Mapping[str, DramTensor]
) -> dict[str, int]:
    """The addresses of the operator's tensors, by the names of its program's buffers."""
    buffers = _global_buffers(function)
    return {each.name: tensors[_tensor_name(operator, each)].address for each in buffers}
