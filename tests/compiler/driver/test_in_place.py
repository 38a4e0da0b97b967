"""Outputs in the memory of inputs that are given up: where nothing reads the input any more."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from tandem.compiler.driver import build
from tandem.compiler.errors import BuildError
from tandem.compiler.graph.gradients import Adam, training_step
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.target import cpu
from tandem.runtime.artifact import Artifact, InPlace, Output, Provenance, from_bytes, to_bytes
from tandem.runtime.devices import CpuDevice
from tandem.runtime.errors import ArtifactError
from tandem.runtime.executor import Executor
from tandem.workbench.export import export_library
from tests.support.compiler.graph.graphs import graph
from tests.support.workbench.cross import make


def compiled(text: str, given_up: Mapping[str, str]) -> Artifact:
    function = graph(text)
    return build(function, [cpu(CpuTarget.host())], Provenance("f"), given_up=given_up)


def places(artifact: Artifact) -> dict[str, object]:
    tensors = {each.name: each.place for each in artifact.manifest.tensors}
    return {port.name: tensors[port.tensor] for port in artifact.manifest.results}


UPDATE = """
func @f(w: float32[N], g: float32[N]) -> (float32[N], float32[]):
  d = multiply(g, float32[](0.5))
  u = subtract(w, d)
  s = reduce_sum(g, keepdims=False)
  r = (u, s)
  return r
"""


@pytest.mark.parametrize("count", [1, 3, 8, 17, 63, 64, 65, 1000, 4099])
@pytest.mark.parametrize("threads", [1, 2])
def test_an_update_in_place(count: int, threads: int) -> None:
    artifact = compiled(UPDATE.replace("N", str(count)), {"u": "w"})
    assert places(artifact) == {"u": InPlace("w"), "s": Output()}
    random = np.random.default_rng(count)
    w, g = (random.standard_normal(count).astype(np.float32) for _ in "wg")
    wanted = w - g * np.float32(0.5)
    executor = Executor(from_bytes(to_bytes(artifact)), [CpuDevice(threads)])
    outputs = executor.run({"w": w, "g": g}).outputs
    assert outputs["u"] is w
    np.testing.assert_array_equal(w, wanted)
    # Step by step too.
    again = w.copy()
    watched = executor.run({"w": again, "g": g}, watch=["u"])
    np.testing.assert_array_equal(again, wanted - g * np.float32(0.5))
    np.testing.assert_array_equal(watched.watched["u"], again)


def test_inputs_that_cannot_be_changed_are_copied() -> None:
    executor = Executor(compiled(UPDATE.replace("N", "8"), {"u": "w"}), [CpuDevice(1)])
    w = np.arange(8, dtype=np.float32)
    fixed = w.copy()
    fixed.flags.writeable = False
    np.testing.assert_array_equal(executor.run({"w": fixed, "g": w}).outputs["u"], w / 2)
    np.testing.assert_array_equal(fixed, np.arange(8))
    # One array twice, and one that overlaps.
    np.testing.assert_array_equal(executor.run({"w": w, "g": w}).outputs["u"], w / 2)
    np.testing.assert_array_equal(w, np.arange(8))
    whole = np.arange(12, dtype=np.float32)
    executor.run({"w": whole[:8], "g": whole[4:]})
    np.testing.assert_array_equal(whole, np.arange(12))


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("  u = add(w, g)\n  v = exp(w)\n  v2 = softmax(v, axis=0)\n", "w is read behind"),
        ("  u = reverse(w, axes=[0])\n  v2 = exp(g)\n", "other elements are read"),
        ("  u = softmax(w, axis=0)\n  v2 = exp(g)\n", "all elements are read"),
    ],
)
def test_what_is_read_later_keeps_its_memory(body: str, why: str) -> None:
    signature = "func @f(w: float32[8], g: float32[8]) -> (float32[8], float32[8]):\n"
    body = body.replace("reverse(w, axes=[0])", "slice(w, starts=[7], ends=[-9], steps=[-1])")
    text = signature + body + "  r = (u, v2)\n  return r\n"
    artifact = compiled(text, {"u": "w"})
    assert places(artifact)["u"] == Output(), why
    w = np.arange(8, dtype=np.float32) / 8
    before = w.copy()
    Executor(artifact, [CpuDevice(1)]).run({"w": w, "g": w})
    np.testing.assert_array_equal(w, before)


def test_other_types_and_results_that_are_inputs() -> None:
    artifact = compiled(
        "func @f(w: float32[8], i: int32[8]) -> (float32[8], float32[8], int32[8]):\n"
        "  a = cast(i, to=float32)\n  b = cast(w, to=int32)\n  r = (a, w, b)\n  return r\n",
        {"a": "i", "b": "w"},
    )
    assert {name: type(place) for name, place in places(artifact).items() if name != "w"} == {
        "a": Output,
        "b": Output,
    }


def test_branches_give_new_arrays() -> None:
    artifact = compiled(
        "func @f(w: float32[8], c: bool[]) -> float32[8]:\n"
        "  y = if c:\n    a = exp(w)\n    yield a\n  else:\n    yield w\n  return y\n",
        {"y": "w"},
    )
    assert places(artifact) == {"y": Output()}


@pytest.mark.parametrize(
    ("given_up", "message"),
    [
        ({"v": "w"}, "f: w is given up for v, and is not there"),
        ({"u": "x"}, "f: x is given up for u, and is not there"),
        ({"u": "w", "s": "w"}, "f: an input is given up for two outputs"),
    ],
)
def test_names_that_are_not_there(given_up: Mapping[str, str], message: str) -> None:
    with pytest.raises(BuildError, match=message):
        compiled(UPDATE.replace("N", "8"), given_up)


def test_a_step_of_adam_is_all_in_place() -> None:
    loss = graph(
        "func @l(x: float32[4, 3], w: float32[5, 3], b: float32[5]) -> float32[]:\n"
        "  h = dense(x, w, b)\n  s = multiply(h, h)\n  l = reduce_mean(s, keepdims=False)\n"
        "  return l\n"
    )
    step = training_step(loss, ["w", "b"], Adam(), 1.0)
    kept = [param.name for param in step.params[5:]]
    changed = {f"{name}_next": name for name in ("w", "b", *kept)}
    targets = [cpu(CpuTarget.host())]
    plain = build(step, targets, Provenance("l"))
    found = build(step, targets, Provenance("l"), given_up=changed)
    shown = places(found)
    assert [type(shown[name]) for name in changed] == [InPlace] * len(changed)
    random = np.random.default_rng(0)
    given = {
        tensor.name: np.abs(random.standard_normal(tensor.shape)).astype(tensor.dtype)
        for tensor in Executor(plain, [CpuDevice(1)]).inputs
    }
    given["step"] = np.array(2, np.int64)
    wanted = Executor(plain, [CpuDevice(1)]).run(given).outputs
    outputs = Executor(found, [CpuDevice(1)]).run({k: v.copy() for k, v in given.items()}).outputs
    for name, array in wanted.items():
        np.testing.assert_array_equal(outputs[name], array)


TWO = """
func @f(w: float32[8], v: float32[8], i: int32[8]) -> (float32[8], float32[8], float32[8]):
  a = add(w, v)
  t = tanh(a)
  b = softmax(t, axis=0)
  c = softmax(v, axis=0)
  r = (a, b, c)
  return r
