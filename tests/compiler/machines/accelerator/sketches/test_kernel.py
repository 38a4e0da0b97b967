"""Kernels of expressions: tensors as they were written, in memory and out of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tandem.compiler.errors import CapacityError
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.machines.accelerator.sketches.blocks import BlockedExpression, in_blocks
from tandem.compiler.machines.accelerator.sketches.kernel import ArrayKernel
from tandem.compiler.machines.accelerator.sketches.template import PRODUCT_SKETCHES
from tandem.runtime.launch import run_program
from tests.compiler.machines.accelerator.sketches.test_blocks import einsum
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine


def kernel(config: str, **sizes: Any) -> tuple[BlockedExpression, ArrayKernel]:
    """The sums of `einsum` over six inputs, in tiles of these sizes; of one by default."""
    target = AcceleratorTarget.of(machine(config))
    blocked = in_blocks(einsum(), target)
    space = PRODUCT_SKETCHES.space(blocked.computation, target)
    first = dict(space.choices({"threads": (1,), "stays": ("steps",)}).choice(0))
    schedule = PRODUCT_SKETCHES.schedule(blocked.computation, {**first, **sizes}, target)
    return blocked, ArrayKernel.of(blocked, schedule, target)


def values() -> dict[str, Any]:
    draw = np.random.default_rng(1).integers
    return {"w": draw(-128, 128, (6, 10), np.int8), "x": draw(-128, 128, (3, 2, 6), np.int8)}


@pytest.mark.parametrize("config", ["tiny", "batch2"])
def test_a_run(config: str) -> None:
    """Inputs by their own names, in any order."""
    _, found = kernel(config)
    given = values()
    memory, _ = run_program(found.stream.program, found.image(given))
    sums = given["x"].astype(np.int64) @ given["w"].astype(np.int64)
    np.testing.assert_array_equal(found.result(memory), (sums >> 2).astype(np.int8))


def test_memory_has_the_inputs_in_blocks() -> None:
    blocked, found = kernel("tiny")
    image, given = found.image(values()), values()
    assert [tensor.name for tensor in blocked.inputs] == ["x", "w"]
    for name, at in (("x", "a0"), ("w", "a1")):
        held = found.stream.read(image, at)
        np.testing.assert_array_equal(held, blocked.packed(name, given[name]))
    assert found.output == found.stream.elaborated[0][0].program.outputs[0].name == "s2"
    assert found.expression is blocked
    assert not found.result(image).any()


def test_refuses_an_input_that_is_not_given() -> None:
    _, found = kernel("tiny")
    with pytest.raises(KeyError, match="w"):
        found.image({"x": values()["x"]})


def test_refuses_what_does_not_fit() -> None:
    """Weights of 3 x 2 blocks and of 2 threads, in a memory of two blocks."""
    small = AcceleratorTarget.of(machine("tiny").replace(log_wgt_buffer=5))
    blocked = in_blocks(einsum(), small)
    space = PRODUCT_SKETCHES.space(blocked.computation, small)
    choices = space.choices({"threads": (2,)})
    fits = PRODUCT_SKETCHES.fits(blocked.computation, choices, small)
    choice = choices.choice(int(np.flatnonzero(~fits)[-1]))
    schedule = PRODUCT_SKETCHES.schedule(blocked.computation, choice, small)
    with pytest.raises(CapacityError, match=r"^WGT of tiny has 2 elements"):
        ArrayKernel.of(blocked, schedule, small)
