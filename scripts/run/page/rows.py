"""A page's figures as rows, for its table and its charts."""

from __future__ import annotations

from dataclasses import dataclass

from runtime.layers import LayerProfile
from scripts.run.page.page import Page

__all__ = ["Row", "Totals", "rows", "totals"]


@dataclass(frozen=True, slots=True)
class Row:
    """A layer with latency hiding and, if that was run, without."""

    number: int
    hidden: LayerProfile
    plain: LayerProfile | None

    @property
    def name(self) -> str:
        """The layer's."""
        return self.hidden.layer.name

    @property
    def operators(self) -> str:
        """What it computes."""
        return " + ".join(self.hidden.layer.operators)

    @property
    def macs(self) -> int:
        """Useful multiply-accumulates."""
        return self.hidden.layer.macs

    @property
    def moved(self) -> int:
        """Bytes through the bus for data, in both directions."""
        return self.hidden.loaded + self.hidden.stored

    @property
    def least(self) -> int:
        """Bytes that cannot be avoided: operands and result, each once."""
        return self.hidden.layer.least_bytes

    @property
    def times_least(self) -> float | None:
        """How often each byte was moved; None if none has to be."""
        return self.moved / self.least if self.least else None

    @property
    def gain(self) -> float | None:
        """How many times faster it is with latency hiding."""
        if self.plain is None or not self.plain.cycles or not self.hidden.cycles:
            return None
        return self.plain.cycles / self.hidden.cycles


@dataclass(frozen=True, slots=True)
class Totals:
    """The layers together; what is not known is None."""

    macs: int
    moved: int
    least: int
    cycles: int | None
    cycles_plain: int | None
    multipliers: int
    cpu_seconds: float

    @property
    def utilization(self) -> float | None:
        """With latency hiding: useful multiply-accumulates by those that there was time for."""
        return self.macs / (self.cycles * self.multipliers) if self.cycles else None

    @property
    def utilization_plain(self) -> float | None:
        """The same without."""
        return self.macs / (self.cycles_plain * self.multipliers) if self.cycles_plain else None

    @property
    def gain(self) -> float | None:
        """How many times faster it is with latency hiding."""
        return self.cycles_plain / self.cycles if self.cycles and self.cycles_plain else None

    @property
    def times_least(self) -> float | None:
        """Bytes moved by bytes that had to be."""
        return self.moved / self.least if self.least else None


def rows(page: Page) -> tuple[Row, ...]:
    """A row a layer, in order."""
    plain: tuple[LayerProfile | None, ...] = page.without or (None,) * len(page.layers)
    pairs = zip(page.layers, plain, strict=True)
    return tuple(Row(number, *pair) for number, pair in enumerate(pairs, 1))


def totals(page: Page) -> Totals:
    """What the layers sum to."""
    found = rows(page)
    return Totals(
        macs=sum(each.macs for each in found),
        moved=sum(each.moved for each in found),
        least=sum(each.least for each in found),
        cycles=_cycles(page.layers) if page.has_time else None,
        cycles_plain=_cycles(page.without) if page.has_time and page.without else None,
        multipliers=page.config.macs,
        cpu_seconds=sum(each.seconds for each in page.cpu_steps),
    )


def _cycles(layers: tuple[LayerProfile, ...]) -> int:
    return sum(each.cycles or 0 for each in layers)
