"""The figures of each layer, and their totals, for the table and the charts of a page."""

from __future__ import annotations

from dataclasses import dataclass

from tandem.runtime.layer_profiles import LayerProfile
from tandem.workbench.pages.run.page import Page


@dataclass(frozen=True, slots=True)
class LayerRow:
    """A layer's profiles with latency hiding and, if measured, without."""

    number: int
    hidden: LayerProfile
    plain: LayerProfile | None

    @property
    def name(self) -> str:
        """The layer's name."""
        return self.hidden.layer.name

    @property
    def operators(self) -> str:
        """The operators that the layer computes, as text."""
        return " + ".join(self.hidden.layer.operators)

    @property
    def macs(self) -> int:
        """Useful multiply-accumulates."""
        return self.hidden.layer.macs

    @property
    def moved(self) -> int:
        """Data bytes moved over the bus, in both directions."""
        return self.hidden.loaded + self.hidden.stored

    @property
    def weights(self) -> int:
        """Bytes of weights that were loaded."""
        return self.hidden.weights

    @property
    def least(self) -> int:
        """Minimum traffic in bytes: operands and result, each once."""
        return self.hidden.layer.least_bytes

    @property
    def times_least(self) -> float | None:
        """Ratio of bytes moved to the minimum traffic; None if the minimum is 0."""
        return self.moved / self.least if self.least else None

    @property
    def gain(self) -> float | None:
        """The speed-up by latency hiding; None if it was not measured."""
        if self.plain is None or not self.plain.cycles or not self.hidden.cycles:
            return None
        return self.plain.cycles / self.hidden.cycles


@dataclass(frozen=True, slots=True)
class Totals:
    """The sums over all layers; unknown figures are None."""

    macs: int
    moved: int
    weights: int
    least: int
    cycles: int | None
    cycles_plain: int | None
    multipliers: int
    cpu_seconds: float

    @property
    def utilization(self) -> float | None:
        """Utilisation with latency hiding: useful multiply-accumulates / (cycles x multipliers)."""
        return self.macs / (self.cycles * self.multipliers) if self.cycles else None

    @property
    def utilization_plain(self) -> float | None:
        """Utilisation without latency hiding."""
        return self.macs / (self.cycles_plain * self.multipliers) if self.cycles_plain else None

    @property
    def gain(self) -> float | None:
        """The speed-up by latency hiding; None if it was not measured."""
        return self.cycles_plain / self.cycles if self.cycles and self.cycles_plain else None

    @property
    def times_least(self) -> float | None:
        """Ratio of bytes moved to the minimum traffic; None if the minimum is 0."""
        return self.moved / self.least if self.least else None


def rows(page: Page) -> tuple[LayerRow, ...]:
    """A row for each layer, in order."""
    plain: tuple[LayerProfile | None, ...] = page.without or (None,) * len(page.layers)
    pairs = zip(page.layers, plain, strict=True)
    return tuple(LayerRow(number, *pair) for number, pair in enumerate(pairs, 1))


def totals(page: Page) -> Totals:
    """The totals of all layers."""
    found = rows(page)
    return Totals(
        macs=sum(row.macs for row in found),
        moved=sum(row.moved for row in found),
        weights=sum(row.weights for row in found),
        least=sum(row.least for row in found),
        cycles=_cycles(page.layers) if page.has_time else None,
        cycles_plain=_cycles(page.without) if page.has_time and page.without else None,
        multipliers=page.config.macs,
        cpu_seconds=sum(step.seconds for step in page.cpu_steps),
    )


def _cycles(layers: tuple[LayerProfile, ...]) -> int:
    return sum(layer.cycles or 0 for layer in layers)
