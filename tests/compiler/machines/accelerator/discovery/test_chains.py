"""Chains of a network's layers: those of the machine, and of a probe beside them."""

from __future__ import annotations

from tandem.compiler.machines.accelerator.discovery.chains import (
    PROBED_CUTS,
    LayerChains,
    joined,
    probe_of,
)
from tandem.compiler.machines.accelerator.templates.cut_products import cuts_of
from tandem.hw.config_files import load_config
from tests.compiler.machines.accelerator.discovery.cases import chain, cut_chain


def test_the_probe() -> None:
    probe = probe_of(load_config("tiny"))
    assert cuts_of(probe.alu_operations) == PROBED_CUTS


def test_joined_by_layer() -> None:
    """Chains of the probe go to the layer of that name and size, in their order; a layer that the
    probe lacks keeps its own."""
    own = [LayerChains("one", 5, (chain(23, 0),)), LayerChains("two", 5, (chain(22, 0),))]
    own += [LayerChains("two", 5, (chain(21, 0),))]
    probed = [
        LayerChains("two", 5, (cut_chain(8, 14, 0),)),
        LayerChains("two", 5, (cut_chain(8, 13, 0),)),
        LayerChains("one", 6, (cut_chain(8, 12, 0),)),
    ]
    found = joined(own, probed)
    assert [one.chains for one in found] == [
        (chain(23, 0),),
        (chain(22, 0), cut_chain(8, 14, 0)),
        (chain(21, 0), cut_chain(8, 13, 0)),
    ]
