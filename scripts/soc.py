"""`tandem soc`: makes a system on chip that runs a network."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from tandem.base.files import check_destination
from tandem.hw.config_files import load_config
from tandem.hw.memory_model import parse_memory
from tandem.runtime.artifact import is_artifact
from tandem.scripts.completion import complete_config, complete_model, complete_soc_processor
from tandem.scripts.console import errors_in_one_line, print_json
from tandem.scripts.errors import CommandError
from tandem.scripts.model_options import (
    MODEL_FLAGS,
    MODELS,
    ModelFlags,
    PortType,
    PortTypeOption,
)
from tandem.scripts.option_groups import with_groups
from tandem.scripts.options import CONFIGS, DebugOption, JsonOption, SeedOption
from tandem.scripts.outputs import ForceOption, check_outputs, config_input
from tandem.scripts.place_options import (
    DeviceOption,
    NextpnrOption,
    SeedsOption,
    SpeedOption,
    check_unused,
    nextpnr_of,
)
from tandem.scripts.progress import show_activity
from tandem.scripts.records import warn
from tandem.scripts.soc_report import print_soc, soc_json
from tandem.scripts.weight_options import INT8_FLAGS, WeightFlags
from tandem.workbench.models import model_inputs
from tandem.workbench.opened import open_model
from tandem.workbench.soc import (
    PROCESSORS,
    GatewareOptions,
    SocOptions,
    make_soc,
    soc_processor,
)


@with_groups
def command(
    model: Annotated[
        str,
        typer.Argument(metavar="MODEL", autocompletion=complete_model, help=f"{MODELS}."),
    ],
    output: Annotated[
        Path,
        typer.Option("-o", "--output", metavar="DIR", readable=False, help="Where to write it."),
    ],
    config: Annotated[
        str,
        typer.Option(
            "--config",
            metavar="NAME|FILE",
            autocompletion=complete_config,
            help=f"The accelerator: {CONFIGS}.",
        ),
    ],
    processor: Annotated[
        str,
        typer.Option(
            "--cpu",
            metavar="NAME",
            autocompletion=complete_soc_processor,
            help=f"The processor: {', '.join(PROCESSORS)}.",
        ),
    ] = "vexriscv",
    run: Annotated[
        bool, typer.Option("--run", help="Build the firmware and a simulator, and run it.")
    ] = False,
    gateware: Annotated[
        bool,
        typer.Option(
            "--gateware",
            help="Build the firmware, and place and route the system for an ECP5, which takes many "
            "minutes for each seed; results are cached.",
        ),
    ] = False,
    device: DeviceOption = None,
    speed: SpeedOption = None,
    seeds: SeedsOption = None,
    nextpnr: NextpnrOption = None,
    mhz: Annotated[
        float | None,
        typer.Option("--mhz", min=1, metavar="MHZ", help="The clock to reach (default: 70)."),
    ] = None,
    poll: Annotated[
        bool, typer.Option("--poll", help="The firmware polls: it has no interrupt.")
    ] = False,
    memory: Annotated[
        str,
        typer.Option(
            "--memory",
            metavar="MODEL",
            help="Timing of the memory that both share: latency=N (5 or more), in_flight=N.",
        ),
    ] = "latency=5",
    inputs: Annotated[
        list[Path] | None,
        typer.Option(
            "--input",
            metavar="FILE",
            readable=False,
            help="What the firmware runs on: .npy, .npz (by name), .png or .jpg; can be repeated, "
            "in the model's order (default: seeded noise).",
        ),
    ] = None,
    flags: ModelFlags = MODEL_FLAGS,
    formats: WeightFlags = INT8_FLAGS,
    io: PortTypeOption = PortType.FLOAT32,
    seed: SeedOption = 0,
    force: ForceOption = False,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Make a system on chip that runs a network.

    It has an accelerator, a processor, memory that both share, and firmware. The folder has the
    Verilog, made by LiteX, the firmware with the network as `tandem export` writes it, a simulator
    for Verilator, and a list of licences. With --run all of that is built here and run: the outputs
    are compared with those here, and cycles are told by part. With --gateware the system, whose
    console is a serial line then, is placed and routed for an ECP5: its clock and resources are
    told. Pins are those that nextpnr chooses, so that there is no bit file.
    """
    if not gateware:
        unused = {"device": device, "speed": speed, "seeds": seeds, "mhz": mhz, "nextpnr": nextpnr}
        check_unused("--gateware", **unused)
    with errors_in_one_line(debug):
        core = soc_processor(processor)
        if is_artifact(Path(model)):
            raise CommandError(
                f"{model} is an artifact, compiled already: a system compiles the model for its "
                "processor"
            )
        check_destination(output / "LICENSES.md" if output.is_dir() else output)
        given = (*(inputs or ()), flags.calibrate, config_input(config))
        written = {"LICENSES.md in --output": output / "LICENSES.md"}
        check_outputs(written, chain(model_inputs(model), given), force=force)
        defines = ("SOC_POLL",) if poll else ()
        options = SocOptions(load_config(config), core, parse_memory(memory), defines)
        how = flags.options(seed, formats, io)
        default = GatewareOptions()
        wanted = GatewareOptions(
            device or default.device,
            speed or default.speed,
            seeds or default.seeds,
            mhz or default.mhz,
            nextpnr_of(nextpnr),
        )
        with show_activity("soc", quiet=as_json) as report:
            opened = open_model(model, how, report, inputs or [])
            found = make_soc(
                opened,
                options,
                output,
                run=run,
                gateware=wanted if gateware else None,
                inputs=inputs or [],
                pixels=flags.pixels,
                seed=seed,
                report=report,
                warn=warn,
            )
        if as_json:
            print_json(soc_json(found))
        else:
            print_soc(found)
        if found.run is not None and not found.run.is_right:
            raise CommandError("outputs of the system differ from those here")
        if found.gateware is not None and not found.gateware.is_fast_enough:
            raise CommandError(
                f"the system's clock is {found.gateware.mhz:.1f} MHz (median of {wanted.seeds}): "
                f"{wanted.mhz:g} were asked for"
            )
