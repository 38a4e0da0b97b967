"""What a design takes on an FPGA, and its clock there, as tables."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tandem.hw.synthesis.resources import Resources
from tandem.hw.synthesis.routes import Timing
from tandem.workbench.table import Column, Table

_RESOURCES = (
    Column("family", str, "the FPGA family"),
    Column("lut", int, "look-up tables, those that are memory included"),
    Column("lutram", int, "look-up tables used as memory or shift register"),
    Column("ff", int, "flip-flops"),
    Column("dsp", int, "multiplier blocks"),
    Column("bram", int, "blocks of 18 Kbit RAM"),
)
_MEMORIES = (
    Column("family", str, "the FPGA family"),
    Column("memory", str, "the on-chip memory, or the queues"),
    Column("block_ram", int, "Verilog arrays that became block RAM"),
    Column("lut_ram", int, "Verilog arrays that became look-up tables"),
    Column("registers", int, "Verilog arrays that became registers"),
    Column("bram", int, "blocks of 18 Kbit RAM that they take"),
)
_SEEDS = (
    Column("seed", int, "the seed of place and route"),
    Column("mhz", float, "the highest clock, in MHz", ",.1f"),
)
_PATH = (
    Column("module", str, "the module instance; empty for the top module"),
    Column("ns", float, "delay of logic and wires, in ns", ".2f"),
    Column("signals", str, "registers and signals on the way"),
)


@dataclass(frozen=True, slots=True, repr=False)
class FpgaResources(Table):
    """A row for each FPGA family, and the block RAM of each memory.

    Attributes
    ----------
    memories
        A row for each family and on-chip memory: what its Verilog arrays became.
    """

    memories: Table


@dataclass(frozen=True, slots=True, repr=False)
class Clock:
    """The clock of a machine, placed and routed for an ECP5.

    Attributes
    ----------
    timing
        The results of all seeds.
    """

    timing: Timing

    @property
    def mhz(self) -> float:
        """The median clock of the seeds, in MHz."""
        return self.timing.median.mhz

    @property
    def seeds(self) -> Table:
        """The clock by seed."""
        return Table(_SEEDS, tuple((route.seed, route.mhz) for route in self.timing.routes))

    @property
    def critical_path(self) -> Table:
        """The critical path of the median seed, by module."""
        spans = self.timing.median.critical_path
        return Table(_PATH, tuple((span.module, span.ns, " ".join(span.signals)) for span in spans))

    def __repr__(self) -> str:
        timing = self.timing
        return (
            f"ECP5 {timing.device.value}, speed {timing.speed}: {self.mhz:.1f} MHz, median of "
            f"{len(timing.routes)}, best {timing.best_mhz:.1f} MHz"
        )


def resources_of(found: Iterable[Resources]) -> FpgaResources:
    """The resources of families as tables."""
    families, memories = [], []
    for resources in found:
        name = resources.family.value
        families.append(
            (name, resources.lut, resources.lutram, resources.ff, resources.dsp, resources.bram)
        )
        memories += [
            (name, use.name, use.block_ram, use.lut_ram, use.registers, use.bram)
            for use in resources.memories
        ]
    return FpgaResources(_RESOURCES, tuple(families), Table(_MEMORIES, tuple(memories)))
