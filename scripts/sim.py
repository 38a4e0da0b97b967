"""`tandem sim`: run a raw program on a raw memory image."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console

from hw.config_files import load_config
from hw.isa import Program
from scripts.counters import counters, print_counters
from scripts.files import check_destination, write_atomically
from scripts.options import (
    DEFAULT_CONFIG,
    DEFAULT_ENGINE,
    DEFAULT_MEMORY,
    ConfigOption,
    DebugOption,
    EngineOption,
    JsonOption,
    MemoryOption,
    SeedOption,
)
from scripts.progress import show_progress
from scripts.reach import check_reach
from scripts.report import errors_in_one_line, print_json
from sim.engine import Launch, Stalls
from sim.engines import make_engine
from sim.memory import place
from sim.timing import parse_memory
from sim.trace import timeline as timeline_of

__all__ = ["command"]

TIMELINE = ".json"
WAVEFORMS = (".fst", ".vcd")


def command(
    program: Annotated[
        Path, typer.Argument(metavar="PROGRAM", help="Raw program: 16 bytes an instruction.")
    ],
    image: Annotated[
        Path,
        typer.Option("--image", metavar="FILE", help="Raw memory image: index is the address."),
    ],
    program_address: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, help="Where to put the program (default: above)."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Write the image after the run."),
    ] = None,
    trace: Annotated[
        Path | None,
        typer.Option(
            "--trace",
            metavar="FILE",
            help="Write a timeline for Perfetto (.json), or a waveform (.fst, .vcd).",
        ),
    ] = None,
    waveform: Annotated[
        Path | None,
        typer.Option("--waveform", metavar="FILE", help="Write a waveform (.fst, .vcd)."),
    ] = None,
    max_cycles: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Give up after so many cycles.")
    ] = None,
    stalls: Annotated[
        float,
        typer.Option(
            "--stalls",
            metavar="PERCENT",
            min=0,
            max=99,
            help="Hold each bus channel back at random in so many cycles (rtl, pysim).",
        ),
    ] = 0.0,
    config: ConfigOption = DEFAULT_CONFIG,
    engine: EngineOption = DEFAULT_ENGINE,
    memory: MemoryOption = DEFAULT_MEMORY,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Run a raw program on a raw memory image.

    All base registers are 0, so that DRAM addresses are places in the image.
    """
    with errors_in_one_line(debug):
        timeline, waveform = _outputs(trace, waveform)
        for path in (output, timeline, waveform):
            check_destination(path)
        machine = load_config(config)
        code = Program.from_bytes(machine, program.read_bytes())
        before = np.frombuffer(image.read_bytes(), dtype=np.uint8)
        physical, address = place(before, code, program_address)
        check_reach(code, len(before))
        simulator = make_engine(engine, machine, parse_memory(memory))
        try:
            with show_progress(as_json) as progress:
                result = simulator.launch(
                    code,
                    physical,
                    Launch(
                        address=address,
                        max_cycles=max_cycles,
                        events=timeline is not None,
                        waveform=waveform,
                        stalls=Stalls(stalls / 100, seed) if stalls else None,
                        progress=progress,
                    ),
                )
        finally:
            simulator.close()
        after = physical[: len(before)].tobytes()
        if output is not None:
            write_atomically(output, after)
        if timeline is not None:
            write_atomically(timeline, json.dumps(timeline_of(result, code)))
        digest = hashlib.sha256(after).hexdigest()
        if as_json:
            print_json(
                {
                    "engine": result.engine,
                    "config": machine.name,
                    "instructions": len(code),
                    "cycles": result.cycles,
                    "counters": counters(result),
                    "image_sha256": digest,
                }
            )
        else:
            print_counters(Console(), machine, result, digest)


def _outputs(trace: Path | None, waveform: Path | None) -> tuple[Path | None, Path | None]:
    """Where the timeline and the waveform go: the end of a `--trace` name says which it is."""
    if trace is None or trace.suffix == TIMELINE:
        timeline = trace
    elif trace.suffix not in WAVEFORMS:
        raise typer.BadParameter(
            f"{trace}: a timeline ends in .json, a waveform in .fst or .vcd", param_hint="--trace"
        )
    elif waveform is not None:
        raise typer.BadParameter(
            f"{trace} and {waveform}: a run writes one waveform", param_hint="--trace"
        )
    else:
        timeline, waveform = None, trace
    if waveform is not None and waveform.suffix not in WAVEFORMS:
        raise typer.BadParameter(
            f"{waveform}: a waveform ends in .fst or .vcd", param_hint="--waveform"
        )
    return timeline, waveform
