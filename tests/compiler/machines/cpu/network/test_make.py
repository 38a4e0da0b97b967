"""Which networks have code as a whole, and that the code depends on nothing but their structure."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tandem.compiler.driver import build
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.network import make_network
from tandem.compiler.machines.cpu.target import cpu
from tandem.runtime.artifact import Artifact, Provenance
from tandem.runtime.native import NETWORK, NetworkObject
from tests.support.compiler.graph.data_types import SUM as LISTS
from tests.support.compiler.graph.graphs import graph
from tests.support.compiler.graph.recursion import COUNT, EVEN, SUM, SWAP
from tests.support.runtime.artifacts import compiled


def built(program: str) -> Artifact:
    sizes = {"N": 3} if "[N" in program else None
    target = cpu(CpuTarget.host(threads=1))
    return build(graph(program), [target], Provenance("net"), sizes=sizes)


def whole(artifact: Artifact) -> NetworkObject:
    (found,) = artifact.of_kind(NetworkObject).values()
    return found


@pytest.mark.parametrize(
    ("program", "kinds"), [(COUNT, 0), (EVEN, 0), (SWAP, 0), (SUM, 2), (LISTS, 5)]
)
def test_loops_recursion_and_data_types_have_code(program: str, kinds: int) -> None:
    """Free memory is of as many kinds as there are functions and forms of cells, if of any."""
    assert whole(built(program)).kinds == kinds


def test_slots_are_the_kernels_and_what_lies_outside_the_arena() -> None:
    artifact = compiled()
    found = whole(artifact)
    assert [*found.kernels] == [*dict.fromkeys(each.code for each in artifact.manifest.steps)]
    kinds = {each.name: type(each.place).__name__ for each in artifact.manifest.tensors}
    assert {kinds[name] for name in found.tensors} == {"Input", "Output", "ConstantPlace"}
    assert len(found.tensors) == sum(kind != "Arena" for kind in kinds.values())


def test_results_are_as_many_as_those_of_the_function_that_has_most() -> None:
    assert whole(built(SUM)).results == 1
    assert whole(built(COUNT)).results == 2
    assert whole(built(SWAP)).results == 3


def test_other_names_are_the_same_code() -> None:
    text = "func @main(x: float32[4]) -> float32[4]:\n  {0} = exp(x)\n  return {0}\n"
    assert whole(built(text.format("y"))).code == whole(built(text.format("other"))).code


@pytest.mark.parametrize(
    "change",
    [
        {"steps": ()},
        {"steps": tuple(replace(each, device="npu") for each in compiled().manifest.steps)},
        {"steps": tuple(replace(each, code="gone") for each in compiled().manifest.steps)},
    ],
)
def test_what_has_no_code(change: dict[str, Any]) -> None:
    artifact = compiled()
    assert make_network(artifact.manifest, artifact.code) is not None
    assert make_network(replace(artifact.manifest, **change), artifact.code) is None


def test_its_name_is_no_kernels() -> None:
    assert compiled().of_kind(NetworkObject).keys() == {NETWORK}
