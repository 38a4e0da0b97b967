"""Counting cells, and telling which memory they belong to."""

from __future__ import annotations

from typing import Any

import pytest

from tandem.hw.synthesis.errors import SynthesisError
from tandem.hw.synthesis.families import Family
from tandem.hw.synthesis.resources import MemoryUse, count
from tandem.hw.topology import MemoryId

CORE = "accelerator.core"


def statistics(submodules: int = 0, **cells: int) -> dict[str, Any]:
    """As `stat -json` writes them."""
    return {"design": {"num_submodules": submodules, "num_cells_by_type": cells}}


def test_each_unit_of_the_7_series() -> None:
    cells = {"LUT1": 1, "LUT6": 20, "INV": 300, "SRL16E": 4000, "RAM64M": 2, "RAM32X1D": 1}
    cells |= {"FDRE": 5, "FDSE": 60, "DSP48E1": 7, "RAMB18E1": 1, "RAMB36E1": 10}
    cells |= {"CARRY4": 99, "MUXF7": 99, "$scopeinfo": 99}
    found = count(Family.XC7, statistics(**cells), [], {})
    assert found.lut == 1 + 20 + 300 + found.lutram
    assert found.lutram == 4000 + 2 * 4 + 2
    assert (found.ff, found.dsp, found.bram) == (65, 7, 1 + 2 * 10)
    assert found.memories == ()


def test_each_unit_of_ecp5() -> None:
    cells = {"LUT4": 10, "CCU2C": 3, "TRELLIS_DPR16X4": 2, "PFUMX": 99, "L6MUX21": 99}
    cells |= {"TRELLIS_FF": 4, "MULT18X18D": 5, "DP16KD": 6, "PDPW16KD": 1}
    found = count(Family.ECP5, statistics(**cells), [], {})
    assert (found.lut, found.lutram) == (10 + 2 * 3 + 6 * 2, 6 * 2)
    assert (found.ff, found.dsp, found.bram) == (4, 5, 7)


def test_each_unit_of_ultrascale() -> None:
    cells = {"LUT5": 1, "RAM32M16": 2, "FDRE": 3, "DSP48E2": 4, "RAMB36E2": 5, "RAMB18E2": 6}
    found = count(Family.XCUP, statistics(**cells), [], {})
    assert (found.lut, found.lutram) == (1 + 16, 16)
    assert (found.ff, found.dsp, found.bram) == (3, 4, 16)


def test_memories_by_their_paths() -> None:
    arrays = {
        f"{CORE}.inp_memory.memory.array": ("RAMB18E1", 1),
        f"{CORE}.wgt_memory.memory.column_0.array": ("RAMB36E1", 2),
        f"{CORE}.wgt_memory.memory.column_1.array": ("RAM64M", 3),
        f"{CORE}.compute.uop_memory.memory.array": ("RAMB36E1", 1),
        f"{CORE}.compute.accumulator.dst_copy.array": ("RAMB36E1", 2),
        f"{CORE}.compute.accumulator.src_copy.array": ("RAMB36E1", 2),
        f"{CORE}.compute.accumulator.only_copy.column_10.array": ("RAMB36E1", 1),
        f"{CORE}.compute.accumulator.out_copy.array": ("RAM64M", 0),
        f"{CORE}.par_memory.memory.array": ("RAM64M", 7),
        f"{CORE}.compute.out_memory.memory.array": ("RAMB18E1", 1),
        f"{CORE}.load_queue.storage": ("RAM64M", 2),
    }
    blocks: dict[str, list[str]] = {}
    for path, (cell, number) in arrays.items():
        blocks.setdefault(cell, []).extend(f"{path}.{index}.{index}" for index in range(number))
    found = count(Family.XC7, statistics(RAMB36E1=8), arrays, blocks)
    assert found.memories == (
        MemoryUse(MemoryId.UOP, block_ram=1, lut_ram=0, registers=0, bram=2),
        MemoryUse(MemoryId.WGT, block_ram=1, lut_ram=1, registers=0, bram=4),
        MemoryUse(MemoryId.INP, block_ram=1, lut_ram=0, registers=0, bram=1),
        MemoryUse(MemoryId.ACC, block_ram=3, lut_ram=0, registers=0, bram=10),
        MemoryUse(MemoryId.OUT, block_ram=1, lut_ram=0, registers=1, bram=1),
        MemoryUse(MemoryId.PAR, block_ram=0, lut_ram=1, registers=0, bram=0),
        MemoryUse(None, block_ram=0, lut_ram=1, registers=0, bram=0),
    )
    written = found.as_json()
    assert set(written) == {"lut", "lutram", "ff", "dsp", "bram", "memories"}
    assert written["bram"] == 16
    memories = written["memories"]
    assert isinstance(memories, dict)
    assert list(memories) == ["UOP", "WGT", "INP", "ACC", "OUT", "PAR", "queues"]
    assert memories["WGT"] == {"block_ram": 1, "lut_ram": 1, "registers": 0, "bram": 4}


@pytest.mark.parametrize("cell", ["LDCE", "$mul", "tandem_core", "DSP48E2"])
def test_refuses_a_cell_whose_cost_is_not_known(cell: str) -> None:
    with pytest.raises(SynthesisError, match=r"for xc7 left cells .*: \S+; known: \$scopeinfo,"):
        count(Family.XC7, statistics(**{"LUT6": 1, cell: 1}), [], {})


def test_refuses_a_hierarchy() -> None:
    with pytest.raises(SynthesisError, match=r"hierarchy \(2 submodules\)"):
        count(Family.XC7, statistics(2, LUT6=1), [], {})


@pytest.mark.parametrize(
    "nonsense",
    [
        {},
        {"design": 3},
        {"design": {"num_submodules": 0}},
        {"design": {"num_submodules": 0, "num_cells_by_type": ["LUT6"]}},
        {"design": {"num_submodules": 0, "num_cells_by_type": {"LUT6": "many"}}},
        [],
    ],
)
def test_refuses_what_are_no_statistics(nonsense: Any) -> None:
    with pytest.raises(SynthesisError, match="statistics cannot be read"):
        count(Family.XC7, nonsense, [], {})


def test_refuses_a_block_of_no_array() -> None:
    with pytest.raises(SynthesisError, match=r"RAMB36E1 'b\.array\.0\.1' belongs to no array"):
        count(Family.XC7, statistics(RAMB36E1=1), ["a.array"], {"RAMB36E1": ["b.array.0.1"]})
