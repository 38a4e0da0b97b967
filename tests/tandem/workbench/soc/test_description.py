"""Sizes of systems, as they are and as they are simulated."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tandem.workbench.soc.description import SocDescription

SIZES = st.integers(1, 1 << 28)


def described(rom: int, ram: int, memory: int) -> SocDescription:
    sizes = (rom, ram, memory)
    return SocDescription("folder", "vexriscv", "standard", 64, 2, 16, *sizes, 64_000_000, False)


@given(rom=SIZES, ram=SIZES, memory=SIZES)
def test_simulated_memories_are_of_few_sizes(rom: int, ram: int, memory: int) -> None:
    found = described(rom, ram, memory).simulated()
    assert found.is_simulated
    sizes = {rom: found.rom_bytes, ram: found.ram_bytes, memory: found.memory_bytes}
    for asked, size in sizes.items():
        assert size.bit_count() == 1
        assert max(asked, 1 << 20) <= size < max(2 * asked, (1 << 20) + 1)


def test_it_is_read_as_it_was_written(tmp_path: Path) -> None:
    one = described(4096, 8192, 12288)
    one.write(tmp_path / "soc.json")
    assert SocDescription.read(tmp_path / "soc.json") == one
