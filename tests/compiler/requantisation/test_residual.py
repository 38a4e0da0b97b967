"""Residual sums: passes worked out by hand, exact whatever the numbers, and refusals."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from compiler.errors import QuantisationError
from compiler.requantisation import AluStep
from compiler.requantisation.residual import ResidualSpec
from compiler.requantisation.residual_lowering import ResidualSteps
from hw.operations import AluOp
from tests.support.alu_emulator import emulate_residual, residual_reference

MIN, MAX, ADD, SHR, MUL = AluOp.MIN, AluOp.MAX, AluOp.ADD, AluOp.SHR, AluOp.MUL


def passes(*pairs: tuple[AluOp, int | tuple[int, ...]]) -> tuple[AluStep, ...]:
    """As values."""
    return tuple(AluStep(*each) for each in pairs)


@pytest.mark.parametrize(
    ("spec", "acc", "skip", "total"),
    [
        # 1000 + 8 + 127 * 16 is far from 32 bits: nothing has to be clipped before.
        (
            ResidualSpec(1, 8, 16, 4, -128, 127, 1000),
            passes((ADD, 8)),
            passes((MUL, 16)),
            passes((SHR, 4), (MAX, -128), (MIN, 127)),
        ),
        # All even: (x + 4 + 8 k) >> 3. Up to 8 and 127 never reach 127 again.
        (
            ResidualSpec(2, 8, 16, 4, 0, 200, 50, (-128, 100)),
            passes((ADD, 4)),
            passes((MUL, 8)),
            passes((SHR, 3), (MAX, 0)),
        ),
        # 3 p + 8 + 16 * 127 <= -127 * 16 - 1 up to p = -4073/3 = -1357.6;
        # 3 q + 8 - 16 * 128 >= 127 * 16 from q = 4072/3 = 1357.3.
        (
            ResidualSpec(3, 8, 16, 4, -128, 127),
            passes((MAX, -1358), (MIN, 1358), (MUL, 3), (ADD, 8)),
            passes((MUL, 16)),
            passes((SHR, 4), (MAX, -128), (MIN, 127)),
        ),
        # The addend alone is beyond the end: a constant, of which 7 * 4 more is -127 * 4 - 1.
        (
            ResidualSpec((1, 1), (0, -(1 << 50)), 4, 2, -128, 127, 9, (0, 7)),
            passes((MAX, (-9, 0)), (MIN, (9, 0)), (ADD, (0, -537))),
            passes((MUL, 4)),
            passes((SHR, 2), (MAX, -128)),
        ),
    ],
)
def test_passes(
    spec: ResidualSpec,
    acc: tuple[AluStep, ...],
    skip: tuple[AluStep, ...],
    total: tuple[AluStep, ...],
) -> None:
    """Each was worked out on paper."""
    assert spec.steps() == ResidualSteps(acc, skip, total)


def of_any_size(bits: int, signed: bool) -> st.SearchStrategy[int]:
    """Integers of up to so many bits, small ones as often as large ones."""
    some = st.integers(0, bits).flatmap(lambda n: st.integers(0, (1 << n) - 1))
    return st.builds(lambda n, minus: -n if minus and signed else n, some, st.booleans())


@st.composite
def residuals(draw: st.DrawFn) -> ResidualSpec | None:
    """Of one to three channels; None where it is refused."""
    count = draw(st.integers(1, 3))
    low, high = sorted(draw(st.tuples(*[st.integers(-128, 127)] * 2)))
    limits = sorted(draw(st.tuples(*[st.integers(-128, 127)] * 2)))
    try:
        return ResidualSpec(
            tuple(draw(of_any_size(24, signed=False)) for _ in range(count)),
            tuple(draw(of_any_size(45, signed=True)) for _ in range(count)),
            draw(of_any_size(23, signed=False)),
            draw(st.integers(0, 23)),
            low,
            high,
            draw(st.none() | st.integers(0, 31).map(lambda bits: 1 << bits)),
            (limits[0], limits[1]),
        )
    except QuantisationError:
        return None


def near_the_ends(spec: ResidualSpec) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Accumulators and what is added, one column a channel: where outputs change, at all ends."""
    bound = (1 << 31) if spec.bound is None else spec.bound
    least, greatest = -bound, min(bound, (1 << 31) - 1)
    skips = sorted({*spec.skip_limits, 0}) if spec.skip_limits[0] <= 0 else [*spec.skip_limits]
    skips = [each for each in skips if spec.skip_limits[0] <= each <= spec.skip_limits[1]]
    assert isinstance(spec.multiplier, tuple)
    assert isinstance(spec.addend, tuple)
    columns: list[list[tuple[int, int]]] = []
    for m, c in zip(spec.multiplier, spec.addend, strict=True):
        near = {least, least + 1, -1, 0, 1, greatest - 1, greatest}
        for output in (spec.low, spec.low + 1, spec.high, spec.high + 1):
            for added in skips:
                total = (output << spec.shift) - c - added * spec.skip_multiplier
                edge = math.ceil(Fraction(total, m)) if m else 0
                near |= {edge + step for step in (-2, -1, 0, 1, 2)}
        columns.append([(min(max(x, least), greatest), k) for x in sorted(near) for k in skips])
    longest = max(map(len, columns))
    full = np.array([column + [column[0]] * (longest - len(column)) for column in columns])
    return full[:, :, 0].T, full[:, :, 1].T


