"""Candidates that take a factor and an addend from one operand: found, proved, and counted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tandem.compiler.machines.accelerator.discovery.candidates import Candidate, find_candidates
from tandem.compiler.machines.accelerator.discovery.chains import LayerChains
from tandem.compiler.machines.accelerator.discovery.passes import PassTable
from tandem.compiler.machines.accelerator.templates.custom_passes import Values, chain_cost, cover
from tandem.hw.alu_formulas import prove_equal
from tandem.hw.alu_terms import Term, apply_operator, evaluate, fold, print_term
from tandem.hw.custom_operations import CustomOperation
from tests.compiler.machines.accelerator.discovery.cases import chain, packed_chain
from tests.support.hw.scaled_operations import in_eight_bits

LAYERS = (
    LayerChains("first", 1000, (chain(23, 0), packed_chain(15, 0))),
    LayerChains(
        "second", 100, (chain(21, -128, residual=3 << 15), packed_chain(13, -128, residual=3 << 7))
    ),
)
FOUND = find_candidates(LAYERS).candidates
TABLE = PassTable([LAYERS[:1], LAYERS[1:]], FOUND, ports=2)
PRODUCT = "int32(a * uint15(b) + (b >> 15 << 15) >> 8)"
TEXTS = [print_term(one.operation.result) for one in FOUND]
PACKED = [one for one in FOUND if "uint15(b)" in print_term(one.operation.result)]


def test_all_steps_are_one_operation() -> None:
    """The layer with a residual, and the one without, have it in common."""
    whole = f"min(max({PRODUCT} >> 13 >> shift, low), 127)"
    (one,) = (one for one in FOUND if print_term(one.operation.result) == whole)
    assert [each.type_text for each in one.operation.parameters] == ["uint2", "int8"]
    assert one.operation.name.startswith("CUT_ADDB_SHR_MAX_MIN")
    at = FOUND.index(one)
    # Two passes over the residual are ahead of the one that takes it.
    assert TABLE.cycles((at,)) == (1000, 300)
    assert TABLE.layers_of(at) == 2


def test_the_product_alone() -> None:
    at = TEXTS.index(PRODUCT)
    # SHR, MAX and MIN are left.
    assert TABLE.cycles((at,)) == (4000, 600)


def test_as_the_compiler() -> None:
    for one in PACKED:
        for layer, cycles in zip(LAYERS, TABLE.cycles((FOUND.index(one),)), strict=True):
            covers = [cover(steps, [one.operation]) for steps in layer.chains]
            costs = [chain_cost(made)[0] for made in covers if made is not None]
            assert cycles == layer.vectors * min(costs)


@pytest.mark.parametrize("one", PACKED, ids=lambda one: one.operation.name)
def test_proved(one: Candidate) -> None:
    """With any function in the product's place, what is added after the cut may be added before."""
    found = prove_equal(one.operation.result, one.sequence, one.operation.parameters)
    assert found.text == "proved"


def _values(operation: CustomOperation) -> Iterator[dict[str, int]]:
    """Some of the parameters, the limits among them."""
    limits = {parameter.name: parameter.limits for parameter in operation.parameters}
    for part in (0.0, 0.4, 1.0):
        yield {name: low + round(part * (high - low)) for name, (low, high) in limits.items()}


def _of_arrays(term: Term, values: Mapping[str, Any]) -> Any:
    """The values of a term for arrays of operands."""
    return fold(
        term,
        values.__getitem__,
        np.int64,
        lambda op, left, right: apply_operator(op, left, right, np.minimum, np.maximum),
        lambda cast, value: np.asarray(cast.of(value)),
    )


@pytest.mark.parametrize("one", PACKED, ids=lambda one: one.operation.name)
def test_all_pairs_of_eight_bits(one: Candidate) -> None:
    """The operation is its steps for each two numbers of 8 bits: the factor has three of them, and
    two are cut off."""
    own = one.operation
    small, steps = (
        in_eight_bits(CustomOperation(own.name, term, own.parameters), 4)
        for term in (own.result, one.sequence)
    )
    assert "uint3(int8(b)) + (int8(b) >> 3 << 3) >> 2" in print_term(small.result)
    a, b = np.meshgrid(np.arange(-128, 128), np.arange(-128, 128))
    for values in _values(small):
        given = {**values, "a": a, "b": b}
        difference = _of_arrays(small.result, given) - _of_arrays(steps.result, given)
        assert not np.any(difference % 256), values
    # The same as one by one.
    some = {**values, "a": 77, "b": -99}
    assert evaluate(small.result, some) == _of_arrays(small.result, some)


def test_the_operand_of_a_residual_is_an_operation() -> None:
    """It saves a pass of the three that a residual takes, beside the operation that it is for."""
    at = TEXTS.index("(int8(a) * 3 << 15) + b")
    one = FOUND[at]
    assert one.operation.name == "SCALE_ADDB"
    assert print_term(one.sequence) == "int32(int32(int8(a) * (3 << 15)) + b)"
    assert prove_equal(one.operation.result, one.sequence, ()).text == "proved"
    whole = TEXTS.index(f"min(max({PRODUCT} >> 13 >> shift, low), 127)")
    assert TABLE.cycles((at,)) == TABLE.cycles(())
    both = sorted((at, whole))
    assert TABLE.cycles(both) == (1000, 200)
    (steps,) = (steps for steps in LAYERS[1].chains if steps[0].cut is not None)
    made = cover(steps, [FOUND[number].operation for number in both])
    assert made is not None
    assert chain_cost(made)[0] == 2
    assert at in TABLE.distinct()
    assert TABLE.layers_of(at) == 1


def test_factors_of_residuals_are_a_parameter() -> None:
    """Where they differ, as wide as they need; without a residual there is no such operation."""
    layers = [
        LayerChains("one", 1, (packed_chain(13, 0, residual=3 << 7),)),
        LayerChains("other", 1, (packed_chain(13, 0, residual=200 << 7),)),
    ]
    found = find_candidates(layers).candidates
    scales = [one.operation for one in found if one.operation.name.startswith("SCALE")]
    assert print_term(scales[0].result) == "(int8(a) * factor << 15) + b"
    assert [each.type_text for each in scales[0].parameters] == ["uint8"]
    plain = find_candidates([LAYERS[0]]).candidates
    assert not [one for one in plain if one.operation.name.startswith("SCALE")]


def test_low_bits_that_count_are_not_packed() -> None:
    product, added, *rest = packed_chain(15, 0)
    odd_sum = replace(added, operand=Values((-128, 127 << 6)))
    odd = LayerChains("odd", 1, ((product, odd_sum, *rest),))
    assert not [
        one
        for one in find_candidates([odd]).candidates
        if "+ (b >> 15 << 15)" in print_term(one.operation.result)
    ]
