"""Memory of tensors: views of one arena, and what devices allocate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tandem.runtime.artifact import Arena, Artifact, Input, Kept, Output, Step, Tensor
from tandem.runtime.devices import Device, StepFunction
from tandem.runtime.errors import RunError
from tandem.runtime.frame import new_frame


class Box(Device):
    """A device that keeps tensors as their names."""

    name = "box"

    def prepare(self, artifact: Artifact, steps: Sequence[Step]) -> Sequence[StepFunction]:
        raise NotImplementedError

    def allocate(self, tensor: Tensor) -> Any:
        return f"memory of {tensor.name}"


TENSORS = (
    Tensor("a", (4,), "int32", Arena(0)),
    Tensor("b", (2, 3), "int8", Arena(64)),
    Tensor("c", (2,), "int16", Arena(0)),
    Tensor("k", (2,), "float32", Kept("box")),
    Tensor("x", (2,), "float32", Input()),
    Tensor("y", (2,), "float32", Output()),
)


def test_tensors_are_views_of_one_arena() -> None:
    frame = new_frame("net", 128, TENSORS, {"box": Box()})
    assert {name: np.shape(array) for name, array in frame.items() if name != "k"} == {
        **{"a": (4,), "b": (2, 3)},
        "c": (2,),
    }
    assert frame["b"].dtype == np.int8
    frame["a"][...] = 0x00020001
    assert frame["c"].tolist() == [1, 2]
    assert frame["b"].ctypes.data - frame["a"].ctypes.data == 64


def test_a_device_keeps_its_own() -> None:
    assert new_frame("net", 128, TENSORS, {"box": Box()})["k"] == "memory of k"
    with pytest.raises(RunError, match="k of net stays on box, which is not there"):
        new_frame("net", 128, TENSORS, {})


def test_by_default_a_devices_memory_is_the_hosts() -> None:
    class Plain(Device):
        def prepare(self, artifact: Artifact, steps: Sequence[Step]) -> Sequence[StepFunction]:
            raise NotImplementedError

    device = Plain()
    memory = new_frame("net", 128, TENSORS, {"box": device})["k"]
    memory[...] = 3
    copied = device.read(TENSORS[3], memory)
    memory[...] = 4
    assert copied.tolist() == [3, 3]


def test_no_memory() -> None:
    with pytest.raises(RunError, match=f"net needs {1 << 60} bytes, more than there is"):
        new_frame("net", 1 << 60, (), {})
