"""Compressed weights as bytes: blocks of codes, with their scales, as LOADs of WGT_CODES read them.

What the bytes mean is said with `Coding`. The last two axes of codes are those of a block in WGT,
`block_out` x `block_in`; axes in front of them are kept.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tandem.hw.codings import Coding
from tandem.hw.config import HardwareConfig
from tandem.hw.errors import ConfigError
from tandem.hw.topology import MemoryId
from tandem.hw.weight_formats import SCALE_BITS

Bytes = NDArray[np.uint8]


def packed_blocks(
    config: HardwareConfig, coding: Coding, codes: Bytes, scales: Bytes | None = None
) -> Bytes:
    """Blocks as bytes, of shape [..., `config.element_bytes(MemoryId.WGT_CODES, coding)`].

    Parameters
    ----------
    codes
        [..., block_out, block_in], below 2^bits.
    scales
        [..., block_out], 0 to 15; for `Coding.BITS_4_SCALED`, and None for all others.

    Raises
    ------
    ConfigError
        Another shape, a code or scale of too many bits, or scales where there are none.
    """
    block = (config.block_out, config.block_in)
    if codes.shape[-2:] != block:
        raise ConfigError(f"codes of shape {codes.shape}: a block of {config.name} is {block}")
    if (scales is not None) != coding.scaled:
        raise ConfigError(f"{coding.name} {'needs' if coding.scaled else 'has no'} scales")
    flat = codes.reshape(*codes.shape[:-2], config.block_out * config.block_in)
    parts = [_packed(flat, coding.bits, _code_bytes(config, coding), "codes")]
    if scales is not None:
        if scales.shape != codes.shape[:-1]:
            raise ConfigError(f"scales of shape {scales.shape} for codes of shape {codes.shape}")
        parts.insert(0, _packed(scales, SCALE_BITS, _scale_bytes(config, coding), "scales"))
    return np.concatenate(parts, axis=-1)


def unpacked_blocks(
    config: HardwareConfig, coding: Coding, data: Bytes
) -> tuple[Bytes, Bytes | None]:
    """The codes, [..., block_out, block_in], and the scales, [..., block_out], or None, of blocks
    of `config.element_bytes(MemoryId.WGT_CODES, coding)` bytes: the inverse of `packed_blocks`."""
    size = config.element_bytes(MemoryId.WGT_CODES, coding)
    if data.shape[-1] != size:
        raise ConfigError(f"blocks of {data.shape[-1]} bytes: {coding.name} has {size}")
    first = _scale_bytes(config, coding)
    weights = _unpacked(data[..., first:], coding.bits, config.block_out * config.block_in)
    codes = weights.reshape(*data.shape[:-1], config.block_out, config.block_in)
    if not coding.scaled:
        return codes, None
    return codes, _unpacked(data[..., :first], SCALE_BITS, config.block_out)


def _scale_bytes(config: HardwareConfig, coding: Coding) -> int:
    return coding.scale_bytes(config.block_out, config.bus_bytes)


def _code_bytes(config: HardwareConfig, coding: Coding) -> int:
    return coding.code_bytes(config.block_out, config.block_in, config.bus_bytes)


def _packed(values: Bytes, bits: int, size: int, what: str) -> Bytes:
    """Values of so many bits along the last axis, from the lowest bit up, in `size` bytes."""
    if values.size and int(values.max()) >> bits:
        raise ConfigError(f"{what} up to {int(values.max())}: they have {bits} bits")
    spread = np.unpackbits(values[..., np.newaxis], axis=-1, count=bits, bitorder="little")
    dense = np.packbits(spread.reshape(*values.shape[:-1], -1), axis=-1, bitorder="little")
    return np.pad(dense, (*((0, 0),) * (values.ndim - 1), (0, size - dense.shape[-1])))


def _unpacked(data: Bytes, bits: int, count: int) -> Bytes:
    spread = np.unpackbits(data, axis=-1, count=count * bits, bitorder="little")
    found = spread.reshape(*data.shape[:-1], count, bits)
    return np.packbits(found, axis=-1, bitorder="little")[..., 0]
