"""Requantisation: rounding, residuals, and numbers that are refused."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.compiler.errors import QuantisationError
from tandem.compiler.requantisation import RequantSpec, Residual

LEAST, GREATEST = -(1 << 31), (1 << 31) - 1


class TestReference:
    def test_halves_go_up(self) -> None:
        halves = np.array([-7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7])

        assert RequantSpec.pow2(1).reference(halves).tolist() == [
            -3, -3, -2, -2, -1, -1, 0, 0, 1, 1, 2, 2, 3, 3, 4,
        ]  # fmt: skip

    @given(
        shift=st.integers(0, 31),
        bias=st.integers(-(1 << 20), 1 << 20),
        acc=st.lists(st.integers(-(1 << 24), 1 << 24), min_size=1),
    )
    def test_pow2_rounds_exact_fractions(self, shift: int, bias: int, acc: list[int]) -> None:
        spec = RequantSpec.pow2(shift, bias, -1000, 1000, bound=1 << 24)

        rounded = [math.floor(Fraction(x + bias, 1 << shift) + Fraction(1, 2)) for x in acc]
        assert spec.reference(np.array(acc)).tolist() == [min(max(x, -1000), 1000) for x in rounded]

    @pytest.mark.parametrize(
        ("low", "high", "dtype"),
        [
            (-128, 127, np.int8),
            (0, 128, np.int16),
            (-129, 0, np.int16),
            (-32768, 32767, np.int16),
            (0, 32768, np.int32),
            (LEAST, GREATEST, np.int32),
        ],
    )
    def test_type_of_outputs(self, low: int, high: int, dtype: type) -> None:
        result = RequantSpec.pow2(0, 0, low, high).reference(np.array([LEAST, GREATEST], np.int32))

        assert result.dtype == dtype
        assert result.tolist() == [low, high]

    def test_no_product_overflows_64_bits(self) -> None:
        """The sums reach 2^63 but for 2^32, and stay on one side of zero."""
        ends = np.array([LEAST, GREATEST])

        assert RequantSpec(GREATEST, 1 << 62, 23, -128, 127).reference(ends).tolist() == [127] * 2
        assert (
            RequantSpec(GREATEST, -(1 << 62), 23, -128, 127).reference(ends).tolist() == [-128] * 2
        )

    def test_channels_lie_along_the_axis(self) -> None:
        spec = RequantSpec.pow2([0, 1, 2])
        acc = np.full((2, 3, 4), 8, np.int32)

        result = spec.reference(acc, axis=1)
        assert (result == np.array([8, 4, 2])[:, None]).all()
        np.testing.assert_array_equal(spec.reference(acc.transpose(1, 0, 2), 0)[2], result[:, 2])
        np.testing.assert_array_equal(spec.reference(acc, -2), result)
        assert spec.channels == 3
        assert RequantSpec.pow2(3).channels is None

    def test_arrays_that_do_not_suit(self) -> None:
        spec = RequantSpec.pow2([1], bound=100)

        with pytest.raises(QuantisationError, match=r"accumulator 101 is not in -100\.\.100$"):
            spec.reference(np.array([0, 101]), 0)
        with pytest.raises(QuantisationError, match=r"^reference: channels \(1\), but no axis$"):
            spec.reference(np.array([0]))
        with pytest.raises(
            QuantisationError, match=r"axis 0 of shape \[2\] has to have 1 channels"
        ):
            spec.reference(np.array([0, 1]), 0)
        with pytest.raises(QuantisationError, match="accumulators are uint32, not"):
            spec.reference(np.array([0], np.uint32), 0)

    def test_residuals_are_added_before_the_shift(self) -> None:
        spec = RequantSpec((1, 2), 4, 3, -128, 127, 100, (Residual(4, 0, 9), Residual(8)))
        acc, first, second = np.array([[5, -6]]), np.array([[9, 3]]), np.array([[-128, 127]])

        # (5 + 4 + 36 - 1024) / 8 = -122.4; (-12 + 4 + 12 + 1016) / 8 = 127.5.
        assert spec.reference(acc, 1, [first, second]).tolist() == [[-123, 127]]
        with pytest.raises(QuantisationError, match=r"residual 10 is not in 0\.\.9$"):
            spec.reference(acc, 1, [np.array([[10, 0]]), second])
        with pytest.raises(ValueError, match="shorter"):
            spec.reference(acc, 1, [first])

    def test_residuals_leave_room_in_64_bits(self) -> None:
        residual = Residual(GREATEST, -(1 << 15), (1 << 15) - 1)
        most = (1 << 62) - GREATEST * (1 << 15)
        spec = RequantSpec(GREATEST, -most, 31, LEAST, GREATEST, None, (residual,))
        ends = np.array([LEAST]), [np.array([-(1 << 15)])]

        assert spec.reference(ends[0], residuals=ends[1]).tolist() == [LEAST]
        with pytest.raises(QuantisationError, match=r"^addend is -\d+: it has to lie in"):
            RequantSpec(GREATEST, -most - 1, 31, LEAST, GREATEST, None, (residual,))

    def test_nothing_is_something(self) -> None:
        assert RequantSpec.pow2(3).reference(np.zeros((0, 4), np.int32)).shape == (0, 4)


class TestRefusals:
    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"multiplier": -1}, r"^multiplier is -1: it has to lie in 0\.\.2147483647$"),
            ({"multiplier": (1, 1 << 31)}, "^multiplier is 2147483648 of channel 1: it has to"),
            ({"multiplier": 1.0}, "^multiplier is 1.0: it has to be an int$"),
            (
                {"multiplier": (np.int64(3),)},
                "^multiplier is .*3.* of channel 0: it has to be an int$",
            ),
            ({"addend": (1 << 62) + 1}, "^addend is 4611686018427387905: it has to lie in"),
            ({"shift": 32}, r"^shift is 32: it has to lie in 0\.\.31$"),
            ({"shift": -1}, "^shift is -1"),
            ({"low": LEAST - 1}, "^low is -2147483649"),
            ({"high": -129}, r"^high is -129: it has to lie in -128\.\.2147483647$"),
            ({"bound": -1}, r"^bound is -1: it has to lie in 0\.\.2147483648$"),
            ({"addend": ()}, "^channels: addend 0; one count for all, and at least 1$"),
            (
                {"multiplier": (1, 2), "shift": (1, 2, 3)},
                "^channels: multiplier 2, shift 3; one count for all",
            ),
        ],
    )
    def test_ranges(self, change: dict[str, Any], message: str) -> None:
        numbers = {"multiplier": 1, "addend": 0, "shift": 0, "low": -128, "high": 127}
        with pytest.raises(QuantisationError, match=message):
            RequantSpec(**{**numbers, **change})

    @pytest.mark.parametrize(
        ("numbers", "message"),
        [
            ((-1,), r"^residual multiplier is -1: it has to lie in 0\.\."),
            ((1 << 31,), "^residual multiplier is 2147483648"),
            ((1, -(1 << 15) - 1), "^least residual is -32769"),
            ((1, 1, 0), r"^greatest residual is 0: it has to lie in 1\.\.32767$"),
        ],
    )
    def test_residuals(self, numbers: tuple[int, ...], message: str) -> None:
        with pytest.raises(QuantisationError, match=message):
            Residual(*numbers)

    def test_pow2(self) -> None:
        with pytest.raises(QuantisationError, match=r"^shift is -1 of channel 1"):
            RequantSpec.pow2([0, -1])
        with pytest.raises(QuantisationError, match=r"^bias is 2147483648"):
            RequantSpec.pow2(3, 1 << 31)
        with pytest.raises(QuantisationError, match=r"^bias is .*: an integer, or a sequence"):
            RequantSpec.pow2(3, np.float64(0.5))  # type: ignore[arg-type]
        with pytest.raises(QuantisationError, match=r"^channels: shift 2, bias 3;"):
            RequantSpec.pow2([1, 2], np.zeros(3, np.int32))


@pytest.mark.parametrize(
    ("spec", "reduced"),
    [
        (
            RequantSpec((4, 12), (9, -9), 3, 0, 1, 5, (Residual(6, 0, 1),)),
            RequantSpec((2, 6), (4, -5), 2, 0, 1, 5, (Residual(3, 0, 1),)),
        ),
        (RequantSpec(0, 20, (2, 3), 0, 9), RequantSpec(0, 5, (0, 1), 0, 9)),
        (RequantSpec(3, 1, 3, 0, 9), RequantSpec(3, 1, 3, 0, 9)),
    ],
)
def test_reduced(spec: RequantSpec, reduced: RequantSpec) -> None:
    assert spec.reduced() == reduced
    acc = np.arange(-5, 6)[:, None] + np.zeros(2, int)
    residuals = [acc % 2 for _ in spec.residuals]
    small = acc.clip(*spec.limits)
    np.testing.assert_array_equal(
        spec.reference(small, 1, residuals), reduced.reference(small, 1, residuals)
    )
