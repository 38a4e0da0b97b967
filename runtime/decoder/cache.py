"""The keys and values of a text, where the functions of a decoder read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from tandem.runtime.aligned_arrays import aligned_arrays
from tandem.runtime.artifact import Artifact
from tandem.runtime.decoder.decoder_artifact import DecoderArtifact
from tandem.runtime.decoder.resident import ResidentCache, resident_rows
from tandem.runtime.executor import Executor


class Cache:
    """Keys and values, by the names of inputs.

    What a function takes as int8 lies in the memory of the accelerator that reads it, for each
    function; what both take in real numbers, once in the host's memory. A row is written to each.

    Parameters
    ----------
    executors
        Those of the artifact's functions.
    """

    def __init__(self, artifact: DecoderArtifact, executors: Mapping[Artifact, Executor]) -> None:
        self._artifact = artifact
        self._resident = dict[Artifact, ResidentCache]()
        for function, executor in executors.items():
            rows = resident_rows(function)
            memory = {name: executor.memory_for(name) for name in rows}
            self._resident[function] = ResidentCache(rows, memory)
        self._real = {
            name: aligned_arrays(shape, "float32")()
            for name, shape in artifact.cache_shapes.items()
            if any(name not in each.memory for each in self._resident.values())
        }
        self.reset()

    def reset(self) -> None:
        """Forget all rows."""
        for array in self._real.values():
            array[...] = 0
        for resident in self._resident.values():
            for array in resident.memory.values():
                array[...] = 0

    def inputs(self, function: Artifact) -> dict[str, NDArray[Any]]:
        """What a function takes."""
        return {**self._real, **self._resident[function].memory}

    def append(self, present: Mapping[str, NDArray[Any]], first: int) -> int | None:
        """Write rows [1, heads, n, features] from row `first` on, by the names of inputs.

        Returns
        -------
        int | None
            The bytes that were written; None where a function takes real numbers, all of which it
            rounds and packs in each call.
        """
        found = 0
        for name, rows in present.items():
            if name in self._real:
                self._real[name][:, :, first : first + rows.shape[2]] = rows
            for resident in self._resident.values():
                if name in resident.memory:
                    found += resident.put(name, rows, first)
        return None if self._real else found

    def call_bytes(self, function: Artifact) -> int:
        """The bytes of int8 rows that the steps of a call write."""
        return self._resident[function].call_bytes
