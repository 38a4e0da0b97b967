"""What the weights of a layer are stored as, for reports."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LayerWeights:
    """The weights of a layer of a quantised network.

    Attributes
    ----------
    layer
        The name of the product's result.
    format
        `int8`, or the name of a format.
    group
        The input channels that have one scale; None without scales of groups.
    elements
        The number of weights.
    bits
        Of all weights with the scales of groups.
    reason
        Why the weights are int8 although another format was wanted, or why the layer has chosen
        its format; else empty.
    results
        The names of the values of the real network that are computed with it.
    """

    layer: str
    format: str
    group: int | None
    elements: int
    bits: int
    reason: str = ""
    results: tuple[str, ...] = ()

    @property
    def bytes(self) -> int:
        """The bytes of the weights, packed."""
        return -(-self.bits // 8)
