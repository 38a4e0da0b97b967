"""Runs of networks: their outputs, and where the time went."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

import tandem.runtime.executor as executor
from tandem.api.accuracy_tables import losses_table, trips_table
from tandem.api.calibration_warning import calibration_warning
from tandem.api.layer_cycles import LayerCycles
from tandem.api.progress import Progress, steps_of
from tandem.api.run_page import with_measurements
from tandem.api.samples import Arrays
from tandem.base.files import check_destination
from tandem.runtime.artifact import config_of
from tandem.runtime.joined import join_runs
from tandem.sim.trace import write_timeline
from tandem.workbench.accuracy import ClassAccuracy, class_accuracy, layer_losses
from tandem.workbench.arguments import choice, expect, file_path, value_errors
from tandem.workbench.clock import Clock
from tandem.workbench.errors import ArgumentValueError, ClockError, UntimedError
from tandem.workbench.labels import Labels
from tandem.workbench.networks import Network
from tandem.workbench.outputs import top5
from tandem.workbench.pages.run import check_page, run_page, write_page
from tandem.workbench.platform import Platform
from tandem.workbench.run_report import RunReport
from tandem.workbench.table import Table
from tandem.workbench.table_text import html_text
from tandem.workbench.why import explain_layers, labels_of


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Run:
    """The result of a run, of one batch or several.

    `run["y"]` is the output called y.

    Attributes
    ----------
    network
        The compiled network that ran.
    platform
        Where it ran: engine, memory and threads.
    memory
        The name of the memory model.
    batches
        The inputs of each batch.
    runs
        The run of each batch.
    """

    network: Network
    platform: Platform
    memory: str
    batches: tuple[Arrays, ...]
    runs: tuple[executor.Run, ...]

    @property
    def summary(self) -> RunReport:
        """All that is known of the run, as the verb `tandem run` prints it."""
        joined = join_runs(self.runs)
        return RunReport(
            self.network, self.platform, joined, None, None, None, self.memory, len(self.runs)
        )

    @property
    def outputs(self) -> Mapping[str, NDArray[Any]]:
        """Arrays by the names of the outputs; of several batches, joined along the first axis."""
        return join_runs(self.runs).outputs

    def __getitem__(self, name: str) -> NDArray[Any]:
        outputs = self.outputs
        return outputs[choice("output", name, outputs)]

    @property
    def cycles(self) -> int | None:
        """Clock cycles of the accelerator, of all batches; None if nothing counted any."""
        return self.summary.run.profile.cycles

    @property
    def seconds(self) -> float:
        """Wall-clock time of the run in s: that of the simulation included."""
        return self.summary.run.profile.seconds

    @property
    def utilization(self) -> float | None:
        """Useful multiply-accumulates / (cycles x multipliers), 0 to 1, over the accelerator's
        layers; None without cycles."""
        return self.summary.utilization

    @property
    def layers(self) -> Table:
        """Each layer of the accelerator, with its cycles, and each step of the CPU."""
        return self.summary.layers

    @property
    def round_trips(self) -> Table:
        """What the CPU does between two launches of the accelerator, what that moves and takes."""
        return trips_table(self.summary.round_trips)

    def losses(self) -> Table:
        """The error of each layer by its integers, on the inputs of this run: the worst first.

        Raises
        ------
        ArgumentValueError
            The artifact was loaded from a file, or is not quantised: there is nothing to compare.
        """
        self._check_quantised()
        return losses_table(layer_losses(self.network, self.batches, None, of_noise=False))

    def accuracy(self, labels: ArrayLike) -> ClassAccuracy:
        """How often classes are found among the scores of the only output that has such.

        Parameters
        ----------
        labels
            The class of each sample: whole numbers from 0.

        Raises
        ------
        LabelsError
            No output or several have scores; another number of labels; a label that is no class.
        """
        classes = np.asarray(labels)
        if classes.dtype.kind not in "iu" or classes.ndim != 1:
            expect("labels", labels, "a sequence of whole numbers")
        found = Labels(Path("labels"), classes.astype(np.int64))
        return class_accuracy(self.network, found, self.batches, self.runs)

    def why(self, layer: str) -> LayerCycles:
        """What the cycles of a layer went to, and its critical path; of the first batch.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError
            No layer of the accelerator has this name; says which there are.
        UntimedError
            The engine counts no cycles.
        """
        layers = {
            name: (stream, profile.layer.name)
            for stream in self.runs[0].profile.streams
            for profile in stream.layers
            for name in profile.layer.names
        }
        found, own = layers[choice("layer of the accelerator", layer, layers)]
        if found.cycles is None:
            self._untimed("why")
        reasons = explain_layers(found, self.platform.memory)
        return LayerCycles(next(why for why in reasons if why.name == own))

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        mhz: float | None = None,
        losses: bool = False,
        labels: ArrayLike | None = None,
        progress: Progress = None,
    ) -> None:
        """Write a page (.html) with the cycles of each layer by cause, which opens offline.

        A network that was compiled from a model runs once more, without latency hiding.

        Parameters
        ----------
        mhz
            The accelerator's clock; None for the measured one of this configuration, if
            `Design.timing` or `tandem rtl --timing` has measured it.
        losses
            Whether the page has the errors of layers, as of `losses`.
        labels
            The class of each sample, as of `accuracy`; None for no accuracy.
        progress
            None, True for a bar, or a callback of (done, total, text): steps.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError, OSError
            The path has another suffix, or cannot be written; an argument that is not allowed.
        LabelsError
            As of `accuracy`.
        MissingPackageError
            A library that draws is not installed (the extra `report`).
        UntimedError
            Nothing ran on an accelerator.
        """
        file = file_path("path", path)
        check_page(file)
        if config_of(self.network.artifact) is None:
            self._untimed("report")
        if losses:
            self._check_quantised()
        summary = replace(
            self.summary,
            clock=None if mhz is None else _clock(mhz),
            accuracy=None if labels is None else self.accuracy(labels),
        )
        with steps_of("report", progress) as steps:
            found = with_measurements(summary, self.batches, self.runs, steps, losses=losses)
        warning = calibration_warning(self.network.artifact.manifest.provenance, self.network.model)
        write_page(run_page(found, f"run.report({str(file)!r})", warning), file)

    def trace(self, path: str | os.PathLike[str]) -> None:
        """Write a timeline (.json) for Perfetto: of the longest stream and the first batch.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError, OSError
            The path has another suffix, or cannot be written.
        UntimedError
            The engine counts no cycles, or nothing ran on an accelerator.
        """
        file = file_path("path", path)
        if file.suffix != ".json":
            raise ArgumentValueError(f"{file}: a timeline is a file that ends in .json")
        check_destination(file)
        streams = self.runs[0].profile.streams
        if self.cycles is None:
            self._untimed("trace")
        longest = max(streams, key=lambda stream: stream.cycles or 0)
        write_timeline(file, longest.result, longest.program, labels_of(longest))

    def __repr__(self) -> str:
        summary, layers = self.summary, self.layers
        config = config_of(self.network.artifact)
        head = self.network.model
        if config is not None:
            head += f" on {config.name}, engine {self.platform.engine}, memory {self.memory}"
        if len(self.runs) > 1:
            head += f", {len(self.runs)} batches"
        lines = [head]
        cycles = summary.run.profile.cycles
        if cycles is not None:
            lines.append(f"  cycles   {cycles:,}, utilisation {summary.utilization or 0:.1%}")
        on_host = [row for row in summary.rows if row.seconds is not None]
        spent = sum(row.seconds or 0 for row in on_host)
        lines.append(
            f"  layers   {len(layers) - len(on_host)} on the accelerator, {len(on_host)} steps on "
            f"the CPU in {spent * 1e3:.2f} ms"
        )
        for name, array in [*summary.run.outputs.items()][:4]:
            classes = top5(array)
            best = "" if classes is None else f", greatest at {', '.join(map(str, classes))}"
            lines.append(f"  output   {name} {array.dtype}{[*array.shape]}{best}")
        left = len(summary.run.outputs) - 4
        return "\n".join([*lines, *([f"  ... and {left} more outputs"] if left > 0 else [])])

    def _repr_html_(self) -> str:
        """The run and its layers in a notebook."""
        return html_text(repr(self), self.layers._repr_html_())

    def milliseconds(self, mhz: float) -> float | None:
        """The time of the cycles at a clock, in ms; None without cycles.

        Raises
        ------
        ArgumentValueError
            `mhz` is no finite number above 0.
        """
        clock = _clock(mhz)
        return None if self.cycles is None else clock.milliseconds(self.cycles)

    def _check_quantised(self) -> None:
        if self.network.prepared is None or self.network.prepared.real is None:
            raise ArgumentValueError(
                f"{self.network.model} has no real numbers to compare with: losses are of a model "
                "that was quantised and compiled here"
            )

    def _untimed(self, call: str) -> NoReturn:
        if config_of(self.network.artifact) is None:
            raise UntimedError(
                f"{call} needs an accelerator: all of {self.network.model} was on the CPU"
            )
        raise UntimedError(f"{call} needs cycles: the engine {self.platform.engine} counts none")


def _clock(mhz: float) -> Clock:
    """The clock of an argument, which must be a finite number above 0."""
    if isinstance(mhz, bool) or not isinstance(mhz, int | float):
        expect("mhz", mhz, "a number above 0")
    with value_errors(ClockError):
        return Clock(mhz, "as given")
