"""Counts the FPGA resources of a design from the cells of its netlist."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from tandem.hw.synthesis.errors import SynthesisError
from tandem.hw.synthesis.families import CELLS, Cost, Family
from tandem.hw.topology import MemoryId

_SCRATCHPAD = re.compile(r"\b(inp|wgt|uop|par|out)_memory\.")
_ACCUMULATOR = re.compile(r"\baccumulator\.(out_)?")
_NUMBERS = re.compile(r"(\.\d+)+$")


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """The implementation of one on-chip memory with all its copies.

    Attributes
    ----------
    memory
        None for queues and buffers.
    block_ram, lut_ram, registers
        Number of the memory's Verilog arrays that became block RAM, LUT RAM or registers.
    bram
        Number of 18 Kbit blocks that the arrays take.
    """

    memory: MemoryId | None
    block_ram: int
    lut_ram: int
    registers: int
    bram: int

    @property
    def name(self) -> str:
        """The memory's name in reports."""
        return "queues" if self.memory is None else self.memory.name


@dataclass(frozen=True, slots=True)
class Resources:
    """The resources of a design on an FPGA of `family`.

    Attributes
    ----------
    lut
        Look-up tables, including LUT RAM. Place and route uses fewer, since two small tables are
        packed into one.
    lutram
        Look-up tables used as memory or as shift register.
    ff
        Flip-flops, not counting registers inside DSP blocks and block RAM.
    dsp
        Multiplier blocks: DSP48E1, DSP48E2 or MULT18X18D.
    bram
        Blocks of 18 Kbit: an RAMB18 or a DP16KD is one, an RAMB36 is two.
    memories
        The on-chip memories in the order of `MemoryId`, then the queues.
    """

    family: Family
    lut: int
    lutram: int
    ff: int
    dsp: int
    bram: int
    memories: tuple[MemoryUse, ...]

    def as_json(self) -> dict[str, object]:
        """The resources, without the family, as a JSON object."""
        amounts: dict[str, object] = {unit: getattr(self, unit) for unit in _UNITS}
        amounts["memories"] = {
            use.name: {
                "block_ram": use.block_ram,
                "lut_ram": use.lut_ram,
                "registers": use.registers,
                "bram": use.bram,
            }
            for use in self.memories
        }
        return amounts


_UNITS = tuple(field.name for field in fields(Cost))


def resource_counts(found: Resources) -> dict[str, object]:
    """What samples say: cells of an FPGA, by kind."""
    return {unit: getattr(found, unit) for unit in ("lut", "lutram", "ff", "dsp", "bram")}


def count(
    family: Family,
    statistics: Mapping[str, Any],
    arrays: Iterable[str],
    blocks: Mapping[str, Iterable[str]],
) -> Resources:
    """The resources of a flat netlist.

    Parameters
    ----------
    statistics
        The output of Yosys's `stat -json`.
    arrays
        Paths of the memory arrays before technology mapping.
    blocks
        By cell type, the paths of the cells that implement arrays: the array's path, then numbers.

    Raises
    ------
    SynthesisError
        The statistics cannot be read, or the netlist is not flat, or a cell's cost or array is
        unknown.
    """
    cells = _cells(statistics)
    known = CELLS[family]
    if unknown := sorted(cells.keys() - known.keys()):
        raise SynthesisError(
            f"synthesis for {family.value} left cells whose cost is not known: "
            f"{', '.join(unknown)}; known: {', '.join(sorted(known))}"
        )
    amounts = {
        unit: sum(number * getattr(known[cell], unit) for cell, number in cells.items())
        for unit in _UNITS
    }
    return Resources(family=family, memories=_memories(family, arrays, blocks), **amounts)


def _cells(statistics: Mapping[str, Any]) -> dict[str, int]:
    """The number of cells of each type."""
    try:
        design = statistics["design"]
        submodules = int(design["num_submodules"])
        cells = {str(cell): int(number) for cell, number in design["num_cells_by_type"].items()}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise SynthesisError(f"Yosys's statistics cannot be read: {error!r}") from None
    if submodules:
        raise SynthesisError(
            f"Yosys's statistics are those of a hierarchy ({submodules} submodules), "
            "and only those of a flat design count everything once"
        )
    return cells


def _memories(
    family: Family, arrays: Iterable[str], blocks: Mapping[str, Iterable[str]]
) -> tuple[MemoryUse, ...]:
    taken: dict[str, list[Cost]] = {array: [] for array in arrays}
    for cell, paths in blocks.items():
        for path in paths:
            array = _NUMBERS.sub("", path)
            if array not in taken:
                raise SynthesisError(f"{cell} {path!r} belongs to no array of the design")
            taken[array].append(CELLS[family][cell])
    uses = []
    for memory in (*MemoryId, None):
        mine = [costs for array, costs in taken.items() if _memory_of(array) is memory]
        if mine:
            bram = [sum(cost.bram for cost in costs) for costs in mine]
            block_ram = sum(number > 0 for number in bram)
            registers = sum(not costs for costs in mine)
            lut_ram = len(mine) - block_ram - registers
            uses.append(MemoryUse(memory, block_ram, lut_ram, registers, sum(bram)))
    return tuple(uses)


def _memory_of(array: str) -> MemoryId | None:
    """The on-chip memory that contains the array at path `array`; None for queues and buffers."""
    if match := _SCRATCHPAD.search(array):
        return MemoryId[match[1].upper()]
    if match := _ACCUMULATOR.search(array):
        return MemoryId.OUT if match[1] else MemoryId.ACC
    return None
