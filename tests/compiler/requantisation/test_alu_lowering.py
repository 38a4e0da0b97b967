"""Whatever the numbers, the passes give what the integers without bounds give."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from compiler.errors import QuantisationError
from compiler.requantisation import RequantSpec
from compiler.requantisation.alu_lowering import Goal, Line, exact_steps, has_exact_steps
from hw.operations import AluOp
from tests.support.alu_emulator import emulate

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
    """Of one to three channels or a tensor; may be refused."""
    count = draw(st.integers(0, 3))

    def each(values: st.SearchStrategy[int]) -> int | tuple[int, ...]:
        if count == 0 or draw(st.booleans()):
            return draw(values)
        return tuple(draw(st.lists(values, min_size=count, max_size=count)))

    low, high = draw(outputs)
    multiplier = each(of_any_size(bits, signed=False))
    addend = each(of_any_size(40, signed=True))
    shift = each(st.integers(0, largest_shift))
    return RequantSpec(multiplier, addend, shift, low, high, draw(BOUNDS))


def tell_tale(spec: RequantSpec, extra: list[int]) -> npt.NDArray[np.int64]:
    """Accumulators, one column a channel: around the ends, zero, and the ends of preimages."""
    least, greatest = spec.limits
    columns = []
    channels = spec.channels or 1
    for channel in range(channels):
        m, c, s = (
            each[channel] if isinstance(each, tuple) else each
            for each in (spec.multiplier, spec.addend, spec.shift)
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
        each if isinstance(each, tuple) else (each,) * channels
        for each in (spec.multiplier, spec.addend, spec.shift)
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
    assert emulate(spec.steps(), acc, axis).tolist() == expected


SOME = st.lists(of_any_size(31, signed=True), min_size=1, max_size=20)


@given(spec=requantisations(OUTPUTS, 23, 30), extra=SOME)
def test_every_8_bit_requantisation_is_exact(spec: RequantSpec, extra: list[int]) -> None:
    """None is refused: 2^30 of output and 2^30 of a multiplier fit."""
    check(spec, extra)


@given(data=st.data(), extra=SOME)
def test_wider_outputs_are_exact_or_refused(data: st.DataObject, extra: list[int]) -> None:
    try:
        spec = data.draw(requantisations(WIDE_OUTPUTS, 31, 31))
    except QuantisationError:
        assume(False)
    check(spec, extra)


def test_400_channels_with_accumulators_of_24_bits() -> None:
    rng = np.random.default_rng(400)
    scales = 10 ** rng.uniform(-4.5, -0.5, 400)
    bias = rng.integers(-(1 << 23), 1 << 23, 400)
    spec = RequantSpec.from_scales(scales, bias)
    random = rng.integers(-(1 << 23), 1 << 23, (2000, 400))
    acc = np.concatenate([random, tell_tale(spec, []), random >> rng.integers(0, 23, (2000, 400))])

    assert [step.op for step in spec.steps()] == [
        AluOp.MAX,
        AluOp.MIN,
        AluOp.MUL,
        AluOp.ADD,
        AluOp.SHR,
    ]
    np.testing.assert_array_equal(emulate(spec.steps(), acc, 1), spec.reference(acc, 1))
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
        np.testing.assert_array_equal(emulate(spec.steps(), acc), expected)


@given(
    st.lists(
        st.builds(
            Line, of_any_size(31, signed=False), of_any_size(40, signed=True), st.integers(0, 31)
        ),
        min_size=1,
        max_size=3,
    ),
    WIDE_OUTPUTS,
    st.integers(0, (1 << 31) - 1),
)
def test_whether_there_are_passes_is_told_without_them(
    lines: list[Line], outputs: list[int], bound: int
) -> None:
    goal = Goal(outputs[0], outputs[1], -bound, bound)
    assert has_exact_steps(lines, goal) == (exact_steps(lines, goal) is not None)
