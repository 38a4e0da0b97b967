"""Results whose shapes depend on inputs: cut after a run, and checked in artifacts."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from tandem.compiler.driver import build
from tandem.compiler.errors import BuildError
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.target import cpu
from tandem.runtime.artifact import Artifact, Count, Provenance, cut, from_bytes, to_bytes
from tandem.runtime.devices import CpuDevice
from tandem.runtime.errors import ArtifactError, RunError
from tandem.runtime.executor import Executor
from tests.support.compiler.graph.graphs import graph

POSITIONS = """
func @positions(m: bool[6], k: int64[]):
  p = true_positions(m)
  bits = cast(m, to=int64)
  n = reduce_sum(bits, axes=[0], keepdims=False)
  half = divide(k, int64[](2))
  q = add(p, k)
  r = (q, p, n, half)
  return r
"""


@cache
def compiled() -> Artifact:
    """Positions, and positions of which an input says how many."""
    counts = {"q": {0: 2}, "p": {0: 3}}
    host = cpu(CpuTarget.host(threads=1))
    source = Provenance("positions")
    return build(graph(POSITIONS), [host], source, outputs=["q", "p"], counts=counts)


def run(bits: list[int], k: int) -> dict[str, Any]:
    executor = Executor(compiled(), [CpuDevice()])
    return {**executor.run({"m": np.array(bits, np.bool_), "k": np.array(k)}).outputs}


def test_cut() -> None:
    array = np.arange(12).reshape(3, 4)
    assert cut("y", array, {}) is array
    assert cut("y", array, {0: 1, 1: 3}).tolist() == [[0, 1, 2]]
    assert cut("y", array, {1: 0}).shape == (3, 0)
    assert cut("y", array, {1: 2}).flags.c_contiguous
    for extent in (-1, 5):
        with pytest.raises(RunError, match=f"^y has {extent} elements along axis 1: 0 to 4 fit$"):
            cut("y", array, {1: extent})


def test_results() -> None:
    found = run([0, 1, 1, 0, 0, 1], 4)
    assert [*found] == ["q", "p"]
    assert found["q"].tolist() == [5, 6, 9]
    assert found["p"].tolist() == [1, 2]
    assert run([0] * 6, 0)["q"].shape == (0,)
    with pytest.raises(RunError, match="result p has 7 elements along axis 0: 0 to 6 fit"):
        run([1] * 6, 14)


def test_a_file() -> None:
    data = to_bytes(compiled())
    again = from_bytes(data)
    assert again.manifest.counts == compiled().manifest.counts
    assert to_bytes(again) == data


N, HALF = (each.tensor for each in compiled().manifest.counts)


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([Count("q", 0, N), Count("q", 0, HALF)], "two counts are of one extent"),
        ([Count("n", 0, N)], "the extent of n along axis 0 is counted, and there is no such res"),
        ([Count("q", 1, N)], r"the extent of q along axis 1 is counted, and it is int64\[6\]"),
        ([Count("q", -1, N)], "the extent of q along axis -1 is counted"),
        ([Count("q", 0, "none")], "the extent of q along axis 0 is none, and there is no such t"),
        ([Count("q", 0, "m")], r"the extent of q along axis 0 is m, bool\[6\], which is no number"),
        ([Count("q", 0, "bits")], "the extent of q along axis 0 is bits, and there is no such t"),
    ],
)
def test_refusals(counts: list[Count], message: str) -> None:
    artifact = compiled()
    manifest = replace(artifact.manifest, counts=tuple(counts))
    with pytest.raises(ArtifactError, match=f"^artifact positions: {message}"):
        Artifact(manifest, artifact.code, artifact.constants)


def test_a_count_that_is_never_written() -> None:
    artifact = compiled()
    manifest = artifact.manifest
    steps = tuple(each for each in manifest.steps if N not in each.outputs)
    code = {each.code: artifact.code[each.code] for each in steps}
    with pytest.raises(ArtifactError, match="a count of q is never written"):
        Artifact(replace(manifest, steps=steps), code, artifact.constants)


def test_a_fallback_of_other_counts() -> None:
    artifact = compiled()
    other = replace(artifact.manifest, counts=artifact.manifest.counts[:1])
    fallback = Artifact(other, artifact.code, artifact.constants)
    with pytest.raises(ArtifactError, match="its fallback is of another network: counts differ"):
        Artifact(artifact.manifest, artifact.code, artifact.constants, fallback)


def test_results_that_are_neither() -> None:
    """Every result of a function is named, or a count of one that is."""
    host = cpu(CpuTarget.host(threads=1))
    for counts in ({}, {"q": {0: 2}}, {"q": {0: 4}}):
        with pytest.raises(BuildError, match="gives 4 tensors, and 2 are named: q, p"):
            build(graph(POSITIONS), [host], Provenance("x"), outputs=["q", "p"], counts=counts)
