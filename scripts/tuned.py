"""Choices of records in compilations: `--records`."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from compiler.driver.compile_onnx import PreparedNetwork
from compiler.targets.accelerator.backend import PlannedCall, StreamBackend
from compiler.tune.best_known import BestKnown, of_machine
from compiler.tune.built_in import BuiltInChoices, built_in_records
from compiler.tune.plain import to_plain
from compiler.tune.records import Record, read_records
from compiler.tune.tasks import Task, tasks_of
from hw.config import HardwareConfig
from hw.config_files import dump_config
from hw.isa import Program
from hw.memory_model import MemoryModel
from runtime.artifact import Artifact
from scripts.sources import Accelerator, targets
from scripts.tune.on_cycle import exact_cycles
from sim.engines import make_engine

BUILT_IN = "default"
"""What `--records` takes for the records that come with Tandem; `./default` is a file."""

RecordsOption = Annotated[
    str | None,
    typer.Option(
        "--records",
        metavar="FILE|default",
        help="Take the best schedules of this file of `tandem tune`, for this machine and memory; "
        "default: of the records that come with Tandem.",
    ),
]


@dataclass(frozen=True, slots=True)
class TunedLayers:
    """Which layers of a network have a recorded choice.

    Attributes
    ----------
    tasks
        The workloads whose recorded choice was taken.
    layers, all_layers
        The number of layers with such a workload, and of all layers on the accelerator.
    built_in
        Whether the records came with Tandem.
    """

    tasks: tuple[Task, ...]
    layers: int
    all_layers: int
    built_in: bool

    @staticmethod
    def of(prepared: PreparedNetwork, accelerator: Accelerator) -> TunedLayers:
        """The tuned layers of a network that was built for an accelerator with records."""
        target = accelerator.target()
        backend = prepared.backend(target)
        assert isinstance(backend, StreamBackend), "the accelerator's"
        assert target.tuned is not None, "given"
        calls: Sequence[PlannedCall] = [
            call for stream in backend.planned.values() for call in stream
        ]
        tasks = tasks_of(target, calls)
        taken = tuple(
            task
            for task in tasks
            if task.default == target.tuned.choice(task.template, task.workload)
        )
        built_in = isinstance(target.tuned, BuiltInChoices)
        return TunedLayers(taken, sum(task.count for task in taken), len(calls), built_in)

    def as_json(self) -> list[dict[str, object]]:
        """The entry `tuned` of a command's JSON."""
        return [
            {
                "layers": list(task.layers),
                "workload": to_plain(task.workload),
                "choice": dict(task.default),
            }
            for task in self.tasks
        ]

    def __str__(self) -> str:
        left = self.all_layers - self.layers
        rest = f", {left} by the compiler's estimate" if left else ""
        records = "records that come with Tandem" if self.built_in else "records"
        return f"schedules: {self.layers} of {self.all_layers} layers by {records}{rest}"


def best_known(source: str, config: HardwareConfig, memory: MemoryModel) -> BestKnown:
    """The best choices that a file, or `BUILT_IN`, knows of a machine with a memory; damaged lines
    are reported on standard error.

    Raises
    ------
    RecordError
        The file cannot be read.
    """
    machine = machine_json(config), memory_text(memory)
    if source == BUILT_IN:
        return BuiltInChoices(of_machine(built_in_records(), *machine))
    return BestKnown(of_machine(known_records(Path(source)), *machine))


def known_records(path: Path) -> list[Record]:
    """The records of a file; damaged lines are reported on standard error.

    Raises
    ------
    RecordError
        The file cannot be read.
    """
    records, damages = read_records(path)
    for damage in damages:
        typer.echo(f"warning: {damage}", err=True)
    return records


def stream_cycles(artifact: Artifact, accelerator: Accelerator) -> int:
    """The exact cycles of all instruction streams of an artifact."""
    engine = make_engine("cycle", accelerator.config, accelerator.memory)
    return sum(
        exact_cycles(engine, Program.from_bytes(accelerator.config, code.program), code.image)
        for code in artifact.streams.values()
    )


def not_slower(
    prepared: PreparedNetwork, accelerator: Accelerator, report: Callable[[str], None] | None
) -> Accelerator:
    """The accelerator with its tuned choices, or without if a network is slower with them.

    Choices are the best of each layer alone; between layers little may be lost. That they are not
    taken is reported on standard error.
    """
    if accelerator.tuned is None:
        return accelerator
    plain = replace(accelerator, tuned=None)
    tuned, default = (
        stream_cycles(prepared.build(targets(machine), report), machine)
        for machine in (accelerator, plain)
    )
    if tuned <= default:
        return accelerator
    typer.echo(
        f"warning: with the recorded schedules {tuned:,} cycles, more than {default:,} by the "
        f"compiler's estimate: they are not taken",
        err=True,
    )
    return replace(accelerator, tuned=BestKnown([]))


def machine_json(config: HardwareConfig) -> dict[str, object]:
    """The configuration as records have it."""
    found: dict[str, object] = json.loads(dump_config(config))
    return found


def memory_text(memory: MemoryModel) -> str:
    """The memory model as records have it, and as `--memory` takes it."""
    return f"latency={memory.latency},interval={memory.interval},in_flight={memory.in_flight}"
