"""Real multipliers: how near M / 2^s comes, and that this is all that is lost."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.errors import QuantisationError
from compiler.requantisation import RequantSpec, ScaledResidual
from compiler.requantisation.scales import relative_error
from compiler.templates.accelerator.alu_lowering import is_exact, lower_requantisation
from tests.support.alu_emulator import emulate_requantisation

SCALES = st.floats(2**-16, 64.0)
ACC = st.lists(st.integers(-(1 << 23), (1 << 23) - 1), min_size=1, max_size=30)


def as_tuple(number: int | tuple[int, ...]) -> tuple[int, ...]:
    return number if isinstance(number, tuple) else (number,)


def emulated(spec: RequantSpec, acc: list[int]) -> list[int]:
    """The outputs of the accelerator."""
    found: list[int] = emulate_requantisation(lower_requantisation(spec), np.array(acc)).tolist()
    return found


def relative_errors(spec: RequantSpec, scales: list[float]) -> list[Fraction]:
    """Of each channel's scale."""
    return [
        relative_error(Fraction(scale), m, shift)
        for scale, m, shift in zip(
            scales, as_tuple(spec.multiplier), as_tuple(spec.shift) * len(scales), strict=False
        )
    ]


@given(scales=st.lists(SCALES, min_size=1, max_size=5))
def test_the_relative_error_is_as_documented(scales: list[float]) -> None:
    spec = RequantSpec.from_scales(scales)

    errors = relative_errors(spec, scales)

    for scale, m, error in zip(scales, as_tuple(spec.multiplier), errors, strict=True):
        assert error == abs(Fraction(m, 1 << 23) / Fraction(scale) - 1)
        assert error <= Fraction(1, 2 * m - 1)
        assert error <= Fraction(1, 1 << (m.bit_length() - 1))


@given(
    scale=SCALES,
    bias=st.integers(-(1 << 20), 1 << 20),
    zero_point=st.integers(-128, 127),
    acc=ACC,
)
def test_only_the_multiplier_is_inexact(
    scale: float, bias: int, zero_point: int, acc: list[int]
) -> None:
    """Halves towards plus infinity, by exact fractions; and the passes agree."""
    spec = RequantSpec.from_scales(scale, bias, zero_point=zero_point)
    multiplier = Fraction(as_tuple(spec.multiplier)[0], 1 << as_tuple(spec.shift)[0])

    rounded = [math.floor((x + bias) * multiplier + Fraction(1, 2)) + zero_point for x in acc]

    expected = [min(max(each, -128), 127) for each in rounded]
    assert spec.reference(np.array(acc)).tolist() == expected
    assert emulated(spec, acc) == expected


@given(
    scale=st.floats(0, 4.0),
    bound=st.integers(0, 1 << 24),
    tolerance=st.sampled_from([0.001, 1 / 128, 0.1]),
    data=st.data(),
)
def test_no_output_is_off_by_more_than_the_tolerance(
    scale: float, bound: int, tolerance: float, data: st.DataObject
) -> None:
    # M is off by half of 2^-23 at most.
    if scale * 2**24 * tolerance < 1 and bound > 128 * tolerance * 2**24:
        scale += 2**-24 / tolerance
    spec = RequantSpec.from_scales(scale, bound=bound, tolerance=tolerance)
    acc = data.draw(st.lists(st.integers(-bound, bound), min_size=1))
    for x, output in zip(acc, spec.reference(np.array(acc)).tolist(), strict=True):
        wanted = min(max(Fraction(scale) * x, Fraction(-128)), Fraction(127))
        assert abs(output - wanted) <= Fraction(1, 2) + 128 * Fraction(tolerance)


