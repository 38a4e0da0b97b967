"""`tandem discover`: finds operations of the ALU for networks."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from tandem.base.files import check_destination, write_atomically
from tandem.hw.config_files import dump_config, load_config
from tandem.hw.memory_model import parse_memory
from tandem.scripts.command_line import command_line
from tandem.scripts.completion import complete_model
from tandem.scripts.console import errors_in_one_line, print_json
from tandem.scripts.discover.table import print_found
from tandem.scripts.errors import CommandError
from tandem.scripts.model_options import CalibrateOption, ModelFlags, QuantiseOption
from tandem.scripts.options import (
    DEFAULT_CONFIG,
    DEFAULT_MEMORY,
    ConfigOption,
    DebugOption,
    JobsOption,
    JsonOption,
    MemoryOption,
    SeedOption,
)
from tandem.scripts.outputs import check_outputs, config_input
from tandem.scripts.progress import show_activity
from tandem.scripts.several_models import ModelsArgument, check_models
from tandem.scripts.shapes import ShapeOption
from tandem.scripts.tables import plain_console
from tandem.workbench.discovery.options import Options
from tandem.workbench.models import model_inputs
from tandem.workbench.pages.write import check_page, write_page
from tandem.workbench.search.measure import Network

DEFAULT_AREA = "10%"


def _share(text: str) -> float:
    found = re.fullmatch(r"([0-9]{1,4}(?:\.[0-9]{1,4})?)%", text, re.ASCII)
    if found is None or float(found[1]) == 0:
        raise typer.BadParameter(f"{text!r} is no part of the machine's look-up tables: 10%, 2.5%")
    return float(found[1]) / 100


def command(
    models: ModelsArgument,
    held_out: Annotated[
        list[str] | None,
        typer.Option(
            "--held-out",
            metavar="MODEL",
            autocompletion=complete_model,
            help="A model that the choice does not see, and that must not be slower; may be "
            "repeated.",
        ),
    ] = None,
    area: Annotated[
        Any,  # float
        typer.Option(
            "--area",
            metavar="N%",
            parser=_share,
            help="Look-up tables that the operations may take, in percent of the machine's.",
        ),
    ] = DEFAULT_AREA,
    dsps: Annotated[
        int,
        typer.Option(
            "--dsps", metavar="N", min=0, help="Multiplier blocks that the operations may take."
        ),
    ] = 32,
    finalists: Annotated[
        int,
        typer.Option(
            "--finalists",
            metavar="N",
            min=1,
            help="Sets of operations for which the models are compiled; exact cycles choose.",
        ),
    ] = 4,
    synthesise: Annotated[
        bool,
        typer.Option(
            "--synthesise/--no-synthesise",
            help="Whether Yosys counts the gates of finalists, or estimates are enough.",
        ),
    ] = True,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE.json",
            readable=False,
            help="Write the machine with the operations, for --config.",
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            "--report",
            metavar="FILE.html",
            readable=False,
            help="Write a page of what was found.",
        ),
    ] = None,
    judged: Annotated[
        Path | None,
        typer.Option(
            "--judged",
            metavar="FILE",
            readable=False,
            help="The file of what was judged, from which another search goes on (default: one in "
            "the cache).",
        ),
    ] = None,
    jobs: JobsOption = None,
    shape: ShapeOption = None,
    quantize: QuantiseOption = None,
    calibrate: CalibrateOption = None,
    config: ConfigOption = DEFAULT_CONFIG,
    memory: MemoryOption = DEFAULT_MEMORY,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Find operations of the ALU for networks: fewer passes for little area.

    What the passes of all layers have in common becomes operations of the machine, each proved
    equal to what it replaces; sets of them are chosen by exact cycles. A search that was stopped
    goes on where it ended.
    """
    with errors_in_one_line(debug):
        unseen = held_out or []
        check_models([*models, *unseen])
        if report is not None:
            check_page(report)
        check_destination(output)
        sources = [path for model in (*models, *unseen) for path in model_inputs(model)]
        read = [*sources, config_input(config), calibrate]
        check_outputs({"--output": output, "--report": report, "--judged": judged}, read)
        if not find_spec("z3"):
            raise CommandError(
                "discover needs z3, which is not installed: "
                "pip install 'tandem-workbench[discover]'"
            )
        chosen = ModelFlags(shape, quantize, calibrate).options(seed)
        # What compiles is imported when it is needed.
        from tandem.workbench.discovery.run import run

        options = Options(
            networks=tuple(Network(model, chosen) for model in models),
            held_out=tuple(Network(model, chosen) for model in unseen),
            baseline=load_config(config),
            memory=parse_memory(memory),
            share=area,
            dsp=dsps,
            finalists=finalists,
            synthesise=synthesise,
            judged=judged,
            jobs=jobs,
        )
        with show_activity("discover", quiet=as_json) as show:
            say = show or (lambda step: None)
            found = run(options, say)
            if found.slower:
                raise CommandError(
                    f"with the operations that were found {', '.join(found.slower)} would be slower"
                )
            if output is not None:
                write_atomically(output, dump_config(found.config))
            if report is not None:
                from tandem.workbench.pages.discovery.page import DiscoveryPage

                say("drawing")
                write_page(DiscoveryPage(found, memory, command_line()), report)
        if as_json:
            print_json(found.as_json())
            return
        print_found(plain_console(), found)
