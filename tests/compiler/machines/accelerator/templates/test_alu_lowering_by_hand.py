"""Lowered requantisations: operations worked out by hand, and what the machine refuses."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.errors import Refusal
from tandem.compiler.machines.accelerator.templates.alu_lowering import (
    AluOperation,
    AluRequantisation,
    is_exact,
    lower_requantisation,
)
from tandem.compiler.requantisation import RequantSpec, Residual, ScaledResidual
from tandem.hw.operations import AluOp
from tests.support.compiler.machines.accelerator.templates.alu_emulator import (
    emulate_requantisation,
)

MIN, MAX, ADD, SHR, MUL = AluOp.MIN, AluOp.MAX, AluOp.ADD, AluOp.SHR, AluOp.MUL
LEAST, GREATEST = -(1 << 31), (1 << 31) - 1
LOGITS = {"low": LEAST, "high": GREATEST}

Pair = tuple[AluOp, int | tuple[int, ...]]


def operations(*pairs: Pair) -> tuple[AluOperation, ...]:
    """As values."""
    return tuple(AluOperation(*pair) for pair in pairs)


@pytest.mark.parametrize(
    ("spec", "pairs"),
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
def test_by_hand(spec: RequantSpec, pairs: list[Pair]) -> None:
    lowered = lower_requantisation(spec)
    assert (*lowered.accumulator, *lowered.output) == operations(*pairs)
    assert all(each.op in (MAX, MIN, MUL, ADD) for each in lowered.accumulator)
    assert lowered.residuals == ()


@pytest.mark.parametrize(
    ("spec", "accumulator", "residual", "output"),
    [
        # 1000 + 8 + 127 * 16 is far from 32 bits: nothing has to be clipped before.
        (
            RequantSpec(1, 8, 4, -128, 127, 1000, (Residual(16),)),
            operations((ADD, 8)),
            operations((MUL, 16)),
            operations((SHR, 4), (MAX, -128), (MIN, 127)),
        ),
        # All even: (x + 4 + 8 k) >> 3. Up to 8 and 127 never reach 127 again.
        (
            RequantSpec(2, 8, 4, 0, 200, 50, (Residual(16, -128, 100),)),
            operations((ADD, 4)),
            operations((MUL, 8)),
            operations((SHR, 3), (MAX, 0)),
        ),
        # 3 p + 8 + 16 * 127 <= -127 * 16 - 1 up to p = -4073/3 = -1357.6;
        # 3 q + 8 - 16 * 128 >= 127 * 16 from q = 4072/3 = 1357.3.
        (
            RequantSpec(3, 8, 4, -128, 127, None, (Residual(16),)),
            operations((MAX, -1358), (MIN, 1358), (MUL, 3), (ADD, 8)),
            operations((MUL, 16)),
            operations((SHR, 4), (MAX, -128), (MIN, 127)),
        ),
        # The addend alone is beyond the end: a constant, of which 7 * 4 more is -127 * 4 - 1.
        (
            RequantSpec((1, 1), (0, -(1 << 50)), 2, -128, 127, 9, (Residual(4, 0, 7),)),
            operations((MAX, (-9, 0)), (MIN, (9, 0)), (ADD, (0, -537))),
            operations((MUL, 4)),
            operations((SHR, 2), (MAX, -128)),
        ),
    ],
)
def test_residuals_by_hand(
    spec: RequantSpec,
    accumulator: tuple[AluOperation, ...],
    residual: tuple[AluOperation, ...],
    output: tuple[AluOperation, ...],
) -> None:
    assert lower_requantisation(spec) == AluRequantisation(accumulator, (residual,), output)


def test_channels_out_of_reach() -> None:
    """One ends in 127 wherever it starts, one in -128, and one is ordinary."""
    spec = RequantSpec((1, 3, 1), (1 << 40, -(1 << 40), 0), 0, -128, 127)
    acc = np.array([[LEAST] * 3, [0] * 3, [GREATEST] * 3])

    expected = [[127, -128, -128], [127, -128, 0], [127, -128, 127]]
    assert spec.reference(acc, 1).tolist() == expected
    assert emulate_requantisation(lower_requantisation(spec), acc, 1).tolist() == expected


def test_powers_of_two_lose_their_factors() -> None:
    """1/4 and 2 are 1 and 8 of 4."""
    residuals = [ScaledResidual(2.0)]
    spec = RequantSpec.from_scales(0.25, 3, bound=1 << 20, residuals=residuals, is_exact=is_exact)
    lowered = lower_requantisation(spec)
    assert lowered.accumulator == operations((ADD, 5))
    assert lowered.residuals == (operations((MUL, 8)),)


def test_two_residuals() -> None:
    """(x + 2 k + 4 l + 4) >> 3: of each its own multiplication."""
    spec = RequantSpec(2, 8, 4, -128, 127, 100, (Residual(4, 0, 9), Residual(8)))
    assert lower_requantisation(spec) == AluRequantisation(
        operations((ADD, 4)),
        (operations((MUL, 2)), operations((MUL, 4))),
        operations((SHR, 3)),
    )


class TestRefusals:
    """8 bits and 24 are 32; with one more on either side, or for a skipped output, 33."""

    @pytest.mark.parametrize(
        "spec",
        [
            RequantSpec(1 << 24 - 1, 0, 24, -128, 127),
            RequantSpec(5, 0, 24, -128, 127),
            RequantSpec(5, 0, 25, -128, 127, bound=1 << 28),
            RequantSpec.pow2(4, 0, bound=GREATEST - 8, **LOGITS),
        ],
    )
    def test_sums_of_32_bits(self, spec: RequantSpec) -> None:
        assert lower_requantisation(spec)

    @pytest.mark.parametrize(
        ("spec", "message"),
        [
            (
                RequantSpec(5, 0, 25, -128, 127),
                r"^not exact in 32 bits: acc \* M \+ C, M up to 5, s up to 25, outputs "
                r"-128\.\.127, accumulators -2147483648\.\.2147483647: a smaller shift, range or "
                r"bound would help$",
            ),
            (RequantSpec.pow2(4, 0, **LOGITS), "s up to 4, outputs -2147483648"),
            (RequantSpec.pow2(4, 0, bound=GREATEST - 7, **LOGITS), "^not exact in 32 bits"),
            (
                RequantSpec(1, 0, 25, -128, 127, None, (Residual(1 << 25),)),
                r"acc \* M \+ C \+ residual \* N, M up to 1, N 33554432, s up to 25",
            ),
        ],
    )
    def test_sums_over_32_bits(self, spec: RequantSpec, message: str) -> None:
        assert not is_exact(spec)
        with pytest.raises(Refusal, match=message):
            lower_requantisation(spec)
