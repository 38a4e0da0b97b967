"""`tandem.check`: engines compared with each other, and with the CPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tandem.api.artifact import Artifact
from tandem.api.machines import Memory, NamedMemory
from tandem.api.progress import Progress, steps_of
from tandem.api.samples import Inputs, batches
from tandem.runtime.artifact import config_of
from tandem.runtime.errors import InputError
from tandem.runtime.inputs.network import inputs_of
from tandem.runtime.joined import join_runs
from tandem.sim.compare import Comparison
from tandem.sim.engines import ENGINES
from tandem.workbench import device_comparison
from tandem.workbench.arguments import at_least, choice, expect, value_errors
from tandem.workbench.engine_comparison import EngineComparison
from tandem.workbench.errors import ArgumentValueError
from tandem.workbench.platform import Platform
from tandem.workbench.sqnr import show_sqnr


@dataclass(frozen=True, slots=True, repr=False)
class Check:
    """What comparisons of a run came to.

    Attributes
    ----------
    cpu
        The accelerator's tensors against the CPU's, bit by bit.
    engines
        Two engines against each other: events, cycles, counters and memory; None of one engine.
    sqnr
        The signal-to-quantisation-noise ratio in dB of each float output against the model in
        float32; None of a model that states its own scales, and of a loaded artifact.
    """

    cpu: device_comparison.Comparison
    engines: EngineComparison | None
    sqnr: Mapping[str, float] | None

    @property
    def equal(self) -> bool:
        """Whether nothing differs."""
        return self.first is None

    @property
    def first(self) -> str | None:
        """The first difference as text, of engines before the CPU's; None if all is equal."""
        between = None if self.engines is None else self.engines.first_text()
        return between or self.cpu.first or None

    def __repr__(self) -> str:
        against = "the CPU" if self.engines is None else " and ".join(self.engines.engines)
        lines = [
            f"equal: {against}, {self.cpu.elements:,} elements of {self.cpu.tensors} tensors"
            if self.first is None
            else f"different: {self.first}"
        ]
        if self.sqnr:
            lines.append(f"  SQNR     {show_sqnr(self.sqnr)} against float32")
        return "\n".join(lines)


def check(
    artifact: Artifact,
    inputs: Inputs | None = None,
    *,
    engines: str | Sequence[str] = "cycle",
    memory: Memory = "fast",
    threads: int | None = None,
    progress: Progress = None,
) -> Check:
    """Run an artifact on an engine, or on two that are compared, and on the CPU, and compare.

    Parameters
    ----------
    inputs
        As of `Session.run`; None for noise.
    engines
        An engine, or two: `cycle`, `rtl`, `functional`, `pysim`.
    memory, threads, progress
        As of `Session`.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        An argument that is not allowed; an artifact that needs no accelerator.
    FallbackError
        An artifact from a file without code for the CPU.
    RunError, SimulationError
        A run failed.
    """
    if not isinstance(artifact, Artifact):
        expect("artifact", artifact, "an Artifact of tandem.compile or tandem.Artifact.load")
    network = artifact.network
    compiled = network.artifact
    if config_of(compiled) is None:
        raise ArgumentValueError(f"nothing of {artifact.name} is on an accelerator to check")
    first, second = _two(engines)
    model = NamedMemory.of(memory).model
    platform = Platform(
        first, model, None if threads is None else at_least("threads", threads, 1), second
    )
    given = artifact.noise() if inputs is None else inputs
    found = batches(artifact.name, given, inputs_of(compiled))
    watch = device_comparison.boundaries(compiled)
    launches: list[Comparison] = []
    with steps_of("check", progress) as steps, value_errors(InputError):
        runs = platform.run(compiled, found, steps.at, watch, launches)
        reference = platform.run(network.on_cpu(steps.say), found, steps.at, watch)
    streams = [stream for run in runs for stream in run.profile.streams]
    return Check(
        device_comparison.compare(join_runs(runs), join_runs(reference), compiled),
        EngineComparison(launches, streams) if launches else None,
        network.sqnr(found, runs),
    )


def _two(engines: str | Sequence[str]) -> tuple[str, str | None]:
    names = [engines] if isinstance(engines, str) else [*engines]
    if not 1 <= len(names) <= 2:
        raise ArgumentValueError(f"engines are {names}: there must be one engine, or two")
    checked = [choice("engine", name, ENGINES) for name in names]
    return checked[0], checked[1] if len(checked) > 1 else None
