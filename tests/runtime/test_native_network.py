"""Networks as one native function: the results, times and errors of steps called one by one."""

from __future__ import annotations

import dataclasses
from time import perf_counter, thread_time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from tandem.compiler.driver import build
from tandem.compiler.graph import Function
from tandem.compiler.graph.types import symbols_of
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.runner import NativeRunner
from tandem.compiler.machines.cpu.target import cpu
from tandem.compiler.machines.defaults import compile_options
from tandem.compiler.quantise.network import quantise_network
from tandem.compiler.quantise.samples import synthetic
from tandem.runtime.artifact import Artifact, Provenance, from_bytes, to_bytes
from tandem.runtime.devices.cpu import CpuDevice
from tandem.runtime.errors import NativeCodeError
from tandem.runtime.executor import Executor, Run
from tandem.runtime.native import NETWORK, NetworkObject, ThreadPool, load
from tandem.runtime.native.objects import ObjectCode
from tandem.runtime.native_network import load_network
from tests.compiler.quantise.random_networks import networks
from tests.support.compiler.graph.graphs import graph
from tests.support.compiler.graph.recursion import COUNT, EVEN, SWAP
from tests.support.runtime.artifacts import compiled, image

NESTED = """
func @inner(k: int64[], x: float32[3]) -> float32[3]:
  go = less(int64[](0), k)
  y = if go:
    m = subtract(k, int64[](1))
    z = add(x, float32[](0.5))
    again = @inner(m, z)
    yield again
  else:
    yield x
  return y

func @main(n: int64[], x: float32[3]) -> float32[3]:
  a = @inner(n, x)
  m = add(n, int64[](2))
  b = @inner(m, a)
  c = multiply(a, b)
  return c
"""


def artifact_of(program: str | Function, threads: int = 1) -> Artifact:
    function = graph(program) if isinstance(program, str) else program
    symbols = frozenset[str]().union(*(symbols_of(param.type) for param in function.params))
    sizes = {"N": 3} if "N" in symbols else None
    target = cpu(CpuTarget.host(threads=threads))
    return build(function, [target], Provenance("net"), sizes=sizes)


def both(artifact: Artifact, inputs: dict[str, Any], threads: int = 1) -> tuple[Run, Run]:
    """A run by the network's code, and one step by step, which tells its progress."""
    executor = Executor(artifact, [CpuDevice(threads)])
    arrays = {name: np.asarray(value) for name, value in inputs.items()}
    whole = executor.run(arrays)
    return whole, executor.run(arrays, progress=lambda *_: None)


def equal(whole: Run, stepwise: Run) -> None:
    assert [*whole.outputs] == [*stepwise.outputs]
    for name, array in whole.outputs.items():
        np.testing.assert_array_equal(array, stepwise.outputs[name])
    rows = [
        [
            (step.name, step.operators, step.device, step.macs, step.run, step.reason)
            for step in steps
        ]
        for steps in (whole.profile.steps, stepwise.profile.steps)
    ]
    assert rows[0] == rows[1]


@pytest.mark.parametrize("threads", [1, 2])
def test_a_network(threads: int) -> None:
    for seed in range(3):
        whole, stepwise = both(compiled(), image(seed), threads)
        equal(whole, stepwise)
        assert all(step.seconds > 0 for step in whole.profile.steps)
        assert whole.profile.seconds > sum(step.seconds for step in whole.profile.steps)


@pytest.mark.parametrize("times", [0, 1, 2, 3, 50])
def test_control_flow(times: int) -> None:
    x = np.array([1, 2, 3], np.float32)
    equal(*both(artifact_of(COUNT), {"n": times, "x": x}))
    equal(*both(artifact_of(EVEN), {"n": times}))
    equal(*both(artifact_of(NESTED), {"n": times, "x": x}))
    a, b, c = (np.full(2, each) for each in (1, 2, 3))
    equal(*both(artifact_of(SWAP), {"n": times, "a": a, "b": b, "c": c}))


def test_a_loop_that_is_called_twice() -> None:
    x = np.array([1, 2, 3], np.float32)
    whole, _ = both(artifact_of(NESTED), {"n": 4, "x": x})
    first = x + np.float32(2)
    np.testing.assert_array_equal(whole.outputs["c"], first * (first + np.float32(3)))


@settings(max_examples=6)
@given(networks())
def test_random_networks(function: Function) -> None:
    """Those in int8: every bit."""
    samples = list(synthetic(function, 1))
    exact = compile_options().exact_on
    quantised = quantise_network(function, samples, NativeRunner(), None, exact).function
    artifact = artifact_of(quantised)
    ports = [port.name for port in artifact.manifest.inputs]
    equal(*both(artifact, dict(zip(ports, samples[0], strict=True))))


def test_results_are_the_callers() -> None:
    executor = Executor(compiled(), [CpuDevice(1)])
    first = executor.run(image()).outputs
    kept = {name: array.copy() for name, array in first.items()}
    executor.run(image(1))
    for name, array in first.items():
        np.testing.assert_array_equal(array, kept[name])


def test_times_are_the_clocks() -> None:
    """What the processor did for this thread is no more than what passed; another clock than the
    system's tells the time of steps that are called one by one."""
    for clock in (perf_counter, thread_time):
        run = Executor(compiled(), [CpuDevice(1)], clock).run(image())
        seconds = [step.seconds for step in run.profile.steps]
        assert all(0 < each < 1 for each in seconds)
        assert sum(seconds) <= run.profile.seconds
    ticks = iter(range(1000))
    run = Executor(compiled(), [CpuDevice(1)], lambda: float(next(ticks))).run(image())
    assert {step.seconds for step in run.profile.steps} == {1.0}


def test_a_file_has_it() -> None:
    again = from_bytes(to_bytes(compiled()))
    assert again.code[NETWORK] == compiled().code[NETWORK]
    equal(*both(again, image()))


def with_network(**fields: Any) -> Artifact:
    found = compiled()
    code = found.code[NETWORK]
    assert isinstance(code, NetworkObject)
    changed = dataclasses.replace(code, **fields)
    return dataclasses.replace(found, code={**found.code, NETWORK: changed})


def kernels(artifact: Artifact, pool: ThreadPool) -> dict[str, Any]:
    return {name: load(code, pool=pool) for name, code in artifact.of_kind(ObjectCode).items()}


@pytest.mark.parametrize("fields", [{"version": "older"}, {"triple": "riscv64-unknown-linux-gnu"}])
def test_code_of_another_version_is_not_run(fields: dict[str, str]) -> None:
    """Its steps are called one by one, with the same results."""
    artifact, pool = with_network(**fields), ThreadPool(1)
    assert load_network(compiled(), kernels(compiled(), pool), pool) is not None
    assert load_network(artifact, kernels(artifact, pool), pool) is None
    equal(*both(artifact, image()))


def test_damaged_code() -> None:
    pool = ThreadPool(1)
    for fields, message in (
        ({"kernels": ("gone",)}, "calls kernels that are no steps'"),
        ({"code": b"no object"}, "object file"),
    ):
        artifact = with_network(**fields)
        with pytest.raises(NativeCodeError, match=message):
            load_network(artifact, kernels(artifact, pool), pool)
    data = compiled().code[NETWORK].to_bytes()
    for wrong in (b"", data[:-1], data + b"x"):
        with pytest.raises(NativeCodeError, match="this is no code of a network"):
            NetworkObject.from_bytes(wrong)


def test_no_memory() -> None:
    with pytest.raises(Exception, match=r"needs \d+ bytes, more than there is"):
        Executor(with_network(frame_bytes=1 << 62), [CpuDevice(1)])
