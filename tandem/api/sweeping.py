"""`tandem.sweep`: convolutions measured on many machines and memories."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from tandem.api.layers import Layers, layers_of
from tandem.api.machines import Machine, Memory, NamedMemory, accelerator_of
from tandem.api.measuring import LAYER, TIMES, times_of
from tandem.api.progress import Progress, steps_of
from tandem.workbench.arguments import at_least, choice, expect, value_errors
from tandem.workbench.errors import ArgumentValueError, SweepError
from tandem.workbench.pages.write import check_installed
from tandem.workbench.table import Column, Table, Value
from tandem.workbench.utilization import sweep as sweeps
from tandem.workbench.utilization.sweep import SweptPoints
from tandem.workbench.utilization.sweep_axes import (
    CONFIG_FIELDS,
    MEMORY_FIELDS,
    MOST_DRAWN,
    MOST_POINTS,
    Axis,
)

if TYPE_CHECKING:
    import altair


@dataclass(frozen=True, slots=True, repr=False)
class Sweep(Table):
    """A row for each point, with all convolutions together.

    Attributes
    ----------
    layers
        A row for each point and convolution.
    details
        What the chart shows.
    """

    layers: Table
    details: SweptPoints

    def plot(self) -> altair.LayerChart | altair.FacetChart:
        """A chart (of Altair) of the utilisation of all layers over the first field.

        A second field has colours, and each value of a third has a chart of its own.

        Raises
        ------
        ArgumentValueError
            The sweep has more than three fields.
        MissingPackageError
            A library that draws is not installed (the extra `report`).
        """
        check_installed("plot")
        axes = self.details.axes
        if len(axes) > MOST_DRAWN:
            raise ArgumentValueError(
                f"a plot shows a sweep over at most {MOST_DRAWN} fields: this has {len(axes)}"
            )
        # Imported here, because Altair is large and optional.
        from tandem.workbench.pages.utilization.sweep_chart import styled_chart

        return styled_chart(self.details)


def sweep(
    layers: Layers,
    machine: Machine,
    axes: Mapping[str, Iterable[int]],
    *,
    memory: Memory = "fast",
    seed: int = 0,
    progress: Progress = None,
) -> Sweep:
    """Convolutions measured at all points of some fields' values, by the engine `cycle`.

    Parameters
    ----------
    layers
        As of `tandem.utilization`.
    machine, memory
        What all points share.
    axes
        Values by the fields of a memory (`latency`, `interval`, `in_flight`) or of a machine, as
        `Accelerator` has them: {"latency": (8, 64, 512), "bus_bits": (64, 128)}.
    seed, progress
        As of `tandem.utilization`.

    Returns
    -------
    Sweep
        A row for each point, those of the last field first: the point, and cycles and utilisation
        of all layers together; or why the point cannot be measured. `layers` has those of each.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        An argument that is not allowed, or no point that can be measured; says what is.
    WrongResultError
        A result that differs from NumPy's.
    """
    found = layers_of(layers)
    config = accelerator_of(machine, "sweep").config
    model = NamedMemory.of(memory).model
    checked = _axes(axes)
    seed = at_least("seed", seed, 0)
    with steps_of("sweep", progress) as steps, value_errors(SweepError):
        points = sweeps.sweep(checked, config, model, found, seed, steps.say)
    fields = tuple(Column(axis.field, int, _described(axis.field), "d") for axis in checked)
    reason = Column("reason", str, "why the point cannot be measured")
    layer_rows = tuple(row for point in points for row in _layer_rows(point))
    layer_table = Table((*fields, *LAYER, *TIMES), layer_rows)
    details = SweptPoints(checked, points, config, model)
    return Sweep((*fields, *TIMES, reason), tuple(map(_row, points)), layer_table, details)


def _row(point: sweeps.SweptPoint) -> tuple[Value, ...]:
    values = tuple(value for _, value in point.point)
    times: tuple[Value, ...] = (None,) * len(TIMES)
    if point.total is not None:
        times = times_of(point.total)
    return (*values, *times, point.reason)


def _layer_rows(point: sweeps.SweptPoint) -> Iterator[tuple[Value, ...]]:
    values = tuple(value for _, value in point.point)
    for row in point.rows:
        times = row.times
        yield (*values, times.name, str(row.layer), times.count, times.macs, *times_of(times))


def _described(field: str) -> str:
    return f"the {'memory' if field in MEMORY_FIELDS else 'machine'}'s field {field}"


def _axes(axes: object) -> tuple[Axis, ...]:
    if not isinstance(axes, Mapping) or not axes:
        expect("axes", axes, "a mapping from fields to values, with a field or more")
    found = []
    for field, values in axes.items():
        name = choice("field of a memory or a machine", field, (*MEMORY_FIELDS, *CONFIG_FIELDS))
        if isinstance(values, str) or not isinstance(values, Iterable):
            expect(f"axes[{name!r}]", values, "whole numbers")
        numbers = [at_least(f"axes[{name!r}]", value, 0) for value in values]
        if not numbers:
            raise ArgumentValueError(f"axes[{name!r}] is empty: there must be a value or more")
        found.append(Axis(name, tuple(sorted(set(numbers)))))
    points = prod(len(axis.values) for axis in found)
    if points > MOST_POINTS:
        raise ArgumentValueError(f"{points:,} points: there may be {MOST_POINTS:,}")
    return tuple(found)
