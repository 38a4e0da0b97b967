"""Computations of layers, and their programs under the layers' names."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.errors import ReplayError
from tandem.compiler.ir import interpreter
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.machines.accelerator.sketches.blocks import in_blocks
from tandem.compiler.machines.accelerator.sketches.layers import LayerSketch
from tandem.compiler.machines.accelerator.sketches.template import PRODUCT_SKETCHES
from tandem.compiler.plan.schedule_template import Arguments
from tandem.compiler.te import Schedule
from tests.compiler.machines.accelerator.sketches.test_blocks import einsum
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine

TARGET = AcceleratorTarget.of(machine("tiny"))


def sketch() -> LayerSketch:
    return LayerSketch.of(Schedule.of(in_blocks(einsum(), TARGET).output).program)


def test_names() -> None:
    found = sketch()
    assert found.numbers == {"x": "a0", "w": "a1"}
    given = Arguments({"w": np.zeros(3, np.int8), "x": np.zeros(2, np.int8)}, {"x": 5})
    renamed = found.arguments(given)
    assert {name: value.size for name, value in renamed.tensors.items()} == {"a1": 3, "a0": 2}
    assert renamed.immediates == {"a0": 5}


def test_programs_have_the_names_of_the_layer() -> None:
    found = sketch()
    space = PRODUCT_SKETCHES.space(found.computation, TARGET)
    start = found.start().program
    program = found.program(space.choices().choice(0), TARGET)
    for one in (start, program):
        assert [each.name for each in one.inputs] == ["x", "w"]
        assert [each.name for each in one.outputs] == ["out"]
    draw = np.random.default_rng(0).integers
    values = [draw(-128, 128, each.shape, np.int8) for each in start.inputs]
    (wanted,) = interpreter.run(Schedule.of(in_blocks(einsum(), TARGET).output).program, values)
    (result,) = interpreter.run(start, values)
    np.testing.assert_array_equal(result, wanted)


def test_refuses_another_choice() -> None:
    with pytest.raises(ReplayError, match="no choice for i0"):
        sketch().program({"threads": 2}, TARGET)