"""


@pytest.mark.parametrize(
    ("places", "message"),
    [
        ({"a": "w", "b": "w"}, "two outputs lie in the memory of w"),
        ({"b": "a"}, "b, float32[8], lies in the memory of a, float32[8]"),
        ({"b": "i"}, "b, float32[8], lies in the memory of i, int32[8]"),
        ({"b": "x"}, "the memory of b is x, and there is no such tensor"),
        ({"a": "v"}, "c reads v, in whose memory a lies"),
    ],
)
def test_manifests_that_do_not_fit(places: Mapping[str, str], message: str) -> None:
    artifact = compiled(TWO, {"a": "w"})
    tensors = tuple(
        replace(tensor, place=InPlace(places[tensor.name])) if tensor.name in places else tensor
        for tensor in artifact.manifest.tensors
    )
    with pytest.raises(ArtifactError, match=re.escape(message)):
        Artifact(replace(artifact.manifest, tensors=tensors), artifact.code, artifact.constants)


def test_an_exported_library_has_memory_of_its_own(tmp_path: Path) -> None:
    artifact = compiled(UPDATE.replace("N", "8"), {"u": "w"})
    w = np.arange(8, dtype=np.float32)
    outputs = Executor(artifact, [CpuDevice(1)]).run({"w": w.copy(), "g": w}).outputs
    export_library(artifact, tmp_path, {"w": w, "g": w}, outputs)
    assert make(tmp_path, "check") == "as expected\n"
