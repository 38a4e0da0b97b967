"""The parts that the inputs and outputs of a decoder play."""

from __future__ import annotations

from msgspec import Struct


class CachePort(Struct, frozen=True, forbid_unknown_fields=True):
    """The keys or the values of one layer: the input with the rows of all earlier tokens, and the
    output with the rows of a call's own."""

    past: str
    present: str


class DecoderPorts(Struct, frozen=True, forbid_unknown_fields=True):
    """The names of a decoder's inputs and outputs.

    Attributes
    ----------
    ids
        The tokens, int64[1, tokens].
    positions
        Their positions in the text, int64[1, tokens].
    mask
        1 for tokens that are there, 0 for others, int64[1, past + tokens].
    logits
        The scores of all words after each token, float32[1, tokens, vocabulary].
    caches
        Inputs float32[1, heads, past, features], and outputs of as many rows as there are tokens,
        or with the rows of the input before these.
    """

    ids: str
    positions: str
    mask: str
    logits: str
    caches: tuple[CachePort, ...]

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of all inputs."""
        return (self.ids, self.positions, self.mask, *(each.past for each in self.caches))
