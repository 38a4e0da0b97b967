"""The fields that a sweep varies, their values, and the points that these make."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import product
from math import prod

from tandem.base.nearest import did_you_mean
from tandem.hw.config import HardwareConfig
from tandem.hw.memory_model import MemoryModel
from tandem.workbench.errors import SweepError

FORM = "FIELD=LO:HI, FIELD=LO:HI:STEP or FIELD=LO:HI:xFACTOR"
MOST_DRAWN = 3
"""Fields of a sweep that a chart shows."""
MOST_POINTS = 10_000
"""A larger sweep would take hours, and is most likely a typing error."""

MEMORY_FIELDS = tuple(field.name for field in fields(MemoryModel))
CONFIG_FIELDS = tuple(
    field.name
    for field in fields(HardwareConfig)
    if field.name not in ("name", "features", "alu_operations")
)
"""Fields of the configuration that are numbers."""

Point = tuple[tuple[str, int], ...]
"""A value for each swept field, in the order of the axes."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A field of the memory model or of the configuration, and its values, ascending."""

    field: str
    values: tuple[int, ...]

    @property
    def is_geometric(self) -> bool:
        """Whether the values grow by a constant factor, so that a chart spaces them evenly."""
        first = self.values[0]
        pairs = zip(self.values, self.values[1:], strict=False)
        return (
            len(self.values) > 2
            and first > 0
            and all(high * first == low * self.values[1] for low, high in pairs)
        )


def parse_axes(text: str) -> tuple[Axis, ...]:
    """Parse `FIELD=LO:HI[:STEP|xFACTOR],...`.

    Values start at LO and do not exceed HI. Without a step they double, but those of fields whose
    unit is log2 of a size rise by 1.

    Raises
    ------
    SweepError
        The text has another form, a field is unknown or there twice, or there are too many points.
    """
    axes = tuple(_parse_axis(part.strip()) for part in text.split(","))
    names = [axis.field for axis in axes]
    for name in names:
        if names.count(name) > 1:
            raise SweepError(f"sweep {text!r}: {name} is there {names.count(name)} times")
    points = prod(len(axis.values) for axis in axes)
    if points > MOST_POINTS:
        raise SweepError(f"sweep {text!r}: {points:,} points; there may be {MOST_POINTS:,}")
    return axes


def _parse_axis(text: str) -> Axis:
    name, _, values = text.partition("=")
    fields = (*MEMORY_FIELDS, *CONFIG_FIELDS)
    if re.fullmatch(r"\w+", name, re.ASCII) and name not in fields:
        known = f"of the memory, {', '.join(MEMORY_FIELDS)}; of the machine, "
        hint = did_you_mean(name, fields)
        raise SweepError(
            f"sweep {text!r}: no field {name}: {known}{', '.join(CONFIG_FIELDS)}{hint}"
        )
    # \d would match digits of other scripts as well.
    number = "([0-9]{1,9})"
    found = re.fullmatch(rf"{number}:{number}(?::(x?){number})?", values, re.ASCII)
    if name not in fields or found is None:
        example = f"{name}=3:5" if name.startswith("log_") else "latency=8:512:x2"
        raise SweepError(f"sweep {text!r}: written {FORM}, such as {example}{_unit(name)}")
    low, high, times, step = found.groups()
    if step is None:
        times, step = ("", "1") if name.startswith("log_") else ("x", "2")
    return Axis(name, _values(text, int(low), int(high), int(step), factor=bool(times)))


def _unit(name: str) -> str:
    """What the numbers of a field are, where they are no sizes."""
    return "; its values are logarithms: 4 is 16" if name.startswith("log_") else ""


def _values(text: str, low: int, high: int, step: int, *, factor: bool) -> tuple[int, ...]:
    if low > high:
        raise SweepError(f"sweep {text!r}: {low} is above {high}")
    if factor and (step < 2 or low < 1):
        raise SweepError(f"sweep {text!r}: a factor is at least 2, and multiplies a number above 0")
    if step < 1:
        raise SweepError(f"sweep {text!r}: a step is at least 1")
    count = (high - low) // step + 1
    if not factor:
        if count > MOST_POINTS:
            raise SweepError(f"sweep {text!r}: {count:,} points; there may be {MOST_POINTS:,}")
        return tuple(range(low, high + 1, step))
    values = []
    while low <= high:
        values.append(low)
        low *= step
    return tuple(values)


def points(axes: Sequence[Axis]) -> tuple[Point, ...]:
    """All combinations of values; those of the last axis change fastest."""
    names = [axis.field for axis in axes]
    combinations = product(*(axis.values for axis in axes))
    return tuple(tuple(zip(names, values, strict=True)) for values in combinations)


def machine_at(
    point: Point, config: HardwareConfig, memory: MemoryModel
) -> tuple[HardwareConfig, MemoryModel]:
    """The machine and the memory with the values of a point.

    Raises
    ------
    ConfigError, MemoryModelError
        Impossible values.
    """
    values = dict(point)
    of_memory = {name: value for name, value in values.items() if name in MEMORY_FIELDS}
    of_machine = {name: value for name, value in values.items() if name in CONFIG_FIELDS}
    return config.replace(**of_machine), replace(memory, **of_memory)


def describe(point: Point) -> str:
    """The point as text, such as `latency=8 interval=1`."""
    return " ".join(f"{name}={value}" for name, value in point)
