"""The memory of a run of an artifact, which is known ahead."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tandem.runtime.artifact.artifact import Artifact
from tandem.runtime.artifact.manifest import ConstantPlace, Input, Output
from tandem.runtime.native.objects import ObjectCode


@dataclass(frozen=True, slots=True)
class RunMemory:
    """The memory of a run on the host, in bytes.

    Attributes
    ----------
    inputs, outputs
        Arrays of the caller, and those that are returned. An output in the memory of an input
        takes none of its own.
    constants
        The values in the artifact.
    arena
        Intermediate tensors.
    workspace
        What kernels take while they run: packed operands, partial sums.
    """

    inputs: int
    outputs: int
    constants: int
    arena: int
    workspace: int

    @property
    def total(self) -> int:
        """All of it."""
        return self.inputs + self.outputs + self.constants + self.arena + self.workspace


def run_memory(artifact: Artifact, threads: int) -> RunMemory:
    """The memory of a run with so many threads, of an artifact without control flow."""
    manifest = artifact.manifest

    def held(kind: type[Input | Output | ConstantPlace]) -> int:
        return sum(each.bytes for each in manifest.tensors if isinstance(each.place, kind))

    def workspaces() -> Iterator[int]:
        for step in manifest.steps:
            code = artifact.code[step.code]
            if isinstance(code, ObjectCode):
                yield code.shared_bytes + threads * code.worker_bytes

    return RunMemory(
        held(Input),
        held(Output),
        held(ConstantPlace),
        manifest.arena_bytes,
        max(workspaces(), default=0),
    )
