"""Choices of records in compilations: `--records`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from compiler.driver.compile_onnx import PreparedNetwork
from compiler.machines.accelerator.backend import StreamBackend
from compiler.machines.cpu.backend import KernelBackend
from compiler.machines.cpu.codegen import CpuTarget
from compiler.tune.best_known import BestKnown, of_machine
from compiler.tune.built_in import BuiltInChoices, built_in_records
from compiler.tune.plain import canonical_text, to_plain
from compiler.tune.records import Record, read_records
from compiler.tune.tasks import Planned, Task, tasks_of
from hw.config import HardwareConfig
from hw.config_files import dump_config
from hw.isa import Program
from hw.memory_model import MemoryModel
from runtime.artifact import Artifact
from scripts.sources import Accelerator, Processor, TargetDevice, targets
from scripts.tune.on_cycle import exact_cycles
from sim.engines import make_engine

NO_MEMORY = ""
"""What records of a processor have as the memory model."""
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


def records_input(records: str | None) -> Path | None:
    """The file of `--records`; None for the records that come with Tandem."""
    return None if records is None or records == BUILT_IN else Path(records)


@dataclass(frozen=True, slots=True)
class TunedLayers:
    """Which layers of a network have a recorded choice.

    Attributes
    ----------
    tasks
        The workloads whose recorded choice was taken.
    layers, all_layers
        The number of layers with such a workload, and of all layers of a template.
    built_in
        Whether the records came with Tandem.
    """

    tasks: tuple[Task, ...]
    layers: int
    all_layers: int
    built_in: bool

    @staticmethod
    def of(prepared: PreparedNetwork, device: TargetDevice) -> TunedLayers:
        """The tuned layers of a network that was built for a device with records."""
        target = device.target()
        backend = prepared.backend(target)
        assert target.tuned is not None, "given"
        calls: Sequence[Planned] = []
        match backend:
            case StreamBackend():
                calls = [call for stream in backend.planned.values() for call in stream]
            case KernelBackend():
                calls = [*backend.planned.values()]
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
    """The best choices that a file, or `BUILT_IN`, knows of a machine with a memory.

    Damaged lines, and a file that knows of other machines only, are reported on standard error.

    Raises
    ------
    RecordError
        The file cannot be read.
    """
    return _best_known(source, "accelerator", machine_json(config), memory_text(memory))


def best_known_on_cpu(source: str, processor: Processor) -> BestKnown:
    """The best choices that a file, or `BUILT_IN`, knows of a processor, like `best_known`."""
    return _best_known(source, "cpu", processor_json(processor.machine), NO_MEMORY)


def _best_known(source: str, target: str, machine: Mapping[str, object], memory: str) -> BestKnown:
    built_in = source == BUILT_IN
    records = built_in_records() if built_in else known_records(Path(source))
    own = of_machine(records, machine, memory)
    if not own and (difference := nearest_machine(records, target, machine, memory)):
        named = "the records that come with Tandem are" if built_in else f"{source}: records are"
        typer.echo(f"warning: {named} of other machines; {difference}", err=True)
    return BuiltInChoices(own) if built_in else BestKnown(own)


def nearest_machine(
    records: Iterable[Record], target: str, machine: Mapping[str, object], memory: str
) -> str | None:
    """What the machine of some records has otherwise, of all the one with the fewest differences;
    None without records of the target."""
    asked = {**machine, "memory": memory}
    found: dict[str, list[str]] = {}
    for record in records:
        if record.target == target:
            key = canonical_text([record.machine, record.memory])
            if key not in found:
                found[key] = _differences({**record.machine, "memory": record.memory}, asked)
    nearest = min(found.values(), key=len, default=None)
    return None if nearest is None else f"the nearest one has {', '.join(nearest)}"


def _differences(recorded: Mapping[str, object], asked: Mapping[str, object]) -> list[str]:
    """Fields with another value, and the options that change them; those first."""
    options = {"threads": " (--threads)", "memory": " (--memory)"}
    return [
        f"{name} {_difference(recorded.get(name), asked.get(name))}{options.get(name, '')}"
        for name in sorted({*recorded, *asked}, key=lambda name: (name not in options, name))
        if recorded.get(name) != asked.get(name)
    ]


def _difference(recorded: object, asked: object) -> str:
    """What a field has, of names those that are more or fewer."""
    if not isinstance(recorded, list) or not isinstance(asked, list):
        return f"{recorded} and not {asked}"
    more = [f"with {name}" for name in recorded if name not in asked]
    return ", ".join([*more, *(f"without {name}" for name in asked if name not in recorded)])


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


def machine_of(device: TargetDevice) -> tuple[dict[str, object], str]:
    """A device and its memory as records have them."""
    match device:
        case Accelerator():
            return machine_json(device.config), memory_text(device.memory)
        case Processor():
            return processor_json(device.machine), NO_MEMORY


def processor_json(machine: CpuTarget) -> dict[str, object]:
    """A processor as records have it: its name, its instruction sets, and the threads."""
    return {"name": machine.cpu, "features": [*machine.features], "threads": machine.threads}


def memory_text(memory: MemoryModel) -> str:
    """The memory model as records have it, and as `--memory` takes it."""
    return f"latency={memory.latency},interval={memory.interval},in_flight={memory.in_flight}"