def test_by_hand() -> None:
    # 0.3 * 2^23 = 2516582.4; times a bias of 10, and half of 2^23.
    assert RequantSpec.from_scales(0.3, 10) == RequantSpec(
        2516582, 25165820 + (1 << 22), 23, -128, 127
    )
    # A zero point is as many units of 2^23.
    assert RequantSpec.from_scales([0.3, 0.0], 0, 0, 255, zero_point=3) == RequantSpec(
        (2516582, 0), (7 << 22, 7 << 22), 23, 0, 255
    )
    # One scale, a bias for each channel. 16 bits of output leave 16 for the shift:
    # 0.4 * 2^16 = 26214.4.
    wide = RequantSpec.from_scales(
        Fraction(2, 5), np.array([1, 2]), -32768, 32767, is_exact=is_exact
    )
    assert wide == RequantSpec(
        (26214, 26214), (26214 + (1 << 15), 52428 + (1 << 15)), 16, -32768, 32767
    )
    # A power of two is no multiplication, and fits with any shift.
    lowered = lower_requantisation(RequantSpec.from_scales(0.25, 3, bound=1 << 20))
    assert [operation.op.name for operation in lowered.accumulator] == ["ADD"]
    assert [operation.op.name for operation in lowered.output] == ["SHR", "MAX", "MIN"]


def test_short_multipliers() -> None:
    """M is as short as the tolerance allows: 0.3 * 2^17 = 39321.6 has 16 bits."""
    short = RequantSpec.from_scales(0.3, 10, bound=1000, multiplier_bits=16)
    assert (short.multiplier, short.shift) == (39322, 17)
    # The small channel needs the long multiplier of the other one.
    scales = [0.9, 2.0**-20]
    bound = 1 << 27
    long = RequantSpec.from_scales(scales, bound=bound)
    assert long.shift == 23
    assert RequantSpec.from_scales(scales, bound=bound, multiplier_bits=16).shift == 20
    with pytest.raises(QuantisationError, match="moves outputs by up to"):
        RequantSpec.from_scales([0.9, 1e-9], bound=1 << 31, multiplier_bits=16)


def test_logits_take_the_shift_that_fits() -> None:
    """2^20 * 0.01 are 14 bits, so that 17 are left."""
    logits: dict[str, Any] = {"low": -(1 << 31), "high": (1 << 31) - 1}
    spec = RequantSpec.from_scales(0.01, bound=1 << 20, is_exact=is_exact, **logits)

    assert (spec.multiplier, spec.shift) == (1311, 17)
    lowered = lower_requantisation(spec)
    assert [operation.op.name for operation in lowered.accumulator] == ["MUL", "ADD"]
    assert [operation.op.name for operation in lowered.output] == ["SHR"]
    # No machine's limits: the largest shift.
    assert RequantSpec.from_scales(0.01, bound=1 << 20, **logits).shift == 23


def test_scales_as_large_as_32_bits_allow() -> None:
    # 127 * 2^s for the range, and 255 * 2^s twice for what is added: with s = 22 it is 2.7e9.
    residuals = [ScaledResidual(1.0)]
    spec = RequantSpec.from_scales(1 / 301, 0, 0, residuals=residuals, is_exact=is_exact)
    assert (spec.shift, spec.residuals[0].multiplier, spec.multiplier) == (22, 1 << 22, 13935)
    assert RequantSpec.from_scales(1 / 301, 0, 0, residuals=residuals).shift == 23


def test_zero_points() -> None:
    residuals = [ScaledResidual(0.25, 7)]
    spec = RequantSpec.from_scales(0.5, 10, zero_point=-3, bound=1000, residuals=residuals)
    acc, skip = np.array([[0, 4, -30]]), np.array([[7, 11, 8]])
    # 5 - 3; 7 + 1 - 3; -10 + 0.25 - 3, rounded.
    assert spec.reference(acc, residuals=[skip]).tolist() == [[2, 5, -13]]


