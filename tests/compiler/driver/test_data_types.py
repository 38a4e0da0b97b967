"""Programs with data types: evaluator and artifact agree, and the heap is empty at the end."""

from __future__ import annotations

import gc
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from tandem.compiler.driver.build import build
from tandem.compiler.driver.call_sequence import call_sequence
from tandem.compiler.errors import BuildError, GraphError
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.live_ranges import live_ranges
from tandem.compiler.graph.types import leaves
from tandem.runtime.artifact import (
    Artifact,
    BranchForm,
    MakeCell,
    Provenance,
    ReadCell,
    Reference,
    from_bytes,
    to_bytes,
)
from tandem.runtime.devices.cpu import CpuDevice
from tandem.runtime.executor import Executor
from tandem.runtime.register_machine import Cell
from tests.compiler.driver.test_control_flow import kept
from tests.support.compiler.graph.data_types import (
    ALLOCATES,
    MAPPED,
    OPTION,
    ROSE,
    SUM,
    TREE,
)
from tests.support.compiler.graph.graphs import graph


@cache
def compiled(program: str) -> Artifact:
    target, backends, _ = kept()
    made = build(graph(program), [target], Provenance("net"), backends=backends)
    return from_bytes(to_bytes(made))


def run(program: str, inputs: Mapping[str, Any]) -> list[Any]:
    arrays = {name: np.asarray(value) for name, value in inputs.items()}
    return [*Executor(compiled(program), [CpuDevice(1)]).run(arrays).outputs.values()]


X = np.array([1, -3], np.float32)


@pytest.mark.parametrize(
    ("program", "inputs"),
    [
        *((SUM, {"n": n, "x": 5}) for n in (0, 1, 30)),
        *((TREE, {"n": n, "x": X}) for n in (0, 1, 5)),
        *((ROSE, {"n": n}) for n in (0, 1, 4)),
        *((MAPPED, {"n": n, "c": np.float32(2), "x": X}) for n in (0, 1, 4)),
        *(
            (OPTION, {"x": np.float32(x), "y": np.float32(y)})
            for x, y in ((4, 3), (-4, 3), (-4, -3))
        ),
    ],
)
def test_artifacts(program: str, inputs: Mapping[str, Any]) -> None:
    _, _, runner = kept()
    wanted = evaluate(graph(program), [np.asarray(each) for each in inputs.values()], runner)
    for found, leaf in zip(run(program, inputs), leaves(wanted), strict=True):
        np.testing.assert_array_equal(found, leaf)


def test_what_an_artifact_has() -> None:
    manifest = compiled(SUM).manifest
    assert [(each.name, each.fields) for each in manifest.forms] == [
        ("Nil of List[int64[]]", ()),
        ("Cons of List[int64[]]", (((), "int64"), None)),
    ]
    count, sum_ = manifest.functions[1:]
    kinds = [type(each) for each in (*count.instructions, *sum_.instructions)]
    assert (kinds.count(MakeCell), kinds.count(BranchForm), kinds.count(ReadCell)) == (1, 1, 1)
    references = {each.name for each in manifest.tensors if isinstance(each.place, Reference)}
    assert {"none", "count.all", "sum.all", "sum.tail"} <= references
    assert "sum.head" not in references


def test_values_without_recursion_are_on_no_heap() -> None:
    manifest = compiled(OPTION).manifest
    assert manifest.forms == ()
    assert not any(isinstance(each.place, Reference) for each in manifest.tensors)


def cells() -> int:
    """The cells of all heaps of register machines."""
    return sum(isinstance(each, Cell) for each in gc.get_objects())


def test_the_heap_is_flat_in_a_loop_and_empty_at_the_end() -> None:
    executor = Executor(compiled(ALLOCATES), [CpuDevice(1)])
    x = np.arange(4, dtype=np.float32)
    seen: list[int] = []

    def progress(number: int, *_: object) -> None:
        if len(seen) % 10 == 0:
            seen.append(cells())
        else:
            seen.append(0)

    inputs = {"n": np.array(200), "length": np.array(0), "x": x}
    gc.collect()
    before = cells()
    found = executor.run(inputs, progress=progress).outputs["z"]
    np.testing.assert_array_equal(found, x)
    assert 0 < max(seen) - before <= 12
    assert cells() == before
    executor.run({**inputs, "n": np.array(0), "length": np.array(20_000)})
    assert cells() == before


def test_a_run_that_is_stopped_leaves_no_cells() -> None:
    executor = Executor(compiled(TREE), [CpuDevice(1)])
    gc.collect()
    before = cells()

    def progress(number: int, *_: object) -> None:
        if cells() > before + 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        executor.run({"n": np.array(6), "x": X}, progress=progress)
    gc.collect()
    assert cells() == before
    np.testing.assert_array_equal(executor.run({"n": np.array(1), "x": X}).outputs["r"], -X)


def test_what_is_not_compiled() -> None:
    head = "type A = B(int8[]) | C | D(A)\n"
    takes = head + "func @f(a: A):\n  b = match a:\n    else:\n      yield int8[](1)\n  return b"
    gives = head + "func @f():\n  a = C()\n  return a"
    target, backends, _ = kept()
    for program, message in (
        (takes, "function f takes a, which is A: programs take tensors"),
        (takes.replace(" | D(A)", ""), "function f takes a, which is A: programs take tensors"),
        (gives, "function f gives A: programs give tensors, and tuples of them"),
    ):
        with pytest.raises(GraphError, match=message):
            build(graph(program), [target], Provenance("net"), backends=backends)
    for program, message in (
        (gives, "function f: the result is A: tensors only, and tuples of them"),
        (takes, "function f: parameter a is A: tensors only"),
    ):
        with pytest.raises(BuildError, match=message):
            call_sequence(graph(program))
    (total,) = (each for each in graph(TREE).definitions if each.name == "total")
    with pytest.raises(GraphError, match="r is of a data type, or matches one: it has no memory"):
        live_ranges(replace(graph(TREE), body=total.body, params=total.params))
