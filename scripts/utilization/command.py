"""`tandem utilization`: convolutions with and without latency hiding."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hw.config_files import load_config
from hw.memory_model import parse_memory
from scripts.console import errors_in_one_line, print_json
from scripts.errors import LayerError
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
from scripts.progress import show_activity
from scripts.utilization.conv_layers import RESNET18, Layer, distinct, parse_layer
from scripts.utilization.measure import measure
from scripts.utilization.models import layers_of
from scripts.utilization.plot import Plot
from scripts.utilization.rows import total
from scripts.utilization.table import print_rows
from sim.engines import make_engine


def _layer(text: str) -> Layer:
    try:
        return parse_layer(text)
    except LayerError as error:
        raise typer.BadParameter(str(error)) from None


def command(
    model: Annotated[
        str | None,
        typer.Argument(
            metavar="MODEL",
            help="Measure the convolutions of an ONNX file, or of resnet18, resnet34, resnet50, "
            "digits.",
        ),
    ] = None,
    layer: Annotated[
        list[Layer] | None,
        typer.Option(
            "--layer",
            metavar="NAME[=H,W,IC,OC,K,STRIDE,PAD]",
            parser=_layer,
            help="Measure this convolution, or ResNet-18's C1 to C11 by name; can be repeated "
            "(default: C2 to C11).",
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot",
            metavar="FILE",
            readable=False,
            help="Draw the utilisation as bars (.svg or .png).",
        ),
    ] = None,
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
    engine cycle; --engine rtl runs the Verilog itself, and --engine functional has no time.
    """
    with errors_in_one_line(debug):
        layers, left = distinct(layer or RESNET18), tuple[str, ...]()
        if model is not None:
            if layer:
                raise typer.BadParameter("layers of a MODEL and --layer: one or the other")
            layers, left = layers_of(model, seed)
        picture = None if plot is None else Plot(plot)
        if picture is not None:
            picture.check()
        machine = load_config(config)
        simulator = make_engine(engine, machine, parse_memory(memory))
        try:
            if picture is not None:
                picture.check_engine(simulator)
            with show_activity("utilization", quiet=as_json) as report:
                rows = list(measure(simulator, layers, seed, report))
        finally:
            simulator.close()
        if picture is not None:
            picture.write(rows)
        if as_json:
            layers_json = [row.times.as_json() for row in rows]
            print_json({"layers": layers_json, "total": total(rows).as_json()})
        else:
            print_rows(rows, simulator.name, machine.name, memory)
            if left:
                typer.echo(f"not measured alone: {', '.join(left)}")
