"""The CPU as a device: what it refuses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tandem.runtime.artifact import Artifact
from tandem.runtime.devices import CpuDevice
from tandem.runtime.errors import NativeCodeError
from tandem.runtime.executor import Executor
from tandem.runtime.native import ObjectCode, ThreadPool
from tests.support.runtime.artifacts import compiled


def made_for(**changes: Any) -> Artifact:
    """The network's artifact with one kernel of another machine."""
    artifact = compiled()
    changed = replace(artifact.of_kind(ObjectCode)["dense"], **changes)
    return replace(artifact, code={**artifact.code, "dense": changed})


def test_code_for_a_processor_with_more() -> None:
    other = made_for(features=(*compiled().of_kind(ObjectCode)["dense"].features, "avx2048"))
    with pytest.raises(NativeCodeError, match="dense needs avx2048, which this processor lacks"):
        Executor(other, [CpuDevice(1)])


def test_code_for_another_machine() -> None:
    with pytest.raises(NativeCodeError, match="dense was compiled for riscv64-unknown-linux; this"):
        Executor(made_for(triple="riscv64-unknown-linux"), [CpuDevice(1)])


def test_threads() -> None:
    with pytest.raises(NativeCodeError, match="not 0"):
        CpuDevice(0)


def test_threads_start_before_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first layer's time has no part of it."""
    started: list[int] = []
    start = ThreadPool.start

    def counted(pool: ThreadPool) -> None:
        started.append(pool.threads)
        start(pool)

    monkeypatch.setattr(ThreadPool, "start", counted)
    parallel = [code for code in compiled().of_kind(ObjectCode).values() if code.parallel]
    executor = Executor(compiled(), [CpuDevice(2)])
    assert started == [2] * len(parallel)
    assert executor.inputs
