"""The report of a run: a row for each layer and CPU step, totals, and the JSON object."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tandem.runtime.artifact import config_of
from tandem.runtime.executor import Run
from tandem.runtime.layer_profiles import LayerProfile
from tandem.runtime.profile import StepProfile
from tandem.workbench.accuracy import ClassAccuracy, LayerLosses
from tandem.workbench.clock import Clock
from tandem.workbench.device_comparison import Comparison
from tandem.workbench.engine_comparison import EngineComparison
from tandem.workbench.networks import Network
from tandem.workbench.outputs import output_json
from tandem.workbench.platform import Platform
from tandem.workbench.round_trips import RoundTrip, round_trips
from tandem.workbench.sqnr import sqnr_json
from tandem.workbench.table import Column, Table
from tandem.workbench.why import Why

_LAYERS = (
    Column("name", str, "the layer's, or the step's, name"),
    Column("operators", str, "what it computes, with + between operators"),
    Column("device", str, "which device computed it"),
    Column("macs", int, "useful multiply-accumulates"),
    Column("cycles", int, "clock cycles of the accelerator; unknown of the CPU"),
    Column(
        "utilization", float, "useful multiply-accumulates / (cycles x multipliers), 0 to 1", ".1%"
    ),
    Column("seconds", float, "wall-clock time of the step, in s; unknown of the accelerator"),
    Column("reason", str, "why the CPU computed it"),
)


@dataclass(frozen=True, slots=True)
class ReportRow:
    """A layer of the accelerator, or a step of the CPU.

    Attributes
    ----------
    cycles, utilization
        None on the CPU, and with an engine that counts no cycles.
    cycles_without_hiding
        Cycles without latency hiding; None if they were not measured.
    seconds
        Wall-clock time of a step of the CPU or a GPU; None for a layer of the accelerator.
    reason
        Why the CPU executes the step; None for accelerator layers and for a network compiled for
        the CPU alone.
    """

    name: str
    operators: tuple[str, ...]
    device: str
    macs: int
    cycles: int | None
    utilization: float | None
    cycles_without_hiding: int | None
    seconds: float | None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class RunReport:
    """A run, with its comparison, SQNR and run without latency hiding.

    Attributes
    ----------
    comparison
        The comparison with the CPU; None without one.
    sqnr
        SQNR in dB of each output against the unquantised network; None if not known.
    without_hiding
        The same run without latency hiding; None if it was not measured.
    memory
        The memory model, as the command line names it.
    batches
        Number of batches over which the run is summed.
    clock
        The clock that the user names, if any.
    engines
        The comparison of two engines; None without one.
    reasons
        Why each layer of the first batch took its cycles; empty if nothing asks for it.
    asked
        The layer whose cycles are explained; None for none.
    losses
        The errors of layers against float32; None if not measured.
    accuracy
        How often classes are found; None without labels.
    """

    network: Network
    platform: Platform
    run: Run
    comparison: Comparison | None
    sqnr: Mapping[str, float] | None
    without_hiding: Run | None
    memory: str
    batches: int
    clock: Clock | None = None
    engines: EngineComparison | None = None
    reasons: tuple[Why, ...] = ()
    asked: str | None = None
    losses: LayerLosses | None = None
    accuracy: ClassAccuracy | None = None

    @property
    def why(self) -> Why | None:
        """Why the asked layer took its cycles; None if none is asked for."""
        return next((why for why in self.reasons if why.name == self.asked), None)

    @property
    def round_trips(self) -> tuple[RoundTrip, ...]:
        """What the network does on the CPU between launches of the accelerator."""
        return round_trips(self.network.artifact, self.run.profile.steps)

    @property
    def milliseconds(self) -> float | None:
        """The time of the accelerator's cycles at the user's clock; None without either."""
        cycles = self.run.profile.cycles
        if self.clock is None or cycles is None:
            return None
        return self.clock.milliseconds(cycles)

    @property
    def rows(self) -> tuple[ReportRow, ...]:
        """A row for each layer and CPU step, in the order of the network."""
        without = {} if self.without_hiding is None else _cycles_by_layer(self.without_hiding)
        rows: list[ReportRow] = []
        for step in self.run.profile.steps:
            if step.stream is None:
                rows.append(_step_row(step))
            else:
                rows += (
                    _layer_row(layer, without.get(layer.layer.name)) for layer in step.stream.layers
                )
        return tuple(rows)

    @property
    def layers(self) -> Table:
        """The rows as a table: each layer of the accelerator and each step of the CPU."""
        return Table(
            _LAYERS,
            tuple(
                (
                    row.name,
                    "+".join(row.operators),
                    row.device,
                    row.macs,
                    row.cycles,
                    row.utilization,
                    row.seconds,
                    row.reason,
                )
                for row in self.rows
            ),
        )

    @property
    def utilization(self) -> float | None:
        """Utilisation of the accelerator over all of its layers; None without cycles."""
        config, cycles = config_of(self.network.artifact), self.run.profile.cycles
        if config is None or not cycles:
            return None
        macs = sum(step.macs for step in self.run.profile.steps if step.stream is not None)
        return macs / (cycles * config.macs)

    @property
    def simulated_seconds(self) -> float:
        """Wall-clock time of the engine, in seconds."""
        return sum(stream.result.seconds for stream in self.run.profile.streams)

    @property
    def cycles_per_second(self) -> float | None:
        """Simulated cycles per second of wall-clock time; None without cycles."""
        cycles, seconds = self.run.profile.cycles, self.simulated_seconds
        return cycles / seconds if cycles and seconds else None

    def as_json(self) -> dict[str, object]:
        """The command's JSON object. Entries about the accelerator are null if everything ran on
        the CPU.
        """
        config, tuned = config_of(self.network.artifact), self.network.tuned
        losses, accuracy = self.losses, self.accuracy
        manifest = self.network.artifact.manifest
        layers = [
            {
                "name": row["name"],
                "op": row["operators"],
                "device": row["device"],
                "macs": row["macs"],
                "cycles": row["cycles"],
                "utilization": row["utilization"],
                "reason": row["reason"],
                **self._weights_json(str(row["name"]), int(row["macs"] or 0)),
                **({} if losses is None else losses.of_row(str(row["name"]))),
            }
            for row in self.layers
        ]
        return {
            "model": self.network.model,
            "engine": None if config is None else self.platform.engine,
            "config": None if config is None else config.name,
            "cycles": self.run.profile.cycles,
            **self._time_json(),
            **({} if self.why is None else {"why": self.why.as_json()}),
            **({} if tuned is None else {"tuned": tuned.as_json()}),
            "layers": layers,
            **({"weight_bytes": manifest.weight_bytes} if manifest.weights else {}),
            "round_trips": [trip.as_json() for trip in self.round_trips],
            "outputs": [output_json(name, array) for name, array in self.run.outputs.items()],
            **({} if self.sqnr is None else {"sqnr": sqnr_json(self.sqnr)}),
            "calibration": self.network.artifact.manifest.provenance.calibration,
            **({} if losses is None else {"layer_errors": losses.as_json()}),
            **({} if accuracy is None else {"accuracy": accuracy.as_json()}),
            "check": None if self.comparison is None else self.comparison.as_json(),
            "compare": None if self.engines is None else self.engines.as_json(),
            "wall_seconds": self.run.profile.seconds,
            "simulated_cycles_per_second": self.cycles_per_second,
        }

    @property
    def formats(self) -> dict[str, str]:
        """How weights are stored, by the names of layers and steps, and of the layers whose errors
        are measured; empty where no format was asked for."""
        named = [(row.name, row.macs) for row in self.rows]
        if self.losses is not None:
            named += [(error.source, int(error.multiplies)) for error in self.losses.in_order]
        found = (
            (name, self.network.artifact.manifest.weights_of(name, macs)) for name, macs in named
        )
        return {name: weights.as_stored for name, weights in found if weights is not None}

    def _weights_json(self, row: str, macs: int) -> dict[str, object]:
        """The entries `weights` and `weight_traffic` of a layer; none where no format was asked
        for."""
        found = self.network.artifact.manifest.weights_of(row, macs)
        if found is None:
            return {}
        streams = self.run.profile.streams
        profiles = (layer for stream in streams for layer in stream.layers)
        moved = next((layer.weights for layer in profiles if layer.layer.name == row), None)
        return {"weights": str(found), "weight_traffic": moved}

    def _time_json(self) -> dict[str, object]:
        """The entries `clock` and `milliseconds`; none without a clock."""
        if self.clock is None:
            return {}
        clock = {"mhz": self.clock.mhz, "source": self.clock.source}
        return {"clock": clock, "milliseconds": self.milliseconds}


def _cycles_by_layer(run: Run) -> dict[str, int | None]:
    streams = run.profile.streams
    return {layer.layer.name: layer.cycles for stream in streams for layer in stream.layers}


def _step_row(step: StepProfile) -> ReportRow:
    return ReportRow(
        name=step.name,
        operators=step.operators,
        device=step.device,
        macs=step.macs,
        cycles=None,
        utilization=None,
        cycles_without_hiding=None,
        seconds=step.seconds,
        reason=step.reason,
    )


def _layer_row(profile: LayerProfile, without_hiding: int | None) -> ReportRow:
    return ReportRow(
        name=profile.layer.name,
        operators=profile.layer.operators,
        device="accelerator",
        macs=profile.layer.macs,
        cycles=profile.cycles,
        utilization=profile.utilization,
        cycles_without_hiding=without_hiding,
        seconds=None,
    )
