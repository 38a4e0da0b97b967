"""Spaces of machines: fields of the configuration, and the values that they may have."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from importlib.resources import files
from math import prod
from pathlib import Path
from typing import Any

from tandem.base.input_files import TEXT_BYTES, read_input
from tandem.compiler.errors import SpaceError
from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import dump_config, load_config, name_of, parse_config, parse_json
from tandem.hw.custom_operations import operations_from_json
from tandem.hw.errors import ConfigError, TermError
from tandem.hw.features import Feature
from tandem.hw.synthesis.devices import DEVICES, Part

_FIELDS = tuple(field.name for field in fields(HardwareConfig) if field.name != "name")


@dataclass(frozen=True, slots=True)
class Dimension:
    """Fields that change together, and the values that they may have.

    Attributes
    ----------
    fields
        One field or more.
    values
        A value for each of the fields.
    """

    fields: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]

    @property
    def name(self) -> str:
        """The fields, as in a file."""
        return ",".join(self.fields)


@dataclass(frozen=True, slots=True)
class Limits:
    """What machines may cost.

    Attributes
    ----------
    device
        The FPGA that they have to fit; None for any.
    area
        In NAND2 equivalents; None without a limit.
    """

    device: Part | None = None
    area: float | None = None


@dataclass(frozen=True, slots=True)
class Space:
    """A space of machines.

    Attributes
    ----------
    base
        The configuration with the fields that no dimension has.
    """

    name: str
    base: HardwareConfig
    dimensions: tuple[Dimension, ...]
    limits: Limits = Limits()

    @property
    def size(self) -> int:
        """The number of combinations, impossible ones included."""
        return prod(len(dimension.values) for dimension in self.dimensions)

    def machine(self, indices: Sequence[int]) -> HardwareConfig:
        """The configuration with a value of each dimension, by the number of the value.

        Raises
        ------
        ConfigError
            There is no such machine.
        """
        values = {
            field: value
            for dimension, index in zip(self.dimensions, indices, strict=True)
            for field, value in zip(dimension.fields, dimension.values[index], strict=True)
        }
        return self.base.replace(**values, name=self.name)

    def indices(self, config: HardwareConfig) -> tuple[int, ...] | None:
        """The numbers of the values that a configuration has; None if it is not in the space."""
        found = []
        for dimension in self.dimensions:
            values = tuple(getattr(config, field) for field in dimension.fields)
            if values not in dimension.values:
                return None
            found.append(dimension.values.index(values))
        if self.machine(found) != config.replace(name=self.name):
            return None
        return tuple(found)

    def as_json(self) -> dict[str, object]:
        """The space as a file has it, without the name."""
        values = {
            dimension.name: [
                [_plain(value) for value in row] if len(row) > 1 else _plain(row[0])
                for row in dimension.values
            ]
            for dimension in self.dimensions
        }
        base = json.loads(dump_config(self.base))
        device = self.limits.device
        limits = {"device": None if device is None else device.name, "area": self.limits.area}
        return {"base": base, "fields": values, "limits": limits}


def space_names() -> tuple[str, ...]:
    """The names of the spaces that come with Tandem."""
    entries = files("tandem.compiler.search").joinpath("spaces").iterdir()
    return tuple(sorted(Path(entry.name).stem for entry in entries))


def load_space(name_or_path: str) -> Space:
    """A space that comes with Tandem, by its name, else the one in a JSON file.

    Raises
    ------
    SpaceError
        There is no such space or file, or the file describes none; the message says what is
        allowed.
    """
    if name_or_path in space_names():
        resource = files("tandem.compiler.search").joinpath("spaces", f"{name_or_path}.json")
        return parse_space(resource.read_text(), name_or_path)
    path = Path(name_or_path)
    try:
        text = read_input(path, TEXT_BYTES)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise SpaceError(
            f"space {name_or_path!r} is neither one of {', '.join(space_names())} nor a file that "
            f"can be read: {reason}"
        ) from None
    return parse_space(text, name_of(path))


def parse_space(text: str | bytes, name: str) -> Space:
    """The space that JSON `text` describes. Raises `SpaceError`."""
    try:
        values = parse_json(text, f"space {name}")
    except ConfigError as error:
        raise SpaceError(str(error)) from None
    if not isinstance(values, dict) or not isinstance(values.get("fields"), dict):
        raise SpaceError(f"space {name}: a JSON object with the key fields is needed")
    if unknown := values.keys() - {"base", "fields", "limits"}:
        raise SpaceError(f"space {name}: unknown key {min(unknown)!r}; known: base, fields, limits")
    dimensions = tuple(_dimension(name, *item) for item in values["fields"].items())
    named = [field for dimension in dimensions for field in dimension.fields]
    if twice := {field for field in named if named.count(field) > 1}:
        raise SpaceError(f"space {name}: {min(twice)} is there twice")
    if not dimensions:
        raise SpaceError(f"space {name}: it has no fields")
    return Space(name, _base(name, values), dimensions, _limits(name, values.get("limits", {})))


def _base(name: str, values: Mapping[str, Any]) -> HardwareConfig:
    base = values.get("base", "pynq")
    try:
        if isinstance(base, str):
            return load_config(base)
        return parse_config(json.dumps(base), f"space {name}: base", name)
    except ConfigError as error:
        raise SpaceError(f"space {name}: base: {error}") from None


def _dimension(name: str, key: str, values: object) -> Dimension:
    names = tuple(part.strip() for part in key.split(","))
    for field in names:
        if field not in _FIELDS:
            raise SpaceError(
                f"space {name}: a configuration has no field {field!r}; it has {', '.join(_FIELDS)}"
            )
    if not isinstance(values, list) or not values:
        raise SpaceError(f"space {name}: {key} is {values!r}: it must be a list of values")
    rows = [_row(name, names, row) for row in values]
    if len(set(rows)) < len(rows):
        raise SpaceError(f"space {name}: {key} has a value twice")
    return Dimension(names, tuple(rows))


def _row(name: str, names: Sequence[str], row: object) -> tuple[Any, ...]:
    parts = [row] if len(names) == 1 else row
    if not isinstance(parts, list) or len(parts) != len(names):
        raise SpaceError(f"space {name}: {','.join(names)} is {row!r}: {len(names)} values")
    return tuple(_value(name, *pair) for pair in zip(names, parts, strict=True))


def _value(name: str, field: str, value: object) -> object:
    if field == "features":
        known: dict[str, Feature] = {str(feature.value): feature for feature in Feature}
        if not isinstance(value, list) or not all(
            isinstance(feature, str) and feature in known for feature in value
        ):
            raise SpaceError(
                f"space {name}: features has {value!r}: a list of {', '.join(map(str, known))}"
            )
        return frozenset(known[feature] for feature in value)
    if field == "alu_operations":
        try:
            return operations_from_json(value)
        except TermError as error:
            raise SpaceError(f"space {name}: {field}: {error}") from None
    if isinstance(value, bool) or not isinstance(value, int):
        raise SpaceError(f"space {name}: {field} has {value!r}: it must be a whole number")
    return value


def _limits(name: str, values: object) -> Limits:
    if not isinstance(values, dict) or values.keys() - {"device", "area"}:
        raise SpaceError(f"space {name}: limits is {values!r}: device and area are known")
    device, area = values.get("device"), values.get("area")
    if device is not None and not (isinstance(device, str) and device in DEVICES):
        raise SpaceError(f"space {name}: no device {device!r}; known: {', '.join(DEVICES)}")
    if area is not None and (
        isinstance(area, bool) or not isinstance(area, int | float) or not 0 < area < float("inf")
    ):
        raise SpaceError(f"space {name}: area is {area!r}: NAND2 equivalents, a number above 0")
    return Limits(None if device is None else DEVICES[device], area)


def _plain(value: object) -> object:
    if isinstance(value, frozenset):
        return sorted(feature.value for feature in value)
    if isinstance(value, tuple):
        return [operation.to_json() for operation in value]
    return value
