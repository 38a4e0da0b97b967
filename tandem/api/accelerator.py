"""Accelerators to compile for, by a preset, a file or a configuration."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from typing import Any

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import dump_config, load_config
from tandem.hw.errors import ConfigError
from tandem.hw.features import Feature
from tandem.workbench.arguments import choice, expect, file_path, value_errors

_FIELDS = tuple(field.name for field in fields(HardwareConfig))


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Accelerator:
    """An accelerator, with all of its parameters.

    >>> Accelerator("tiny", bus_bits=128).config.bus_bits
    128

    Parameters
    ----------
    machine
        The name of a preset (`pynq`, `pynq-x`, `tiny`, ...), the path of a JSON file (Tandem's or
        TVM's `vta_config.json`), a `HardwareConfig`, or another accelerator.
    changes
        Fields of `HardwareConfig` with other values, in the units that their names say: `log_` is
        log2. `features` may be names: `["overwrite", "requantise"]`.

    Attributes
    ----------
    config
        The configuration.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        No such preset or file, an unknown field, or an impossible machine; says what is allowed.
    """

    config: HardwareConfig

    def __init__(
        self,
        machine: str | os.PathLike[str] | HardwareConfig | Accelerator = "pynq",
        /,
        **changes: Any,
    ) -> None:
        for name in changes:
            choice("field of a machine", name, _FIELDS)
        if "features" in changes:
            changes["features"] = _features(changes["features"])
        for name, value in changes.items():
            if name not in ("name", "features") and (
                isinstance(value, bool) or not isinstance(value, int)
            ):
                expect(name, value, "a whole number")
        with value_errors(ConfigError):
            object.__setattr__(self, "config", _config(machine).replace(**changes))

    @property
    def name(self) -> str:
        """The name of the configuration."""
        return self.config.name

    @property
    def macs(self) -> int:
        """Multiply-accumulates of the array in one cycle."""
        return self.config.macs

    def to_json(self) -> str:
        """All fields as JSON, which a file may have."""
        return dump_config(self.config)

    def __repr__(self) -> str:
        config = self.config
        features = "".join(f", {name}" for name in sorted(each.value for each in config.features))
        return (
            f"Accelerator({config.name}: {config.batch}x{config.block_in}x{config.block_out} "
            f"multipliers, {config.bus_bits}-bit bus{features})"
        )


def _config(machine: object) -> HardwareConfig:
    match machine:
        case Accelerator(config=config):
            return config
        case HardwareConfig():
            return machine
        case str():
            return load_config(machine)
        case os.PathLike():
            return load_config(file_path("machine", machine))
        case _:
            expect("machine", machine, "a preset, a path, a HardwareConfig or an Accelerator")


def _features(values: object) -> frozenset[Feature]:
    known: dict[str, Feature] = {str(feature.value): feature for feature in Feature}
    if isinstance(values, str) or not hasattr(values, "__iter__"):
        expect("features", values, f"a list with any of {', '.join(known)}")
    return frozenset(
        value if isinstance(value, Feature) else known[choice("feature", value, known)]
        for value in values
    )
