"""Small quantised networks whose layers read concatenations of other layers' results."""

from __future__ import annotations

from tandem.compiler.graph import Function, Var
from tandem.compiler.graph.operators.parts import Concat, Slice
from tandem.compiler.graph.operators.reductions import MaxPool
from tests.support.compiler.plan.quantised_graphs import Net


def _joined(net: Net, name: str, *parts: Var) -> Var:
    return net.call(name, "concat", *parts, given=Concat(1))


def branches() -> Function:
    """As of Inception: branches of 16, 8 and 5 channels, one of which pools first."""
    net = Net(1)
    x = net.conv("stem", net.quantise("x8", Var("x")), (3, 8))
    wide = net.conv("wide", x, (8, 16), 1, 1, 0)
    deep = net.conv("deep", net.conv("deep0", x, (8, 8), 1, 1, 0), (8, 8))
    around = net.call("around", "max_pool", x, given=MaxPool((3, 3), (1, 1), (1, 1, 1, 1)))
    pooled = net.conv("pooled", around, (8, 5), 1, 1, 0)
    y = net.conv("y", _joined(net, "c", wide, deep, pooled), (29, 8), 1, 1, 0)
    return net.function((1, 3, 9, 9), net.logits("out", net.mean("mean", y, 81), 8, 5))


def dense_block(joined: bool = False) -> Function:
    """As of DenseNet: each layer reads all before it. If `joined`, concatenations have the
    concatenation before as a part, else all layers."""
    net = Net(2)
    parts = [net.conv("stem", net.quantise("x8", Var("x")), (3, 8))]
    y = parts[0]
    for number in range(1, 4):
        new = net.conv(f"layer{number}", y, (8 * number, 8))
        parts.append(new)
        y = _joined(net, f"c{number}", *((y, new) if joined else parts))
    y = net.conv("last", y, (32, 8), 1, 1, 0)
    return net.function((1, 3, 6, 6), net.logits("out", net.mean("mean", y, 36), 8, 5))


def hourglass() -> Function:
    """As of a U-Net: a skip connection around layers of half the size, and a second one."""
    net = Net(3)
    skip = net.conv("skip", net.quantise("x8", Var("x")), (3, 8))
    half = net.conv("half", net.max_pool("pool", skip), (8, 16))
    quarter = net.conv("quarter", half, (16, 16))
    low = net.conv("low", _joined(net, "c_low", half, quarter), (32, 8))
    same = net.conv("same", net.conv("again", skip, (8, 8)), (8, 8))
    y = net.max_pool("pool2", net.conv("high", _joined(net, "c", skip, same), (16, 8)))
    y = net.add("sum", y, low)
    return net.function((1, 3, 8, 8), net.logits("out", net.mean("mean", y, 16), 8, 5))


def halves() -> Function:
    """As of YOLO: both halves of a result, and what two layers make of the second half."""
    net = Net(4)
    x = net.conv("x16", net.quantise("x8", Var("x")), (3, 16))
    first, second = (
        net.call(f"half{number}", "slice", x, given=Slice((8 * number,), (8 * number + 8,), (1,)))
        for number in range(2)
    )
    one = net.conv("one", second, (8, 8), skip=second)
    two = net.conv("two", one, (8, 8), skip=one)
    y = net.conv("y", _joined(net, "c", first, second, one, two), (32, 8), 1, 1, 0)
    return net.function((1, 3, 6, 6), net.logits("out", net.mean("mean", y, 36), 8, 5))
