"""Artifacts as values: code by kind, and fallbacks that are of another network."""

from __future__ import annotations

from typing import Any

import pytest

from tandem.runtime.artifact import Arena, Artifact, Input, Output, Step, Tensor
from tandem.runtime.errors import ArtifactError
from tandem.runtime.native import ObjectCode
from tests.support.runtime.plain_artifacts import PlainCode, plain_artifact


def net(
    *,
    device: str = "cpu",
    fallback: Artifact | None = None,
    shape: tuple[int, ...] = (4,),
    dtype: str = "float32",
    results: tuple[str, ...] = ("y",),
) -> Artifact:
    """y = k(x) on a device, and a further output."""
    tensors = [
        Tensor("x", shape, dtype, Input()),
        Tensor("y", shape, dtype, Output()),
        Tensor("z", shape, dtype, Output()),
    ]
    steps = [
        Step("k", device, "k", ("x",), ("y",), (), 0),
        Step("l", "cpu", "l", ("x",), ("z",), (), 0),
    ]
    return plain_artifact(tensors, steps, ("x",), (*results, "z"), fallback=fallback)


def test_code_of_a_kind() -> None:
    found = net()
    assert [*found.of_kind(PlainCode)] == ["k", "l"]
    assert found.of_kind(ObjectCode) == {}


def test_a_fallback_is_the_same_network_on_the_host() -> None:
    assert net(device="accelerator", fallback=net()).fallback is not None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"device": "accelerator"}, "its fallback needs the device accelerator, for k"),
        ({"fallback": True}, "its fallback has a fallback"),
        ({"shape": (5,)}, "its fallback is of another network: inputs differ"),
        ({"dtype": "int32"}, "its fallback is of another network: inputs differ"),
        ({"results": ()}, "its fallback is of another network: results differ"),
    ],
)
def test_fallbacks_of_others(changes: dict[str, Any], message: str) -> None:
    if changes.get("fallback"):
        changes = {"fallback": net()}
    with pytest.raises(ArtifactError, match=f"^artifact plain: {message}$"):
        net(device="accelerator", fallback=net(**changes))


def chain(device: str, dtype: str, name: str = "a", fallback: Artifact | None = None) -> Artifact:
    """y = l(a), where a = k(x) is computed on a device."""
    tensors = [
        Tensor("x", (4,), "float32", Input()),
        Tensor(name, (4,), dtype, Arena(0)),
        Tensor("y", (4,), "float32", Output()),
    ]
    steps = [
        Step("k", device, "k", ("x",), (name,), (), 0),
        Step("l", "cpu", "l", (name,), ("y",), (), 0),
    ]
    return plain_artifact(tensors, steps, ("x",), ("y",), arena_bytes=16, fallback=fallback)


@pytest.mark.parametrize(("dtype", "name"), [("int32", "a"), ("float32", "b")])
def test_a_fallback_has_what_steps_of_devices_read_and_write(dtype: str, name: str) -> None:
    """What only the host's steps have may differ."""
    other = chain("cpu", dtype, name)
    with pytest.raises(ArtifactError, match=r"its fallback is of another network: a differs$"):
        chain("accelerator", "float32", fallback=other)
    assert chain("cpu", "float32", fallback=other).fallback is other
