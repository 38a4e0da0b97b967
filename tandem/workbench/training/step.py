"""The artifact of a step of training, which changes weights in place, within a limit of memory."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass

from tandem.compiler.driver.build import Backends, build
from tandem.compiler.graph.nodes import Function
from tandem.compiler.graph.recompute import MemoryLimitError
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.target import cpu
from tandem.runtime.artifact import Artifact, Provenance
from tandem.runtime.artifact.memory import RunMemory, run_memory
from tandem.runtime.native.processor import available_threads
from tandem.workbench.errors import TrainingError


@dataclass(frozen=True, slots=True)
class StepMemory:
    """The memory of a step of training.

    Attributes
    ----------
    run
        Its parts.
    steps, again
        The calls of kernels, and how many of these are not the first ones, which compute what was
        not kept.
    """

    run: RunMemory
    steps: int
    again: int


@dataclass(frozen=True, slots=True, eq=False)
class CompiledStep:
    """The artifact of a step, and its memory."""

    artifact: Artifact
    memory: StepMemory


def compiled_step(
    step: Function, changed: Mapping[str, str], threads: int | None, limit: int | None = None
) -> CompiledStep:
    """A step of training, compiled for this processor.

    Parameters
    ----------
    step
        A function of `training_step`.
    changed
        By the names of its outputs behind the loss, in order, the parameters that they replace.
    threads
        Of a run; None for all cores. Some kernels take memory for each.
    limit
        The most bytes of a run; None for any.

    Raises
    ------
    TrainingError
        The limit is less than a step can do with.
    CompilerError
        Something cannot be compiled.
    """
    machine = CpuTarget.host()
    target, backends = cpu(machine), Backends()
    threads = available_threads() if threads is None else threads

    def made(most: int) -> Artifact:
        return build(
            step,
            [target],
            Provenance(step.name),
            outputs=["loss", *changed],
            backends=backends,
            given_up=changed,
            arena_limit=most,
        )

    artifact = made(sys.maxsize)
    memory = run_memory(artifact, threads)
    calls = len(artifact.manifest.steps)
    # What lies outside of the arena is known once the step is compiled: weights, the workspace.
    arena = memory.arena
    while limit is not None and memory.total > limit:
        rest = memory.total - memory.arena
        arena = min(arena - 1, limit - rest)
        least: int | None = None
        try:
            artifact = made(max(0, arena))
            least = 0 if arena < 0 else None
        except MemoryLimitError as error:
            least = error.least
        if least is not None:
            raise TrainingError(
                f"a step does not fit in {limit:,} bytes: {least + rest:,} is the least that was "
                f"found, of which {memory.inputs:,} are weights, what the optimiser keeps and the "
                "batch; a smaller batch takes less"
            )
        memory = run_memory(artifact, threads)
    steps = len(artifact.manifest.steps)
    return CompiledStep(artifact, StepMemory(memory, steps, steps - calls))
