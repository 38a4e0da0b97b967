"""Reads hardware configurations: presets, Tandem's JSON files, and TVM's `vta_config.json`.

Keys of Tandem's files are fields of `HardwareConfig`; a missing field keeps its default, and a
missing name is that of the file (`name_of`).
`hw.vta_config` reads TVM's files. Unknown keys are errors, since a misspelt key would be ignored.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from importlib.resources import files
from pathlib import Path
from typing import Any

from tandem.base.input_files import TEXT_BYTES, read_input
from tandem.base.nearest import did_you_mean
from tandem.base.paths import AnyPath
from tandem.hw.config import NAME_LENGTH, HardwareConfig
from tandem.hw.custom_operations import CustomOperation, operations_from_json
from tandem.hw.errors import ConfigError, TermError
from tandem.hw.features import Feature
from tandem.hw.vta_config import from_vta, is_vta


def preset_names() -> tuple[str, ...]:
    """Names of the configurations that come with Tandem."""
    names = (Path(entry.name) for entry in files("tandem.hw").joinpath("presets").iterdir())
    return tuple(sorted(path.stem for path in names if path.suffix == ".json"))


def load_config(name_or_path: AnyPath) -> HardwareConfig:
    """A preset by its name, else the configuration in a JSON file (Tandem's or TVM's).

    Raises
    ------
    ConfigError
        No such preset or file, or the file describes an impossible configuration. The message
        names the file, the key, its value and the allowed values.
    """
    presets = preset_names()
    if isinstance(name_or_path, str) and name_or_path in presets:
        resource = files("tandem.hw").joinpath("presets", f"{name_or_path}.json")
        return parse_config(resource.read_bytes(), f"preset {name_or_path}", name_or_path)
    path = Path(name_or_path)
    try:
        text = read_input(path, TEXT_BYTES)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ConfigError(
            f"{str(name_or_path)!r} is neither a preset ({', '.join(presets)}) nor a file that "
            f"can be read: {reason}{_remedy(str(name_or_path), presets)}"
        ) from None
    return parse_config(text, str(path), name_of(path))


def _remedy(name: str, presets: Sequence[str]) -> str:
    """The end of the sentence about a name that is no preset: the nearest preset, or a file of
    one's own; for an array's size, as `32x8`, that file's text; empty for a path."""
    if not re.fullmatch(r"[\w-]+", name):
        return ""
    size = re.fullmatch(r"([1-9][0-9]{0,2})x([1-9][0-9]{0,2})", name)
    if size is None and (near := did_you_mean(name, presets)):
        return near
    inputs, outputs = (32, 8) if size is None else map(int, size.groups())
    if inputs & (inputs - 1) or outputs & (outputs - 1):
        return "; the extents of an array are powers of two"
    fields = {"log_block_in": inputs.bit_length() - 1, "log_block_out": outputs.bit_length() - 1}
    return (
        "; a machine of your own is a JSON file that says what differs from pynq, such as "
        f"{json.dumps(fields)}"
    )


def name_of(path: Path) -> str:
    """The name of a configuration that is in a file without one: the file's, without its suffix.

    Characters that a configuration's name may not have become `_`, and what is too long is cut.
    """
    name = re.sub(r"[^A-Za-z0-9_.+-]", "_", path.stem)[:NAME_LENGTH]
    return re.sub(r"^[^A-Za-z0-9_]|^$", "_", name)


def parse_config(text: str | bytes, where: str, name: str = "unnamed") -> HardwareConfig:
    """The configuration that JSON `text` describes.

    `where` names the source in errors; `name` is used if `text` has no key `name`.
    """
    values = parse_json(text, where)
    if not isinstance(values, dict):
        raise ConfigError(f"{where}: a configuration is a JSON object, not {_kind(values)}")
    try:
        arguments = from_vta(values) if is_vta(values) else _our_fields(values)
        return HardwareConfig(**{"name": name, **arguments})
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None


def parse_json(text: str | bytes, where: str) -> Any:
    """The value of a JSON text; raises `ConfigError` if it is none, or has a key twice."""
    try:
        return json.loads(text, object_pairs_hook=_no_duplicates)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{where}: not a JSON text: {error}") from None
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None


def dump_config(config: HardwareConfig) -> str:
    """`config` as JSON with every field, which `parse_config` reads back; without those of custom
    operations where it has none."""
    values = {field.name: getattr(config, field.name) for field in fields(config)}
    values["features"] = sorted(feature.value for feature in config.features)
    values["alu_operations"] = [operation.to_json() for operation in config.alu_operations]
    if not config.alu_operations:
        # As before there were such operations: what is kept by a machine's text stays found.
        del values["alu_operations"], values["alu_stages"]
    return json.dumps(values, indent=2) + "\n"


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in pairs:
        if key in values:
            raise ConfigError(f"key {key!r} is there twice")
        values[key] = value
    return values


def _our_fields(values: Mapping[str, Any]) -> dict[str, Any]:
    """Keyword arguments for `HardwareConfig` from Tandem's JSON; the constructor checks ranges."""
    known = [field.name for field in fields(HardwareConfig)]
    arguments: dict[str, Any] = {}
    for key, value in values.items():
        if key not in known:
            raise ConfigError(
                f"unknown key {key!r} (value {value!r}); known: "
                f"{', '.join(known)}{did_you_mean(key, known)}"
            )
        match key:
            case "name":
                # The constructor checks it.
                arguments[key] = value
            case "features":
                arguments[key] = _features(value)
            case "alu_operations":
                arguments[key] = _operations(value)
            case _:
                if not isinstance(value, int) or isinstance(value, bool):
                    raise ConfigError(f"{key} is {value!r}: it must be a whole number")
                arguments[key] = value
    return arguments


def _features(value: object) -> frozenset[Feature]:
    known: dict[str, Feature] = {str(feature.value): feature for feature in Feature}
    if not isinstance(value, list):
        raise ConfigError(f"features is {value!r}: it must be a list of names")
    for name in value:
        if not isinstance(name, str) or name not in known:
            raise ConfigError(f"features has {name!r}; known: {', '.join(known) or 'none'}")
    if len(set(value)) < len(value):
        raise ConfigError(f"features is {value!r}: a name is there twice")
    return frozenset(known[name] for name in value)


def _operations(value: object) -> tuple[CustomOperation, ...]:
    try:
        return operations_from_json(value)
    except TermError as error:
        raise ConfigError(f"alu_operations: {error}") from None


def _kind(value: object) -> str:
    return {list: "a list", str: "a string", type(None): "null"}.get(type(value), repr(value))
