"""The memory of runs, by hand."""

from __future__ import annotations

import numpy as np

from tandem.runtime.artifact import (
    Arena,
    Artifact,
    ConstantPlace,
    InPlace,
    Input,
    Output,
    Tensor,
)
from tandem.runtime.artifact.memory import RunMemory, run_memory
from tandem.runtime.native import ObjectCode, Parameter
from tests.support.runtime.plain_artifacts import plain_artifact, plain_step


def code(shared: int, worker: int) -> ObjectCode:
    """A function from one tensor of float32[4] to another."""
    parameters = (Parameter("in", (4,), "float32"), Parameter("out", (4,), "float32"))
    return ObjectCode(
        *("f", "f", "x86_64", (), parameters, ("in",), ("out",)), shared, worker, True, b""
    )


def artifact() -> Artifact:
    tensors = [
        Tensor("x", (4,), "float32", Input()),
        Tensor("c", (3,), "int8", ConstantPlace()),
        Tensor("a", (4,), "float32", Arena(0)),
        Tensor("y", (4,), "float32", InPlace("x")),
        Tensor("z", (4,), "float32", Output()),
    ]
    steps = [
        plain_step("one", ["x"], ["a"]),
        plain_step("two", ["a"], ["y"]),
        plain_step("three", ["a"], ["z"]),
    ]
    plain = plain_artifact(
        tensors, steps, ["x"], ["y", "z"], constants={"c": np.zeros(3, np.int8)}, arena_bytes=64
    )
    codes = {**plain.code, "one": code(100, 10), "two": code(30, 40)}
    return Artifact(plain.manifest, codes, plain.constants)


def test_memory_of_a_run() -> None:
    # One thread: 110 and 70 bytes of workspace; three: 130 and 150.
    assert run_memory(artifact(), 1) == RunMemory(16, 16, 3, 64, 110)
    assert run_memory(artifact(), 3) == RunMemory(16, 16, 3, 64, 150)
    assert run_memory(artifact(), 3).total == 16 + 16 + 3 + 64 + 150


def test_without_native_code_there_is_no_workspace() -> None:
    tensors = [Tensor("x", (4,), "float32", Input()), Tensor("y", (4,), "float32", Output())]
    plain = plain_artifact(tensors, [plain_step("one", ["x"], ["y"])], ["x"], ["y"])
    assert run_memory(plain, 2) == RunMemory(16, 16, 0, 0, 0)
