"""Chains of steps that tests find operations in."""

from __future__ import annotations

from tandem.compiler.machines.accelerator.discovery.chains import Chain, LayerChains
from tandem.compiler.machines.accelerator.templates.custom_passes import (
    ChainStep,
    Residual,
    Values,
)
from tandem.hw.operations import AluOp

DIFFERENT = Values((0, 1))
"""A number for each channel."""


def chain(shift: int, low: int, *, residual: int | None = None, identity: bool = False) -> Chain:
    """MUL, ADD, the residual, SHR, MAX, MIN; MAX and MIN change nothing if `identity`."""
    added = () if residual is None else (ChainStep(AluOp.ADD, Residual(residual)),)
    return (
        ChainStep(AluOp.MUL, DIFFERENT),
        ChainStep(AluOp.ADD, DIFFERENT),
        *added,
        ChainStep(AluOp.SHR, Values((shift,))),
        ChainStep(AluOp.MAX, Values((low,)), identity),
        ChainStep(AluOp.MIN, Values((127,)), identity),
    )


def cut_chain(cut: int, shift: int, low: int) -> Chain:
    """A product that is cut, ADD, SHR, MAX, MIN."""
    _, *rest = chain(shift, low)
    return ChainStep(AluOp.MUL, DIFFERENT, cut=cut), *rest


def packed_chain(shift: int, low: int, *, residual: int | None = None) -> Chain:
    """A product that is cut by eight bits, a sum of numbers with seven zeros, the residual, SHR,
    MAX and MIN."""
    product, _, *rest = cut_chain(8, shift, low)
    added = () if residual is None else (ChainStep(AluOp.ADD, Residual(residual)),)
    return product, ChainStep(AluOp.ADD, Values((-128, 127 << 7))), *added, *rest


LAYERS = (
    LayerChains("first", 1000, (chain(23, 0), cut_chain(8, 15, 0))),
    LayerChains("second", 500, (chain(21, -128), cut_chain(8, 15, -128))),
    LayerChains("third", 100, (chain(22, -128, residual=77),)),
)
