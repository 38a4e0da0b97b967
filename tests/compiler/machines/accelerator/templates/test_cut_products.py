"""Requantisations with a product in full: exact, in two passes, and only where nothing is lost."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.compiler.machines.accelerator.templates.custom_passes import (
    ChainPass,
    ResidualSum,
    Values,
    chain_cost,
    cover,
)
from tandem.compiler.machines.accelerator.templates.custom_passes import (
    Residual as ChainResidual,
)
from tandem.compiler.machines.accelerator.templates.cut_products import (
    cut_chains,
    cuts_of,
    short_factors,
)
from tandem.compiler.requantisation import RequantSpec, Residual, ScaledResidual, ShortFactors
from tandem.hw.custom_operations import CustomOperation
from tandem.hw.operations import AluOp
from tests.support.compiler.machines.accelerator.templates.custom_passes import passed


def operation(name: str, result: str, **parameters: str) -> CustomOperation:
    return CustomOperation.from_json({"name": name, "result": result, "parameters": parameters})


HIGH = operation("HIGH", "int32(a * uint16(b) >> 8)")
TOP = operation("TOP", "a * uint16(b) >> 16")
CLIP = operation(
    "CLIP", "min(max(int32(a + b) >> 8 >> shift, low), 127)", shift="uint3", low="int8"
)
ANY = operation("ANY", "min(max(int32(a + b) >> shift, low), 127)", shift="uint5", low="int8")

PACKED = operation("PACKED", "int32(a * uint16(b) + (b >> 16 << 16) >> 8)")
WHOLE = operation(
    "WHOLE",
    "min(max(int32(a * uint15(b) + (b >> 15 << 15) >> 8) >> 8 >> shift, low), 127)",
    shift="uint3",
    low="int8",
)


SCALE = operation("SCALE", "(int8(a) * factor << 15) + b", factor="uint10")


def best(spec: RequantSpec, *operations: CustomOperation) -> tuple[ChainPass, ...] | None:
    found = [cover(steps, operations) for steps in cut_chains(spec, operations)]
    return min((one for one in found if one is not None), key=chain_cost, default=None)


def names(passes: tuple[ChainPass, ...] | None) -> list[str] | None:
    return None if passes is None else [one.op.name for one in passes]


def test_what_operations_ask() -> None:
    assert cuts_of((HIGH, TOP, CLIP)) == (8, 16)
    assert short_factors((HIGH, TOP, CLIP)) == ShortFactors(16, 16)
    assert short_factors((CLIP,)) == ShortFactors()
    assert short_factors((HIGH, PACKED)) == ShortFactors(16, 8, 16, 16)
    assert cuts_of((PACKED,)) == (8,)
    assert short_factors((operation("WIDE", "a * b >> 4"),)) == ShortFactors(None, 4)


def test_two_passes() -> None:
    spec = RequantSpec((3, 40_000), (256, -1 << 20), 20, -128, 127, 1 << 22)
    assert names(best(spec, HIGH, CLIP)) == ["HIGH", "CLIP"]
    assert names(best(spec, HIGH)) == ["HIGH", "ADD", "SHR", "MAX", "MIN"]
    # The shift that is left has to be 8 to 15; a power of two moves it there.
    small = RequantSpec((3, 40), (1, -5), 9, -128, 127, 1 << 20)
    found = best(small, HIGH, CLIP)
    assert names(found) == ["HIGH", "CLIP"]
    odd = RequantSpec(40_001, 0, 8, -128, 127, 1 << 20)
    assert names(best(odd, HIGH, CLIP)) == ["HIGH", "MAX", "MIN"]


def test_low_bits_that_count() -> None:
    spec = RequantSpec(40_001, 255, 20, -128, 127, 1 << 20)
    assert best(spec, HIGH, CLIP) is None
    assert best(RequantSpec(40_001, 512, 20, -128, 127, 1 << 20), HIGH, CLIP) is not None
    with_skip = RequantSpec(40_001, 512, 20, -128, 127, 1 << 20, (Residual(255),))
    assert best(with_skip, HIGH, CLIP) is None


def test_more_than_32_bits() -> None:
    # 2^31 * 40,001 >> 8 has 39 bits.
    assert best(RequantSpec(40_001, 0, 20, -128, 127), HIGH, CLIP) is None
    assert names(best(RequantSpec(40_001, 0, 20, -128, 127), TOP, ANY)) == ["TOP", "ANY"]


def test_a_sum_before_the_cut() -> None:
    spec = RequantSpec((3, 40_000), (1 << 16, -1 << 20), 20, -128, 127, 1 << 22)
    found = best(spec, PACKED, CLIP)
    assert names(found) == ["PACKED", "CLIP"]
    assert found is not None
    # Both numbers of a channel in one operand; the clip adds nothing.
    assert found[0].second == Values((1 << 16 | 3, (-1 << 20) | 40_000))
    assert found[1].second == Values((0,))
    with_skip = replace(spec, residuals=(Residual(512),))
    found = best(with_skip, PACKED, CLIP)
    assert names(found) == ["PACKED", "CLIP"]
    assert found is not None
    assert isinstance(found[1].second, ChainResidual)
    # Fifteen zeros, or a number of more than sixteen bits before them.
    for addend in (1 << 15, 1 << 32):
        assert names(best(replace(spec, addend=addend), PACKED, CLIP)) is None


def test_residuals_and_both_orders() -> None:
    spec = RequantSpec(40_001, 512, 20, -128, 127, 1 << 20, (Residual(512),))
    assert names(best(spec, HIGH, CLIP)) == ["HIGH", "ADD", "CLIP"]
    own = operation("OWN", "int32(a + b) >> 12")
    assert names(best(spec, HIGH, own)) == ["HIGH", "ADD", "OWN", "MAX", "MIN"]


def test_one_pass() -> None:
    spec = RequantSpec((3, 30_000), (1 << 15, -1 << 20), 20, -128, 127, 1 << 22)
    found = best(spec, WHOLE)
    assert names(found) == ["WHOLE"]
    assert found is not None
    assert found[0].second == Values((1 << 15 | 3, (-1 << 20) | 30_000))
    # Fourteen zeros, or a factor of sixteen bits.
    assert names(best(replace(spec, addend=1 << 14), WHOLE)) is None
    assert names(best(replace(spec, multiplier=40_001), WHOLE)) is None


def test_a_residual_in_the_operand_of_all_numbers() -> None:
    """Three passes: two over the residual, before the one that takes it."""
    residual = Residual(3 << 15, -100, 50)
    spec = RequantSpec((3, 30_000), (1 << 15, -1 << 20), 20, -128, 127, 1 << 22, (residual,))
    found = best(spec, WHOLE)
    assert names(found) == ["WHOLE"]
    assert found is not None
    assert found[0].second == ResidualSum(
        Values((1 << 15 | 3, (-1 << 20) | 30_000)), ChainResidual(3 << 15, -100, 50)
    )
    assert chain_cost(found) == (3, 2)
    # Low bits, or an operand of 33 bits at an end.
    for other in (Residual(1 << 14), Residual(1 << 26, -31, 32)):
        assert names(best(replace(spec, residuals=(other,)), WHOLE)) is None
    assert best(replace(spec, residuals=(Residual(1 << 26, -31, 31),)), WHOLE) is not None


def test_one_pass_over_the_residual() -> None:
    """Two passes then: an operation makes the operand of the residual, which has eight bits."""
    residual = Residual(3 << 15, -100, 50)
    spec = RequantSpec((3, 30_000), (1 << 15, -1 << 20), 20, -128, 127, 1 << 22, (residual,))
    found = best(spec, WHOLE, SCALE)
    assert names(found) == ["WHOLE"]
    assert found is not None
    (over,) = found[0].ahead
    assert (over.op, over.second) == (SCALE, Values((1 << 15 | 3, (-1 << 20) | 30_000)))
    assert SCALE.values_of(over.parameters or 0) == {"factor": 3}
    assert chain_cost(found) == (2, 1)
    # A constant in the factor's place, and a residual whose cast would change it.
    fixed = operation("FIXED", "b + (a * 3 << 15)")
    assert chain_cost(best(spec, WHOLE, fixed) or ()) == (2, 1)
    short = operation("SHORT", "(int7(a) * factor << 15) + b", factor="uint10")
    assert chain_cost(best(spec, WHOLE, short) or ()) == (3, 2)
    # A factor of eleven bits, and one with fewer zeros than are put behind it.
    wide = replace(spec, residuals=(Residual(1 << 25, -31, 31),))
    assert chain_cost(best(wide, WHOLE, SCALE) or ()) == (3, 2)
    more = operation("MORE", "(int8(a) * factor << 16) + b", factor="uint10")
    assert chain_cost(best(spec, WHOLE, more) or ()) == (3, 2)


@st.composite
def specs(draw: st.DrawFn) -> RequantSpec:
    """Requantisations of real scales, as quantisation makes them for such machines."""
    channels = draw(st.integers(1, 3))
    scales = [draw(st.floats(2**-12, 0.4)) for _ in range(channels)]
    biases = [draw(st.integers(-5000, 5000)) for _ in range(channels)]
    residuals = draw(st.lists(st.floats(0.05, 2).map(ScaledResidual), max_size=1))
    return RequantSpec.from_scales(
        scales,
        biases,
        draw(st.sampled_from([-128, 0, -3])),
        127,
        bound=1 << draw(st.integers(8, 22)),
        residuals=residuals,
        tolerance=1,
        short=short_factors(draw(st.sampled_from([(HIGH,), (PACKED,), (WHOLE,)]))),
    )


@given(specs(), st.data())
def test_covers_are_exact(spec: RequantSpec, data: st.DataObject) -> None:
    first, last = spec.limits
    operations = data.draw(st.permutations((HIGH, CLIP, ANY, TOP, PACKED, WHOLE, SCALE)))
    for steps in cut_chains(spec, operations):
        made = cover(steps, operations)
        if made is None:
            continue
        for _ in range(3):
            x = data.draw(st.sampled_from([first, last]) | st.integers(first, last))
            k = data.draw(st.integers(-128, 127)) if spec.residuals else 0
            for channel, one in enumerate(spec.per_channel):
                scale = spec.residuals[0].multiplier if spec.residuals else 0
                total = one.sum(x) + k * scale >> one.shift
                assert passed(x, k, channel, made) == spec.clip(total)


@given(specs())
def test_what_is_asked_is_given(spec: RequantSpec) -> None:
    """Requantisations of such scales take few passes, and keep ten bits behind the point."""
    zeros = short_factors((HIGH,)).zeros(spec.largest_shift)
    step = 1 << zeros
    assert all(channel.addend % step == 0 for channel in spec.per_channel)
    assert all(residual.multiplier % step == 0 for residual in spec.residuals)
    if zeros == 8 and spec.largest_multiplier < 1 << 16:
        found = best(spec, HIGH, ANY)
        assert found is not None
        assert len(found) == 2 + len(spec.residuals)


@pytest.mark.parametrize(
    ("bits", "short"),
    [
        (0, ShortFactors(16)),
        (8, ShortFactors(16, 8)),
        (13, ShortFactors(16, 20)),
        (16, ShortFactors(16, 8, 20)),
    ],
)
def test_zeros_cost_little(bits: int, short: ShortFactors) -> None:
    spec = RequantSpec.from_scales([0.003, 0.0071], [-1234, 77], bound=1 << 20, short=short)
    exact = RequantSpec.from_scales([0.003, 0.0071], [-1234, 77], bound=1 << 20)
    for one, other in zip(spec.per_channel, exact.per_channel, strict=True):
        assert one.multiplier == other.multiplier
        assert abs(one.addend - other.addend) <= 1 << bits >> 1


def test_a_step_that_no_pass_does() -> None:
    (chain, *_) = cut_chains(RequantSpec(3, 256, 20, -128, 127, 1 << 20), (HIGH,))
    assert chain[0].cut == 8
    assert chain[0].op is AluOp.MUL
    assert cover(chain, []) is None
