"""Sketches on the accelerator: tasks of layers and of one's own expressions."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from tandem.compiler.errors import Refusal
from tandem.compiler.machines.accelerator.sketches.blocks import in_blocks
from tandem.compiler.machines.accelerator.sketches.layers import LayerSketch
from tandem.compiler.machines.accelerator.sketches.search import sketch_target
from tandem.compiler.machines.accelerator.sketches.template import PRODUCT_SKETCHES
from tandem.compiler.machines.accelerator.target import accelerator
from tandem.compiler.machines.accelerator.templates.conv2d import Conv2dOnArray
from tandem.compiler.machines.accelerator.timed_streams import timed_streams
from tandem.compiler.plan.schedule_template import Arguments
from tandem.compiler.tune.sketches.template import DEFAULT
from tandem.compiler.tune.tasks import Task, tasks_of
from tandem.workbench.measurers.sketches_on_cycle import (
    LayerTask,
    expression_task,
    sketch_tasks,
)
from tests.compiler.machines.accelerator.sketches.test_blocks import einsum
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine
from tests.support.compiler.quantise.networks import network
from tests.support.compiler.te.schedules import relu_of_sum

TARGET = accelerator(machine("tiny-x"))


@cache
def layer() -> Task:
    """The task of a network's convolution, by its template."""
    function = network(
        """
func @main(x: int8[1, 8, 5, 5], w: int8[6, 8, 3, 3], m: int32[6], c: int64[6]):
  s = conv2d(x, w, padding=[1, 1, 1, 1], out_dtype=int32)
  y = requantise(s, m, c, shift=9, low=-128, high=127)
  return y
""",
        w=np.random.default_rng(0).integers(-128, 128, (6, 8, 3, 3)),
        m=np.arange(3, 9),
        c=np.full(6, 256),
    )
    (stream,) = timed_streams(function, TARGET)
    (found,) = tasks_of(TARGET, stream.calls)
    return replace(found, joined=("s",))


def test_the_task_of_a_layer() -> None:
    own = layer()
    (found,) = sketch_tasks([own])
    assert isinstance(found, LayerTask)
    assert (found.layers, found.joined, found.own) == (own.layers, ("s",), own)
    assert (found.template, found.default) == (PRODUCT_SKETCHES, DEFAULT)
    assert found.target.templates == (PRODUCT_SKETCHES,)
    sketch = LayerSketch.of(Conv2dOnArray().start(own.workload, TARGET.machine).program)
    assert found.workload == sketch.computation
    # Weights, of which no time depends, are left out: two blocks by two of 3x3.
    given = {sketch.numbers[name]: value for name, value in own.arguments.tensors.items()}
    (left_out,) = given.keys() - found.arguments.tensors.keys()
    assert given[left_out].shape == (2, 2, 3, 3, 4, 4)
    assert found.arguments.tensors.keys() == given.keys() - {left_out}
    for name, value in found.arguments.tensors.items():
        np.testing.assert_array_equal(value, given[name])


def test_what_the_task_of_a_layer_knows() -> None:
    (found,) = sketch_tasks([layer()])
    space = PRODUCT_SKETCHES.space(found.workload, found.target.machine)
    choice = space.choices().choice(0)
    assert found.knows(DEFAULT) is True
    assert found.knows(choice) is True
    assert found.knows({"nothing": 1}) is False


def test_layers_of_one_computation_are_a_task() -> None:
    """What is refused between them is left out."""
    own = layer()
    coded = replace(own, arguments=replace(own.arguments, forms={"w": 1}), layers=("coded",))
    other = expression_task(TARGET, einsum(8, 24, 20))
    tasks = own, coded, replace(own, layers=("again", "third")), other
    found = sketch_tasks(tasks)
    assert [each.layers for each in found] == [(*own.layers, "again", "third"), ("y",)]
    assert [isinstance(each, LayerTask) for each in found] == [True, False]
    assert sketch_tasks([coded]) == ()


def test_the_task_of_an_expression() -> None:
    found = expression_task(TARGET, einsum(8, 24, 20))
    wanted = in_blocks(einsum(8, 24, 20), TARGET.machine).computation
    assert (found.layers, found.workload) == (("y",), wanted)
    assert (found.template, found.arguments.tensors) == (PRODUCT_SKETCHES, {})
    assert found.target == sketch_target(TARGET)
    assert found.knows(found.default)
    assert not found.knows(DEFAULT)


def test_products_that_no_template_takes() -> None:
    product = expression_task(TARGET, einsum(8, 24, 20))
    shapes = {each.name: each.shape for each in product.workload.start().program.inputs}
    arguments = Arguments({name: np.zeros(shape, np.int8) for name, shape in shapes.items()})
    given = replace(product, target=TARGET, layers=("p", "q"), arguments=arguments)
    (found,) = sketch_tasks([given])
    assert not isinstance(found, LayerTask)
    assert (found.layers, found.workload) == (("p", "q"), product.workload)
    # What the array holds as weights is left out: 8 rows of 24 elements at two places, 4 by 4.
    (left_out,) = shapes.keys() - found.arguments.tensors.keys()
    assert shapes[left_out] == (2, 6, 2, 4, 4)
    assert len(found.arguments.tensors) == len(shapes) - 1
    assert found.default == product.default


def test_what_the_array_does_not_compute() -> None:
    with pytest.raises(Refusal, match="relu has to be a cast to int8 of sums or of what"):
        expression_task(TARGET, relu_of_sum())
