"""Products of two activations: exact for random shapes, and for stacks of matrices of any size."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tandem.compiler.driver import build
from tandem.compiler.errors import Refusal
from tandem.compiler.graph import Constant, Function
from tandem.compiler.graph.visit import substitute
from tandem.compiler.machines.accelerator.templates.matmul import Matrices
from tandem.hw.config import HardwareConfig
from tandem.runtime.artifact import Artifact, Provenance, Step, config_of
from tandem.runtime.devices import AcceleratorDevice, CpuDevice, Device
from tandem.runtime.executor import Executor
from tandem.sim.engines import make_engine
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine
from tests.support.compiler.machines.accelerator.templates.random_operators import random_tests
from tests.support.compiler.machines.accelerator.templates.random_workloads import (
    check_of,
    draw_matmul,
)
from tests.support.compiler.plan.offloaded import run_on, targets
from tests.support.compiler.quantise.networks import network

Array = NDArray[Any]

test_few, test_many, test_few_on_rtl, test_many_on_rtl = random_tests(check_of(draw_matmul), few=15)


def products(
    a: tuple[int, ...], b: tuple[int, ...], multiplier: tuple[int, ...] = (1,)
) -> Function:
    """The requantised product of matrices of these shapes, as a network."""
    return network(
        f"""
func @main(xa: int8{list(a)}, xb: int8{list(b)}, m: int32{list(multiplier)}, c: int64[1]):
  s = matmul(xa, xb, out_dtype=int32)
  y = requantise(s, m, c, shift=7, low=-128, high=127)
  return y
""",
        m=np.full(multiplier, 5),
        c=np.array([64]),
    )


def expected(a: Array, b: Array) -> Array:
    sums = a.astype(np.int64) @ b.astype(np.int64)
    return np.clip((sums * 5 + 64) >> 7, -128, 127).astype(np.int8)


def check(
    a: tuple[int, ...], b: tuple[int, ...], config: HardwareConfig, seed: int = 0
) -> Artifact:
    """Runs the product on the accelerator, compares it with NumPy's, and returns the artifact."""
    draw = np.random.default_rng(seed).integers
    left, right = (draw(-128, 128, shape, np.int8) for shape in (a, b))
    artifact = build(products(a, b), targets(config), Provenance("test"))
    devices: list[Device] = [CpuDevice(1)]
    if config_of(artifact) is not None:
        devices.append(AcceleratorDevice(make_engine("functional", config)))
    run = Executor(artifact, devices).run({"xa": left, "xb": right})
    np.testing.assert_array_equal(run.outputs["y"], expected(left, right))
    return artifact


def steps(artifact: Artifact) -> tuple[list[Step], list[Step]]:
    """The steps on the accelerator and on the CPU."""
    found = artifact.manifest.steps
    return (
        [step for step in found if not step.on_host],
        [step for step in found if step.on_host],
    )


@settings(max_examples=8)
@given(
    stack=st.lists(st.integers(1, 3), max_size=2),
    sizes=st.tuples(*[st.integers(1, 20)] * 3),
    one=st.booleans(),
    config=st.sampled_from(["tiny", "small8", "requantising", "tiny-x"]),
    seed=st.integers(0, 2**32 - 1),
)
def test_any_stack_of_matrices(
    stack: list[int], sizes: tuple[int, int, int], one: bool, config: str, seed: int
) -> None:
    rows, depth, columns = sizes
    others = [1] * len(stack) if one else stack
    artifact = check((*stack, rows, depth), (*others, depth, columns), machine(config), seed)
    (stream,), _ = steps(artifact)
    assert stream.operators == ("matmul", "requantise")
    assert stream.macs == int(np.prod(stack)) * rows * depth * columns


@pytest.mark.parametrize("config", ["tiny", "tiny-x"])
@pytest.mark.parametrize("b", [(3, 8, 8), (3, 9, 6), (1, 9, 6)])
def test_a_constant_stack(b: tuple[int, ...], config: str) -> None:
    """It is packed when the network is compiled: as an image where blocks are whole, or not."""
    a = (3, 5, b[1])
    draw = np.random.default_rng(0).integers
    left, right = (draw(-128, 128, shape, np.int8) for shape in (a, b))
    function = products(a, b)
    params = tuple(param for param in function.params if param.name != "xb")
    values = {"xb": Constant(right)}
    fixed = replace(function, params=params, body=substitute(function.body, values))
    artifact = build(fixed, targets(machine(config)), Provenance("test"))
    (stream,), _ = steps(artifact)
    assert stream.operators == ("matmul", "requantise")
    run = run_on(artifact, "functional", left)
    np.testing.assert_array_equal(run.outputs["y"], expected(left, right))


def test_the_cpu_keeps_what_has_no_template() -> None:
    for a, b, config, reason in (
        (
            (2, 3, 8),
            (2, 8, 5),
            "batch2",
            "need batch 1, and batch2 has 2: .* log_batch 0",
        ),
        (
            (1, 3, 8),
            (4, 8, 5),
            "tiny",
            r"^matmul, requantise: it broadcasts \[1\] matrices to",
        ),
    ):
        artifact = check(a, b, machine(config))
        streams, (kernel,) = steps(artifact)
        assert not streams
        assert re.search(reason, kernel.reason)


def test_scales_for_columns_stay_with_the_cpu() -> None:
    function = products((3, 5, 8), (3, 8, 4), (5,))
    artifact = build(function, targets(machine("tiny")), Provenance("test"))
    _, (kernel,) = steps(artifact)
    assert "one scale for all elements" in kernel.reason


def test_matrices() -> None:
    assert Matrices.of((2, 3, 4, 5), (2, 3, 5, 6)) == Matrices(6, 4, 5, 6)
    assert Matrices.of((2, 3, 4, 5), (1, 1, 5, 6)) == Matrices.of((24, 5), (5, 6))
    with pytest.raises(Refusal, match=r"broadcasts \[3\] matrices to \[2, 3\]"):
        Matrices.of((3, 4, 5), (2, 3, 5, 6))
