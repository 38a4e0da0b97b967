"""What machines are given to measure, and what comes of it: cycles, and the work of programs."""

from __future__ import annotations

from dataclasses import dataclass

from tandem.hw.config import HardwareConfig


@dataclass(frozen=True, slots=True)
class Group:
    """Machines of equal programs.

    Attributes
    ----------
    code
        What the programs are compiled for: the same for all of the machines.
    """

    code: HardwareConfig
    machines: tuple[HardwareConfig, ...]


@dataclass(frozen=True, slots=True)
class LayerWork:
    """What the programs of one layer do, whatever time they take.

    Attributes
    ----------
    macs
        Useful multiply-accumulates.
    gemm_uops, alu_uops
        Micro-ops that issue; those that reset accumulators are among the first.
    read_bytes, written_bytes
        Of DRAM, instructions included.
    """

    name: str
    macs: int
    gemm_uops: int
    alu_uops: int
    read_bytes: int
    written_bytes: int


@dataclass(frozen=True, slots=True)
class StreamWork:
    """What the programs of one network do.

    Attributes
    ----------
    digest
        Of all programs of the network.
    """

    digest: str
    layers: tuple[LayerWork, ...]

    @property
    def macs(self) -> int:
        """Useful multiply-accumulates."""
        return sum(layer.macs for layer in self.layers)

    @property
    def gemm_uops(self) -> int:
        """Micro-ops of GEMMs, loops included."""
        return sum(layer.gemm_uops for layer in self.layers)

    @property
    def alu_uops(self) -> int:
        """Micro-ops of the ALU, loops included."""
        return sum(layer.alu_uops for layer in self.layers)

    @property
    def dram_bytes(self) -> int:
        """Bytes read from DRAM and written to it, instructions included."""
        return sum(layer.read_bytes + layer.written_bytes for layer in self.layers)


@dataclass(frozen=True, slots=True)
class Times:
    """What came of a group.

    Attributes
    ----------
    work
        For each network.
    cycles
        For each machine those of each network; empty if the machine cannot run one.
    reasons
        For each machine why it cannot; empty if it can.
    """

    work: tuple[StreamWork, ...]
    cycles: tuple[tuple[int, ...], ...]
    reasons: tuple[str, ...]

    @staticmethod
    def refused(reason: str) -> Times:
        """A group of which no machine can run the networks."""
        return Times((), (), (" ".join(reason.split()),))

    def of(self, machine: int) -> tuple[tuple[int, ...], str]:
        """The cycles of the machine of this number, and why there are none."""
        if not self.cycles:
            return (), self.reasons[0]
        return self.cycles[machine], self.reasons[machine]
