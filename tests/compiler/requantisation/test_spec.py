"""Requantisation: passes worked out by hand, rounding, and what is refused."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.errors import QuantisationError
from compiler.requantisation import AluStep, RequantSpec
from hw.operations import AluOp
from tests.support.alu_emulator import emulate

MIN, MAX, ADD, SHR, MUL = AluOp.MIN, AluOp.MAX, AluOp.ADD, AluOp.SHR, AluOp.MUL
LEAST, GREATEST = -(1 << 31), (1 << 31) - 1
LOGITS = {"low": LEAST, "high": GREATEST}

Passes = list[tuple[AluOp, int | tuple[int, ...]]]


class TestPasses:
    """Each list was worked out on paper."""

    @pytest.mark.parametrize(
        ("spec", "passes"),
        [
            # Half of 2^8 and the bias in one addend.
            (
                RequantSpec.pow2(8, 5, bound=1 << 24),
                [(ADD, 133), (SHR, 8), (MAX, -128), (MIN, 127)],
            ),
            (
                RequantSpec.pow2(8, [5, -200], bound=1 << 24),
                [(ADD, (133, -72)), (SHR, 8), (MAX, -128), (MIN, 127)],
            ),
            # A sum of 40000 is no immediate, but the same for all.
            (
                RequantSpec.pow2(1, [39999, 39999], bound=1 << 24),
                [(ADD, (40000,)), (SHR, 1), (MAX, -128), (MIN, 127)],
            ),
            # ReLU, with accumulators that reach 127 at most: (32600 + 8) / 256 is under 128.
            (RequantSpec.pow2(8, -120, 0, 127, bound=32600), [(ADD, 8), (SHR, 8), (MAX, 0)]),
            # 16256 / 256 and the bias's half unit: 64 either way, nothing to clip.
            (RequantSpec.pow2(8, 0, bound=16384), [(ADD, 128), (SHR, 8)]),
            (RequantSpec.pow2(8, -128, bound=16384), [(SHR, 8)]),
            (RequantSpec.pow2(0, 0), [(MAX, -128), (MIN, 127)]),
            (RequantSpec.pow2(0, 0, bound=100), []),
            # The ends of 32 bits: with the addend first, 2^31 - 1 would wrap.
            # x + 133 >= -128 * 256 from -32901 on; x + 133 < 128 * 256 up to 32634.
            (RequantSpec.pow2(8, 5), [(MAX, (-32901,)), (MIN, 32634), (ADD, 133), (SHR, 8)]),
            # Shifts that differ are an operand.
            (
                RequantSpec.pow2([4, 2], [0, 1], bound=1 << 20),
                [(ADD, (8, 3)), (SHR, (4, 2)), (MAX, -128), (MIN, 127)],
            ),
            # 3 x + 8 >= -128 * 16 from x = -2056/3 = -685.3 on; < 128 * 16 up to 2039/3 = 679.7.
            (
                RequantSpec(3, 8, 4, -128, 127),
                [(MAX, -685), (MIN, 679), (MUL, 3), (ADD, 8), (SHR, 4)],
            ),
            # In 3 x + 8, accumulators of 24 bits fit: clipped last, with constants that stay put.
            (
                RequantSpec((3, 5), 8, 4, -128, 127, 1 << 24),
                [(MUL, (3, 5)), (ADD, 8), (SHR, 4), (MAX, -128), (MIN, 127)],
            ),
            # 12/16 is 3/4, and 13/16 so much is lost below: (12 x + 13) >> 4 = (3 x + 3) >> 2.
            (
                RequantSpec(12, 13, 4, -128, 127, 1000),
                [(MUL, 3), (ADD, 3), (SHR, 2), (MAX, -128), (MIN, 127)],
            ),
            # 1/2 and 1/4 of the same shift need no multiplication, only shifts that differ.
            (
                RequantSpec((2, 1), 2, 2, -128, 127, 1000),
                [(ADD, (1, 2)), (SHR, (1, 2)), (MAX, -128), (MIN, 127)],
            ),
            # x * 100 skips outputs: -1 and 2 come to -100 and 200, which are clipped after all.
            (
                RequantSpec(100, 0, 0, -7, 127),
                [(MAX, -1), (MIN, 2), (MUL, 100), (MAX, -7), (MIN, 127)],
            ),
            # Clipped last it would be as many passes, but 100000 is no immediate and 1000 is.
            (
                RequantSpec(100, 0, 0, -100000, 100000, 1 << 20),
                [(MAX, -1000), (MIN, 1000), (MUL, 100)],
            ),
            # 10^10 + x is over 127 for every x: a constant. So is a multiplier of 0.
            (RequantSpec(1, 10**10, 0, 0, 127), [(MAX, 0), (MIN, 0), (ADD, 127)]),
            (RequantSpec(0, 56, 3, -128, 127), [(MUL, 0), (ADD, 7)]),
            # Logits: no more than what was asked for.
            (RequantSpec.pow2(0, 0, **LOGITS), []),
            (RequantSpec.pow2(0, 9, bound=1 << 30, **LOGITS), [(ADD, 9)]),
        ],
    )  # fmt: skip
    def test_by_hand(self, spec: RequantSpec, passes: Passes) -> None:
        assert spec.steps() == tuple(AluStep(op, operand) for op, operand in passes)

    def test_channels_out_of_reach(self) -> None:
        """One ends in 127 wherever it starts, one in -128, and one is ordinary."""
        spec = RequantSpec((1, 3, 1), (1 << 40, -(1 << 40), 0), 0, -128, 127)
        acc = np.array([[LEAST] * 3, [0] * 3, [GREATEST] * 3])

        expected = [[127, -128, -128], [127, -128, 0], [127, -128, 127]]
        assert spec.reference(acc, 1).tolist() == expected
        assert emulate(spec.steps(), acc, 1).tolist() == expected


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

    def test_sums_over_32_bits(self) -> None:
        """8 bits and 24 are 32; with one more on either side, or for a skipped output, 33."""
        assert RequantSpec(1 << 24 - 1, 0, 24, -128, 127).steps()
        assert RequantSpec(5, 0, 24, -128, 127).steps()
        with pytest.raises(
            QuantisationError,
            match=r"^acc \* M \+ C exceeds 32 bits: M up to 5, s up to 25, outputs -128\.\.127, "
            r"accumulators -2147483648\.\.2147483647; take a smaller shift, range or bound$",
        ):
            RequantSpec(5, 0, 25, -128, 127)
        assert RequantSpec(5, 0, 25, -128, 127, bound=1 << 28).steps()
        with pytest.raises(QuantisationError, match="s up to 4, outputs -2147483648"):
            RequantSpec.pow2(4, 0, **LOGITS)
        assert RequantSpec.pow2(4, 0, bound=GREATEST - 8, **LOGITS).steps()
        with pytest.raises(QuantisationError, match="exceeds 32 bits"):
            RequantSpec.pow2(4, 0, bound=GREATEST - 7, **LOGITS)

    def test_pow2(self) -> None:
        with pytest.raises(QuantisationError, match=r"^shift is -1 of channel 1"):
            RequantSpec.pow2([0, -1])
        with pytest.raises(QuantisationError, match=r"^bias is 2147483648"):
            RequantSpec.pow2(3, 1 << 31)
        with pytest.raises(QuantisationError, match=r"^bias is .*: an integer, or a sequence"):
            RequantSpec.pow2(3, np.float64(0.5))  # type: ignore[arg-type]
        with pytest.raises(QuantisationError, match=r"^channels: shift 2, bias 3;"):
            RequantSpec.pow2([1, 2], np.zeros(3, np.int32))
