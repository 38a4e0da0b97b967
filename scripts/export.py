"""`tandem export`: writes a network as a C library."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from tandem.base.files import check_destination
from tandem.hw.config_files import load_config
from tandem.hw.memory_model import parse_memory
from tandem.runtime.artifact import is_artifact
from tandem.scripts.calibration import calibration_warning
from tandem.scripts.completion import complete_config, complete_model
from tandem.scripts.console import errors_in_one_line, print_json
from tandem.scripts.errors import CommandError
from tandem.scripts.model_options import (
    MODEL_FLAGS,
    MODELS,
    DeviceName,
    FpuOption,
    ModelFlags,
    PortType,
    PortTypeOption,
    ProcessorOption,
)
from tandem.scripts.option_groups import with_groups
from tandem.scripts.options import (
    CONFIGS,
    DEFAULT_CONFIG,
    DEFAULT_MEMORY,
    DebugOption,
    JsonOption,
    MemoryOption,
    SeedOption,
)
from tandem.scripts.outputs import ForceOption, check_outputs
from tandem.scripts.progress import show_activity
from tandem.scripts.records import warn
from tandem.scripts.weight_options import INT8_FLAGS, WeightFlags
from tandem.workbench.devices import GPUS, Accelerator, Cpu, TargetDevice
from tandem.workbench.export import Format, LibraryOptions, check_name, export_network
from tandem.workbench.models import model_inputs
from tandem.workbench.opened import open_model


@with_groups
def command(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL|ARTIFACT",
            autocompletion=complete_model,
            help=f"What `tandem compile` wrote, or {MODELS}.",
        ),
    ],
    output: Annotated[
        Path,
        typer.Option("-o", "--output", metavar="DIR", readable=False, help="Where to write it."),
    ],
    inputs: Annotated[
        list[Path] | None,
        typer.Option(
            "--input",
            metavar="FILE",
            readable=False,
            help="What the library is checked with: .npy, .npz (by name), .png or .jpg; can be "
            "repeated, in the model's order (default: seeded noise).",
        ),
    ] = None,
    config: Annotated[
        str | None,
        typer.Option(
            "--config",
            metavar="NAME|FILE",
            autocompletion=complete_config,
            help="Also an accelerator of this configuration, which the C runtime drives: "
            f"{CONFIGS}.",
        ),
    ] = None,
    memory: MemoryOption = DEFAULT_MEMORY,
    device: Annotated[
        DeviceName | None,
        typer.Option(
            "--device",
            help="cpu: of an artifact, its code for the CPU alone (default: all of it).",
        ),
    ] = None,
    processor: ProcessorOption = None,
    fpu: FpuOption = True,
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="NAME", help="The prefix of its names in C."),
    ] = None,
    embed_weights: Annotated[
        bool,
        typer.Option(
            "--embed-weights/--no-embed-weights",
            help="The weights are part of the library, or a file that the program reads.",
        ),
    ] = True,
    threads: Annotated[
        int,
        typer.Option(
            "--threads", metavar="N", min=1, help="The most threads that share a layer's work."
        ),
    ] = 1,
    profile: Annotated[
        bool, typer.Option("--profile", help="Runs can tell the time of each layer.")
    ] = False,
    flags: ModelFlags = MODEL_FLAGS,
    formats: WeightFlags = INT8_FLAGS,
    io: PortTypeOption = PortType.FLOAT32,
    form: Annotated[
        Format,
        typer.Option(
            "--format",
            help="Weights and streams as files that GNU's assembler includes, as arrays in C, or "
            "as objects for the processor.",
        ),
    ] = Format.BIN,
    seed: SeedOption = 0,
    force: ForceOption = False,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Write a network as a C library, for this processor or another.

    The folder has a header, C99 source, object files of the layers, the weights, a Makefile, a
    CMakeLists.txt, and a program that runs the network once and compares its outputs with those
    that it has here. `make check` in it builds and runs that; CC and AR name a cross compiler. With
    --config the accelerator computes what it can: its instruction streams are in the folder, and
    the runtime in C that drives it.
    """
    with errors_in_one_line(debug):
        if name is not None:
            check_name(name)
        check_destination(output / "main.c" if output.is_dir() else output)
        given = (*(inputs or ()), flags.calibrate)
        written = {f"{each} in --output": output / each for each in ("check.bin", "main.c")}
        check_outputs(written, chain(model_inputs(model), given), force=force)
        if is_artifact(Path(model)):
            options = {
                "--config": config is not None,
                "--target": processor is not None,
                "--no-fpu": not fpu,
                **flags.given,
                **formats.given,
                "--io": io is PortType.INT8,
            }
            for option, is_set in options.items():
                if is_set:
                    raise CommandError(
                        f"{option} is for models: {model} is an artifact, compiled already"
                    )
        host = Cpu.named(processor, threads, fpu=fpu)
        target = _device(config, memory, device, host, model)
        library = LibraryOptions(embed_weights, threads, profile, form=form)
        how = flags.options(seed, formats, io)
        with show_activity("export", quiet=as_json) as report:
            opened = open_model(model, how, report, inputs or [])
            found = export_network(
                opened,
                target,
                output,
                inputs or [],
                flags.pixels,
                seed,
                name,
                report,
                warn,
                library,
            )
        if as_json:
            print_json(found.as_json())
            return
        typer.echo(repr(found))
        warning = calibration_warning(found.header.manifest.provenance)
        if warning is not None:
            typer.echo(f"warning: {warning}", err=True)


def _device(
    config: str | None, memory: str, device: DeviceName | None, processor: Cpu, model: str
) -> TargetDevice:
    """What a model is compiled for, or what of an artifact is exported.

    Raises
    ------
    CommandError
        An accelerator without a configuration, or a configuration without an accelerator.
    """
    if device is not None and device.value in GPUS:
        raise CommandError(f"--device {device.value}: a library in C has no code for it")
    if is_artifact(Path(model)):
        # Of an artifact everything is taken, unless the processor alone is asked for.
        machine = load_config(DEFAULT_CONFIG)
        whole = Accelerator(machine, parse_memory(memory), host=processor)
        return processor if device is DeviceName.CPU else whole
    if config is None:
        if device is DeviceName.ACCELERATOR:
            raise CommandError("--device accelerator needs --config: which accelerator it is")
        return processor
    if device is DeviceName.CPU:
        raise CommandError("--config is for --device accelerator: with --device cpu there is none")
    return Accelerator(load_config(config), parse_memory(memory), host=processor)
