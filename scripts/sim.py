"""`tandem sim`: run a raw program on a raw memory image."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from tandem.base.files import check_destination, write_atomically
from tandem.hw.memory_model import parse_memory
from tandem.runtime.artifact import is_artifact
from tandem.scripts.console import errors_in_one_line, print_json
from tandem.scripts.counters import print_counters
from tandem.scripts.engine_comparison import CompareOption, choose_engine, print_comparison
from tandem.scripts.options import (
    DEFAULT_CONFIG,
    DEFAULT_ENGINE,
    DEFAULT_MEMORY,
    ConfigOption,
    DebugOption,
    EngineOption,
    JsonOption,
    MemoryOption,
    SeedOption,
    parse_byte,
    parse_number,
)
from tandem.scripts.outputs import ForceOption, check_outputs, config_input
from tandem.scripts.programs import ImageOption, ProgramArgument, StreamOption, read_program
from tandem.scripts.progress import show_progress
from tandem.scripts.traces import choose_traces
from tandem.sim.engine import Launch, Stalls
from tandem.workbench.simulation import open_simulator, place


def command(
    context: typer.Context,
    program: ProgramArgument,
    image: ImageOption = None,
    stream: StreamOption = None,
    program_address: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            parser=parse_number,
            help="Where to put the program, in bytes (default: above the image).",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            readable=False,
            help="Write the image as the run leaves it.",
        ),
    ] = None,
    trace: Annotated[
        Path | None,
        typer.Option(
            "--trace",
            metavar="FILE",
            readable=False,
            help="Write a timeline for Perfetto (.json), or a waveform (.fst, .vcd).",
        ),
    ] = None,
    waveform: Annotated[
        Path | None,
        typer.Option(
            "--waveform",
            metavar="FILE",
            readable=False,
            help="Write a waveform (.fst, .vcd), next to a timeline.",
        ),
    ] = None,
    max_cycles: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Stop after so many cycles.")
    ] = None,
    stalls: Annotated[
        float,
        typer.Option(
            "--stalls",
            metavar="PERCENT",
            min=0,
            max=99,
            help="Stall each bus channel at random, this share of the time (rtl, pysim).",
        ),
    ] = 0.0,
    no_data: Annotated[
        bool,
        typer.Option(
            "--no-data",
            help="Compute time alone, not results: the image stays as it is (cycle).",
        ),
    ] = False,
    fill: Annotated[
        int | None,
        typer.Option(
            "--fill",
            metavar="HEX",
            parser=parse_byte,
            help="Fill the on-chip memories with this byte before the run (default: zeros).",
        ),
    ] = None,
    config: ConfigOption = DEFAULT_CONFIG,
    engine: EngineOption = DEFAULT_ENGINE,
    compare: CompareOption = None,
    memory: MemoryOption = DEFAULT_MEMORY,
    seed: SeedOption = 0,
    force: ForceOption = False,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Run a raw program on a raw memory image, or an artifact's instruction stream on its own.

    All base registers are 0, so that DRAM addresses are offsets in the image.
    """
    with errors_in_one_line(debug):
        traces = choose_traces(trace, waveform)
        engine = choose_engine(context, engine, compare)
        check_destination(output)
        check_outputs(
            {"--output": output, "--trace": traces.timeline, "--waveform": traces.waveform},
            (program, image, config_input(config)),
            force=force,
        )
        if image is None and not is_artifact(program):
            raise typer.BadParameter(
                "Missing option '--image': a raw program runs on a memory image, which only an "
                "artifact brings along"
            )
        loaded = read_program(context, program, stream, image, config)
        machine, placed = loaded.config, place(loaded, program_address)
        how = Launch(
            address=0,
            max_cycles=max_cycles,
            events=traces.timeline is not None,
            stalls=Stalls(stalls / 100, seed) if stalls else None,
            data=not no_data,
        )
        engines = (engine,) if compare is None else compare.names
        with open_simulator(engines, machine, parse_memory(memory)) as simulator:
            traces.check(simulator.engine)
            with traces.waveform_draft() as waveform, show_progress(as_json) as progress:
                launch = replace(how, waveform=waveform, progress=progress)
                done = simulator.run(placed, launch, fill)
        if output is not None:
            write_atomically(output, done.image.tobytes())
        traces.write_timeline(done.result, done.program)
        comparison = done.comparison
        if as_json:
            print_json(done.as_json())
        else:
            print_counters(Console(), machine, done.result, done.image_sha256)
            if comparison is not None:
                typer.echo()
                print_comparison(comparison)
        if comparison is not None:
            comparison.raise_if_different()
