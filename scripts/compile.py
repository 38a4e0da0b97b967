"""`tandem compile`: compiles a model to an artifact."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer

from tandem.api.step_table import step_table
from tandem.base.files import check_destination
from tandem.hw.config_files import load_config
from tandem.hw.memory_model import parse_memory
from tandem.runtime.artifact import Artifact, write_artifact
from tandem.runtime.inputs import read_arrays
from tandem.scripts.calibration import calibration_warning
from tandem.scripts.completion import complete_model
from tandem.scripts.console import errors_in_one_line, print_json
from tandem.scripts.errors import CommandError
from tandem.scripts.explain import print_reasons, print_round_trips, print_weights
from tandem.scripts.model_options import (
    MODEL_FLAGS,
    MODELS,
    DeviceName,
    DeviceOption,
    FpuOption,
    LatencyHidingOption,
    ModelFlags,
    ProcessorOption,
    ThreadsOption,
    refuse_accelerator_options,
)
from tandem.scripts.option_groups import with_groups
from tandem.scripts.options import (
    DEFAULT_CONFIG,
    DEFAULT_MEMORY,
    ConfigOption,
    DebugOption,
    ExplainOption,
    JsonOption,
    MemoryOption,
    SeedOption,
)
from tandem.scripts.outputs import ForceOption, check_outputs, config_input
from tandem.scripts.progress import show_activity
from tandem.scripts.records import RecordsOption, records_input, warn, with_records
from tandem.scripts.weight_options import INT8_FLAGS, WeightFlags
from tandem.workbench.devices import GPUS, Accelerator, Cpu, TargetDevice
from tandem.workbench.models import (
    Source,
    compile_model,
    import_model,
    model_inputs,
)
from tandem.workbench.recorded_choices import TunedLayers
from tandem.workbench.round_trips import round_trips


@with_groups
def command(
    context: typer.Context,
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            autocompletion=complete_model,
            help=f"{MODELS[0].upper()}{MODELS[1:]}.",
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "-o", "--output", metavar="ARTIFACT", readable=False, help="The file to write."
        ),
    ],
    inputs: Annotated[
        list[Path] | None,
        typer.Option(
            "--input",
            metavar="FILE",
            readable=False,
            help="Inputs whose values have to be known, such as shapes, which become constants: "
            ".npz (by name), or .npy in the model's order; can be repeated.",
        ),
    ] = None,
    flags: ModelFlags = MODEL_FLAGS,
    formats: WeightFlags = INT8_FLAGS,
    config: ConfigOption = DEFAULT_CONFIG,
    memory: MemoryOption = DEFAULT_MEMORY,
    hiding: LatencyHidingOption = True,
    device: DeviceOption = DeviceName.ACCELERATOR,
    threads: ThreadsOption = None,
    processor: ProcessorOption = None,
    fpu: FpuOption = True,
    records: RecordsOption = None,
    seed: SeedOption = 0,
    force: ForceOption = False,
    explain: ExplainOption = False,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Compile a model to an artifact.

    The artifact holds instruction streams for the accelerator, native code for this machine's
    processor, and weights. It runs where no compiler is installed. With --device cpu, schedules are
    chosen for as many threads as --threads says; a run may have others. With --target it is code
    for another processor, which runs there.
    """
    with errors_in_one_line(debug):
        begun = perf_counter()
        check_destination(output)
        named = (flags.calibrate, config_input(config), records_input(records), *(inputs or ()))
        check_outputs({"--output": output}, chain(model_inputs(model), named), force=force)
        if device is not DeviceName.ACCELERATOR:
            refuse_accelerator_options(context, ["--explain"] * explain, device)
        if device is not DeviceName.CPU:
            given = {"--threads": threads is not None, "--target": processor, "--no-fpu": not fpu}
            for option, is_given in given.items():
                if is_given:
                    raise typer.BadParameter(f"{option} is for --device cpu")
        options = flags.options(seed, formats)
        with show_activity("compile", quiet=as_json) as report:
            target: TargetDevice = Cpu.named(processor, threads, fpu=fpu)
            if device.value in GPUS:
                target = GPUS[device.value]()
            if device is DeviceName.ACCELERATOR:
                target = Accelerator(load_config(config), parse_memory(memory), hiding)
            target = with_records(target, records)
            source = import_model(model, options, report, inputs or [])
            _check_constants(source, inputs or [])
            prepared = source.prepared(report, target)
            target = target.not_slower(prepared, report, warn)
            artifact = compile_model(prepared, target, report)
            tuned = None if records is None else TunedLayers.of(prepared, target)
            if report is not None:
                report("writing")
            write_artifact(artifact, output)
        seconds = perf_counter() - begun
        if as_json:
            operators = _operators(artifact)
            result = {"artifact": str(output), "operators": operators, "seconds": seconds}
            result["calibration"] = artifact.manifest.provenance.calibration
            result["round_trips"] = [trip.as_json() for trip in round_trips(artifact)]
            if artifact.manifest.weights:
                result["weight_bytes"] = artifact.manifest.weight_bytes
            print_json(result if tuned is None else {**result, "tuned": tuned.as_json()})
        else:
            typer.echo(_summary(artifact, output, seconds))
            if tuned is not None:
                typer.echo(str(tuned))
            warning = calibration_warning(artifact.manifest.provenance)
            if warning is not None:
                typer.echo(f"warning: {warning}", err=True)
            if explain:
                print_reasons(artifact.manifest)
                print_weights(artifact.manifest)
                print_round_trips(round_trips(artifact))


def _check_constants(source: Source, inputs: Sequence[Path]) -> None:
    """Raise `CommandError` for an array of an input that did not become a constant."""
    for name, array in read_arrays(inputs, source.names).items():
        if name not in source.imported.bound:
            shape = ",".join(map(str, array.shape))
            raise CommandError(
                f"--input: {name} is an input of `tandem run`: only those whose values have to be "
                f"known are constants; --shape {name}={shape} states a shape alone"
            )


def _operators(artifact: Artifact) -> list[dict[str, object]]:
    """The entry `operators` of the command's JSON: an entry per CPU step or layer."""
    return [
        {
            "name": row["name"],
            "op": row["operators"],
            "device": row["device"],
            "reason": row["reason"],
            "shapes": row["shapes"],
            **({} if row["weights"] is None else {"weights": row["weights"]}),
        }
        for row in step_table(artifact)
    ]


def _summary(artifact: Artifact, output: Path, seconds: float) -> str:
    steps = artifact.manifest.steps
    operators = sum(len(step.operators) for step in steps)
    size = output.stat().st_size
    return (
        f"{output}: {_count(operators, 'operator')} in {_count(len(steps), 'step')}, "
        f"{size:,} bytes, in {seconds:.1f} s"
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
