"""Real multipliers: how near M / 2^s comes, and that this is all that is lost."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.compiler.errors import QuantisationError
from tandem.compiler.machines.accelerator.templates.alu_lowering import (
    is_exact,
    lower_requantisation,
)
from tandem.compiler.requantisation import RequantSpec, ScaledResidual, ShortFactors
from tandem.compiler.requantisation.scales import relative_error
from tests.support.compiler.machines.accelerator.templates.alu_emulator import (
    emulate_requantisation,
)

SCALES = st.floats(2**-16, 64.0)
ACC = st.lists(st.integers(-(1 << 23), (1 << 23) - 1), min_size=1, max_size=30)


def as_tuple(number: int | tuple[int, ...]) -> tuple[int, ...]:
    return number if isinstance(number, tuple) else (number,)


def emulated(spec: RequantSpec, acc: list[int]) -> list[int]:
    """The outputs of the accelerator."""
    return emulate_requantisation(lower_requantisation(spec), np.array(acc)).tolist()


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
    short = RequantSpec.from_scales(0.3, 10, bound=1000, short=ShortFactors(16))
    assert (short.multiplier, short.shift) == (39322, 17)


@pytest.mark.parametrize("small", [2.0**-20, 3e-7])
def test_short_multipliers_beside_a_small_one(small: float) -> None:
    """The small channel needs the shift; 0.9 * 2^23 = 7549747.2 is rounded to 16 bits and seven
    zeros, which the channel's own shift cancels: 58982 / 2^16, as 0.9 * 2^16 = 58982.4."""
    how: dict[str, Any] = {"bound": 1 << 27, "is_exact": is_exact}
    long, short = (
        RequantSpec.from_scales([0.9, small], short=ShortFactors(bits), **how)
        for bits in (None, 16)
    )
    assert (long.multiplier, long.shift) == ((7549747, round(small * 2**23)), 23)
    assert (short.multiplier, short.shift) == ((58982 << 7, round(small * 2**23)), 23)
    assert short.per_channel[0].reduced().multiplier == 58982 >> 1


def test_a_multiplier_stays_long_where_no_error_is_allowed() -> None:
    """2^-23 has no digits but the last one of 23; 0.5 + 2^-23 has 23."""
    scales = [0.5 + 2.0**-23, 2.0**-23]
    for tolerance, wanted in ((0, (1 << 22) + 1), (1 / 128, 1 << 22)):
        spec = RequantSpec.from_scales(
            scales, bound=1 << 27, tolerance=tolerance, short=ShortFactors(16)
        )
        assert (spec.multiplier, spec.shift) == ((wanted, 1), 23)


def test_a_bias_that_is_large_beside_the_multiplier() -> None:
    """3e-7 * 2^23 = 2.5 becomes 3, with which a bias of 10^7 would be 3.6; it is 3."""
    spec = RequantSpec.from_scales([0.9, 3e-7], [10, 10**7], bound=1 << 27)
    half = 1 << 22
    assert spec.multiplier == (7549747, 3)
    assert spec.addend == (10 * 7549747 + half, (3 << 23) + half)
    assert spec.reference(np.array([[0, 0], [-10, 2796203]]), 1).tolist() == [[9, 3], [0, 4]]


@pytest.mark.parametrize(("bias", "factor"), [(2_200_000, 200), (4_000_000, Fraction(2003, 10))])
def test_a_bias_keeps_the_rounded_scale_while_it_is_off_by_an_eighth_at_most(
    bias: int, factor: int | Fraction
) -> None:
    """200.3 becomes 200, 0.15 % less: that are 0.08 of 52.5 outputs, and 0.14 of 95.5. It is the
    bias that is judged, and not the outputs up to 127 that products add to it."""
    spec = RequantSpec.from_scales(Fraction(2003, 10 << 23), bias, bound=1 << 20)
    assert (spec.multiplier, spec.shift) == (200, 23)
    assert spec.addend == bias * factor + (1 << 22)


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
    # Accumulators of 2^31 would give 2.15, but a layer of such a scale has none beyond 2^22.
    assert RequantSpec.from_scales(1e-9).multiplier == 0
    # A bias is multiplied by the exact scale.
    spec = RequantSpec.from_scales(1e-9, (1 << 31) - 1, bound=1)
    assert (spec.multiplier, spec.addend) == (0, round(2.147483647 * 2**23) + (1 << 22))
    # A residual of 30 leaves 19 bits, with which 2^22 times what 3e-6 is off are outputs.
    with pytest.raises(
        QuantisationError,
        match=r"^scale 3e-06 of channel 0, as 2 / 2\^19, with 30 of a residual, as 15728640 / "
        r"2\^19, moves outputs by up to 3\.42; 1 is allowed$",
    ):
        RequantSpec.from_scales(3e-6, residuals=[ScaledResidual(30.0)], is_exact=is_exact)
    assert relative_errors(RequantSpec.from_scales([0.0, 0.5]), [0.0, 0.5]) == [0, 0]


def test_huge_scales_take_a_smaller_shift() -> None:
    """256 * 2^23 is no int32; and with this bias and zero point, the addend is over 2^62."""
    spec = RequantSpec.from_scales(256.0, bound=3)
    assert (spec.multiplier, spec.shift) == (256 << 22, 22)
    assert emulated(spec, [-1, 0, 1]) == [-128, 0, 127]

    far = RequantSpec.from_scales(
        256 - 2**-23, (1 << 31) - 1, 0, 127, zero_point=(1 << 31) - 1, bound=5
    )
    assert far.shift == 22
    assert emulated(far, [-5, 5]) == [127, 127]