@given(residuals())
@settings(max_examples=200)
def test_exact_whatever_the_numbers(spec: ResidualSpec | None) -> None:
    assume(spec is not None)
    assert spec is not None
    acc, skip = near_the_ends(spec)
    m, c = np.array(spec.multiplier, object), np.array(spec.addend, object)
    total = acc.astype(object) * m + c + skip.astype(object) * spec.skip_multiplier
    wanted = np.clip(total // (1 << spec.shift), spec.low, spec.high)
    assert residual_reference(spec, acc, skip, 1).tolist() == wanted.tolist()
    assert emulate_residual(spec.steps(), acc, skip, 1).tolist() == wanted.tolist()


def test_many_channels_of_24_bits() -> None:
    generator = np.random.default_rng(0)
    scales = generator.uniform(1e-4, 1e-1, 400)
    bias = generator.integers(-(1 << 20), 1 << 20, 400)
    spec = ResidualSpec.from_scales(scales, 0.73, bias, 0, 127, bound=1 << 24)
    acc = generator.integers(-(1 << 24), 1 << 24, (300, 400)) >> generator.integers(0, 16, 400)
    skip = generator.integers(-128, 128, acc.shape)
    found = emulate_residual(spec.steps(), acc, skip, 1)
    np.testing.assert_array_equal(found, residual_reference(spec, acc, skip, 1))
    real = np.clip((acc + bias) * scales + skip * 0.73, 0, 127)
    assert np.abs(found - real).max() <= 1.01
    assert np.abs(found - real).mean() < 0.26


def test_scales_as_large_as_32_bits_allow() -> None:
    # 127 * 2^s for the range, and 255 * 2^s twice for what is added: with s = 22 it is 2.7e9.
    spec = ResidualSpec.from_scales(1 / 301, 1.0, 0, 0, 127)
    assert (spec.shift, spec.skip_multiplier, spec.multiplier) == (22, 1 << 22, 13935)
    # Powers of two lose their factors: 1/4 and 2 are 1 and 8 of 4.
    steps = ResidualSpec.from_scales(0.25, 2.0, 3, bound=1 << 20).steps()
    assert steps.acc == passes((ADD, 5))
    assert steps.skip == passes((MUL, 8))


def test_zero_points() -> None:
    spec = ResidualSpec.from_scales(0.5, 0.25, 10, zero_point=-3, skip_zero_point=7, bound=1000)
    acc, skip = np.array([[0, 4, -30]]), np.array([[7, 11, 8]])
    # 5 - 3; 7 + 1 - 3; -10 + 0.25 - 3, rounded.
    assert residual_reference(spec, acc, skip).tolist() == [[2, 5, -13]]


class TestRefusals:
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ((-1, 0, 1, 0, 0, 1), r"multiplier is -1: it has to lie in 0\.\."),
            ((1, 0, -1, 0, 0, 1), "skip_multiplier is -1"),
            ((1, 0, 1, 32, 0, 1), r"shift is 32: it has to lie in 0\.\.31"),
            ((1, 0, 1, 0, 1, 0), r"high is 0: it has to lie in 1\.\."),
            ((1, 0, 1, 0, 0, 1, -1), "bound is -1"),
            ((1, 0, 1, 0, 0, 1, 9, (1, 0)), "greatest skipped value is 0"),
            (((1, 2), (1, 2, 3), 1, 0, 0, 1), "channels: multiplier 2, addend 3"),
            ((1, 0, 1 << 25, 25, -128, 127), r"acc \* M \+ C \+ skip \* N exceeds 32 bits"),
        ],
    )
    def test_values(self, arguments: tuple[int, ...], message: str) -> None:
        with pytest.raises(QuantisationError, match=message):
            ResidualSpec(*arguments)  # type: ignore[arg-type]

    def test_scales(self) -> None:
        with pytest.raises(QuantisationError, match="with no shift is their sum exact"):
            ResidualSpec.from_scales(1.0, 2.0**30)
        with pytest.raises(QuantisationError, match=r"scale 1e-07 of channel 0 .* move outputs"):
            ResidualSpec.from_scales(1e-7, 1.0)
        with pytest.raises(QuantisationError, match="scale is -1"):
            ResidualSpec.from_scales(1.0, -1.0)
        for tolerance in (-0.1, 1.5, float("nan")):
            with pytest.raises(QuantisationError, match=r"it has to lie in 0\.\.1"):
                ResidualSpec.from_scales(0.5, 0.5, tolerance=tolerance)
