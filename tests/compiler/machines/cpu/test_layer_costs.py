"""The bytes of weights that layers read on a CPU."""

from __future__ import annotations

from tandem.compiler.machines.cpu.layer_costs import weight_bytes
from tandem.hw.weight_formats import INT4, TERNARY
from tests.support.compiler.plan.coded_graphs import CodedNet
from tests.support.compiler.plan.offloaded import HOST
from tests.support.compiler.plan.quantised_graphs import Net
from tests.support.compiler.plan.weighted_layers import network


def test_dense_layers_read_codes() -> None:
    int8 = weight_bytes(network(Net(5)), HOST)
    assert {name: cost.amount for name, cost in int8.items()} == {
        "conv_acc": 16 * 16 * 9,
        "wide_acc": 16 * 512,
        "out_acc": 512 * 64,
    }
    found = weight_bytes(network(CodedNet(5, formats=(INT4, INT4, TERNARY), group=16)), HOST)
    assert {name: cost.amount for name, cost in found.items()} == {
        "conv_acc": 16 * 16 * 9,
        "wide_acc": 16 * 512 / 2 + 512 / 2,
        "out_acc": 512 * 64 / 4,
    }
    assert found["conv_acc"].int8 == "nothing widens weights of this operator here"
    assert found["out_acc"].int8 == ""
