"""Instructions are found by what they compute; a user's own, too."""

from __future__ import annotations

from tandem.compiler import te
from tandem.compiler.ir.dtypes import INT8, INT32
from tandem.compiler.machines.accelerator.intrinsics.base import (
    AluStep,
    TensorInstruction,
    element_program,
)
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.machines.accelerator.sketches.product import ArrayProduct, product_in
from tandem.compiler.te import Schedule, Tensor, compute, placeholder, reduce_axis
from tandem.hw.operations import AluOp
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine

TINY = AcceleratorTarget.of(machine("tiny"))


def saturated() -> Tensor:
    """A convolution of windows of one row, with strides, in blocks of 4, whose sums saturate."""
    image, weight = (
        placeholder((3, 9, 8, 1, 4), INT8, "image"),
        placeholder((2, 3, 2, 4, 4), INT8, "weight"),
    )
    c, k, t = reduce_axis(3, "c"), reduce_axis(2, "k"), reduce_axis(4, "t")
    sums = compute(
        (2, 4, 7, 1, 4),
        lambda o, y, x, b, e: te.sum(
            te.cast(image[c, y * 2, x + k, b, t], INT32) * te.cast(weight[o, c, k, e, t], INT32),
            axis=(c, k, t),
        ),
        "sums",
    )
    kept = compute(
        sums.shape,
        lambda o, y, x, b, e: te.minimum(te.maximum(sums[o, y, x, b, e], -128), 127),
        "kept",
    )
    return compute(sums.shape, lambda o, y, x, b, e: te.cast(kept[o, y, x, b, e], INT8), "y")


def found(target: AcceleratorTarget) -> ArrayProduct:
    """The product of `saturated` on a machine."""
    return product_in(Schedule.of(saturated()), target)


def own() -> TensorInstruction:
    """An instruction that saturates."""
    return TensorInstruction(
        element_program(
            TINY.config, "saturate", lambda x: te.minimum(te.maximum(x, -128), 127), "A"
        ),
        start="A",
        steps=(AluStep(AluOp.MAX, "C", -128), AluStep(AluOp.MIN, "C", 127)),
    )


def test_an_instruction_of_ones_own() -> None:
    (one,) = found(TINY.with_instructions(own())).passes
    assert one.intrinsic is not None
    assert one.intrinsic.name == "saturate"


def test_roles_of_axes() -> None:
    """What is loaded along which axes; rows between strides are left out."""
    product = found(TINY.with_instructions(own()))
    assert product.sums.intrinsic.name == "gemm"
    assert product.axes == {"o": 2, "y": 4, "x": 7}
    assert (product.of_image, product.of_weight) == (("y", "x"), ("o",))
    assert (product.steps, product.taps, product.weight_axis) == ("c", ("k",), "o")
    assert product.sums.image == "image_rows"
    assert product.buffer("image_rows").shape == (3, 4, 8, 1, 4)
