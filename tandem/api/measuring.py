"""`tandem.utilization`: convolutions measured with and without latency hiding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tandem.api.layers import Layers, layers_and_left_out
from tandem.api.machines import Machine, Memory, NamedMemory, accelerator_of
from tandem.api.progress import Progress, steps_of
from tandem.hw.config import HardwareConfig
from tandem.hw.memory_model import MemoryModel
from tandem.sim.engines import ENGINES, make_engine
from tandem.workbench.arguments import at_least, choice
from tandem.workbench.errors import UntimedError
from tandem.workbench.pages.write import check_installed
from tandem.workbench.table import Column, Table, Value
from tandem.workbench.utilization.measure import measure
from tandem.workbench.utilization.rows import Row, Times, total

if TYPE_CHECKING:
    import altair

TIMES = (
    Column("cycles_without", int, "clock cycles without latency hiding"),
    Column("cycles_with", int, "clock cycles with it: two virtual threads on the same tiles"),
    Column(
        "utilization_without",
        float,
        "useful multiply-accumulates / (cycles x multipliers), 0 to 1, without latency hiding",
        ".1%",
    ),
    Column("utilization_with", float, "the same with latency hiding", ".1%"),
)
LAYER = (
    Column("name", str, "the layer's name"),
    Column("convolution", str, "height x width, channels in -> out, window, /stride"),
    Column("count", int, "how often the network has it"),
    Column("macs", int, "useful multiply-accumulates of one"),
)


@dataclass(frozen=True, slots=True)
class MeasuredLayers:
    """Measured convolutions, and the machine and the memory that they were measured on."""

    rows: tuple[Row, ...]
    config: HardwareConfig
    memory: MemoryModel


@dataclass(frozen=True, slots=True, repr=False)
class Utilization(Table):
    """A row for each convolution, and their total.

    Attributes
    ----------
    total
        All convolutions together, each as often as its count says.
    details
        What the charts show.
    left_out
        Layers of a model that are not measured alone, such as convolutions in groups.
    """

    total: Times
    details: MeasuredLayers
    left_out: tuple[str, ...] = ()

    def plot(self) -> altair.LayerChart:
        """A chart (of Altair) of the utilisation: a pair of bars for each convolution and for all.

        Raises
        ------
        MissingPackageError
            A library that draws is not installed (the extra `report`).
        UntimedError
            The engine counts no cycles.
        """
        self._check("plot")
        # Imported here, because Altair is large and optional.
        from tandem.workbench.pages.utilization.bars import styled_chart

        measured = self.details
        return styled_chart(measured.rows, measured.config, measured.memory)

    def roofline(self) -> altair.LayerChart:
        """A chart (of Altair) of the convolutions below the roofline of machine and memory.

        Raises
        ------
        MissingPackageError, UntimedError
            As of `plot`.
        PageError
            No convolution multiplies and moves bytes.
        """
        self._check("roofline")
        from tandem.workbench.pages.utilization.roofline_chart import chart

        return chart(self.details.rows, self.details.config, self.details.memory)

    def _check(self, call: str) -> None:
        check_installed(call)
        if self.total.cycles_with is None:
            raise UntimedError(f"{call} needs cycles: the engine that measured counts none")

    def __repr__(self) -> str:
        times = (*times_of(self.total),)
        whole = ("total", "", self.total.count, self.total.macs, *times)
        return repr(Table(self.columns, (*self.rows, whole)))


def utilization(
    layers: Layers = None,
    *,
    machine: Machine = "pynq",
    memory: Memory = "fast",
    engine: str = "cycle",
    seed: int = 0,
    progress: Progress = None,
) -> Utilization:
    """Convolutions run on a machine without latency hiding and with it, on the same tiles.

    Every result is compared with NumPy's.

    Parameters
    ----------
    layers
        Convolutions by name, each (height, width, input channels, output channels, window, stride,
        padding); names of ResNet-18's; a model; None for ResNet-18's.
    machine
        An `Accelerator`, or what it takes.
    memory, engine, progress
        As of `Session`.
    seed
        Of data, weights and biases.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        An argument that is not allowed; says what is.
    ConvolutionError
        A layer that the machine cannot hold or compute.
    WrongResultError
        A result that differs from NumPy's.
    """
    found, left_out = layers_and_left_out(layers)
    config = accelerator_of(machine, "utilization").config
    name, model = choice("engine", engine, ENGINES), NamedMemory.of(memory).model
    seed = at_least("seed", seed, 0)
    simulator = make_engine(name, config, model)
    rows: list[Row] = []
    try:
        with steps_of("utilization", progress) as steps:
            for row in measure(simulator, found, seed, steps.say):
                rows.append(row)
                steps.at(len(rows), len(found), row.layer.name)
    finally:
        simulator.close()
    details = MeasuredLayers(tuple(rows), config, model)
    return Utilization((*LAYER, *TIMES), tuple(map(_row, rows)), total(rows), details, left_out)


def times_of(times: Times) -> tuple[Value, ...]:
    """The values of the columns `TIMES`."""
    return (
        times.cycles_without,
        times.cycles_with,
        times.utilization_without,
        times.utilization_with,
    )


def _row(row: Row) -> tuple[Value, ...]:
    times = row.times
    return (times.name, str(row.layer), times.count, times.macs, *times_of(times))
