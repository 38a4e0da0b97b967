"""The formats of a network's layers: one for all, or each layer's own within a loss."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

import numpy as np

from tandem.compiler.errors import QuantisationError
from tandem.compiler.quantise.compressed.choice import Chosen, Option, most_within, moves
from tandem.compiler.quantise.compressed.compressor import Compressor, LayerFormat
from tandem.compiler.quantise.compressed.grouping import Grouping
from tandem.compiler.quantise.compressed.products import WeightedProduct
from tandem.compiler.quantise.weight_options import (
    DEFAULT_LOSS,
    GROUPS,
    WeightKind,
    WeightOptions,
)
from tandem.hw.weight_formats import INT4, NF4, TERNARY, WeightFormat

T = TypeVar("T")
Formats = Mapping[str, LayerFormat]
_CHOICES: Final = (INT4, NF4, TERNARY)
"""The formats that layers choose from, beside int8."""
_INT8: Final = "int8"
_LEAST_SHARED: Final = 8
"""The least number of weights for which a scale of a group is worth its bits."""


@dataclass(frozen=True, slots=True, eq=False)
class FormatChoice(Generic[T]):
    """What formats of layers are chosen with.

    Attributes
    ----------
    products
        By the layer's name.
    made
        Returns the network with the formats of layers.
    decibels
        The signal-to-noise ratio of a network.
    """

    options: WeightOptions
    products: Mapping[str, WeightedProduct]
    compressor: Compressor
    made: Callable[[Formats], T]
    decibels: Callable[[T], float]

    def network(self) -> T:
        """The network as the options want it.

        Raises
        ------
        QuantisationError
            A fixed format loses more than is allowed; says how much, and what would lose less.
        """
        if self.options.kind is WeightKind.INT8:
            return self.made({})
        form = self.options.kind.form
        if form is None:
            allowed = self.options.max_loss
            return self._chosen(DEFAULT_LOSS if allowed is None else allowed).network
        found = self.made(self._all(form, self.options.group))
        if self.options.max_loss is not None:
            self._check(found, form, self.options.max_loss)
        return found

    def _all(self, form: WeightFormat, group: int) -> Formats:
        """One format for all layers whose shape allows it."""
        return {
            name: LayerFormat(form, group)
            for name, product in self.products.items()
            if not refusal(product, form)
        }

    def _check(self, found: T, form: WeightFormat, allowed: float) -> None:
        plain = self.decibels(self.made({}))
        loss = plain - self.decibels(found)
        if loss <= allowed:
            return
        best = ""
        if form.scaled and self.options.group > GROUPS[0]:
            least = plain - self.decibels(self.made(self._all(form, GROUPS[0])))
            best = f"; in groups of {GROUPS[0]} they lose {max(least, 0):.1f} dB"
        chosen = self._chosen(allowed, (form,))
        raise QuantisationError(
            f"weights in {form.name} lose {loss:.1f} dB of the {plain:.1f} dB that the network has "
            f"with int8 weights, and --max-loss allows {allowed:g} dB{best}; the best within it is "
            f"{form.name} in {len(chosen.options)} of {len(self.products)} layers, which loses "
            f"{max(chosen.loss, 0):.1f} dB: --weights auto takes such a choice"
        )

    def _chosen(self, allowed: float, forms: tuple[WeightFormat, ...] = _CHOICES) -> Chosen[T]:
        """The network whose layers choose among formats, within a loss."""
        options = {
            name: self._options(name, product, forms) for name, product in self.products.items()
        }
        plain = self.decibels(self.made({}))

        def formats(chosen: Mapping[str, Option]) -> Formats:
            named = {form.name: form for form in forms}
            return {
                name: LayerFormat(named[option.name], self.options.group)
                for name, option in chosen.items()
            }

        return most_within(
            moves(options),
            allowed,
            lambda chosen: self.made(formats(chosen)),
            lambda network: plain - self.decibels(network),
        )

    def _options(
        self, name: str, product: WeightedProduct, forms: tuple[WeightFormat, ...]
    ) -> list[Option]:
        """The formats of a layer with the noise of its results, int8 first."""
        found = [Option(_INT8, product.weights.size * 8, 0.0)]
        gram = self.compressor.gram(name)
        rows = Grouping(product.weights.shape, self.options.group).rows
        real = rows(product.weights).astype(np.float64)
        least = np.zeros(len(product.weights))
        signal = (real**2).sum() if gram is None else gram.error(real).sum()
        for form in forms:
            if refusal(product, form) or not signal:
                continue
            how = LayerFormat(form, self.options.group)
            coded = self.compressor.coded(name, how, product.weights, least)
            off = rows(coded.real) - real
            noise = (off**2).sum() if gram is None else gram.error(off).sum()
            found.append(Option(form.name, coded.bits, float(noise / signal)))
        return found


def refusal(product: WeightedProduct, form: WeightFormat) -> str:
    """Why the weights of a product stay in int8; empty if they need not."""
    inputs = product.weights.shape[1]
    if form.scaled and inputs < _LEAST_SHARED:
        return (
            f"its kernels have {inputs} input channels, fewer than the {_LEAST_SHARED} for which "
            "a scale of a group is worth its bits: ternary, which has none, would help"
        )
    return ""
