"""What a run is told as: rows of steps and layers, and JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from runtime.executor import Run
from runtime.layers import LayerProfile
from runtime.profile import StepProfile
from scripts.run.check import Comparison
from scripts.run.machine import Machine, Network
from scripts.run.outputs import told

__all__ = ["Row", "Told"]


@dataclass(frozen=True, slots=True)
class Row:
    """A layer of the accelerator, or a step of the CPU.

    Attributes
    ----------
    cycles, utilization
        None on the CPU, and where the engine has no time.
    without
        Cycles without latency hiding, if that was run.
    seconds
        Of this computer's time; None of a layer, which is a part of a step.
    reason
        Why the CPU does it; None on the accelerator, and where no accelerator was asked.
    """

    name: str
    operators: tuple[str, ...]
    device: str
    macs: int
    cycles: int | None
    utilization: float | None
    without: int | None
    seconds: float | None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Told:
    """A run, compared with others or not.

    Attributes
    ----------
    sqnr
        Of each output against the network before it was quantised, in decibels, if that is known.
    memory
        The memory model, as the command line names it.
    batches
        How many the run sums up.
    """

    network: Network
    machine: Machine
    run: Run
    comparison: Comparison | None
    sqnr: Mapping[str, float] | None
    plain: Run | None
    memory: str
    batches: int

    @property
    def rows(self) -> tuple[Row, ...]:
        """In the order of the network."""
        without = {} if self.plain is None else _cycles(self.plain)
        found: list[Row] = []
        for step in self.run.profile.steps:
            if step.run is None:
                found.append(_step(step))
            else:
                found += (_layer(each, without.get(each.layer.name)) for each in step.run.layers)
        return tuple(found)

    @property
    def utilization(self) -> float | None:
        """Of the accelerator, by all of its layers; None without cycles. What the CPU multiplied is
        none of it."""
        config, cycles = self.network.artifact.config, self.run.profile.cycles
        if config is None or not cycles:
            return None
        macs = sum(each.macs for each in self.run.profile.steps if each.run is not None)
        return macs / (cycles * config.macs)

    @property
    def simulated_seconds(self) -> float:
        """That the engine took."""
        runs = (each.run for each in self.run.profile.steps)
        return sum(each.result.seconds for each in runs if each is not None)

    @property
    def cycles_per_second(self) -> float | None:
        """How quick the engine was."""
        cycles, seconds = self.run.profile.cycles, self.simulated_seconds
        return cycles / seconds if cycles and seconds else None

    def as_json(self) -> dict[str, object]:
        """As the command line's contract says. What has to do with the accelerator is null where
        everything ran on the CPU."""
        config = self.network.artifact.config
        layers = [
            {
                "name": each.name,
                "op": "+".join(each.operators),
                "device": each.device,
                "macs": each.macs,
                "cycles": each.cycles,
                "utilization": each.utilization,
                "reason": each.reason,
            }
            for each in self.rows
        ]
        return {
            "model": self.network.model,
            "engine": None if config is None else self.machine.engine,
            "config": None if config is None else config.name,
            "cycles": self.run.profile.cycles,
            "layers": layers,
            "outputs": [told(name, array) for name, array in self.run.outputs.items()],
            "check": None if self.comparison is None else self.comparison.as_json(),
            "wall_seconds": self.run.profile.seconds,
            "simulated_cycles_per_second": self.cycles_per_second,
        }


def _cycles(run: Run) -> dict[str, int | None]:
    runs = (each.run for each in run.profile.steps)
    return {
        layer.layer.name: layer.cycles for each in runs if each is not None for layer in each.layers
    }


def _step(step: StepProfile) -> Row:
    known = step.name, step.operators, step.device, step.macs
    return Row(*known, None, None, None, step.seconds, step.reason)


def _layer(layer: LayerProfile, without: int | None) -> Row:
    of = layer.layer
    return Row(
        of.name,
        of.operators,
        "accelerator",
        of.macs,
        layer.cycles,
        layer.utilization,
        without,
        None,
    )
