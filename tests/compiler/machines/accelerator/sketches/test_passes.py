"""Element-wise expressions become stages of one operation each."""

from __future__ import annotations

import pytest

from tandem.compiler import te
from tandem.compiler.errors import Refusal
from tandem.compiler.ir.dtypes import INT8, INT32
from tandem.compiler.ir.expr import Load
from tandem.compiler.ir.visit import subexpressions
from tandem.compiler.machines.accelerator.sketches.passes import in_passes
from tandem.compiler.te import Tensor, compute, placeholder, reduce_axis
from tandem.compiler.te.build import stages


def sums() -> Tensor:
    """A product of matrices."""
    x, w = placeholder((4, 8), INT8, "x"), placeholder((8, 8), INT8, "w")
    c = reduce_axis(8, "c")
    return compute(
        (4, 8),
        lambda i, o: te.sum(te.cast(x[i, c], INT32) * te.cast(w[c, o], INT32), axis=c),
        "sums",
    )


def names(output: Tensor) -> list[str]:
    """The stages of a result, without the inputs."""
    return [each.name for each in stages([in_passes(output)]) if each.source is not None]


def test_a_chain() -> None:
    total, bias = sums(), placeholder((8,), INT32, "bias")
    skip = placeholder((4, 8), INT8, "skip")
    clipped = compute(
        (4, 8),
        lambda i, o: te.minimum(bias[o] + total[i, o] + te.cast(skip[i, o], INT32), 100),
        "clipped",
    )
    y = compute((4, 8), lambda i, o: te.cast(clipped[i, o], INT8), "y")
    assert names(y) == ["sums", "clipped_0", "clipped_1", "clipped_2", "clipped", "y"]


def test_what_is_no_operation_is_no_stage() -> None:
    total = sums()
    same = compute((4, 8), lambda i, o: total[i, o], "same")
    y = compute((4, 8), lambda i, o: te.cast(same[i, o], INT8), "y")
    assert names(y) == ["sums", "y"]


def test_refuses_wide_results() -> None:
    total = sums()
    y = compute((4, 8), lambda i, o: total[i, o] + 1, "y")
    with pytest.raises(Refusal, match="y has to be a cast to int8"):
        in_passes(y)


def test_sums_are_first_operands() -> None:
    """An operation writes to the place of its first operand, which the others keep."""
    total, bias = sums(), placeholder((8,), INT32, "bias")
    y = compute((4, 8), lambda i, o: te.cast(bias[o] + total[i, o], INT8), "y")
    added = stages([in_passes(y)])[-2]
    assert added.source is not None
    left = next(part for part in subexpressions(added.source.value) if isinstance(part, Load))
    assert left.buffer.name == "sums"
