"""The formats of a network's layers: one for all, by name, or each layer's own within a loss."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

import numpy as np

from tandem.compiler.errors import QuantisationError
from tandem.compiler.quantise.compressed.choice import Chosen, Option, most_within, moves
from tandem.compiler.quantise.compressed.compressor import Compressor, LayerFormat
from tandem.compiler.quantise.compressed.grouping import Grouping
from tandem.compiler.quantise.compressed.layer_choice import INT8, LayerChoice
from tandem.compiler.quantise.compressed.layer_costs import LayerCost
from tandem.compiler.quantise.compressed.products import WeightedProduct
from tandem.compiler.quantise.weight_kinds import GROUPS, WeightKind
from tandem.compiler.quantise.weight_options import DEFAULT_LOSS, WeightOptions
from tandem.compiler.quantise.weight_rules import WeightRule
from tandem.hw.weight_formats import INT4, NF4, TERNARY, WeightFormat

T = TypeVar("T")
Formats = Mapping[str, LayerFormat]
Costs = Callable[[T], Mapping[str, LayerCost]]
_CHOICES: Final = (INT4, NF4, TERNARY)
"""The formats that layers choose from, beside int8."""
_LEAST_SHARED: Final = 8
"""The least number of weights for which a scale of a group is worth its bits."""


@dataclass(frozen=True, slots=True, eq=False)
class FormatChoice(Generic[T]):
    """What formats of layers are chosen with.

    Attributes
    ----------
    products
        By the layer's name.
    compressor
        Rounds the weights of layers.
    made
        Returns the network with the formats of layers; and takes why layers have theirs.
    decibels
        The signal-to-noise ratio of a network.
    rules
        The formats of layers that have others than the rest, by the layer's name.
    costs
        What the layers of a network cost on the machine that it is for; None to choose by the
        sizes of weights.
    """

    options: WeightOptions
    products: Mapping[str, WeightedProduct]
    compressor: Compressor
    made: Callable[[Formats, Mapping[str, str]], T]
    decibels: Callable[[T], float]
    rules: Mapping[str, WeightRule] = field(default_factory=dict)
    costs: Costs[T] | None = None
    _plain: list[float] = field(default_factory=list)

    def network(self) -> T:
        """The network as the options want it.

        Raises
        ------
        QuantisationError
            Fixed formats lose more than is allowed; says how much, and what would lose less.
        """
        fixed, free, refusals = dict[str, LayerFormat](), list[str](), dict[str, str]()
        for name, product in self.products.items():
            kind, group = self._wanted(name)
            form = kind.form
            if kind is WeightKind.AUTO:
                free.append(name)
            elif form is not None and (reason := refusal(product, form)):
                refusals[name] = reason
            elif form is not None:
                fixed[name] = LayerFormat(form, group)
        allowed = self.options.max_loss
        if free:
            limit = DEFAULT_LOSS if allowed is None else allowed
            found = self._chosen(limit, fixed, self._choices(free, fixed), refusals)
            if found.loss > limit:
                self._refuse(found.network, fixed, limit)
            return found.network
        network = self.made(fixed, refusals)
        if allowed is not None and fixed and self._loss(network) > allowed:
            self._refuse(network, fixed, allowed)
        return network

    def _wanted(self, name: str) -> tuple[WeightKind, int]:
        """The kind and the group of a layer."""
        return self.options.of_layer(self.rules.get(name))

    def _loss(self, network: T) -> float:
        """What a network loses beside that of int8 weights, in decibels."""
        if not self._plain:
            self._plain.append(self.decibels(self.made({}, {})))
        return self._plain[0] - self.decibels(network)

    def _refuse(self, found: T, formats: Formats, allowed: float) -> None:
        """Raise `QuantisationError`: the formats lose more than is allowed."""
        loss = self._loss(found)
        (plain,) = self._plain
        best, least = "", GROUPS[0]
        if any(how.form.scaled and how.group > least for how in formats.values()):
            small = {name: LayerFormat(how.form, least) for name, how in formats.items()}
            lost = max(self._loss(self.made(small, {})), 0)
            best = f"; in groups of {least} they lose {lost:.1f} dB"
        choices = {name: self._choice(name, (how,)) for name, how in formats.items()}
        chosen = self._chosen(allowed, {}, choices, {})
        names = ", ".join(dict.fromkeys(how.form.name for how in formats.values()))
        raise QuantisationError(
            f"weights in {names} lose {loss:.1f} dB of the {plain:.1f} dB that the network has "
            f"with int8 weights, and --max-loss allows {allowed:g} dB{best}; the best within it is "
            f"{names} in {len(chosen.options)} of {len(self.products)} layers, which loses "
            f"{max(chosen.loss, 0):.1f} dB: --weights auto takes such a choice"
        )

    def _chosen(
        self,
        allowed: float,
        fixed: Formats,
        choices: Mapping[str, LayerChoice],
        refusals: Mapping[str, str],
    ) -> Chosen[T]:
        """The network whose layers choose, beside those of fixed formats, within a loss."""

        def made(chosen: Mapping[str, Option]) -> T:
            formats, reasons = dict(fixed), dict(refusals)
            for name, choice in choices.items():
                taken = chosen[name].name if name in chosen else INT8
                reasons[name] = choice.reason(taken)
                if taken != INT8:
                    formats[name] = choice.formats[taken]
            return self.made(formats, reasons)

        return most_within(
            moves({name: choice.options for name, choice in choices.items()}),
            allowed,
            made,
            self._loss,
            without=self._loss(self.made(fixed, {})) if fixed else 0.0,
        )

    def _choices(self, names: Sequence[str], fixed: Formats) -> dict[str, LayerChoice]:
        """What layers may choose from, beside those of fixed formats."""
        found = {
            name: self._choice(
                name, [LayerFormat(form, self._wanted(name)[1]) for form in _CHOICES]
            )
            for name in names
        }
        if self.costs is None:
            return found
        costs = {name: dict[str, LayerCost]() for name in found}
        measured: dict[tuple[int, bool], Mapping[str, LayerCost]] = {}
        for form in (None, *_CHOICES):
            # Formats whose codes are as large cost as much.
            key = (8, False) if form is None else (form.bits, form.scaled)
            if key not in measured:
                formats = dict(fixed)
                for name, choice in found.items():
                    if form is not None and form.name in choice.formats:
                        formats[name] = choice.formats[form.name]
                measured[key] = self.costs(self.made(formats, {}))
            for name in found:
                if name in measured[key]:
                    costs[name][INT8 if form is None else form.name] = measured[key][name]
        return {name: choice.by_costs(costs[name]) for name, choice in found.items()}

    def _choice(self, name: str, formats: Sequence[LayerFormat]) -> LayerChoice:
        """A layer's choice among formats, by the bits of its weights."""
        product = self.products[name]
        options, taken, alone = [Option(INT8, product.weights.size * 8, 0.0)], {}, ""
        gram = self.compressor.gram(name)
        least = np.zeros(len(product.weights))
        for how in formats:
            if reason := refusal(product, how.form):
                alone = alone or reason
                continue
            rows = Grouping(product.weights.shape, how.group).rows
            real = rows(product.weights).astype(np.float64)
            signal = (real**2).sum() if gram is None else gram.error(real).sum()
            if not signal:
                alone = alone or "its results are 0 on the inputs of the calibration"
                continue
            coded = self.compressor.coded(name, how, product.weights, least)
            off = rows(coded.real) - real
            noise = (off**2).sum() if gram is None else gram.error(off).sum()
            options.append(Option(how.form.name, coded.bits, float(noise / signal)))
            taken[how.form.name] = how
        return LayerChoice((*options,), taken, alone)


def refusal(product: WeightedProduct, form: WeightFormat) -> str:
    """Why the weights of a product stay in int8; empty if they need not."""
    inputs = product.weights.shape[1]
    if form.scaled and inputs < _LEAST_SHARED:
        return (
            f"its kernels have {inputs} input channels, fewer than the {_LEAST_SHARED} for which "
            "a scale of a group is worth its bits: ternary, which has none, would help"
        )
    return ""
