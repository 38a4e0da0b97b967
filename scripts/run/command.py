"""`tandem run`: the command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hw.config_files import load_config
from hw.memory_model import parse_memory
from runtime.executor import Progress
from runtime.inputs import Pixels
from runtime.joined import join_runs
from scripts.errors import CommandError
from scripts.model_options import (
    CalibrateOption,
    DeviceName,
    DeviceOption,
    HidingOption,
    PixelsOption,
    QuantiseOption,
    ThreadsOption,
    check_for_cpu,
)
from scripts.options import (
    DEFAULT_CONFIG,
    DEFAULT_ENGINE,
    DEFAULT_MEMORY,
    DebugOption,
    EngineOption,
    ExplainOption,
    JsonOption,
    MemoryOption,
    SeedOption,
)
from scripts.progress import show_activity
from scripts.report import errors_in_one_line, print_json
from scripts.run.check import boundaries, compare
from scripts.run.given import Given
from scripts.run.machine import Machine, Report, open_model
from scripts.run.outputs import check_archive, write_archive
from scripts.run.pictures import Pictures
from scripts.run.refusals import check_files, check_for_artifact, check_offloaded
from scripts.run.table import print_run
from scripts.run.told import Told
from scripts.sources import Accelerator, ModelOptions
from sim.engines import check_engine

__all__ = ["command"]


def command(
    context: typer.Context,
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL|ARTIFACT",
            help="What `tandem compile` wrote or takes: an ONNX file, or resnet18, resnet34, "
            "resnet50, digits.",
        ),
    ],
    inputs: Annotated[
        list[Path] | None,
        typer.Option(
            "--input",
            metavar="FILE",
            readable=False,
            help="An input: .npy, .npz (by name), .png or .jpg; can be repeated, in the model's "
            "order (default: seeded noise). Several batches along the first axis are run one after "
            "the other.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", metavar="FILE", readable=False, help="Write outputs (.npz)."),
    ] = None,
    device: DeviceOption = DeviceName.ACCELERATOR,
    config: Annotated[
        str | None,
        typer.Option(
            "--config",
            metavar="NAME|FILE",
            help="Hardware configuration, as of other verbs (default: pynq; an artifact's own).",
        ),
    ] = None,
    engine: EngineOption = DEFAULT_ENGINE,
    memory: MemoryOption = DEFAULT_MEMORY,
    hiding: HidingOption = True,
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="Run the same network on the CPU, and compare every bit: fail if not."
        ),
    ] = False,
    report: Annotated[
        Path | None,
        typer.Option(
            "--report",
            metavar="FILE",
            readable=False,
            help="Write a page (.html) that shows where cycles went, of a model with latency "
            "hiding and without.",
        ),
    ] = None,
    trace: Annotated[
        Path | None,
        typer.Option(
            "--trace",
            metavar="FILE",
            readable=False,
            help="Write a timeline (.json) for Perfetto: of the longest stream and the first "
            "batch.",
        ),
    ] = None,
    quantize: QuantiseOption = None,
    calibrate: CalibrateOption = None,
    pixels: PixelsOption = Pixels.IMAGENET,
    threads: ThreadsOption = None,
    seed: SeedOption = 0,
    explain: ExplainOption = False,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Run a network end to end.

    A model is compiled first, with the options of `tandem compile`; an artifact was compiled with
    its own. The functional engine has no time: --engine rtl tells cycles.
    """
    with errors_in_one_line(debug):
        check_archive(output)
        check_files((*(inputs or ()), calibrate))
        on_cpu = device is DeviceName.CPU
        compiling = {
            "--quantize": quantize is not None,
            "--calibrate": calibrate is not None,
            "--config": config is not None,
            "--no-latency-hiding": not hiding,
        }
        check_for_artifact(model, [name for name, given in compiling.items() if given])
        if on_cpu:
            check_for_cpu(context, ["--check"] * check + ["--explain"] * explain)
        pictures = Pictures(report, trace)
        pictures.check(on_cpu, engine)
        check_engine(engine)
        machine = Machine(engine, parse_memory(memory), threads)
        accelerator = None
        if not on_cpu:
            hardware = load_config(config or DEFAULT_CONFIG)
            accelerator = Accelerator(hardware, machine.memory, hiding)
        options = ModelOptions(quantize, calibrate, pixels, seed)
        with show_activity("run", quiet=as_json) as tell:
            opened = open_model(model, options, tell)
            given = Given.of(opened.name, opened.inputs, inputs or [], pixels, seed)
            network = opened.network(accelerator, tell)
            artifact = network.artifact
            check_offloaded(network, ["--check"] * check + pictures.options)
            given.check(artifact)
            batches = given.batches
            watch = boundaries(artifact) if check else ()
            runs = machine.run(artifact, batches, _steps(tell), watch)
            run = join_runs(runs)
            comparison = ratios = None
            if check:
                reference = machine.run(network.on_cpu(tell), batches, _steps(tell), watch)
                comparison = compare(run, join_runs(reference))
                ratios = network.sqnr(batches, runs)
            plain = None
            timed = run.profile.cycles is not None
            # An artifact cannot be compiled once more.
            if report is not None and timed and hiding and network.prepared is not None:
                slower = machine.run(network.without_hiding(tell), batches, _steps(tell))
                plain = join_runs(slower)
            told = Told(network, machine, run, comparison, ratios, plain, memory, len(runs))
            pictures.write_page(told)
            # Of the first batch.
            pictures.write_trace(runs[0])
        if output is not None:
            write_archive(output, run.outputs)
        if as_json:
            print_json(told.as_json())
        else:
            print_run(told, explain=explain)
        if comparison is not None and not comparison.equal:
            raise CommandError(
                f"{comparison.mismatches:,} of {comparison.elements:,} elements differ from the "
                f"CPU's; the first: {comparison.first}"
            )


def _steps(report: Report | None) -> Progress | None:
    if report is None:
        return None
    return lambda done, steps, name: report(f"{name} ({done + 1} of {steps})")
