"""The content of a run's HTML report, as values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from tandem.hw.config import HardwareConfig
from tandem.hw.memory_model import MemoryModel, parse_memory
from tandem.runtime.layer_profiles import LayerProfile
from tandem.workbench.accuracy import ClassAccuracy, LayerLosses
from tandem.workbench.clock import Clock
from tandem.workbench.errors import PageError
from tandem.workbench.round_trips import RoundTrip
from tandem.workbench.why import Why


class AreaKind(Enum):
    """The kind of a memory area's content; the values are labels for people."""

    INPUTS = "inputs"
    OUTPUTS = "outputs"
    ACTIVATIONS = "activations"
    WEIGHTS = "weights"
    NUMBERS = "biases and scales"
    MICRO_OPS = "micro-ops"
    INSTRUCTIONS = "instructions"


@dataclass(frozen=True, slots=True)
class Area:
    """An area of the accelerator's memory; areas may share bytes at different times."""

    name: str
    address: int
    bytes: int
    kind: AreaKind

    def __post_init__(self) -> None:
        if self.address < 0 or self.bytes < 0:
            raise PageError(
                f"report: {self.name} has {self.bytes} bytes at {self.address}: "
                "neither can be negative"
            )


@dataclass(frozen=True, slots=True)
class CpuStep:
    """A step on the CPU: its wall-clock time, and why the accelerator does not execute it."""

    name: str
    seconds: float
    operators: tuple[str, ...] = ()
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """The content of a run's HTML report.

    Attributes
    ----------
    memory
        The memory model, as the command line names it.
    command
        The command line that makes this page.
    batches
        Number of batches over which the figures are summed.
    layers
        Layers in order; either all have cycles, or none (functional engine). They are with latency
        hiding if `without` is given, and otherwise as the model was compiled.
    without
        The same layers without latency hiding; None if they were not measured.
    cpu_steps
        The steps on the CPU.
    areas
        The memory map.
    versions
        Names and versions of the tools that made the page.
    equal
        Whether the outputs equal those of the CPU's run; None if they were not compared.
    clock
        The clock with which cycles are converted to time; None if no clock is known.
    reasons
        Why each layer took its cycles, of the first batch; empty if that is not known.
    losses
        The errors of layers against float32; None without `--accuracy`.
    accuracy
        How often classes are found; None without `--labels`.
    round_trips
        What is done on the CPU between launches of the accelerator.
    formats
        How the weights of layers are stored, by the names of layers, and by those of the errors in
        `losses`; empty where no format was asked for.
    warning
        A warning about how the network was calibrated; None if there is none.

    Raises
    ------
    PageError
        If there is nothing to show, or the parts do not fit each other.
    tandem.hw.errors.MemoryModelError
        If `memory` is no memory model.
    """

    model: str
    engine: str
    config: HardwareConfig
    memory: str
    command: str
    layers: tuple[LayerProfile, ...]
    without: tuple[LayerProfile, ...] | None = None
    cpu_steps: tuple[CpuStep, ...] = ()
    areas: tuple[Area, ...] = ()
    versions: tuple[tuple[str, str], ...] = ()
    equal: bool | None = None
    batches: int = 1
    clock: Clock | None = None
    reasons: tuple[Why, ...] = ()
    losses: LayerLosses | None = None
    accuracy: ClassAccuracy | None = None
    round_trips: tuple[RoundTrip, ...] = ()
    formats: Mapping[str, str] = field(default_factory=dict)
    warning: str | None = None

    def __post_init__(self) -> None:
        if not self.layers and not self.cpu_steps:
            raise PageError(f"report: the run of {self.model} had no layer and no step to show")
        parse_memory(self.memory)
        names = _names(self.layers)
        if len({*names}) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise PageError(f"report: two layers of {self.model} are called {twice}")
        timed = _timed(self.layers)
        if self.without is None:
            return
        if _names(self.without) != names:
            raise PageError(
                f"report: with latency hiding {self.model} has the layers {', '.join(names)}, and "
                f"without it {', '.join(_names(self.without))}: they must be the same"
            )
        if _timed(self.without) is not timed:
            raise PageError("report: cycles are known with or without latency hiding, not both")

    @property
    def has_time(self) -> bool:
        """Whether the layers have cycles."""
        return bool(self.layers) and _timed(self.layers)

    @property
    def timing(self) -> MemoryModel:
        """The memory model."""
        return parse_memory(self.memory)

    @property
    def bytes_per_cycle(self) -> float:
        """The bus bandwidth in each direction."""
        return self.config.bus_bytes / self.timing.interval


def _names(layers: Sequence[LayerProfile]) -> list[str]:
    return [each.layer.name for each in layers]


def _timed(layers: Sequence[LayerProfile]) -> bool:
    """Whether the layers have cycles. Raises `PageError` if only some of them have."""
    timed = {each.cycles is not None for each in layers}
    if len(timed) > 1:
        raise PageError("report: some layers have cycles and some have none")
    return True in timed
