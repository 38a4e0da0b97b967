"""Chains of a network's layers: those of the machine, and of a probe beside them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tandem.compiler.machines.accelerator.discovery.chains import (
    FACTOR_BITS,
    FIELD_BITS,
    PROBED_CUTS,
    LayerChains,
    joined,
    outlined,
    packable,
    probes_of,
)
from tandem.compiler.machines.accelerator.templates.custom_passes import Residual, Values
from tandem.compiler.machines.accelerator.templates.cut_products import cuts_of, short_factors
from tandem.compiler.requantisation import ShortFactors
from tandem.hw.config_files import load_config
from tandem.hw.operations import AluOp
from tests.compiler.machines.accelerator.discovery.cases import chain, cut_chain, packed_chain


def test_the_probe() -> None:
    alone, packed = probes_of(load_config("tiny"))
    assert cuts_of(alone.alu_operations) == cuts_of(packed.alu_operations) == PROBED_CUTS
    assert short_factors(alone.alu_operations) == ShortFactors(FACTOR_BITS, PROBED_CUTS[-1])
    assert short_factors(packed.alu_operations) == ShortFactors(
        FIELD_BITS, PROBED_CUTS[-1], FIELD_BITS, FIELD_BITS
    )


def test_what_one_operand_can_have() -> None:
    """A factor of 15 bits, and sums whose low seven bits are zeros after a cut of eight."""
    product, added, residual, *_ = packed_chain(15, 0, residual=3 << 7)
    assert packable([product, added])
    assert packable([product, added, residual])
    assert packable([product, residual, added])
    assert not packable([product])
    assert not packable([product, residual])
    assert not packable([product, added, added])
    assert not packable([replace(product, cut=None), added])
    assert not packable([replace(product, operand=Values((1, 1 << FIELD_BITS))), added])
    assert not packable([product, replace(added, operand=Values((64,)))])
    assert not packable([product, added, replace(residual, operand=Residual(3 << 6))])
    assert not packable([product, replace(added, op=AluOp.MAX)])


@pytest.mark.parametrize("numbers", [(-77 << 7, 5 << 7), (3 << 7, 900 << 7)])
def test_zeros_stay_zeros(numbers: tuple[int, int]) -> None:
    """Channels with different numbers become a range of as many bits; addends that fit an operand
    beside a factor still do, and are no smaller."""
    first, second, *rest = packed_chain(15, 0)
    product, added, *_ = outlined((first, replace(second, operand=Values(numbers)), *rest))
    assert packable([product, added])
    match added.operand:
        case Values(numbers=(low, high)):
            assert low <= numbers[0] < 0 or numbers[0] > 0
            assert high >= numbers[1]
        case other:
            pytest.fail(f"{other}")
    # Without zeros there are none.
    odd = replace(second, operand=Values((3, 900 << 7)))
    assert outlined((first, odd, *rest))[1].operand == Values((3, (1 << 17) - 1))


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
