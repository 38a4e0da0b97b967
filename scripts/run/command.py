"""`tandem run`: the command."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from tandem.hw.config_files import load_config
from tandem.hw.memory_model import parse_memory
from tandem.runtime.artifact import config_of, is_artifact
from tandem.runtime.executor import Progress
from tandem.runtime.joined import join_runs
from tandem.scripts.completion import complete_model
from tandem.scripts.console import errors_in_one_line, print_json
from tandem.scripts.engine_comparison import CompareOption, choose_engine
from tandem.scripts.errors import CommandError
from tandem.scripts.model_options import (
    MODEL_FLAGS,
    MODELS,
    DeviceName,
    DeviceOption,
    LatencyHidingOption,
    ModelFlags,
    ThreadsOption,
    refuse_accelerator_options,
)
from tandem.scripts.option_groups import with_groups
from tandem.scripts.options import (
    DEFAULT_CONFIG,
    DEFAULT_ENGINE,
    DEFAULT_MEMORY,
    ArtifactConfigOption,
    DebugOption,
    EngineOption,
    ExplainOption,
    JsonOption,
    MemoryOption,
    SeedOption,
)
from tandem.scripts.outputs import ForceOption, check_outputs, config_input
from tandem.scripts.progress import show_activity
from tandem.scripts.records import RecordsOption, records_input, warn, with_records
from tandem.scripts.run.accuracy_options import (
    AccuracyOption,
    LabelsOption,
    check_accuracy,
    read_labels,
)
from tandem.scripts.run.clock import parse_clock
from tandem.scripts.run.outputs import check_archive, check_names, write_archive
from tandem.scripts.run.profile_files import TIMELESS, ProfileFiles
from tandem.scripts.run.table import print_run
from tandem.scripts.run.why_table import layer_named, print_why
from tandem.scripts.weight_options import INT8_FLAGS, WeightFlags
from tandem.sim.compare import Comparison
from tandem.workbench.accuracy import class_accuracy, layer_losses
from tandem.workbench.clock import Clock
from tandem.workbench.device_comparison import boundaries, compare
from tandem.workbench.devices import GPUS, Accelerator, Cpu, TargetDevice
from tandem.workbench.engine_comparison import EngineComparison
from tandem.workbench.models import model_inputs
from tandem.workbench.networks import Network, Report
from tandem.workbench.opened import open_model
from tandem.workbench.platform import Platform
from tandem.workbench.run_inputs import RunInputs
from tandem.workbench.run_report import RunReport
from tandem.workbench.why import Why, explain_run


@with_groups
def command(
    context: typer.Context,
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL|ARTIFACT",
            autocompletion=complete_model,
            help=f"What `tandem compile` wrote or takes: {MODELS}.",
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
            "the other. Extents that the model leaves open are the arrays'. An input whose value "
            "has to be known, such as a shape, becomes a constant.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", metavar="FILE", readable=False, help="Write outputs (.npz)."),
    ] = None,
    device: DeviceOption = DeviceName.ACCELERATOR,
    config: ArtifactConfigOption = None,
    engine: EngineOption = DEFAULT_ENGINE,
    compare_engines: CompareOption = None,
    memory: MemoryOption = DEFAULT_MEMORY,
    hiding: LatencyHidingOption = True,
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="Run the same network on the CPU too, and fail if any bit differs."
        ),
    ] = False,
    report: Annotated[
        Path | None,
        typer.Option(
            "--report",
            metavar="FILE",
            readable=False,
            help="Write a page (.html) with the cycles of each layer by cause; for a model, with "
            "latency hiding and without. With milliseconds if the clock is known: by --clock, or "
            "by an earlier `tandem rtl --timing` of this configuration.",
        ),
    ] = None,
    clock: Annotated[
        float | None,
        typer.Option(
            "--clock",
            metavar="MHZ",
            parser=parse_clock,
            help="The accelerator's clock, to convert cycles to milliseconds.",
        ),
    ] = None,
    why: Annotated[
        str | None,
        typer.Option(
            "--why",
            metavar="LAYER",
            help="Print what the cycles of this layer went to, and the critical path through its "
            "events: instructions, tokens and transfers. Of several batches, of the first.",
        ),
    ] = None,
    accuracy: AccuracyOption = False,
    labels: LabelsOption = None,
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
    flags: ModelFlags = MODEL_FLAGS,
    formats: WeightFlags = INT8_FLAGS,
    records: RecordsOption = None,
    threads: ThreadsOption = None,
    seed: SeedOption = 0,
    force: ForceOption = False,
    explain: ExplainOption = False,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Run a network end to end.

    A model is compiled first, with the options of `tandem compile`; an artifact is compiled
    already. Cycles are those of the Verilog, by the engine cycle; --engine rtl runs the Verilog
    itself, and --engine functional has no time.
    """
    with errors_in_one_line(debug):
        # Wrong usage is refused before the network is compiled and run, which takes minutes.
        check_archive(output)
        _check_files((*(inputs or ()), flags.calibrate, labels))
        if accuracy:
            check_accuracy(model, flags.quantize)
        wanted = read_labels(labels, has_inputs=bool(inputs))
        elsewhere = device is not DeviceName.ACCELERATOR
        compiling = {
            **flags.given,
            **formats.given,
            "--config": config is not None,
            "--no-latency-hiding": not hiding,
            "--records": records is not None,
        }
        _check_for_artifact(model, [option for option, is_set in compiling.items() if is_set])
        if elsewhere:
            others = {
                "--compare": compare_engines is not None,
                "--check": check,
                "--explain": explain,
                "--clock": clock is not None,
                "--why": why is not None,
            }
            refuse_accelerator_options(
                context, [flag for flag, is_set in others.items() if is_set], device
            )
        if device.value in GPUS and threads is not None:
            raise CommandError(
                f"--threads is of the CPU: with --device {device.value} all is on the GPU"
            )
        engine = choose_engine(context, engine, compare_engines)
        files = ProfileFiles(report, trace)
        files.check(device, engine)
        check_outputs(
            {"--output": output, "--report": report, "--trace": trace},
            chain(
                model_inputs(model),
                (
                    *(inputs or ()),
                    flags.calibrate,
                    labels,
                    config_input(config),
                    records_input(records),
                ),
            ),
            force=force,
        )
        timing = ["--clock"] * (clock is not None) + ["--why"] * (why is not None)
        if timing and engine == TIMELESS:
            raise CommandError(f"{timing[0]} needs cycles: the {engine} engine has no time")
        second = None if compare_engines is None else compare_engines.second
        platform = Platform(engine, parse_memory(memory), threads, second)
        target: TargetDevice = GPUS[device.value]() if device.value in GPUS else Cpu(threads)
        if not elsewhere:
            target = Accelerator(load_config(config or DEFAULT_CONFIG), platform.memory, hiding)
        target = with_records(target, records)
        options = flags.options(seed, formats)
        with show_activity("run", quiet=as_json) as activity:
            opened = open_model(model, options, activity, inputs or [])
            run_inputs = RunInputs.read(
                opened.name, opened.inputs, inputs or [], flags.pixels, seed, opened.constants
            )
            network = opened.network(target, activity, warn)
            artifact = network.artifact
            check_names(output, (port.name for port in artifact.manifest.results))
            needing = ["--compare"] * (second is not None) + ["--check"] * check + timing
            _check_offloaded(network, needing + files.options)
            if why is not None:
                why = layer_named(artifact, why)
            run_inputs.check_finite(artifact)
            batches = run_inputs.batches
            if wanted is not None:
                wanted.check(artifact, len(batches))
            watch = boundaries(artifact) if check else ()
            launches: list[Comparison] = []
            runs = platform.run(artifact, batches, _step_progress(activity), watch, launches)
            run = join_runs(runs)
            comparison = ratios = None
            if check:
                fallback = network.on_cpu(activity)
                reference = platform.run(fallback, batches, _step_progress(activity), watch)
                comparison = compare(run, join_runs(reference), artifact)
                ratios = network.sqnr(batches, runs)
            without_hiding = None
            timed = run.profile.cycles is not None
            # An artifact cannot be compiled again.
            if report is not None and timed and hiding and network.prepared is not None:
                plain = network.without_hiding(activity)
                without_hiding = join_runs(platform.run(plain, batches, _step_progress(activity)))
            reasons: tuple[Why, ...] = ()
            if timed and (why is not None or report is not None):
                reasons = explain_run(runs[0], platform.memory)
            losses = classes = None
            if accuracy:
                losses = layer_losses(network, batches, activity, of_noise=not inputs)
            if wanted is not None:
                classes = class_accuracy(network, wanted, batches, runs)
            streams = [stream for run in runs for stream in run.profile.streams]
            run_report = RunReport(
                network,
                platform,
                run,
                comparison,
                ratios,
                without_hiding,
                memory,
                len(runs),
                None if clock is None else Clock(clock, "as given"),
                EngineComparison(launches, streams) if launches else None,
                reasons,
                why,
                losses,
                classes,
            )
            files.write_page(run_report)
            # The timeline shows the first batch.
            files.write_trace(runs[0])
        if output is not None:
            write_archive(output, run.outputs)
        if as_json:
            print_json(run_report.as_json())
        else:
            print_run(run_report, explain=explain)
            if run_report.why is not None:
                print_why(run_report.why)
            for line in files.written:
                typer.echo(line)
        if comparison is not None and not comparison.equal:
            raise CommandError(
                f"{comparison.mismatches:,} of {comparison.elements:,} elements differ from the "
                f"CPU's; the first: {comparison.first}"
            )
        if run_report.engines is not None:
            run_report.engines.raise_if_different()


def _step_progress(activity: Report | None) -> Progress | None:
    if activity is None:
        return None
    return lambda done, steps, name: activity(f"{name} ({done + 1} of {steps})")


def _check_files(paths: Sequence[Path | None]) -> None:
    """Raise `OSError` for the first path at which there is no file."""
    for path in paths:
        if path is not None:
            path.stat()


def _check_for_artifact(model: str, options: Sequence[str]) -> None:
    """Raise `CommandError` if options of compilation were given with an artifact."""
    if options and is_artifact(Path(model)):
        raise CommandError(f"{options[0]} is for models: {model} is an artifact, compiled already")


def _check_offloaded(network: Network, options: Sequence[str]) -> None:
    """Raise `CommandError` if options need the accelerator and the network does not use it."""
    if options and config_of(network.artifact) is None:
        raise CommandError(
            f"{options[0]}: nothing of {network.model} is on an accelerator; without {options[0]}, "
            f"--explain says why"
        )
