"""The formats that a layer chooses from, by what each saves, and why it has the one that it has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from tandem.compiler.quantise.compressed.choice import Option
from tandem.compiler.quantise.compressed.compressor import LayerFormat
from tandem.compiler.quantise.compressed.layer_costs import LayerCost

INT8: Final = "int8"
LEAST_GAIN: Final = 0.01
"""The share of a layer's time that a format saves at least, to be worth an error."""


@dataclass(frozen=True, slots=True)
class LayerChoice:
    """What a layer may choose from.

    Attributes
    ----------
    options
        int8, then the formats that are worth their error.
    formats
        By the options' names.
    alone
        Why int8 is the only one; empty where it is not.
    unit
        Of the options' costs, for readers; empty for bits.
    """

    options: tuple[Option, ...]
    formats: Mapping[str, LayerFormat]
    alone: str = ""
    unit: str = ""

    def by_costs(self, costs: Mapping[str, LayerCost]) -> LayerChoice:
        """The choice by what the layer costs in each format, by the formats' names.

        Formats that save less than `LEAST_GAIN` of the layer are left out: those of a layer which
        is bound by its products, by its data, or by what it does with its results.
        """
        int8, *others = self.options
        first = costs.get(INT8)
        if first is None:
            text = "it is not on the accelerator, whose time is what counts"
            return LayerChoice((int8,), {}, self.alone or text)
        priced = [(option, costs[option.name]) for option in others if option.name in costs]
        kept = [
            replace(option, cost=cost.amount)
            for option, cost in priced
            if cost.amount <= first.amount * (1 - LEAST_GAIN)
        ]
        alone = self.alone
        if not kept and priced:
            option, least = min(priced, key=lambda pair: pair[1].amount)
            alone = least.int8 or (
                f"bound by {first.bound} here: at least {first}, and {least.amount:,.0f} with "
                f"{option.name}"
            )
        options = (replace(int8, cost=first.amount), *kept)
        return LayerChoice(options, self.formats, alone, first.unit)

    def reason(self, chosen: str) -> str:
        """Why the layer has the format of this name."""
        _, *others = self.options
        if chosen != INT8:
            (option,) = (option for option in others if option.name == chosen)
            return f"saves {self._saving(option)}" if self.unit else ""
        if not others:
            return self.alone
        best = min(others, key=lambda option: option.error)
        saving = f"save {self._saving(best)} and " if self.unit else ""
        return f"{best.name} would {saving}lose more than --max-loss allows"

    def _saving(self, option: Option) -> str:
        whole = self.options[0].cost
        return f"{(whole - option.cost) / whole:.0%} of {whole:,.0f} {self.unit}"
