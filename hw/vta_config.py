"""Translates TVM's `vta_config.json` into arguments of `HardwareConfig`.

The file holds logarithms of sizes (buffers in bytes, widths in bits) and the board, which decides
the bus, as in TVM's own tools. Golden test vectors have the same dictionary with
additional keys (`_NOTES`), which are accepted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tandem.hw.errors import ConfigError

_SIZES = {
    "LOG_BATCH": ("log_batch",),
    "LOG_BLOCK": ("log_block_in", "log_block_out"),
    "LOG_UOP_BUFF_SIZE": ("log_uop_buffer",),
    "LOG_INP_BUFF_SIZE": ("log_inp_buffer",),
    "LOG_WGT_BUFF_SIZE": ("log_wgt_buffer",),
    "LOG_ACC_BUFF_SIZE": ("log_acc_buffer",),
}
"""Required keys, and the fields of `HardwareConfig` that each sets."""

_WIDTHS = {"LOG_INP_WIDTH": 3, "LOG_WGT_WIDTH": 3, "LOG_ACC_WIDTH": 5, "LOG_OUT_WIDTH": 3}
"""Keys of log2 widths and their only allowed values: int8 times int8 into int32, stored as int8."""

_OPTIONAL_WIDTH = "LOG_OUT_WIDTH"

_DERIVED = ("LOG_BLOCK_IN", "LOG_BLOCK_OUT", "LOG_OUT_BUFF_SIZE")
"""Keys that TVM's tools add to the file; their values must follow from the other keys."""

_VERSIONS = ("0.0.1", "0.0.2")

_BOARDS: dict[str, dict[str, int]] = {
    "pynq": {},
    "sim": {},
    "tsim": {},
    "bsim": {},
    "intelfocl": {},
    "de10nano": {"longest_burst": 16},
    "ultra96": {"bus_bits": 128, "address_bits": 40},
    "zcu104": {"bus_bits": 128, "address_bits": 40},
}
"""By TARGET, the bus fields of `HardwareConfig` that differ from the defaults."""

_IGNORED = "ACC_DEP_DISTANCE"
"""Minimum distance of two updates of one accumulator in VTA's HLS pipeline; Tandem forwards."""

_NOTES = frozenset(
    {
        "name",
        "kind",
        "n_insn",
        "insn_kinds",
        "features",
        "nonportable",
        "portable",
        "min_raw_distance",
        "unordered_pairs",
        "profile",
        "dram_index_is_physical_address",
    }
)
"""Additional keys of the golden test vectors."""


def is_vta(values: Mapping[str, Any]) -> bool:
    """Whether a configuration is TVM's: only TVM's has upper-case keys."""
    return any(key.isupper() for key in values)


def from_vta(values: Mapping[str, Any]) -> dict[str, Any]:
    """Keyword arguments for `HardwareConfig`; `ConfigError` names key, value and allowed values."""
    known = (*_SIZES, *_WIDTHS, *_DERIVED, "TARGET", "HW_VER", _IGNORED)
    for key, value in values.items():
        if key not in known and key not in _NOTES:
            raise ConfigError(f"unknown key {key!r} (value {value!r}); known: {', '.join(known)}")
    for key, width in _WIDTHS.items():
        if key != _OPTIONAL_WIDTH or key in values:
            _check_width(key, _whole(values, key), width)
    _check_version(values)
    arguments: dict[str, Any] = dict(_board(values))
    for key, names in _SIZES.items():
        arguments.update(dict.fromkeys(names, _whole(values, key)))
    _check_derived(values)
    if _IGNORED in values:
        _whole(values, _IGNORED)
    if "name" in values:
        arguments["name"] = values["name"]
    return arguments


def _whole(values: Mapping[str, Any], key: str) -> int:
    if key not in values:
        raise ConfigError(f"key {key!r} is missing")
    value = values[key]
    if not isinstance(value, int) or isinstance(value, bool):
        raise ConfigError(f"{key} is {value!r}: it must be a whole number")
    return value


def _check_width(key: str, value: int, allowed: int) -> None:
    if value != allowed:
        raise ConfigError(
            f"{key} is {value}: it must be {allowed} (this machine multiplies int8 by int8 into "
            f"int32)"
        )


def _check_version(values: Mapping[str, Any]) -> None:
    version = values.get("HW_VER", _VERSIONS[-1])
    if version not in _VERSIONS:
        raise ConfigError(f"HW_VER is {version!r}: it must be one of {', '.join(_VERSIONS)}")


def _board(values: Mapping[str, Any]) -> dict[str, int]:
    target = values.get("TARGET", "pynq")
    if not isinstance(target, str) or target not in _BOARDS:
        raise ConfigError(f"TARGET is {target!r}: it must be one of {', '.join(_BOARDS)}")
    return _BOARDS[target]


def _check_derived(values: Mapping[str, Any]) -> None:
    narrower = _WIDTHS["LOG_ACC_WIDTH"] - _WIDTHS["LOG_OUT_WIDTH"]
    expected = {
        "LOG_BLOCK_IN": values["LOG_BLOCK"],
        "LOG_BLOCK_OUT": values["LOG_BLOCK"],
        "LOG_OUT_BUFF_SIZE": values["LOG_ACC_BUFF_SIZE"] - narrower,
    }
    for key in _DERIVED:
        if key in values and _whole(values, key) != expected[key]:
            raise ConfigError(
                f"{key} is {values[key]}: the other keys make it {expected[key]}, and this "
                f"machine has no other"
            )
