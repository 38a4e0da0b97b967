"""Choices of records in compilations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from tandem.compiler.driver.compile_onnx import PreparedNetwork
from tandem.compiler.tune.best_known import BestKnown
from tandem.compiler.tune.built_in import BuiltInChoices, built_in_records
from tandem.compiler.tune.plain import canonical_text, to_plain
from tandem.compiler.tune.records import Record, read_records
from tandem.compiler.tune.tasks import Task, tasks_of
from tandem.workbench.devices import TargetDevice

Warn = Callable[[str], None]
NO_OPTIONS: Mapping[str, str] = MappingProxyType({})
BUILT_IN = "default"
"""The source that is the records that come with Tandem; `./default` is a file."""


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
        target, calls = device.target(), device.planned(prepared)
        assert target.tuned is not None, "given"
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


def best_known(
    source: str, device: TargetDevice, warn: Warn, options: Mapping[str, str] = NO_OPTIONS
) -> BestKnown:
    """The best choices that a file, or `BUILT_IN`, knows of a device.

    Parameters
    ----------
    warn
        Called for damaged lines, and for a file that knows of other machines only.
    options
        What changes a field of a device's record, by the field, for a warning.

    Raises
    ------
    RecordError
        The file cannot be read.
    """
    built_in = source == BUILT_IN
    records = built_in_records() if built_in else known_records(Path(source), warn)
    own = device.own_records(records)
    asked = device.kind, device.machine_record, device.memory_record
    if not own and (difference := nearest_machine(records, *asked, options)):
        named = "the records that come with Tandem are" if built_in else f"{source}: records are"
        warn(f"{named} of other machines; {difference}")
    return BuiltInChoices(own) if built_in else BestKnown(own)


def nearest_machine(
    records: Iterable[Record],
    kind: str,
    machine: Mapping[str, object],
    memory: str,
    options: Mapping[str, str] = NO_OPTIONS,
) -> str | None:
    """What the machine of some records has otherwise than another, of all the one with the fewest
    differences; None without records of this kind of devices."""
    asked = {**machine, "memory": memory}
    found: dict[str, list[str]] = {}
    for record in records:
        if record.target == kind:
            key = canonical_text([record.machine, record.memory])
            if key not in found:
                recorded = {**record.machine, "memory": record.memory}
                found[key] = _differences(recorded, asked, options)
    nearest = min(found.values(), key=len, default=None)
    return None if nearest is None else f"the nearest one has {', '.join(nearest)}"


def _differences(
    recorded: Mapping[str, object], asked: Mapping[str, object], options: Mapping[str, str]
) -> list[str]:
    """Fields with another value, and the options that change them; those first."""
    return [
        f"{name} {_difference(recorded.get(name), asked.get(name))}"
        + (f" ({options[name]})" if name in options else "")
        for name in sorted({*recorded, *asked}, key=lambda name: (name not in options, name))
        if recorded.get(name) != asked.get(name)
    ]


def _difference(recorded: object, asked: object) -> str:
    """What a field has, of names those that are more or fewer."""
    if not isinstance(recorded, list) or not isinstance(asked, list):
        return f"{recorded} and not {asked}"
    more = [f"with {name}" for name in recorded if name not in asked]
    return ", ".join([*more, *(f"without {name}" for name in asked if name not in recorded)])


def known_records(path: Path, warn: Warn) -> list[Record]:
    """The records of a file; `warn` is told of damaged lines.

    Raises
    ------
    RecordError
        The file cannot be read.
    """
    records, damages = read_records(path)
    for damage in damages:
        warn(str(damage))
    return records
