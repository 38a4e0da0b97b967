"""Whatever the numbers, lowered requantisations compute what integers without bounds do."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tandem.compiler.errors import Refusal
from tandem.compiler.machines.accelerator.templates.alu_lowering import (
    is_exact,
    lower_requantisation,
)
from tandem.compiler.requantisation import RequantSpec, Residual, ScaledResidual
from tandem.hw.operations import AluOp
from tests.support.compiler.machines.accelerator.templates.alu_emulator import (
    emulate_requantisation,
)

BOUNDS = st.one_of(st.none(), st.integers(0, 31).map(lambda bits: 1 << bits), st.integers(0, 300))
OUTPUTS = st.tuples(st.integers(-128, 127), st.integers(-128, 127)).map(sorted)
WIDE_OUTPUTS = st.tuples(*[st.integers(-(1 << 31), (1 << 31) - 1)] * 2).map(sorted)


def of_any_size(bits: int, signed: bool) -> st.SearchStrategy[int]:
    """Integers of up to that many bits, the small ones and those near powers of two as often."""
    size = st.integers(0, bits)
    some = size.flatmap(lambda n: st.integers(0, (1 << n) - 1))
    near = st.builds(
        lambda n, d: max(0, min((1 << n) + d, (1 << bits) - 1)), size, st.integers(-2, 2)
    )
    either = st.one_of(some, near)
    return (
        st.builds(lambda n, minus: -n if minus else n, either, st.booleans()) if signed else either
    )


@st.composite
def requantisations(
    draw: st.DrawFn, outputs: st.SearchStrategy[list[int]], largest_shift: int, bits: int
) -> RequantSpec:
    """Of one to three channels or a tensor; the machine may refuse one."""
    count = draw(st.integers(0, 3))

    def per_channel(values: st.SearchStrategy[int]) -> int | tuple[int, ...]:
        if count == 0 or draw(st.booleans()):
            return draw(values)
        return tuple(draw(st.lists(values, min_size=count, max_size=count)))

    low, high = draw(outputs)
    multiplier = per_channel(of_any_size(bits, signed=False))
    addend = per_channel(of_any_size(40, signed=True))
    shift = per_channel(st.integers(0, largest_shift))
    return RequantSpec(multiplier, addend, shift, low, high, draw(BOUNDS))


def tell_tale(spec: RequantSpec, extra: list[int]) -> npt.NDArray[np.int64]:
    """Accumulators, one column a channel: around the ends, zero, and the ends of preimages."""
    least, greatest = spec.limits
    columns = []
    channels = spec.channels or 1
    for channel in range(channels):
        m, c, s = (
            numbers[channel] if isinstance(numbers, tuple) else numbers
            for numbers in (spec.multiplier, spec.addend, spec.shift)
        )
        near = {least, least + 1, -1, 0, 1, greatest - 1, greatest, *extra}
        for output in (spec.low, spec.high, spec.high + 1):
            edge = math.ceil(Fraction((output << s) - c, m)) if m else 0
            near |= {edge + step for step in (-2, -1, 0, 1, 2)}
        columns.append([min(max(each, least), greatest) for each in sorted(near)])
    longest = max(map(len, columns))
    return np.array([column + [0] * (longest - len(column)) for column in columns]).T


def plainly(spec: RequantSpec, acc: npt.NDArray[np.int64]) -> list[list[int]]:
    """The definition, in Python's integers."""
    channels = acc.shape[1]
    m, c, s = (
        numbers if isinstance(numbers, tuple) else (numbers,) * channels
        for numbers in (spec.multiplier, spec.addend, spec.shift)
    )
    return [
        [min(max((x * m[k] + c[k]) >> s[k], spec.low), spec.high) for k, x in enumerate(row)]
        for row in acc.tolist()
    ]


def check(spec: RequantSpec, extra: list[int]) -> None:
    acc = tell_tale(spec, extra)
    axis = None if spec.channels is None else 1
    expected = plainly(spec, acc)
    assert spec.reference(acc, axis).tolist() == expected
    assert emulate_requantisation(lower_requantisation(spec), acc, axis).tolist() == expected


SOME = st.lists(of_any_size(31, signed=True), min_size=1, max_size=20)


@given(spec=requantisations(OUTPUTS, 23, 30), extra=SOME)
def test_every_8_bit_requantisation_is_exact(spec: RequantSpec, extra: list[int]) -> None:
    """None is refused: 2^30 of output and 2^30 of a multiplier fit."""
    check(spec, extra)


@given(data=st.data(), extra=SOME)
def test_wider_outputs_are_exact_or_refused(data: st.DataObject, extra: list[int]) -> None:
    spec = data.draw(requantisations(WIDE_OUTPUTS, 31, 31))
    assume(is_exact(spec))
    check(spec, extra)


def test_400_channels_with_accumulators_of_24_bits() -> None:
    rng = np.random.default_rng(400)
    scales = 10 ** rng.uniform(-4.5, -0.5, 400)
    bias = rng.integers(-(1 << 23), 1 << 23, 400)
    spec = RequantSpec.from_scales(scales, bias)
    random = rng.integers(-(1 << 23), 1 << 23, (2000, 400))
    acc = np.concatenate([random, tell_tale(spec, []), random >> rng.integers(0, 23, (2000, 400))])

    lowered = lower_requantisation(spec)
    ops = [operation.op for operation in lowered.accumulator]
    assert ops == [AluOp.MAX, AluOp.MIN, AluOp.MUL, AluOp.ADD]
    assert [operation.op for operation in lowered.output] == [AluOp.SHR]
    np.testing.assert_array_equal(emulate_requantisation(lowered, acc, 1), spec.reference(acc, 1))
    # Both clipped and not: otherwise this would show little.
    inside = np.abs(spec.reference(random, 1).astype(int) - 0.5) < 127
    assert 0.1 < inside.mean() < 0.9