@given(
    scale=st.floats(256, 2.0**31),
    bias=st.integers(-(1 << 31), (1 << 31) - 1),
    zero_point=st.integers(-128, 127),
    added=st.sampled_from([None, 0.5, 3.0]),
    x=st.integers(-3, 3),
    skip=st.integers(-128, 127),
)
def test_a_scale_that_clips_every_accumulator_but_one(
    scale: float, bias: int, zero_point: int, added: float | None, x: int, skip: int
) -> None:
    """It is as good as any larger one, and leaves the other channels their shift."""
    residuals = [] if added is None else [ScaledResidual(added)]
    how: dict[str, Any] = {"zero_point": zero_point, "bound": 1 << 31, "residuals": residuals}
    spec = RequantSpec.from_scales([1e-4, scale], [0, bias], is_exact=is_exact, **how)
    alone = RequantSpec.from_scales(1e-4, is_exact=is_exact, **how)
    assert spec.largest_shift >= min(alone.largest_shift, 20)
    for acc in (x, min(max(-bias + x, -(2**31)), 2**31 - 1)):
        skips = [np.array([[skip]])] if residuals else []
        real = (acc + bias) * Fraction(scale) + Fraction(added or 0) * skip + zero_point
        wanted = min(max(math.floor(real + Fraction(1, 2)), -128), 127)
        found = spec.reference(np.array([[0, acc]]), 1, residuals=skips)
        assert found[0, 1] == wanted


def near(spec: RequantSpec, scale: float, bias: int) -> Fraction:
    """How far the addend of the second channel is off that of the exact scale, in outputs."""
    shift = as_tuple(spec.shift)[0]
    constant = as_tuple(spec.addend)[0]  # The first channel has no bias.
    return Fraction(as_tuple(spec.addend)[1] - constant, 1 << shift) - bias * Fraction(scale)


@given(
    scale=st.floats(1e-12, 2.0**-18),
    steps=st.floats(-300, 300),
    zero_point=st.integers(-128, 127),
    bits=st.sampled_from([None, 16]),
    residual=st.sampled_from([None, 0.5, 1.0, 3.0]),
    acc=st.lists(st.integers(-(1 << 20), 1 << 20), min_size=1, max_size=8),
    skip=st.integers(-128, 127),
)
def test_a_channel_that_is_nearly_all_bias(
    scale: float,
    steps: float,
    zero_point: int,
    bits: int | None,
    residual: float | None,
    acc: list[int],
    skip: int,
) -> None:
    """Beside half a unit of rounding, outputs are off by an eighth for the bias, by half of 2^-s
    for each unit of the accumulator, and by what the residual's scale is off."""
    bias = int(min(max(steps / scale, -(2**31)), 2**31 - 1))
    residuals = [] if residual is None else [ScaledResidual(residual)]
    how: dict[str, Any] = {"zero_point": zero_point, "bound": 1 << 20, "residuals": residuals}
    spec = RequantSpec.from_scales(
        [0.001, scale, 0.01], [0, bias, 7], is_exact=is_exact, short=ShortFactors(bits), **how
    )
    shift = as_tuple(spec.shift)[0]
    in_range = abs(bias * scale) <= 255 + 128 * (residual or 0)
    assert abs(near(spec, scale, bias)) <= Fraction(1, 8) or not in_range
    data = np.array([[7, x, -3] for x in acc])
    skips = [np.array([[skip]])] if residuals else []
    outputs = spec.reference(data, 1, residuals=skips)[:, 1].tolist()
    for x, output in zip(acc, outputs, strict=True):
        real = (x + bias) * Fraction(scale) + Fraction(residual or 0) * skip + zero_point
        wanted = min(max(real, Fraction(-128)), Fraction(127))
        off = Fraction(1, 8) + Fraction(abs(x) + 128 * len(residuals), 2 << shift)
        assert abs(output - wanted) <= Fraction(1, 2) + off


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
            1e-6,
            {"residuals": [ScaledResidual(64.0)]},
            r"^scale 1e-06 of channel 0, as 0 / 2\^18, with 64 of a residual, as 16777216 / 2\^18, "
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


@pytest.mark.parametrize(
    ("shift", "residual", "addend"),
    [(23, 15, 15), (22, 15, 15), (21, 8, 15), (20, 8, 15), (19, 8, 12)],
)
def test_zeros_of_a_packed_operand(shift: int, residual: int, addend: int) -> None:
    """All that it needs, or what others ask: of a residual's multiplier seven bits are left, of an
    addend five."""
    short = ShortFactors(15, 8, 15, 15)
    assert (short.zeros(shift), short.addend_zeros(shift)) == (residual, addend)
    assert ShortFactors(16, 8, 0, 0).joined(short) == short


def test_a_residual_in_a_packed_operand_is_near() -> None:
    """Its multiplier is off by a 256th of an output at most: by half an output at the ends."""
    how: dict[str, Any] = {
        "residuals": [ScaledResidual(0.83)],
        "bound": 1 << 20,
        "tolerance": Fraction(1, 100),
    }
    spec = RequantSpec.from_scales(
        [0.001, 0.0003], [50, -3], short=ShortFactors(15, 8, 15, 15), **how
    )
    (residual,) = spec.residuals
    shift = spec.largest_shift
    assert residual.multiplier % (1 << 15) == 0
    assert all(channel.addend % (1 << 15) == 0 for channel in spec.per_channel)
    assert abs(Fraction(residual.multiplier, 1 << shift) - Fraction(0.83)) <= Fraction(1, 256)
