"""Layers in branches, loops and called functions become integers, and go to the accelerator."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from tandem.compiler.graph import Call, Function
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.visit import all_lets
from tandem.compiler.machines.cpu.runner import NativeRunner
from tandem.compiler.machines.defaults import compile_options
from tandem.compiler.quantise.calibrate import calibrate
from tandem.compiler.quantise.network import quantise_network
from tandem.compiler.quantise.quantised import Quantised
from tests.support.compiler.graph.graphs import graph
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine
from tests.support.compiler.plan.offloaded import both, run_on
from tests.support.compiler.quantise.networks import sqnr

RUN = NativeRunner(1, reassociate=False)
EXACT_ON = compile_options().exact_on


def weights(seed: int, scale: float) -> str:
    """A kernel of 1x1 on 4 channels, as a constant."""
    numbers = np.random.default_rng(seed).standard_normal(16).astype(np.float32) * scale
    return f"float32[4, 4, 1, 1]({', '.join(map(repr, map(float, numbers)))})"


def loop() -> str:
    """A layer as often as an input says."""
    return f"""
func @layers(x: float32[1, 4, 5, 5], n: int64[]) -> float32[1, 4, 5, 5]:
  more = greater(n, int64[](0))
  r = if more:
    c = conv2d(x, {weights(0, 0.6)})
    s = relu(c)
    m = subtract(n, int64[](1))
    t = @layers(s, m)
    yield t
  else:
    yield x
  return r

"""


def program() -> Function:
    """A layer, one of two others by a condition, and one more as often as an input says."""
    return graph(
        loop()
        + f"""
func @main(x: float32[1, 4, 5, 5], n: int64[]) -> float32[1, 4, 5, 5]:
  a = conv2d(x, {weights(1, 0.5)})
  b = relu(a)
  odd = equal(n, int64[](1))
  p = if odd:
    d = conv2d(b, {weights(2, 0.5)})
    e = relu(d)
    yield e
  else:
    f = conv2d(b, {weights(3, 0.5)})
    g = conv2d(f, {weights(4, 0.5)})
    yield g
  y = @layers(p, n)
  return y
"""
    )


def samples(*counts: int) -> Iterator[tuple[NDArray[np.float32], NDArray[np.int64]]]:
    random = np.random.default_rng(0)
    for count in counts:
        yield random.standard_normal((1, 4, 5, 5), np.float32), np.array(count)


def quantised(*counts: int) -> Quantised:
    return quantise_network(program(), samples(*counts), RUN, targets=EXACT_ON)


def operators(function: Function) -> list[str]:
    """The operators of a function and of the bodies in it, in the order of the text."""
    values = [let.value for let in all_lets(function.body)]
    return [each.callee.name for each in values if isinstance(each, Call)]


def test_every_layer_is_one_of_integers() -> None:
    found = quantised(0, 1, 3).function
    for function in found.named.values():
        named = operators(function)
        assert named.count("conv2d") == named.count("requantise") > 0
        assert "relu" not in named
    assert found.type == program().type


def test_it_is_nearly_the_network_in_real_numbers() -> None:
    found = quantised(0, 1, 3)
    for x, n in samples(0, 1, 3):
        real, ours = (evaluate(each, [x, n], RUN) for each in (found.real, found.function))
        assert isinstance(real, np.ndarray)
        assert isinstance(ours, np.ndarray)
        assert sqnr(real, ours) > 20


def test_scales_count_every_iteration() -> None:
    """The range of what a loop changes is that of all its values, by the names of tensors."""
    function = program()
    found = calibrate(function, samples(2), RUN)
    ((x, n),) = samples(2)
    seen: dict[tuple[str, str], list[float]] = {}

    def observe(of: str, name: str, value: object) -> None:
        if isinstance(value, np.ndarray) and value.ndim == 4:
            seen.setdefault((of, name), []).append(float(np.abs(value).max()))

    evaluate(function, [x, n], RUN, observe)
    assert len(seen["layers", "x"]) == 3
    assert len(seen["layers", "c"]) == 2
    assert found["layers.x"].largest == max(seen["layers", "x"])
    assert found["x"].largest == max(seen["main", "x"])
    assert found["f"].largest == max(seen["main", "f"])


@pytest.mark.parametrize("operand", ["layers.x", "x"])
def test_calls_and_branches_alone(operand: str) -> None:
    """A network that only calls a loop, and one that only has branches: the range of a value is
    that of all that samples give it."""
    of_calls = """
func @main(x: float32[1, 4, 5, 5], n: int64[]) -> float32[1, 4, 5, 5]:
  y = @layers(x, n)
  return y
"""
    of_branches = f"""
func @main(x: float32[1, 4, 5, 5], n: int64[]):
  more = greater(n, int64[](0))
  r = if more:
    c = conv2d(x, {weights(0, 0.6)})
    s = relu(c)
    yield s
  else:
    yield x
  return r
"""
    function = graph(of_branches if operand == "x" else loop() + of_calls)
    seen: dict[str, float] = {}

    def observe(of: str, name: str, value: object) -> None:
        place = name if of == "main" else f"{of}.{name}"
        if isinstance(value, np.ndarray) and value.ndim == 4:
            seen[place] = max(seen.get(place, 0.0), float(np.abs(value).max()))

    for sample in samples(0, 1, 3):
        evaluate(function, sample, RUN, observe)
    found = calibrate(function, samples(0, 1, 3), RUN)
    assert operand in found
    for name, histogram in found.items():
        assert histogram.largest == seen[name], name
    made = quantise_network(function, samples(0, 1, 3), RUN, targets=EXACT_ON).function
    called = [name for one in made.named.values() for name in operators(one)]
    assert called.count("requantise") == 1


def test_what_no_sample_reaches_stays_in_real_numbers() -> None:
    found = quantised(0)
    (layers,) = found.function.definitions
    assert "requantise" not in operators(layers)
    assert {"relu", "conv2d"} <= {*operators(layers)}
    x, n = next(samples(2))
    assert np.shape(evaluate(found.function, [x, n], RUN)) == x.shape


def test_scales_have_the_names_of_tensors() -> None:
    found = quantised(0, 1, 3)
    on_cpu, _ = both(found.function, machine("tiny"))
    tensors = {each.name: each.dtype for each in on_cpu.manifest.tensors}
    assert {of for of, _ in found.scales.values()} >= {"x", "b", "f", "layers.x", "layers.s"}
    shared = found.scales.keys() & tensors.keys()
    assert any(name.startswith("layers.") for name in shared)
    assert {tensors[name] for name in shared} == {"int8"}


@pytest.mark.every(2)
@pytest.mark.parametrize("count", [3, 1, 0])
def test_on_the_accelerator(count: int) -> None:
    """Streams run within branches and loops, and every bit is that of the CPU."""
    found = quantised(0, 1, 3)
    on_cpu, shared = both(found.function, machine("tiny"))
    streams = [each for each in shared.manifest.steps if not each.on_host]
    assert sum(each.operators.count("conv2d") for each in streams) == 5
    assert not any(not each.on_host for each in on_cpu.manifest.steps)
    for x, n in samples(count):
        (ours,) = run_on(shared, "functional", x, n).outputs.values()
        wanted = evaluate(found.function, [x, n], RUN)
        np.testing.assert_array_equal(ours, wanted)
