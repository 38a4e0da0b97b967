"""The measurements: a row for each convolution, and their total."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tandem.hw.isa import Work
from tandem.workbench.utilization.conv_layers import ConvLayer


@dataclass(frozen=True, slots=True)
class Times:
    """Cycles of a convolution, or of several, without latency hiding and with it.

    Attributes
    ----------
    macs
        Useful multiply-accumulates.
    multipliers
        Number of multipliers of the array.
    cycles_without, cycles_with
        Cycles from launch to done; None from an engine that counts no cycles.
    """

    name: str
    count: int
    macs: int
    multipliers: int
    cycles_without: int | None
    cycles_with: int | None

    @property
    def utilization_without(self) -> float | None:
        """Utilisation without hiding: useful multiply-accumulates / (cycles x multipliers)."""
        return self._utilization(self.cycles_without)

    @property
    def utilization_with(self) -> float | None:
        """Utilisation with latency hiding."""
        return self._utilization(self.cycles_with)

    def _utilization(self, cycles: int | None) -> float | None:
        return None if cycles is None else self.macs / (cycles * self.multipliers)

    def as_json(self) -> dict[str, object]:
        """The entry of these times in the command's JSON."""
        return {
            "name": self.name,
            "count": self.count,
            "macs": self.macs,
            "cycles_without": self.cycles_without,
            "cycles_with": self.cycles_with,
            "utilization_without": self.utilization_without,
            "utilization_with": self.utilization_with,
        }


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes that a run moved between DRAM and the chip; instructions do not count."""

    loaded: int
    stored: int

    @staticmethod
    def of(work: Work) -> Traffic:
        """The traffic of a program."""
        return Traffic(sum(work.loaded.values()), work.stored)


@dataclass(frozen=True, slots=True)
class Row:
    """A convolution, and times and traffic of one run, whatever its count.

    Attributes
    ----------
    traffic_without, traffic_with
        Traffic without latency hiding and with it.
    """

    layer: ConvLayer
    times: Times
    traffic_without: Traffic
    traffic_with: Traffic

    @staticmethod
    def of(
        layer: ConvLayer,
        multipliers: int,
        cycles: tuple[int | None, int | None],
        traffic: tuple[Traffic, Traffic],
    ) -> Row:
        """A row of pairs: without latency hiding and with it."""
        times = Times(layer.name, layer.count, layer.macs, multipliers, *cycles)
        return Row(layer, times, *traffic)


def total(rows: Sequence[Row]) -> Times:
    """The times of all convolutions together, by their counts."""
    return Times(
        "total",
        sum(row.layer.count for row in rows),
        sum(row.layer.count * row.times.macs for row in rows),
        rows[0].times.multipliers,
        _sum([(row.layer.count, row.times.cycles_without) for row in rows]),
        _sum([(row.layer.count, row.times.cycles_with) for row in rows]),
    )


def _sum(cycles: Sequence[tuple[int, int | None]]) -> int | None:
    known = [count * value for count, value in cycles if value is not None]
    return sum(known) if len(known) == len(cycles) else None
