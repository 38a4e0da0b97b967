"""What a product is made of, of expressions whose axes are known; and what is refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tandem.compiler import te
from tandem.compiler.errors import Refusal
from tandem.compiler.ir.dtypes import INT8, INT32
from tandem.compiler.ir.expr import Expr
from tandem.compiler.machines.accelerator.sketches.product import (
    box,
    product_in,
    product_of,
)
from tandem.compiler.te import Tensor, compute, placeholder, reduce_axis
from tandem.compiler.te.build import program_of
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.tune.sketches.computation import Computation
from tests.support.compiler.machines.accelerator.sketches.small_products import (
    TINY,
    matrices,
    product,
    windows,
)


def sums_of(
    shape: tuple[int, ...],
    image: Tensor,
    weight: Tensor,
    terms: dict[str, int],
    at: Callable[..., Expr],
    name: str = "sums",
) -> Tensor:
    """A sum over named axes, of what `at` makes of the axes of the result and of these."""
    axes = [reduce_axis(extent, axis) for axis, extent in terms.items()]
    return compute(shape, lambda *own: te.sum(at(*own, *axes), axis=tuple(axes)), name)


def times(one: Expr, other: Expr) -> Expr:
    return te.cast(one, INT32) * te.cast(other, INT32)


IMAGE = placeholder((6, 5, 1, 4), INT8, "image")
WEIGHT = placeholder((3, 5, 4, 4), INT8, "weight")


def plain(name: str = "sums") -> Tensor:
    """Six rows and three blocks of sums over five blocks."""
    return sums_of(
        (6, 3, 1, 4),
        IMAGE,
        WEIGHT,
        {"c": 5, "t": 4},
        lambda m, o, b, e, c, t: times(IMAGE[m, c, b, t], WEIGHT[o, c, e, t]),
        name,
    )


def result(sums: Tensor) -> Tensor:
    return compute(sums.shape, lambda *axes: te.cast(sums[axes], INT8), "y")


# Parts ----------------------------------------------------------------------------------------


def test_a_convolution() -> None:
    found = product(windows(skip=True))
    assert (found.sums.stage, found.sums.image, found.sums.weight) == ("sums", "image", "weight")
    assert [one.stage for one in found.passes] == ["biased", "shifted", "wide", "summed"]
    assert (found.result, found.axes) == ("y", {"o": 4, "y": 3, "x": 5})
    assert (found.single, found.accumulator) == ((), ("b", "e"))
    assert (found.of_image, found.of_weight) == (("y", "x"), ("o",))
    assert (found.steps, found.taps) == ("c", ("k", "l"))
    assert found.extents == {"o": 4, "y": 3, "x": 5, "b": 1, "e": 4, "c": 3, "k": 2, "l": 3, "t": 4}
    assert (found.inner, found.block.name) == (("o", "y", "x"), "sums")
    assert (found.weight_axis, found.padded) == ("o", False)


def test_padding_is_a_stage() -> None:
    found = product(windows(padded=True))
    assert (found.sums.image, found.padded) == ("padded", True)
    assert found.buffer("padded").shape == (3, 4, 7, 1, 4)
    assert found.buffer("image").shape == (3, 4, 5, 1, 4)
    assert found.loads("padded").buffer.name == "padded"


def test_axes_of_one_iteration() -> None:
    """Those with more have tiles, and the last one if none has more."""
    found = product(matrices(blocks=1, stacks=1))
    assert (found.axes, found.single, found.inner) == ({"m": 6}, ("s", "o"), ("s", "m", "o"))
    # The first of the axes that weights alone are read along.
    assert found.weight_axis == "o"
    one = product(matrices(rows=1, blocks=1, stacks=1))
    assert (one.axes, one.single, one.weight_axis) == ({"o": 1}, ("s", "m"), "o")


def test_weights_are_read_along_an_axis_with_tiles_if_possible() -> None:
    weight = placeholder((1, 3, 5, 4, 4), INT8, "weight")
    sums = sums_of(
        (1, 6, 3, 1, 4),
        IMAGE,
        weight,
        {"c": 5, "t": 4},
        lambda p, m, o, b, e, c, t: times(IMAGE[m, c, b, t], weight[p, o, c, e, t]),
    )
    found = product(result(sums))
    assert (found.of_weight, found.single, found.weight_axis) == (("i0", "i2"), ("i0",), "i2")


def test_no_axis_of_weights_alone() -> None:
    weight = placeholder((6, 5, 4, 4), INT8, "weight")
    sums = sums_of(
        (6, 1, 4),
        IMAGE,
        weight,
        {"c": 5, "t": 4},
        lambda m, b, e, c, t: times(IMAGE[m, c, b, t], weight[m, c, e, t]),
    )
    found = product(result(sums))
    assert (found.axes, found.weight_axis) == ({"i0": 6}, None)
    assert (found.of_image, found.of_weight) == (("i0",), ("i0",))


@pytest.mark.parametrize(
    ("sizes", "steps"), [((4, 2, 9), "c"), ((2, 4, 9), "d"), ((3, 3, 1), "c"), ((1, 2, 5), "d")]
)
def test_steps_are_of_the_longest_axis_by_itself(sizes: tuple[int, int, int], steps: str) -> None:
    """That of windows is no index by itself, however long."""
    c, d, k = sizes
    image = placeholder((c, d, 6 + k, 1, 4), INT8, "image")
    weight = placeholder((3, c, d, k, 4, 4), INT8, "weight")
    sums = sums_of(
        (6, 3, 1, 4),
        image,
        weight,
        {"c": c, "d": d, "k": k, "t": 4},
        lambda m, o, b, e, c, d, k, t: times(image[c, d, m + k, b, t], weight[o, c, d, k, e, t]),
    )
    found = product(result(sums))
    assert found.steps == steps
    assert found.taps == tuple(axis for axis in "cdk" if axis != steps)


def test_steps_of_windows_alone() -> None:
    image = placeholder((9, 7, 1, 4), INT8, "image")
    weight = placeholder((3, 4, 2, 4, 4), INT8, "weight")
    sums = sums_of(
        (6, 6, 3, 1, 4),
        image,
        weight,
        {"k": 4, "l": 2, "t": 4},
        lambda y, x, o, b, e, k, last, t: times(
            image[y + k, x + last, b, t], weight[o, k, last, e, t]
        ),
    )
    windowed = product(result(sums))
    assert (windowed.steps, windowed.taps) == ("k", ("l",))


def test_products_of_computations_are_kept() -> None:
    computation = Computation.of(program_of([result(plain())]))
    found = product_of(computation, TINY)
    assert product_of(computation, TINY) is found
    assert (found.sums.stage, found.result, found.steps) == ("s0", "s1", "r0")


# Boxes ----------------------------------------------------------------------------------------


def test_boxes_of_operands() -> None:
    found = product(windows(stride=1))
    (c, y, x) = box(found, "image")
    assert (c, sorted(y[0]), y[1]) == (((("c", 1),), 3), [("k", 1), ("y", 1)], 4)
    assert (sorted(x[0]), x[1]) == ([("l", 1), ("x", 1)], 7)
    assert [terms for terms, _ in box(found, "weight")] == [((axis, 1),) for axis in "ockl"]
    assert sorted(box(product(windows(stride=2)), "image")[1][0]) == [("k", 1), ("y", 2)]


def test_indices_that_fall() -> None:
    """A box is as large forwards as backwards."""
    sums = sums_of(
        (6, 3, 1, 4),
        IMAGE,
        WEIGHT,
        {"c": 5, "t": 4},
        lambda m, o, b, e, c, t: times(IMAGE[5 - m, c, b, t], WEIGHT[o, c, e, t]),
    )
    assert box(product(result(sums)), "image")[0] == ((("i0", 1),), 6)


def test_refuses_boxes_of_other_indices() -> None:
    sums = sums_of(
        (12, 3, 1, 4),
        IMAGE,
        WEIGHT,
        {"c": 5, "t": 4},
        lambda m, o, b, e, c, t: times(IMAGE[m // 2, c, b, t], WEIGHT[o, c, e, t]),
    )
    with pytest.raises(Refusal, match=r"^image is read at more than sums of axes$"):
        box(product(result(sums)), "image")


# Refusals -------------------------------------------------------------------------------------


def refused(output: Tensor, match: str) -> None:
    with pytest.raises(Refusal, match=match):
        product_in(Schedule.of(output), TINY)


def test_refuses_other_numbers_of_sums() -> None:
    one = compute((4, 1, 4), lambda m, b, e: te.cast(IMAGE[m, 0, b, e], INT8), "y")
    refused(one, r"^the array computes one sum of products: there are 0 sums$")
    first, second = plain(), plain("others")
    both = compute(first.shape, lambda *axes: te.cast(first[axes] + second[axes], INT8), "y")
    refused(both, r"^the array computes one sum of products: there are 2 sums$")


def test_refuses_sums_that_no_instruction_computes() -> None:
    """Of four terms, on an array that takes four of other operands than bytes of blocks."""
    image = placeholder((6, 5, 1, 4), INT32, "image")
    sums = sums_of(
        (6, 3, 1, 4),
        image,
        WEIGHT,
        {"c": 5, "t": 4},
        lambda m, o, b, e, c, t: image[m, c, b, t] * te.cast(WEIGHT[o, c, e, t], INT32),
    )
    refused(result(sums), r"^no instruction of tiny computes the sums of sums$")


def images_of_stages(steps: int, *, twice: bool = False) -> Tensor:
    """Sums over an image that is computed from another one, in so many stages."""
    image = IMAGE
    for step in range(steps):
        before = image
        image = compute(
            before.shape,
            lambda *axes, before=before: te.maximum(before[axes], te.const(0, INT8)),
            f"part{step}",
        )
    sums = sums_of(
        (6, 3, 1, 4),
        image,
        WEIGHT,
        {"c": 5, "t": 4},
        lambda m, o, b, e, c, t: times(image[m, c, b, t], WEIGHT[o, c, e, t]),
    )
    if not twice:
        return result(sums)
    return compute(
        sums.shape,
        lambda m, o, b, e: te.cast(sums[m, o, b, e] + te.cast(image[m, 0, b, e], INT32), INT8),
        "y",
    )


def test_images_are_stages_of_inputs_that_sums_alone_read() -> None:
    assert product(images_of_stages(1)).sums.image == "part0"
    refused(images_of_stages(2), r"^no instruction of tiny computes the sums of sums$")
    refused(images_of_stages(1, twice=True), r"^no instruction of tiny computes the sums of sums$")


def test_refuses_stages_of_other_axes() -> None:
    sums = plain()
    moved = compute((3, 6, 1, 4), lambda o, m, b, e: sums[m, o, b, e] + 1, "moved")
    refused(result(moved), r"^moved is not computed element by element from the sums$")
    turned = compute((3, 6, 1, 4), lambda o, m, b, e: te.cast(sums[m, o, b, e], INT8), "y")
    refused(turned, r"^y is not computed element by element from the sums$")


def test_refuses_stages_that_no_instruction_computes() -> None:
    sums = plain()
    squared = compute(sums.shape, lambda *axes: sums[axes] * 3 + sums[axes], "squared")
    refused(result(squared), r"^no instruction of tiny computes squared$")


def test_refuses_sums_without_axes_or_terms() -> None:
    image, weight = placeholder((5, 1, 4), INT8, "image"), placeholder((5, 4, 4), INT8, "weight")
    alone = sums_of(
        (1, 4),
        image,
        weight,
        {"c": 5, "t": 4},
        lambda b, e, c, t: times(image[c, b, t], weight[c, e, t]),
    )
    refused(result(alone), r"^sums has no axes but those of an accumulator$")
    rows, block = placeholder((6, 1, 4), INT8, "image"), placeholder((4, 4), INT8, "weight")
    single = sums_of(
        (6, 1, 4),
        rows,
        block,
        {"t": 4},
        lambda m, b, e, t: times(rows[m, b, t], block[e, t]),
    )
    refused(result(single), r"^sums has no terms but those of an instruction$")
