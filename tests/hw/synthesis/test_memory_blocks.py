"""Block RAM by the rule, against synthesis."""

from __future__ import annotations

import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.synthesis.estimate import samples
from tandem.hw.synthesis.families import Family
from tandem.hw.synthesis.memory_blocks import Array, arrays, block_ram, table_bits


@pytest.mark.parametrize(
    ("width", "words", "blocks"),
    [(64, 1024, 4), (64, 2048, 8), (32, 8192, 16), (36, 512, 1), (37, 512, 2), (1, 32768, 2)],
)
def test_blocks_of_an_array(width: int, words: int, blocks: int) -> None:
    assert Array(width, words, 1).blocks == blocks
    assert Array(width, words, 3).blocks == 3 * blocks


def test_shallow_memories_and_queues_are_tables() -> None:
    assert Array(64, 32, 1).blocks == 0
    assert Array(64, 64, 1).blocks == 2
    assert Array(64, 64, 1, queue=True).blocks == 0
    assert Array(64, 128, 1, queue=True).blocks == 2


def test_pynq() -> None:
    """As docs/resources.md says: WGT 128, ACC 128 in two copies, UOP, INP and OUT 16 each."""
    assert block_ram(load_config("pynq")) == 128 + 128 + 3 * 16 + 3 * 2
    assert block_ram(load_config("pynq").replace(acc_read_ports=1)) == 246


def test_synthesised_machines_for_ecp5() -> None:
    """A byte-wide write enable costs some blocks more than the rule says."""
    found = [sample for sample in samples() if sample.family is Family.ECP5]
    for sample in found:
        assert abs(block_ram(sample.config) - sample.bram) <= 5


def test_every_bit_is_somewhere() -> None:
    for config in (HardwareConfig(), load_config("tiny-x")):
        whole = sum(array.bits for array in arrays(config))
        blocks = sum(array.bits for array in arrays(config) if array.blocks)
        assert whole == blocks + table_bits(config)
