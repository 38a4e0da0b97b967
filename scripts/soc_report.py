"""What `tandem soc` says of a system: cycles by part, outputs, and its gateware."""

from __future__ import annotations

import typer
from rich.table import Table

from tandem.scripts.tables import plain_console
from tandem.scripts.timing import print_timing
from tandem.workbench.soc import Soc, SocGateware, SocRun

_UNITS = ("lut", "lutram", "ff", "dsp", "bram")
_PLACED = ("TRELLIS_COMB", "TRELLIS_FF", "MULT18X18D", "DP16KD")
"""Kinds of cells, by nextpnr's names."""


def soc_json(soc: Soc) -> dict[str, object]:
    """A system as the JSON object of the command."""
    described, run = soc.description, soc.run
    found: dict[str, object] = {
        "files": [str(soc.folder / name) for name in soc.files],
        "cpu": described.processor,
        "config": soc.options.config.name,
        "memory": {
            "bytes": described.memory_bytes,
            "bits": described.bus_bits,
            "latency": described.latency,
            "in_flight": described.in_flight,
        },
        "cycle": soc.cycles,
        "equal": None,
        "cycles": None,
        "seconds": None,
        "gateware": None,
    }
    if run is not None:
        found |= {
            "equal": run.is_right,
            "outputs": [
                {
                    "name": output.name,
                    "equal": output.equal,
                    "count": output.count,
                    "error": output.error,
                }
                for output in run.outputs
            ],
            "cycles": {
                "total": run.total,
                "alone": run.alone,
                "launches": run.launches,
                "cpu": run.total - run.launches,
                "kernels": run.kernels,
                "configuration": run.configuration,
                "firmware": run.firmware,
                "first": run.first,
                "load": run.load,
                "simulated": run.simulated,
            },
            "seconds": run.seconds,
        }
    if soc.gateware is not None:
        found["nextpnr"] = soc.gateware.options.nextpnr.version()
        found["gateware"] = soc.gateware.as_json()
    return found


def print_soc(soc: Soc) -> None:
    """Print a system, and what its run and its gateware said."""
    described = soc.description
    typer.echo(
        f"{soc.folder}: {soc.options.config.name} with {described.processor}; memory of "
        f"{described.memory_bytes:,} bytes, {described.bus_bits} bits wide, latency "
        f"{described.latency}, {described.in_flight} bursts in flight"
    )
    if soc.run is None and soc.gateware is None:
        typer.echo("  make -C firmware and make -C simulation build it")
    if soc.run is not None:
        _print_run(soc, soc.run)
    if soc.gateware is not None:
        _print_gateware(soc.gateware)


def _print_run(soc: Soc, run: SocRun) -> None:
    table = Table(box=None, pad_edge=False)
    table.add_column("part")
    table.add_column("cycles", justify="right")
    table.add_column("")
    for name, cycles, remark in (
        ("launches", run.launches, f"{soc.cycles:,} by the engine cycle, with this memory"),
        ("CPU kernels", run.kernels, ""),
        ("configuration", run.configuration, "copies, registers, caches, waiting"),
        ("firmware", run.firmware, "between steps"),
        ("total", run.total, f"{run.alone:,} without reading the clock between steps"),
    ):
        table.add_row(name, f"{cycles:,}", remark)
    plain_console().print(table)
    typer.echo(f"the first run {run.first:,}, to load {run.load:,}")
    for output in run.outputs:
        error = f", apart by {output.error:.1e} of the greatest" if output.error else ""
        typer.echo(f"{output.name}: {output.equal:,} of {output.count:,} elements equal{error}")
    typer.echo(f"simulated {run.simulated:,} cycles in {run.seconds:.1f} s")


def _print_gateware(gateware: SocGateware) -> None:
    table = Table(box=None, pad_edge=False)
    table.add_column("part")
    for unit in _UNITS:
        table.add_column(unit.upper(), justify="right")
    for name, use in gateware.layout.parts.items():
        table.add_row(name, *(f"{getattr(use, unit):,}" for unit in _UNITS))
    plain_console().print(table)
    placed = gateware.layout.cells
    typer.echo(
        "placed: "
        + ", ".join(
            f"{placed[cell].used:,} of {placed[cell].available:,} {cell}"
            for cell in _PLACED
            if cell in placed
        )
    )
    print_timing(gateware.layout.timing, gateware.options.nextpnr)
