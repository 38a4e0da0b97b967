"""`tandem.records`: what a file of measurements knows, and files joined."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tandem.api.compiling import mode_of, source_of
from tandem.api.layers import Layers, layers_of
from tandem.api.loading import Loadable, model_of
from tandem.api.machines import Machine, Memory, device_of, warn
from tandem.api.model import Model
from tandem.api.samples import Samples
from tandem.api.weights import weight_options
from tandem.compiler.errors import RecordError
from tandem.compiler.tune.tuner import settings_text
from tandem.runtime.inputs import PixelNormalisation
from tandem.workbench import devices
from tandem.workbench.arguments import expect, file_path, value_errors
from tandem.workbench.errors import ArgumentValueError
from tandem.workbench.recorded_choices import known_records
from tandem.workbench.recorded_workloads import (
    RecordedWorkload,
    recorded_tasks,
    recorded_workloads,
)
from tandem.workbench.table import Column, Table, Value
from tandem.workbench.tuning import starting_records
from tandem.workbench.utilization.tasks import tasks_of_layers


@dataclass(frozen=True, slots=True, repr=False)
class Records(Table):
    """What a file of records knows: a row for each workload on a machine with a memory.

    Attributes
    ----------
    path
        The file.
    """

    path: Path

    def merge(self, *others: str | os.PathLike[str]) -> Records:
        """Add the records of other files to this file, and return what it knows then.

        Equal records are there once, and the order of those that the file had stays.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError
            A file cannot be read, or this one not be written; no record that it had is lost.
        """
        paths = [file_path("others", other) for other in others]
        with value_errors(RecordError):
            found = starting_records(self.path, paths, warn)
        return _table(self.path, recorded_workloads(found))


def records(
    path: str | os.PathLike[str],
    model: Model | Loadable | None = None,
    machine: Machine = "pynq",
    *,
    layers: Layers = None,
    memory: Memory = "fast",
    quantize: str | None = "multiplier",
    calibrate: Samples | None = None,
    weights: str = "int8",
    weights_of: Mapping[str, str] | None = None,
    weight_group: int | None = None,
    max_loss: float | None = None,
    smooth: bool = False,
    seed: int = 0,
) -> Records:
    """What a file of `tandem.tune` knows; nothing is measured.

    Parameters
    ----------
    path
        The file of records.
    model, machine, memory, quantize, calibrate, weights, weights_of, weight_group, max_loss, smooth
        As of `tandem.tune`: the rows are the model's workloads on this machine, those without a
        record among them. None for all workloads of the file, on all machines.
    layers
        Convolutions instead of a model, as of `tandem.utilization`.
    seed
        Of the data of `layers`.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        An argument that is not allowed, or a file that cannot be read; says what is.
    CompilerError
        Something in the model cannot be compiled.
    """
    file = file_path("path", path)
    if model is not None and layers is not None:
        raise ArgumentValueError("a model or layers: one of them, or neither for all workloads")
    with value_errors(RecordError):
        known = known_records(file, warn)
    if model is None and layers is None:
        return _table(file, recorded_workloads(known))
    device = device_of(machine, memory, hiding=True, records=None)
    if model is not None:
        mode = mode_of(quantize, calibrate)
        formats = weight_options(
            *(weights, weights_of, weight_group, max_loss),
            smooth=smooth,
            calibrated=calibrate is not None,
            quantised=mode is not None,
        )
        source = source_of(
            *(model_of(model), mode, calibrate, PixelNormalisation.IMAGENET), weights=formats
        )
        prepared = source.prepared(None, device)
        device.build(prepared)
        tasks = device.tasks(prepared)
    else:
        if not isinstance(device, devices.Accelerator):
            expect("machine of layers", machine, "an accelerator")
        tasks = tasks_of_layers(layers_of(layers), device, seed)
    return _table(file, recorded_tasks(tasks, device, known))


def _table(path: Path, rows: Sequence[RecordedWorkload]) -> Records:
    in_cycles = all(isinstance(row.best.cost, int) for row in rows if row.best is not None)
    best = Column(
        "best",
        int if in_cycles else float,
        "the least cost that was measured: clock cycles of an accelerator, s of a processor",
    )
    columns = (
        Column("name", str, "the layer's name, or the workload"),
        Column("machine", str, "the machine's name"),
        Column("memory", str, "the accelerator's memory"),
        Column("template", str, "the schedule template"),
        Column("count", int, "the number of layers with the workload; unknown without a model"),
        Column("trials", int, "choices with a record"),
        best,
        Column("explorer", str, "what proposed the best choice"),
        Column("choice", str, "the best choice"),
    )
    return Records(columns, tuple(map(_row, rows)), path)


def _row(row: RecordedWorkload) -> tuple[Value, ...]:
    best = row.best
    known: tuple[Value, ...] = (None, None, None)
    if best is not None:
        known = (best.cost, best.explorer, settings_text(best.choice))
    return (row.name, row.machine, row.memory, row.template, row.count, row.trials, *known)
