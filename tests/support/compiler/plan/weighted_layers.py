"""A small network with layers that are bound by their products, and by their weights."""

from __future__ import annotations

from tandem.compiler.graph import Function, Var
from tandem.compiler.graph.operators.shapes import Flatten
from tests.support.compiler.plan.quantised_graphs import Net


def network(net: Net) -> Function:
    """A convolution that uses a weight many times, and two dense layers that use it once."""
    x = net.quantise("x8", Var("x"))
    tall = net.conv("conv", x, (16, 16))
    flat = net.mean("mean", tall, 16 * 16)
    shape = net.call("flat", "flatten", flat, given=Flatten())
    wide = net.dense("wide", shape, 16, 512)
    return net.function((1, 16, 16, 16), net.logits("out", wide, 512, 64))
