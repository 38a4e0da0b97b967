"""Products that no template takes: on the array, with the bits of NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tandem.compiler.driver import build
from tandem.compiler.graph import Function
from tandem.compiler.machines.accelerator.sketches.products import RECORDED_PRODUCTS
from tandem.compiler.machines.accelerator.sketches.template import PRODUCT_SKETCHES
from tandem.compiler.machines.accelerator.target import accelerator
from tandem.compiler.machines.accelerator.timed_streams import timed_streams
from tandem.compiler.plan.tuned_choices import TunedChoices
from tandem.compiler.te.knobs import Choice
from tandem.runtime.artifact import Provenance
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine
from tests.support.compiler.plan.offloaded import HOST, run_on
from tests.support.compiler.quantise.networks import network

Array = NDArray[Any]


def products(
    a: tuple[int, ...], b: tuple[int, ...], multiplier: Array, axis: int = 1, skip: str = ""
) -> Function:
    """A requantised product of matrices of these shapes, with a residual of a shape."""
    shape = multiplier.shape
    numbers = f"m: int32{list(shape)}, c: int64{list(shape)}"
    if skip:
        numbers += f", xc: int8{skip}, f: int32[1]"
    end = (
        f"requantise_add(s, m, c, xc, f, shift=7, low=-128, high=127, axis={axis})"
        if skip
        else f"requantise(s, m, c, shift=7, low=-100, high=127, axis={axis})"
    )
    return network(
        f"""
func @main(xa: int8{list(a)}, xb: int8{list(b)}, {numbers}):
  s = matmul(xa, xb, out_dtype=int32)
  y = {end}
  return y
""",
        m=multiplier,
        c=np.full(shape, 64),
        f=np.array([96]),
    )


def compiled(function: Function, config: str, **options: Any) -> Any:
    target = accelerator(machine(config), **options)
    return build(function, (target, HOST), Provenance("test"))


def drawn(*shapes: tuple[int, ...]) -> list[Array]:
    draw = np.random.default_rng(0).integers
    return [draw(-128, 128, shape, np.int8) for shape in shapes]


def exact(sums: Array, multiplier: Array, low: int, added: Array | int = 0) -> Array:
    found: NDArray[np.int64] = (sums * multiplier + 64 + added).astype(np.int64) >> 7
    return np.clip(found, low, 127).astype(np.int8)


ONE = np.array([5], np.int32)


@pytest.mark.parametrize(
    ("config", "a", "b"),
    [
        ("tiny", (2, 3, 5, 9), (3, 9, 6)),
        ("batch2", (1, 4, 9), (3, 9, 6)),
        ("batch2", (2, 7, 4), (2, 4, 3)),
        ("tiny-x", (3, 5), (5,)),
        ("requantising", (2, 3, 5, 9), (3, 9, 6)),
    ],
)
def test_stacks(config: str, a: tuple[int, ...], b: tuple[int, ...]) -> None:
    function = products(a, b, ONE)
    artifact = compiled(function, config, sketches=True)
    left, right = drawn(a, b)
    run = run_on(artifact, "functional", left, right)
    wanted = exact(left.astype(np.int64) @ right.astype(np.int64), ONE, -100)
    np.testing.assert_array_equal(run.outputs["y"], wanted)
    (layer,) = (step for step in artifact.manifest.steps if not step.on_host)
    assert layer.operators == ("matmul", "requantise")
    assert layer.macs == wanted.size * a[-1]


@pytest.mark.parametrize(("config", "axis"), [("tiny", 1), ("batch2", 2), ("tiny-x", 1)])
def test_scales_for_rows_or_columns(config: str, axis: int) -> None:
    """The lanes are along the axis that has a number for each element."""
    a, b = (3, 5, 8), (3, 8, 6)
    scales = np.arange(3, 3 + (5, 6)[axis - 1], dtype=np.int32)
    artifact = compiled(products(a, b, scales, axis), config, sketches=True)
    left, right = drawn(a, b)
    shaped = scales[:, None] if axis == 1 else scales
    wanted = exact(left.astype(np.int64) @ right.astype(np.int64), shaped, -100)
    np.testing.assert_array_equal(run_on(artifact, "cycle", left, right).outputs["y"], wanted)


@pytest.mark.parametrize("config", ["tiny", "batch2", "tiny-x"])
def test_a_residual(config: str) -> None:
    a, b, c = (2, 5, 9), (2, 9, 6), (2, 5, 6)
    artifact = compiled(products(a, b, ONE, skip=str(list(c))), config, sketches=True)
    left, right, skip = drawn(a, b, c)
    sums = left.astype(np.int64) @ right.astype(np.int64)
    wanted = exact(sums, ONE, -128, skip.astype(np.int64) * 96)
    run = run_on(artifact, "cycle", left, right, skip)
    np.testing.assert_array_equal(run.outputs["y"], wanted)


class Recorded(TunedChoices):
    """Records of one choice, for whatever is asked for."""

    def __init__(self, found: Choice | None) -> None:
        self.found = found

    def choice(self, template: Any, workload: Any) -> Choice | None:
        return self.found if template.name == RECORDED_PRODUCTS.name else None


def on_host(artifact: Any) -> list[Any]:
    return [step for step in artifact.manifest.steps if step.on_host]


def test_records_say_what_is_taken() -> None:
    """Without a record, and with one of another space, the CPU computes it, for the reason that a
    template gave."""
    function = products((2, 3, 5, 9), (3, 9, 6), ONE)
    for tuned in (None, Recorded(None), Recorded({"threads": 7})):
        (kernel,) = on_host(compiled(function, "tiny", tuned=tuned))
        assert kernel.reason.startswith("matmul, requantise: it broadcasts [2, 3] matrices to [3]")
    target = accelerator(machine("tiny"), sketches=True)
    (planned,) = timed_streams(function, target)
    (call,) = planned.calls
    recorded = compiled(function, "tiny", tuned=Recorded(call.plan.choice))
    assert not any(step.operators[0] == "matmul" for step in on_host(recorded))
    (stream,) = (step for step in recorded.manifest.steps if not step.on_host)
    assert recorded.code[stream.code].program == planned.stream.program.data
    # What is measured and recorded is the computation.
    measured = call.measured.plan
    assert measured.template is PRODUCT_SKETCHES
    assert measured.workload == call.plan.workload.sketch.computation
    assert set(measured.arguments.tensors) | set(measured.arguments.immediates) <= {
        buffer.name for buffer in measured.workload.start().program.inputs
    }


def test_sums_beyond_32_bits_stay_on_the_cpu() -> None:
    """The bound of 32 bits is that of any data."""
    function = products((1, 140_000), (140_000, 1), ONE)
    (kernel,) = on_host(compiled(function, "tiny", sketches=True))
    assert kernel.operators[0] == "matmul"
