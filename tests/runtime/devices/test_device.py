"""What devices do unless they say otherwise: memory is the host's, and code is of their kind."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tandem.runtime.artifact import Artifact, Code, Kept, Step, Tensor
from tandem.runtime.devices.device import Device, StepFunction
from tandem.runtime.errors import RunError
from tandem.runtime.native import ObjectCode
from tests.support.runtime.plain_artifacts import PlainCode, plain_artifact, plain_step


class Plain(Device):
    """A device that has nothing of its own."""

    name = "plain"

    def prepare(self, artifact: Artifact, steps: Sequence[Step]) -> Sequence[StepFunction]:
        return []


KEPT = Tensor("k", (3, 5), "int16", Kept("plain"))
STEP = plain_step("s", device="plain")
ARTIFACT = plain_artifact([], [STEP])


def test_it_runs_step_by_step() -> None:
    device = Plain()
    assert device.network(ARTIFACT) is None
    assert device.memory_of(lambda inputs, outputs: None, 0) is None


def test_its_memory_is_the_hosts() -> None:
    memory = Plain().allocate(KEPT)
    assert (memory.shape, memory.dtype) == ((3, 5), np.int16)
    assert memory.ctypes.data % 64 == 0
    memory[:] = np.arange(15).reshape(3, 5)
    found = Plain().read(KEPT, memory)
    memory[:] = 0
    np.testing.assert_array_equal(found, np.arange(15).reshape(3, 5))


def test_code_of_its_kind() -> None:
    kinds: list[type[Code]] = [PlainCode]
    for kind in kinds:
        assert Plain().code_of(ARTIFACT, STEP, kind) is ARTIFACT.code["s"]
    wanted = "^s is for the device plain, which does not run code of the kind plain$"
    with pytest.raises(RunError, match=wanted):
        Plain().code_of(ARTIFACT, STEP, ObjectCode)
