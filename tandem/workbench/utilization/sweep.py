"""Convolutions measured at many points: with other memories, and on other machines.

Tiles are chosen for every point. What points share is done once: a stream is compiled, and checked
with data on the functional engine, whose results do not depend on the memory. Its cycles are the
cycle engine's, without data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tandem.compiler.errors import CapacityError, Refusal
from tandem.compiler.machines.accelerator.templates.machine_cost import MemoryTiming
from tandem.compiler.te.knobs import Setting
from tandem.hw.config import HardwareConfig
from tandem.hw.errors import ConfigError, MemoryModelError
from tandem.hw.isa import Program
from tandem.hw.memory_model import MemoryModel
from tandem.sim.engine import Bytes, Launch
from tandem.sim.engines import make_engine
from tandem.workbench.errors import SweepError
from tandem.workbench.utilization import case as cases
from tandem.workbench.utilization.build import HIDING, Convolution
from tandem.workbench.utilization.case import Case, Int8
from tandem.workbench.utilization.conv_layers import ConvLayer, distinct
from tandem.workbench.utilization.measure import Report, ignore, run_checked
from tandem.workbench.utilization.rows import Row, Times, Traffic, total
from tandem.workbench.utilization.sweep_axes import Axis, Point, describe, machine_at, points

ENGINE = "cycle"
"""The engine that counts the cycles of a sweep."""


@dataclass(frozen=True, slots=True)
class SweptPoint:
    """The measurements at a point.

    Attributes
    ----------
    rows
        A row for each layer; empty if the point cannot be measured.
    reason
        Why the point cannot be measured: the machine or the memory is impossible, or the machine
        cannot compute one of the layers. None if it was measured.
    """

    point: Point
    rows: tuple[Row, ...]
    reason: str | None = None

    @property
    def total(self) -> Times | None:
        """The times of all layers together; None if the point cannot be measured."""
        return total(self.rows) if self.rows else None

    def as_json(self) -> dict[str, object]:
        """The entry of this point in the command's JSON."""
        whole = self.total
        return {
            "point": dict(self.point),
            "total": None if whole is None else whole.as_json(),
            "layers": [row.times.as_json() for row in self.rows],
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True)
class SweptPoints:
    """The measured points of a sweep, its fields, and the machine and memory that points share."""

    axes: tuple[Axis, ...]
    points: tuple[SweptPoint, ...]
    config: HardwareConfig
    memory: MemoryModel


def sweep(
    axes: Sequence[Axis],
    config: HardwareConfig,
    memory: MemoryModel,
    layers: Sequence[ConvLayer],
    seed: int = 0,
    report: Report | None = None,
) -> tuple[SweptPoint, ...]:
    """Measure the layers at all points of the axes, in the order of `points`.

    Parameters
    ----------
    config, memory
        The machine and the memory, whose other fields all points share.

    Raises
    ------
    SweepError
        No point can be measured.
    ConvolutionError
        Two layers of one name.
    WrongResultError
        A wrong result: names the point, the layer, the index and both values.
    """
    layers = distinct(layers)
    reasons: dict[Point, str] = {}
    machines: dict[HardwareConfig, dict[Point, MemoryModel]] = {}
    for point in points(axes):
        try:
            machine, memory_there = machine_at(point, config, memory)
        except (ConfigError, MemoryModelError) as error:
            reasons[point] = str(error)
        else:
            machines.setdefault(machine, {})[point] = memory_there
    tests = [_Test.of(layer, seed) for layer in layers] if machines else []
    rows: dict[Point, list[Row]] = {}
    for machine, memories in machines.items():
        for test in tests:
            bench = _Bench(machine, test, report or ignore)
            for point in memories:
                # A point that lacks one layer has no total, and needs no other layer.
                if point not in reasons:
                    try:
                        rows.setdefault(point, []).append(bench.row(memories[point], point))
                    except (Refusal, CapacityError) as error:
                        reasons[point] = f"layer {test.layer.name}: {error}"
    if all(point in reasons for point in points(axes)):
        point, reason = next(iter(reasons.items()))
        raise SweepError(f"no point of the sweep can be measured; {describe(point)}: {reason}")
    return tuple(
        SweptPoint(point, (), reasons[point])
        if point in reasons
        else SweptPoint(point, tuple(rows[point]))
        for point in points(axes)
    )


@dataclass(frozen=True, slots=True)
class _Test:
    """A layer with values, and the result that is expected."""

    layer: ConvLayer
    case: Case
    wanted: Int8

    @staticmethod
    def of(layer: ConvLayer, seed: int) -> _Test:
        case = cases.make_case(layer, seed)
        return _Test(layer, case, cases.expected(case))


@dataclass(frozen=True, slots=True)
class _Checked:
    """A program whose result was found right; its place in memory, and what it moves."""

    program: Program
    memory: Bytes
    address: int
    traffic: Traffic

    def cycles(self, config: HardwareConfig, memory_model: MemoryModel) -> int:
        """The cycles of the program, without data."""
        engine = make_engine(ENGINE, config, memory_model)
        result = engine.launch(self.program, self.memory, Launch(address=self.address, data=False))
        engine.close()
        assert result.cycles is not None, "the cycle engine has time"
        return result.cycles


@dataclass(frozen=True, slots=True)
class _Bench:
    """A layer on a machine, with what memories share: choices of tiles, and checked streams."""

    config: HardwareConfig
    test: _Test
    report: Report
    choices: dict[MemoryTiming, Convolution] = field(default_factory=dict)
    streams: dict[tuple[tuple[str, Setting], ...], tuple[_Checked, _Checked]] = field(
        default_factory=dict
    )

    def row(self, memory: MemoryModel, point: Point) -> Row:
        """The row of the layer with a memory; raises `Refusal` or `CapacityError` if the
        machine cannot compute the layer."""
        label = f"{self.test.layer.name} at {describe(point)}"
        self.report(label)
        timing = MemoryTiming(memory.latency, memory.interval)
        if timing not in self.choices:
            self.choices[timing] = Convolution.of(self.test.case, self.config, timing)
        conv = self.choices[timing]
        key = tuple(sorted(conv.choice.items()))
        if key not in self.streams:
            self.streams[key] = (
                self._checked(conv, 1, f"{label} without latency hiding"),
                self._checked(conv, HIDING, f"{label} with latency hiding"),
            )
        without, hidden = self.streams[key]
        cycles = without.cycles(self.config, memory), hidden.cycles(self.config, memory)
        traffic = without.traffic, hidden.traffic
        return Row.of(self.test.layer, self.config.macs, cycles, traffic)

    def _checked(self, conv: Convolution, threads: int, label: str) -> _Checked:
        built = conv.build(threads)
        engine = make_engine("functional", self.config)
        run = run_checked(engine, built, self.test.wanted, label, self.report)
        engine.close()
        traffic = Traffic.of(run.result.work)
        return _Checked(built.stream.program, run.memory, run.address, traffic)