def test_tiny_scales() -> None:
    """No error where accumulators are too small for it to show; a refusal where they are not."""
    assert RequantSpec.from_scales(1e-9, bound=1 << 20).multiplier == 0
    assert relative_errors(RequantSpec.from_scales(1e-9, bound=1 << 20), [1e-9]) == [1]
    with pytest.raises(
        QuantisationError,
        match=r"^scale 1e-09 of channel 0, as 0 / 2\^23, moves outputs by up to 2\.15; 1 is allow",
    ):
        RequantSpec.from_scales(1e-9)
    # A bias is multiplied like an accumulator.
    with pytest.raises(QuantisationError, match=r"moves outputs by up to 2\.15"):
        RequantSpec.from_scales(1e-9, (1 << 31) - 1, bound=1)
    assert relative_errors(RequantSpec.from_scales([0.0, 0.5]), [0.0, 0.5]) == [0, 0]


def test_huge_scales_take_a_smaller_shift() -> None:
    """300 * 2^23 is no int32; and with this bias and zero point, the addend is over 2^62."""
    spec = RequantSpec.from_scales(300.0, bound=3)
    assert (spec.multiplier, spec.shift) == (300 << 22, 22)
    assert emulated(spec, [-1, 0, 1]) == [-128, 0, 127]

    far = RequantSpec.from_scales(
        256 - 2**-23, (1 << 31) - 1, 0, 127, zero_point=(1 << 31) - 1, bound=5
    )
    assert far.shift == 22
    assert emulated(far, [-5, 5]) == [127, 127]


@pytest.mark.parametrize(
    ("scales", "how", "message"),
    [
        (-0.5, {}, r"^scale is -0\.5: it has to lie in 0\.\.2\^31$"),
        ([0.5, math.nan], {}, "^scale is nan of channel 1"),
        (math.inf, {}, "^scale is inf"),
        (np.zeros((2, 2)), {}, r"^scales of shape \(2, 2\): one number, or one dimension$"),
        ([], {}, "^channels: scales 0; one count for all, and at least 1$"),
        ([0.5, 0.5], {"bias": [1, 2, 3]}, "^channels: scales 2, bias 3;"),
        (0.5, {"bias": 1 << 31}, "^bias is 2147483648"),
        (0.5, {"zero_point": 1 << 31}, "^zero_point is 2147483648"),
        (0.5, {"tolerance": math.nan}, r"^tolerance is nan: it has to lie in 0\.\.1$"),
        (0.5, {"low": 3, "high": 2}, "^high is 2: it has to lie in 3"),
        (
            0.01,
            {"low": -(1 << 31), "high": (1 << 31) - 1, "bias": 5},
            r"^scale 0\.01 of channel 0, as \d+ / 2\^\d+, moves outputs by up to",
        ),
        (
            3.0,
            {"low": -(1 << 31), "high": (1 << 31) - 1},
            r"^scales up to 3, biases 0\.\.0: with no shift is -2147483648\.\.2147483647 exact",
        ),
        (
            1.0,
            {"residuals": [ScaledResidual(2.0**30)]},
            r"^scales up to 1, 1\.07374e\+09 of a residual, biases 0\.\.0: with no shift is -128",
        ),
        (
            1e-7,
            {"residuals": [ScaledResidual(1.0)]},
            r"^scale 1e-07 of channel 0, as 0 / 2\^22, with 1 of a residual, as 4194304 / 2\^22, "
            "moves outputs by up to ",
        ),
        (1.0, {"residuals": [ScaledResidual(-1.0)]}, "^scale is -1.0 of a residual"),
        (1.0, {"residuals": [ScaledResidual(1.0, 1 << 15)]}, "^residual zero_point is 32768"),
        (0.5, {"residuals": [ScaledResidual(0.5)], "tolerance": -0.1}, r"it has to lie in 0\.\.1$"),
        (0.5, {"residuals": [ScaledResidual(0.5)], "tolerance": 1.5}, r"it has to lie in 0\.\.1$"),
        (0.5, {"residuals": [ScaledResidual(0.5)], "tolerance": math.nan}, "^tolerance is nan"),
    ],
)
def test_refusals(scales: Any, how: dict[str, Any], message: str) -> None:
    with pytest.raises(QuantisationError, match=message):
        RequantSpec.from_scales(scales, **{"is_exact": is_exact, **how})
