"""What all GPUs do around their kernels, on a device whose kernels are functions of NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

from tandem.runtime.artifact import Artifact, ConstantPlace, Input, Kept, Output, Tensor
from tandem.runtime.artifact.gpu_code import GpuArray, GpuCode, GpuLaunch
from tandem.runtime.devices.gpu import GpuDevice, bytes_of
from tandem.runtime.errors import RunError
from tests.support.runtime.plain_artifacts import plain_artifact, plain_step


class Memory:
    """Memory of the device, whose bytes nobody else sees."""

    def __init__(self, size: int) -> None:
        self.bytes = np.full(size, 0xEE, np.uint8)


class Kernels(GpuCode, frozen=True):
    """A language of this test alone."""

    kind: ClassVar[str] = "plain"
    language: ClassVar[str] = "plain words"


def add(x: NDArray[Any], y: NDArray[Any], s: NDArray[Any]) -> None:
    s[...] = x + y


def double(s: NDArray[Any], z: NDArray[Any]) -> None:
    z[...] = 2 * s


class Written(GpuDevice):
    """A device that notes what it is asked."""

    name = "gpu"
    code_kind: ClassVar[type[GpuCode]] = Kernels

    def __init__(self) -> None:
        self.asked: list[object] = []
        self.memories = 0
        self.built = 0

    @property
    def model(self) -> str:
        return "Model 3"

    @property
    def most_threads(self) -> int:
        return 64

    def memory(self, size: int) -> Memory:
        self.memories += 1
        return Memory(size)

    def upload(self, memory: Any, array: NDArray[Any]) -> None:
        self.asked.append("upload")
        memory.bytes[...] = bytes_of(array)

    def download(self, memory: Any, array: NDArray[Any]) -> None:
        self.asked.append("download")
        array[...] = memory.bytes.view(array.dtype).reshape(array.shape)

    def compiled(self, code: GpuCode) -> Callable[[str], Any]:
        self.built += 1
        return {"add": add, "double": double}.__getitem__

    def launch(self, kernel: Any, memories: Sequence[Any], blocks: int, threads: int) -> None:
        self.asked.append((kernel.__name__, blocks, threads))
        kernel(*(memory.bytes.view(np.float32) for memory in memories))

    def finish(self) -> None:
        self.asked.append("finish")

    def seconds_of(self, run: Callable[[], object]) -> float:
        raise NotImplementedError


def code(threads: int = 64) -> Kernels:
    x, y, z, s = (GpuArray(name, (3,), "float32") for name in "xyzs")
    launches = (
        GpuLaunch("add", 2, threads, ("x", "y", "s")),
        GpuLaunch("double", 1, 3, ("s", "z")),
    )
    return Kernels("f", "text", (x, y), (z,), (s,), launches)


CONSTANT = np.array([10, 20, 30], np.float32)
LAUNCHES = [("add", 2, 64), ("double", 1, 3)]


def artifact(made: Kernels) -> Artifact:
    tensors = [
        Tensor("i", (3,), "float32", Input()),
        Tensor("c", (3,), "float32", ConstantPlace()),
        Tensor("kept", (3,), "float32", Kept("gpu")),
        Tensor("o", (3,), "float32", Output()),
    ]
    steps = [
        plain_step("one", ["i", "c"], ["kept"], "gpu"),
        plain_step("two", ["kept", "c"], ["o"], "gpu"),
    ]
    plain = plain_artifact(tensors, steps, ["i"], ["o"], constants={"c": CONSTANT})
    return Artifact(plain.manifest, {"one": made, "two": made}, plain.constants)


def test_tensors_stay_on_the_device_between_its_steps() -> None:
    device, whole = Written(), artifact(code())
    one, two = device.prepare(whole, whole.manifest.steps)
    # The constant of both is copied once.
    assert device.asked == ["upload"]
    device.asked.clear()
    kept = device.allocate(whole.manifest.tensors[2])
    assert kept.bytes.size == 12
    given, result = np.array([1, 2, 3], np.float32), np.zeros(3, np.float32)
    one([given, CONSTANT], [kept])
    assert device.asked == ["upload", *LAUNCHES, "finish"]
    assert kept.bytes.view(np.float32).tolist() == [22, 44, 66]
    device.asked.clear()
    two([kept, CONSTANT], [result])
    assert device.asked == [*LAUNCHES, "download", "finish"]
    assert result.tolist() == [64, 128, 192]
    found = device.read(whole.manifest.tensors[2], kept)
    assert found.dtype == np.float32
    assert found.tolist() == [22, 44, 66]


def test_memory_of_operands_lasts() -> None:
    device, whole = Written(), artifact(code())
    (one,) = device.prepare(whole, whole.manifest.steps[:1])
    before = device.memories
    result = np.zeros(3, np.float32)
    for factor in (1, 2):
        one([factor * np.ones(3, np.float32), CONSTANT], [result])
        assert result.tolist() == [2 * (factor + each) for each in CONSTANT]
    # One for the input, and one for the output.
    assert device.memories == before + 2


def test_kernels_alone_take_all_operands() -> None:
    device = Written()
    run = device.load(code())
    result = np.zeros(3, np.float32)
    run([CONSTANT, CONSTANT], [result])
    assert result.tolist() == [40, 80, 120]
    assert device.asked == ["upload", "upload", *LAUNCHES, "download", "finish"]


def test_blocks_with_too_many_threads() -> None:
    message = "^add has blocks of 65 threads, and Model 3 has 64$"
    with pytest.raises(RunError, match=message):
        Written().load(code(threads=65))


def test_code_without_launches_is_not_built() -> None:
    device = Written()
    Written.load(device, Kernels("f", "", (), (), (), ()))([], [])
    assert device.built == 0
    assert device.asked == ["finish"]


def test_steps_of_another_kind() -> None:
    steps = [plain_step("one", device="gpu")]
    with pytest.raises(
        RunError, match=r"^one is for the device gpu, which does not run code of the"
    ):
        Written().prepare(plain_artifact([], steps), steps)


def test_bytes_of_arrays() -> None:
    assert bytes_of(np.array([[1, 258]], np.int16)).tolist() == [1, 0, 2, 1]
