"""Blocks of compressed weights as bytes."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.hw.codings import Coding
from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.errors import ConfigError
from tandem.hw.topology import MemoryId
from tandem.hw.weight_blocks import packed_blocks, unpacked_blocks

PYNQ, SMALL, TINY = (load_config(name) for name in ("pynq-w", "small8-w", "tiny-w"))
WIDE = PYNQ.replace(bus_bits=128)


@pytest.mark.parametrize(
    ("config", "sizes"),
    [
        (PYNQ, (32, 64, 128, 136)),
        (WIDE, (32, 64, 128, 144)),
        (SMALL, (8, 16, 32, 40)),
        (TINY, (8, 8, 8, 16)),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_sizes(config: HardwareConfig, sizes: tuple[int, ...]) -> None:
    found = tuple(config.element_bytes(MemoryId.WGT_CODES, coding) for coding in Coding)
    assert found == sizes


@pytest.mark.parametrize("coding", Coding)
@pytest.mark.parametrize("config", [PYNQ, WIDE, SMALL, TINY], ids=lambda config: config.name)
def test_packed_blocks_are_the_inverse_of_unpacked(config: HardwareConfig, coding: Coding) -> None:
    draw = np.random.default_rng(1).integers
    shape = (3, 2, config.block_out, config.block_in)
    codes = draw(0, 1 << coding.bits, shape, np.uint8)
    scales = draw(0, 16, shape[:-1], np.uint8) if coding.scaled else None
    data = packed_blocks(config, coding, codes, scales)
    assert data.shape == (3, 2, config.element_bytes(MemoryId.WGT_CODES, coding))
    found_codes, found_scales = unpacked_blocks(config, coding, data)
    np.testing.assert_array_equal(found_codes, codes)
    assert (found_scales is None) == (scales is None)
    if scales is not None:
        np.testing.assert_array_equal(found_scales, scales)


def test_the_bytes_of_a_block() -> None:
    codes = (np.arange(16, dtype=np.uint8) * 3 % 16).reshape(4, 4)
    data = packed_blocks(TINY, Coding.BITS_4_SCALED, codes, np.array([1, 2, 3, 4], np.uint8))
    assert data.tolist()[:2] == [0x21, 0x43]
    assert data.tolist()[2:8] == [0] * 6
    assert data.tolist()[8:11] == [0x30, 0x96, 0xFC]
    ones = packed_blocks(TINY, Coding.BITS_1, codes % 2)
    assert ones.tolist() == [0b10101010, 0b10101010, *[0] * 6]


def test_refusals() -> None:
    codes = np.zeros((4, 4), np.uint8)
    with pytest.raises(ConfigError, match=r"BITS_4_SCALED needs scales"):
        packed_blocks(TINY, Coding.BITS_4_SCALED, codes)
    with pytest.raises(ConfigError, match=r"BITS_4 has no scales"):
        packed_blocks(TINY, Coding.BITS_4, codes, codes[0])
    with pytest.raises(ConfigError, match=r"codes up to 2: they have 1 bits"):
        packed_blocks(TINY, Coding.BITS_1, codes + 2)
    with pytest.raises(ConfigError, match=r"scales up to 16: they have 4 bits"):
        packed_blocks(TINY, Coding.BITS_4_SCALED, codes, np.full(4, 16, np.uint8))
    with pytest.raises(
        ConfigError, match=r"codes of shape \(4, 2\): a block of tiny-w is \(4, 4\)"
    ):
        packed_blocks(TINY, Coding.BITS_4, codes[:, :2])
    with pytest.raises(ConfigError, match=r"scales of shape \(2,\) for codes of shape \(4, 4\)"):
        packed_blocks(TINY, Coding.BITS_4_SCALED, codes, np.zeros(2, np.uint8))
    with pytest.raises(ConfigError, match=r"blocks of 9 bytes: BITS_1 has 8"):
        unpacked_blocks(TINY, Coding.BITS_1, np.zeros((2, 9), np.uint8))
