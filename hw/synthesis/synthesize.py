"""Synthesises generated Verilog for an FPGA family, with a cache of the results.

The design is flattened. With hierarchy, Yosys would be at least twice as fast, because equal blocks
are synthesised once, but would optimise each module as if its longest path were the chip's critical
path, which takes a third more LUTs on ECP5.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from tandem.base.cache import ContentCache, content_key, default_cache
from tandem.hw.rtl.verilog import VerilogDesign
from tandem.hw.synthesis.errors import SynthesisError
from tandem.hw.synthesis.families import MEMORY_CELLS, Family
from tandem.hw.synthesis.resources import Resources, count
from tandem.hw.synthesis.yosys import run, yosys_version
from tandem.hw.synthesis.yowasp import Report

_STATISTICS = "statistics.json"
_ARRAYS = "arrays.txt"


def synthesize(
    design: VerilogDesign,
    family: Family,
    *,
    report: Report | None = None,
    root: Path | None = None,
) -> Resources:
    """The FPGA resources of `design`, from the cache under `root` or by synthesis.

    Synthesis takes a minute or more; `report` is called with the name of each Yosys pass. The
    cache holds Yosys's output.

    Raises
    ------
    SynthesisError
        Yosys is not installed, or Yosys failed, or a cell of the netlist is unknown.
    tandem.base.errors.CacheError
        The cache cannot be used.
    """
    script = _script(design, family)
    parts = (yosys_version(), script, repr(sorted(design.files.items())))
    kept = (_STATISTICS, _ARRAYS, *(_list_of(cell) for cell in MEMORY_CELLS[family]))

    def build(work: Path) -> Sequence[Path]:
        for name, text in design.files.items():
            (work / name).write_text(text)
        run(script, work, place, report)
        return [work / name for name in kept]

    place = root or default_cache()
    entry = ContentCache(place / "synthesis").entry(content_key("synthesis", *parts), build)
    try:
        statistics = json.loads((entry / _STATISTICS).read_text())
    except ValueError as error:
        raise SynthesisError(f"Yosys's statistics are no JSON: {error}") from None
    blocks = {cell: _paths(entry / _list_of(cell)) for cell in MEMORY_CELLS[family]}
    return count(family, statistics, _paths(entry / _ARRAYS), blocks)


def _script(design: VerilogDesign, family: Family) -> str:
    """The Yosys script for `family`; lists the memory arrays before memory mapping."""
    synthesis = f"{family.command} -top {design.top}"
    verilog = " ".join(name for name in design.files if name.endswith(".v"))
    lists = [f"tee -q -o {_list_of(cell)} select -list t:{cell}" for cell in MEMORY_CELLS[family]]
    lines = [
        f"read_verilog {verilog}",
        f"{synthesis} -run begin:{family.mapping}",
        f"tee -q -o {_ARRAYS} select -list t:$mem_v2",
        f"{synthesis} -run {family.mapping}:",
        *lists,
        f"tee -q -o {_STATISTICS} stat -json -top {design.top}",
    ]
    return "".join(f"{line}\n" for line in lines)


def _list_of(cell: str) -> str:
    return f"{cell}.txt"


def _paths(file: Path) -> list[str]:
    """The paths listed in `file`, relative to the top module."""
    return [line.partition("/")[2] for line in file.read_text().splitlines()]
