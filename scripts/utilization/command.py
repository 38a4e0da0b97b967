"""`tandem utilization`: convolutions with and without latency hiding."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer

from tandem.hw.config_files import load_config
from tandem.hw.memory_model import parse_memory
from tandem.scripts.completion import complete_model
from tandem.scripts.console import errors_in_one_line, print_json
from tandem.scripts.errors import CommandError
from tandem.scripts.model_options import MODELS
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
)
from tandem.scripts.outputs import check_outputs, config_input
from tandem.scripts.progress import show_activity
from tandem.scripts.shapes import ShapeOption
from tandem.scripts.utilization.layer_option import parse_layer_option
from tandem.scripts.utilization.plot import Plot
from tandem.scripts.utilization.sweep_table import print_sweep
from tandem.scripts.utilization.table import print_rows
from tandem.sim.engines import make_engine
from tandem.workbench.errors import SweepError
from tandem.workbench.models import model_inputs
from tandem.workbench.utilization.conv_layers import RESNET18, ConvLayer, distinct
from tandem.workbench.utilization.measure import measure
from tandem.workbench.utilization.models import layers_of
from tandem.workbench.utilization.rows import total
from tandem.workbench.utilization.sweep import ENGINE, SweptPoints, sweep
from tandem.workbench.utilization.sweep_axes import Axis, parse_axes


def _axes(text: str) -> tuple[Axis, ...]:
    try:
        return parse_axes(text)
    except SweepError as error:
        raise typer.BadParameter(str(error)) from None


def command(
    context: typer.Context,
    model: Annotated[
        str | None,
        typer.Argument(
            metavar="MODEL",
            autocompletion=complete_model,
            help=f"Measure the convolutions of {MODELS}.",
        ),
    ] = None,
    layer: Annotated[
        list[ConvLayer] | None,
        typer.Option(
            "--layer",
            metavar="NAME[=H,W,IC,OC,K,STRIDE,PAD]",
            parser=parse_layer_option,
            help="Measure this convolution, or ResNet-18's C1 to C11 by name; can be repeated "
            "(default: C2 to C11).",
        ),
    ] = None,
    axes: Annotated[
        Any,  # tuple[Axis, ...] | None, which Typer takes for an option with several values
        typer.Option(
            "--sweep",
            metavar="FIELD=LO:HI[:STEP|xFACTOR],...",
            parser=_axes,
            help="Measure at every combination of these values, by the cycle engine. Fields are "
            "those of the memory (latency, interval, in_flight) and the numbers of a "
            "configuration. Without a step values double; fields that are log2 of a size rise by "
            "1.",
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot",
            metavar="FILE",
            readable=False,
            help="Draw the utilisation (.svg or .png): as bars; of a sweep, of at most three "
            "fields, as lines over the first.",
        ),
    ] = None,
    roofline: Annotated[
        Path | None,
        typer.Option(
            "--roofline",
            metavar="FILE",
            readable=False,
            help="Draw the convolutions below the roofline of the machine and its memory (.svg or "
            ".png).",
        ),
    ] = None,
    shape: ShapeOption = None,
    config: ConfigOption = DEFAULT_CONFIG,
    engine: EngineOption = DEFAULT_ENGINE,
    memory: MemoryOption = DEFAULT_MEMORY,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Measure convolutions with and without latency hiding.

    Each runs alone, from launch to done, and its result is compared with NumPy's. The total counts
    ResNet-18's layers as often as the network has them. Cycles are those of the Verilog, by the
    engine cycle; --engine rtl runs the Verilog itself, and --engine functional has no time. With
    --sweep, tiles are chosen anew at each point.
    """
    with errors_in_one_line(debug):
        layers, left = distinct(layer or RESNET18), tuple[str, ...]()
        if shape and model is None:
            raise typer.BadParameter("--shape is of a MODEL's inputs")
        if model is not None:
            if layer:
                raise typer.BadParameter("layers of a MODEL and --layer: one or the other")
            layers, left = layers_of(model, seed, shape or ())
        picture, roof = (None if path is None else Plot(path) for path in (plot, roofline))
        pictures = [each for each in (picture, roof) if each is not None]
        for image in pictures:
            image.check()
        check_outputs(
            {"--plot": plot, "--roofline": roofline},
            chain(model_inputs(model), (config_input(config),)),
        )
        machine, memory_model = load_config(config), parse_memory(memory)
        measuring = engine if axes is None else ENGINE
        measured = {"config": machine.name, "memory": memory, "engine": measuring}
        if axes is not None:
            _check_engine(context, engine)
            if roof is not None:
                raise CommandError("--roofline shows one machine and one memory: not with --sweep")
            if picture is not None:
                picture.check_axes(axes)
            with show_activity("utilization", quiet=as_json) as report:
                swept = sweep(axes, machine, memory_model, layers, seed, report)
            if picture is not None:
                picture.write_sweep(SweptPoints(axes, swept, machine, memory_model))
            if as_json:
                print_json({**measured, "sweep": [found.as_json() for found in swept]})
            else:
                print_sweep(swept, machine.name, memory)
                _print_left(left)
            return
        simulator = make_engine(engine, machine, memory_model)
        try:
            for image in pictures:
                image.check_engine(simulator)
            with show_activity("utilization", quiet=as_json) as report:
                rows = list(measure(simulator, layers, seed, report))
        finally:
            simulator.close()
        if picture is not None:
            picture.write(rows, machine, memory_model)
        if roof is not None:
            roof.write_roofline(rows, machine, memory_model)
        if as_json:
            layers_json = [row.times.as_json() for row in rows]
            whole = total(rows).as_json()
            print_json({"layers": layers_json, "total": whole, "left_out": left, **measured})
        else:
            print_rows(rows, simulator.name, machine.name, memory)
            _print_left(left)


def _check_engine(context: typer.Context, engine: str) -> None:
    """Raise `CommandError` if another engine than that of sweeps was asked for."""
    source = context.get_parameter_source("engine")
    if source is not None and source.name == "COMMANDLINE" and engine != ENGINE:
        raise CommandError(f"--sweep is measured by the {ENGINE} engine, not by {engine}")


def _print_left(left: tuple[str, ...]) -> None:
    if left:
        typer.echo(f"not measured alone: {', '.join(left)}")
