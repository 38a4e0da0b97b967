"""The CPU as a device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tandem.runtime.aligned_arrays import address_of
from tandem.runtime.artifact import HOST, Artifact, RowsCode, Step
from tandem.runtime.devices.device import Device, StepFunction
from tandem.runtime.native import NativeFunction, ObjectCode, PoolObject, ThreadPool, load
from tandem.runtime.native.pool_code import pool_code
from tandem.runtime.native.processor import available_threads
from tandem.runtime.native_network import NativeNetwork, load_network
from tandem.runtime.row_writer import RowWriter


class CpuDevice(Device):
    """The CPU: executes native code.

    Parameters
    ----------
    threads
        Threads for parallel loops; None for all cores.
    """

    def __init__(self, threads: int | None = None) -> None:
        self.name = HOST
        self._pool = ThreadPool(available_threads() if threads is None else threads)
        self._loaded: tuple[Artifact, dict[str, NativeFunction]] | None = None

    def prepare(self, artifact: Artifact, steps: Sequence[Step]) -> Sequence[StepFunction]:
        """Load the native code of the steps, and start the threads; see `Device.prepare`.

        Raises
        ------
        NativeCodeError
            If code was compiled for another processor; if it has parallel loops, but the artifact
            has no thread pool for this processor, and LLVM is not installed.
        """
        rows = artifact.of_kind(RowsCode)
        native = [step for step in steps if step.code not in rows]
        codes = {step.code: self.code_of(artifact, step, ObjectCode) for step in native}
        if self._pool.threads > 1 and any(code.parallel for code in codes.values()):
            pool_code(artifact.of_kind(PoolObject).values())
        loaded = {name: load(code, pool=self._pool) for name, code in codes.items()}
        for function in loaded.values():
            function.prepare()
        self._loaded = artifact, loaded
        return [
            _put_rows(rows[step.code]) if step.code in rows else loaded[step.code].unchecked()
            for step in steps
        ]

    def network(self, artifact: Artifact) -> NativeNetwork | None:
        if self._loaded is None or self._loaded[0] is not artifact:
            return None
        return load_network(artifact, self._loaded[1], self._pool)


def _put_rows(code: RowsCode) -> StepFunction:
    """The function that writes rows into a tensor, in place where its result is its input."""
    writer = RowWriter(code)

    def run(inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        (data, rows), (result,) = inputs, outputs
        if address_of(data) != address_of(result):
            result[...] = data
        writer.put(result, rows)

    return run
