"""Inner loops are found in assembly, and their products counted."""

from __future__ import annotations

import pytest

from tandem.scripts.bench.loops.assembly import Loop, hot_loop
from tandem.scripts.errors import CommandError

ARM = """
layer:                                  // @layer
\t.cfi_startproc
.LBB0_1:                                // %outer
\tldr\tq0, [x0], #16
.LBB0_2:                                // Parent Loop
\tfmla\tv1.4s, v2.4s, v0.s[0]
\tsdot\tv3.4s, v4.16b, v0.4b[1]
\tmadd\tx3, x4, x5, x6
\tsubs\tx1, x1, #1
\tb.ne\t.LBB0_2
\tcbnz\tx2, .LBB0_1
.LBB0_3:
\tfadd\tv1.4s, v2.4s, v3.4s
\tb\t.LBB0_3
\tret
"""
RISCV = """
layer:
.L3:
\tflw\tfa5,0(a5)
\tfmadd.s\tfa4,fa5,fa3,fa4
\tbne\ta5,a4,.L3
\tret
"""


def test_the_innermost_loop_that_multiplies_most() -> None:
    loop = hot_loop(ARM)
    assert loop.instructions[0] == "fmla v1.4s, v2.4s, v0.s[0]"
    assert loop.instructions[-1] == "b.ne .LBB0_2"
    assert loop.products == 4 + 16
    assert hot_loop(RISCV).text == ("\tflw fa5,0(a5)\n\tfmadd.s fa4,fa5,fa3,fa4\n\tbne a5,a4,.L3\n")


@pytest.mark.parametrize(
    ("instruction", "products"),
    [
        ("fmla v1.2d, v2.2d, v0.2d", 2),
        ("smull2 v1.8h, v2.16b, v0.16b", 8),
        ("smlal v1.4s, v2.4h, v0.4h", 4),
        ("sadalp v1.4s, v2.8h", 0),
        ("usdot v1.2s, v2.8b, v3.8b", 8),
        ("smaddl x1, w2, w3, x4", 1),
        ("fmadd s0, s1, s2, s3", 1),
        ("mulw a0, a1, a2", 1),
        ("fadd.s fa0, fa1, fa2", 0),
    ],
)
def test_products(instruction: str, products: int) -> None:
    assert Loop((instruction,)).products == products


def test_nothing_multiplies() -> None:
    with pytest.raises(CommandError, match="no inner loop multiplies"):
        hot_loop("f:\n.L1:\n\taddi a0,a0,-1\n\tbnez a0,.L1\n\tmul a0,a0,a1\n")
