"""Products with a packed right operand equal NumPy's, on every kind of processor that this is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler import te
from tandem.compiler.errors import ScheduleError
from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.nodes import Atom, Call, Var
from tandem.compiler.graph.passes.infer_types import InferTypes
from tandem.compiler.ir.dtypes import FLOAT32, INT8
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.schedules.simd import Simd
from tandem.compiler.machines.cpu.target import cpu
from tandem.compiler.machines.cpu.templates.layer import LayerOnCpu
from tandem.compiler.machines.cpu.templates.matmul import (
    ComputedMatmulOnCpu,
    MatmulOnCpu,
    packed_matmul,
    schedule_packed_matmul,
)
from tandem.compiler.machines.cpu.templates.register_tiles import Tile
from tandem.compiler.plan.planner import Plan, Planner
from tandem.compiler.te import compute, placeholder
from tests.support.compiler.graph.graphs import graph
from tests.support.compiler.machines.accelerator.templates import packed_layers
from tests.support.compiler.operators.operators import Array, numbers, same

HOST = CpuTarget.host(1)
TARGETS = {
    "host": HOST,
    "avx2": HOST.without("avx512f"),
    "least": HOST.without("avx", "avx2", "avx512f", "fma"),
}
SHAPES = [
    ((1, 1), (1, 1)),
    ((5, 21), (21, 33)),
    ((33, 6), (6, 17)),
    ((3, 37, 53), (3, 53, 71)),
    ((2, 3, 9, 8), (8, 20)),
    ((9, 8), (4, 8, 20)),
    ((2, 1, 7, 5), (3, 5, 100)),
]
TEMPLATES: list[type[LayerOnCpu]] = [MatmulOnCpu, ComputedMatmulOnCpu]


def product(
    template: type[LayerOnCpu],
    arrays: dict[str, Array],
    target: CpuTarget,
    tile: Tile | None = None,
) -> Array:
    layer = packed_layers.packed(template, arrays, target, tile=tile)
    return packed_layers.run(template, layer, arrays, target)


def reference(arrays: dict[str, Array]) -> Array:
    found: Array = (arrays["X"].astype("float64") @ arrays["W"].astype("float64")).astype("float32")
    return found


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize(("left", "right"), SHAPES)
def test_against_numpy(
    left: tuple[int, ...],
    right: tuple[int, ...],
    template: type[LayerOnCpu],
    target: CpuTarget,
) -> None:
    arrays = {"X": numbers(1, left), "W": numbers(2, right)}
    same(product(template, arrays, target), reference(arrays), tolerance=1e-4)


@given(data=st.data())
@settings(max_examples=20, deadline=None)
def test_any_tile(data: st.DataObject) -> None:
    rows, depth, columns = (data.draw(st.integers(1, 40)) for _ in range(3))
    stack = data.draw(st.sampled_from([(), (3,), (2, 2)]))
    arrays = {"X": numbers(1, (*stack, rows, depth)), "W": numbers(2, (*stack, depth, columns))}
    tile = Tile(16 * data.draw(st.integers(1, 3)), 1, data.draw(st.integers(1, 9)))
    template = data.draw(st.sampled_from(TEMPLATES))
    same(product(template, arrays, HOST, tile), reference(arrays), tolerance=1e-4)


def test_threads_agree() -> None:
    arrays = {"X": numbers(1, (3, 20, 30)), "W": numbers(2, (3, 30, 200))}
    one, two = (product(ComputedMatmulOnCpu, arrays, CpuTarget.host(count)) for count in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_what_follows_is_computed_on_the_tile() -> None:
    arrays = {"X": numbers(1, (2, 9, 12)), "W": numbers(2, (2, 12, 30))}
    layer = packed_layers.packed(ComputedMatmulOnCpu, arrays, HOST)
    relu = compute((2, 9, 30), lambda *i: te.maximum(layer.output[i], 0.0), "relu")
    found = packed_layers.run(ComputedMatmulOnCpu, layer, arrays, HOST, relu)
    same(found, np.maximum(reference(arrays), 0), tolerance=1e-4)


def test_what_follows_must_be_element_by_element() -> None:
    arrays = {"X": numbers(1, (9, 12)), "W": numbers(2, (12, 30))}
    layer = packed_layers.packed(MatmulOnCpu, arrays, HOST)
    axis = te.reduce_axis(30, "r")
    total = compute((9, 1), lambda i, j: te.sum(layer.output[i, axis], axis), "total")
    after = compute((9, 1), lambda i, j: total[i, j] + 1.0, "after")
    with pytest.raises(ScheduleError, match="total is a reduction"):
        schedule_packed_matmul(layer, after)


@pytest.mark.parametrize("constant", [False, True])
def test_nothing_to_compute(constant: bool) -> None:
    x, w = placeholder((0, 4), FLOAT32, "X"), placeholder((4, 8), FLOAT32, "W")
    assert packed_matmul(x, w, simd=Simd(64, 32), constant=constant) is None
    x, w = placeholder((5, 4), INT8, "X"), placeholder((4, 8), INT8, "W")
    assert packed_matmul(x, w, simd=Simd(64, 32), constant=constant) is None


def planned(program: str, *constants: int) -> Plan | None:
    """The plan of a kernel, of which the parameters of these numbers are constants."""
    kernel = InferTypes().apply(graph(program))
    args: list[Atom] = [Var(param.name) for param in kernel.params]
    for number in constants:
        type_ = kernel.params[number].type
        args[number] = Constant(np.ones(type_.static_shape("w"), "float32"))  # type: ignore[union-attr]
    return Planner(cpu(HOST)).layer(Call(kernel, tuple(args)))


def kernel_of(left: str, right: str) -> str:
    return f"""
kernel @k(x: float32[{left}], w: float32[{right}]):
  p = matmul(x, w)
  y = relu(p)
  return y
"""


@pytest.mark.parametrize(
    ("rows", "constants", "name"),
    [(9, (), "computed_matmul"), (9, (1,), "matmul"), (1, (1,), "matmul"), (1, (), None)],
)
def test_who_packs(rows: int, constants: tuple[int, ...], name: str | None) -> None:
    """A kernel does not pack for a row or two: packing takes as long as multiplying."""
    plan = planned(kernel_of(f"2, {rows}, 5", "5, 40"), *constants)
    assert (None if plan is None else plan.template.name) == name


def test_a_square_is_left_alone() -> None:
    program = """
kernel @k(x: float32[8, 8]):
  p = matmul(x, x)
  return p
"""
    assert planned(program) is None
