"""Command-line options of the subcommands that compile models, as types for typer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Final

import typer

from tandem.compiler.frontends.onnx import StatedShape
from tandem.compiler.models import BUILT_IN
from tandem.compiler.quantise.options import Mode
from tandem.runtime.inputs import PixelNormalisation
from tandem.scripts.completion import complete_processor
from tandem.scripts.errors import CommandError
from tandem.scripts.weight_options import WeightFlags, weight_options
from tandem.workbench.devices import PROCESSOR_NAMES
from tandem.workbench.models import ModelOptions


class Quantise(Enum):
    """The values of `--quantize`."""

    NONE = "none"
    POW2 = "pow2"
    MULTIPLIER = "multiplier"

    @property
    def mode(self) -> Mode | None:
        """The compiler's quantisation mode; None for float32."""
        return None if self is Quantise.NONE else Mode(self.value)


class PortType(Enum):
    """The values of `--io`."""

    FLOAT32 = "float32"
    INT8 = "int8"


def model_options(
    quantise: Quantise | None,
    calibrate: Path | None,
    pixels: PixelNormalisation,
    seed: int,
    shapes: Sequence[StatedShape] | None,
    keep_float: Sequence[str] | None = None,
    io: PortType = PortType.FLOAT32,
    weights: WeightFlags = (None, None, None, False),
) -> ModelOptions:
    """The options of a model, from those of a command line; None for one that is not given.

    Raises
    ------
    CommandError
        `--calibrate`, `--keep-float`, `--io int8` or a format of weights is given without
        quantisation.
    """
    mode = (quantise or Quantise.MULTIPLIER).mode
    given = {
        "--calibrate": calibrate is not None,
        "--keep-float": bool(keep_float),
        "--io int8": io is PortType.INT8,
    }
    for option, is_given in given.items():
        if mode is None and is_given:
            raise CommandError(f"{option} is for --quantize pow2 and multiplier, not for none")
    return ModelOptions(
        *(mode, calibrate, pixels, seed, tuple(shapes or ()), tuple(keep_float or ())),
        integer_ports=io is PortType.INT8,
        weights=weight_options(
            *weights, calibrated=calibrate is not None, quantised=mode is not None
        ),
    )


MODELS: Final = f"an ONNX file, or a built-in network: {', '.join(BUILT_IN)}"
"""What can be compiled, for the help of commands."""
QuantiseOption = Annotated[
    Quantise | None,
    typer.Option(
        "--quantize",
        help="multiplier: int8 with any scales; pow2: int8 with scales that are powers of two; "
        "none: float32 (default: multiplier).",
    ),
]
CalibrateOption = Annotated[
    Path | None,
    typer.Option(
        "--calibrate",
        metavar="PATH",
        readable=False,
        help="Calibration inputs: .npy, .npz, or a folder of such files and pictures (default: "
        "random values drawn with --seed).",
    ),
]
KeepFloatOption = Annotated[
    list[str] | None,
    typer.Option(
        "--keep-float",
        metavar="NAME",
        help="A layer that stays in float32, on the CPU: its name in the tables, or that of a node "
        "or an operator of the model, such as LRN; can be repeated.",
    ),
]
PortTypeOption = Annotated[
    PortType,
    typer.Option(
        "--io",
        help="int8: the network takes and gives the integers of its first and last layers, where "
        "these are quantised; float32: what the model takes and gives.",
    ),
]
PixelsOption = Annotated[
    PixelNormalisation,
    typer.Option(
        "--pixels", help="Values of pictures: normalised as for ImageNet, or from 0 to 1."
    ),
]


class DeviceName(Enum):
    """The values of `--device`."""

    ACCELERATOR = "accelerator"
    CPU = "cpu"


DeviceOption = Annotated[
    DeviceName,
    typer.Option("--device", help="The simulated accelerator with the CPU, or the CPU alone."),
]
LatencyHidingOption = Annotated[
    bool,
    typer.Option(
        " /--no-latency-hiding",
        help="Compile the same tiles with one virtual thread instead of two.",
        show_default=False,
    ),
]
ThreadsOption = Annotated[
    int | None,
    typer.Option("--threads", metavar="N", min=1, help="Threads of the CPU (default: all cores)."),
]


ProcessorOption = Annotated[
    str | None,
    typer.Option(
        "--target",
        metavar="NAME",
        autocompletion=complete_processor,
        help=f"Another processor than this one: {', '.join(PROCESSOR_NAMES)}.",
    ),
]


FpuOption = Annotated[
    bool,
    typer.Option(
        " /--no-fpu",
        help="With --target cortex-m4: one without instructions for floats.",
        show_default=False,
    ),
]


_ACCELERATOR_OPTIONS: Mapping[str, str] = MappingProxyType(
    {
        "config": "--config",
        "engine": "--engine",
        "memory": "--memory",
        "hiding": "--no-latency-hiding",
    }
)
"""Options for the accelerator only, by the names of the subcommand's parameters."""


def refuse_accelerator_options(context: typer.Context, options: Sequence[str] = ()) -> None:
    """Raise `CommandError` for accelerator options, which `--device cpu` does not allow.

    These are `options`, and those on the command line, even with their default value.
    """
    for name, option in _ACCELERATOR_OPTIONS.items():
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            options = (*options, option)
    if options:
        raise CommandError(
            f"{options[0]} is for --device accelerator: with --device cpu all is on the CPU"
        )
