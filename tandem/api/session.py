"""Sessions: artifacts loaded on an engine and this processor, to be run any number of times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Self
from weakref import finalize

from tandem.api.artifact import Artifact
from tandem.api.machines import Memory, NamedMemory
from tandem.api.progress import Progress, steps_of
from tandem.api.run import Run
from tandem.api.samples import Arrays, Inputs, batches
from tandem.runtime.artifact import config_of
from tandem.runtime.errors import InputError
from tandem.runtime.inputs.check import check_finite, rounded_inputs
from tandem.sim.engines import ENGINES
from tandem.workbench.arguments import at_least, choice, expect, value_errors
from tandem.workbench.errors import ArgumentValueError
from tandem.workbench.platform import Platform


class Session:
    """An artifact on an engine and this processor.

    No state lasts from one run to the next. A session is closed when its `with` block ends, or when
    nobody refers to it.

    Parameters
    ----------
    artifact
        What `tandem.compile` or `tandem.Artifact.load` gives.
    engine
        What stands for the accelerator: `cycle` (exact cycles), `rtl` (the Verilog, by Verilator),
        `functional` (no time) or `pysim` (Amaranth's simulator).
    memory
        The accelerator's memory: `fast`, `ddr`, `edge`, `latency=N,interval=N,in_flight=N`, or a
        `MemoryModel`.
    threads
        The processor's threads; None for all cores.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        An argument that is not allowed; says what is.
    ArtifactError, RunError
        This processor cannot run the artifact.
    """

    def __init__(
        self,
        artifact: Artifact,
        *,
        engine: str = "cycle",
        memory: Memory = "fast",
        threads: int | None = None,
    ) -> None:
        if not isinstance(artifact, Artifact):
            expect("artifact", artifact, "an Artifact of tandem.compile or tandem.Artifact.load")
        self.artifact = artifact
        self.memory: NamedMemory = NamedMemory.of(memory)
        self.platform: Platform = Platform(
            choice("engine", engine, ENGINES),
            self.memory.model,
            None if threads is None else at_least("threads", threads, 1),
        )
        stack = ExitStack()
        self._rounded = rounded_inputs(artifact.network.artifact.manifest)
        self._executor = stack.enter_context(self.platform.executor(artifact.network.artifact))
        self._close = finalize(self, stack.close)

    def run(self, inputs: Inputs, *, progress: Progress = None) -> Run:
        """Run the network.

        Parameters
        ----------
        inputs
            Arrays by the names of inputs, or one array for the only input; several batches along
            the first axis are run one after the other, and their results joined.
        progress
            None, True for a bar, or a callback of (done, total, text): steps.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError
            An input that is missing, unknown, of another shape or type, or not finite where the
            network rounds it; says what is wanted.
        RunError, SimulationError
            The run failed.
        """
        if not self._close.alive:
            raise ArgumentValueError(f"{self} is closed: a new one runs the artifact")
        found = self._batches(inputs)
        if self._rounded:
            with value_errors(InputError):
                for batch in found:
                    check_finite(self.artifact.name, self._rounded, batch)
        if progress is None:
            runs = tuple(map(self._executor.run, found))
        else:
            with steps_of("run", progress) as steps:
                runs = tuple(self._executor.run(batch, steps.at) for batch in found)
        return Run(self.artifact.network, self.platform, self.memory.name, tuple(found), runs)

    def _batches(self, inputs: Inputs) -> Sequence[Arrays]:
        if isinstance(inputs, Mapping) and self._executor.fits(inputs):
            return ({**inputs},)
        return batches(self.artifact.name, inputs, self._executor.inputs)

    def close(self) -> None:
        """Free the simulated machine; the session runs nothing afterwards."""
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        where = "the CPU"
        if config_of(self.artifact.network.artifact) is not None:
            where = f"engine {self.platform.engine}, memory {self.memory.name}"
        return f"Session({self.artifact.name} on {where})"