@pytest.mark.parametrize("multiplier", [0, 1, 3, 4, 5, 8, 12, 13, 100])
@pytest.mark.parametrize("shift", [0, 2, 3])
def test_every_small_accumulator(multiplier: int, shift: int) -> None:
    """Multipliers over 2^shift skip outputs; some skip the one that is wanted."""
    ranges = [(-3, 4), (2, 2), (-128, 127), (0, 50), (-50, -7)]
    for (low, high), bound, addend in product(
        ranges, (None, 0, 5, 100), (-1000, -9, -1, 0, 1, 4, 77)
    ):
        reach = 300 if bound is None else bound
        acc = np.arange(-reach, reach + 1)
        spec = RequantSpec(multiplier, addend, shift, low, high, bound)
        expected = np.clip((acc * multiplier + addend) >> shift, low, high)
        found = emulate_requantisation(lower_requantisation(spec), acc)
        np.testing.assert_array_equal(found, expected)


# With residuals -----------------------------------------------------------------------------------


@st.composite
def residual_requantisations(draw: st.DrawFn) -> RequantSpec:
    """Of one to three channels, with one or two residuals."""
    count = draw(st.integers(1, 3))
    low, high = sorted(draw(st.tuples(*[st.integers(-128, 127)] * 2)))
    residuals = []
    for _ in range(draw(st.integers(1, 2))):
        least, greatest = sorted(draw(st.tuples(*[st.integers(-128, 127)] * 2)))
        residuals.append(Residual(draw(of_any_size(23, signed=False)), least, greatest))
    return RequantSpec(
        tuple(draw(of_any_size(24, signed=False)) for _ in range(count)),
        tuple(draw(of_any_size(45, signed=True)) for _ in range(count)),
        draw(st.integers(0, 23)),
        low,
        high,
        draw(st.none() | st.integers(0, 31).map(lambda bits: 1 << bits)),
        tuple(residuals),
    )


def near_the_ends(spec: RequantSpec) -> tuple[npt.NDArray[np.int64], list[npt.NDArray[np.int64]]]:
    """Accumulators and residuals, one column a channel: where outputs change, at all ends."""
    least, greatest = spec.limits
    ends = [{each.low, each.high, min(max(0, each.low), each.high)} for each in spec.residuals]
    columns: list[list[tuple[int, ...]]] = []
    for channel in spec.per_channel:
        near = {least, least + 1, -1, 0, 1, greatest - 1, greatest}
        for output, added in product(
            (spec.low, spec.low + 1, spec.high, spec.high + 1), product(*ends)
        ):
            total = (output << channel.shift) - channel.addend
            total -= sum(k * each.multiplier for k, each in zip(added, spec.residuals, strict=True))
            edge = math.ceil(Fraction(total, channel.multiplier)) if channel.multiplier else 0
            near |= {edge + step for step in (-2, -1, 0, 1, 2)}
        inside = sorted({min(max(x, least), greatest) for x in near})
        columns.append([(x, *added) for x, added in product(inside, product(*ends))])
    longest = max(map(len, columns))
    full = np.array([column + [column[0]] * (longest - len(column)) for column in columns])
    acc, *residuals = np.moveaxis(full, 2, 0).transpose(0, 2, 1)
    return acc, residuals


@given(residual_requantisations())
@settings(max_examples=200)
def test_residuals_are_exact_whatever_the_numbers(spec: RequantSpec) -> None:
    assume(is_exact(spec))
    acc, residuals = near_the_ends(spec)
    m, c = np.array(spec.multiplier, object), np.array(spec.addend, object)
    total = acc.astype(object) * m + c
    for residual, values in zip(spec.residuals, residuals, strict=True):
        total = total + values.astype(object) * residual.multiplier
    assert isinstance(spec.shift, int)
    wanted = np.clip(total // (1 << spec.shift), spec.low, spec.high)
    assert spec.reference(acc, 1, residuals).tolist() == wanted.tolist()
    found = emulate_requantisation(lower_requantisation(spec), acc, 1, residuals)
    assert found.tolist() == wanted.tolist()


def test_many_channels_of_24_bits_with_a_residual() -> None:
    generator = np.random.default_rng(0)
    scales = generator.uniform(1e-4, 1e-1, 400)
    bias = generator.integers(-(1 << 20), 1 << 20, 400)
    spec = RequantSpec.from_scales(
        scales, bias, 0, bound=1 << 24, residuals=[ScaledResidual(0.73)], is_exact=is_exact
    )
    acc = generator.integers(-(1 << 24), 1 << 24, (300, 400)) >> generator.integers(0, 16, 400)
    skip = generator.integers(-128, 128, acc.shape)
    found = emulate_requantisation(lower_requantisation(spec), acc, 1, [skip])
    np.testing.assert_array_equal(found, spec.reference(acc, 1, [skip]))
    real = np.clip((acc + bias) * scales + skip * 0.73, 0, 127)
    assert np.abs(found - real).max() <= 1.01
    assert np.abs(found - real).mean() < 0.26


@given(st.one_of(requantisations(WIDE_OUTPUTS, 31, 31), residual_requantisations()))
def test_is_exact_says_whether_lowering_succeeds(spec: RequantSpec) -> None:
    if is_exact(spec):
        assert lower_requantisation(spec)
    else:
        with pytest.raises(Refusal):
            lower_requantisation(spec)
