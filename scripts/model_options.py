"""Command-line options of the subcommands that compile models: types for typer, and their group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Final

import typer

from tandem.compiler.models import BUILT_IN
from tandem.compiler.quantise.options import Mode
from tandem.runtime.inputs import PixelNormalisation
from tandem.scripts.completion import complete_processor
from tandem.scripts.errors import CommandError
from tandem.scripts.option_groups import OptionGroup
from tandem.scripts.shapes import ShapeOption
from tandem.scripts.weight_options import INT8_FLAGS, WeightFlags
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


@dataclass(frozen=True, slots=True)
class ModelFlags(OptionGroup):
    """The options of reading and quantising a model; None for one that is not given."""

    shape: ShapeOption = None
    quantize: QuantiseOption = None
    calibrate: CalibrateOption = None
    keep_float: KeepFloatOption = None
    pixels: PixelsOption = PixelNormalisation.IMAGENET

    @property
    def given(self) -> dict[str, bool]:
        """Whether the options that an artifact has no use for are on the command line, by name."""
        return {
            "--shape": bool(self.shape),
            "--quantize": self.quantize is not None,
            "--calibrate": self.calibrate is not None,
            "--keep-float": bool(self.keep_float),
        }

    def options(
        self, seed: int, weights: WeightFlags = INT8_FLAGS, io: PortType = PortType.FLOAT32
    ) -> ModelOptions:
        """How a model is read and quantised.

        Raises
        ------
        CommandError
            `--calibrate`, `--keep-float`, `--io int8` or a format of weights is given without
            quantisation.
        """
        mode = (self.quantize or Quantise.MULTIPLIER).mode
        needing = {
            "--calibrate": self.calibrate is not None,
            "--keep-float": bool(self.keep_float),
            "--io int8": io is PortType.INT8,
        }
        for option, is_given in needing.items():
            if mode is None and is_given:
                raise CommandError(f"{option} is for --quantize pow2 and multiplier, not for none")
        return ModelOptions(
            *(mode, self.calibrate, self.pixels, seed),
            *(tuple(self.shape or ()), tuple(self.keep_float or ())),
            integer_ports=io is PortType.INT8,
            weights=weights.options(
                calibrated=self.calibrate is not None, quantised=mode is not None
            ),
        )


MODEL_FLAGS: Final = ModelFlags()
"""The options of a model where none is given."""


class DeviceName(Enum):
    """The values of `--device`."""

    ACCELERATOR = "accelerator"
    CPU = "cpu"
    OPENCL = "opencl"
    CUDA = "cuda"


DeviceOption = Annotated[
    DeviceName,
    typer.Option(
        "--device",
        help="The simulated accelerator with the CPU, the CPU alone, or a GPU: by OpenCL, or by "
        "NVIDIA's driver.",
    ),
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


def on_command_line(context: typer.Context, options: Mapping[str, str]) -> list[str]:
    """Those of a command's options, by the names of its parameters, that the user gave, even with
    their default value."""
    sources = {name: context.get_parameter_source(name) for name in options}
    return [
        options[name]
        for name, source in sources.items()
        if source is not None and source.name == "COMMANDLINE"
    ]


def refuse_accelerator_options(
    context: typer.Context,
    options: Sequence[str] = (),
    device: DeviceName = DeviceName.CPU,
) -> None:
    """Raise `CommandError` for accelerator options, which other devices do not allow.

    These are `options`, and those on the command line, even with their default value.
    """
    options = (*options, *on_command_line(context, _ACCELERATOR_OPTIONS))
    if options:
        raise CommandError(
            f"{options[0]} is for --device accelerator: with --device {device.value} all is on the "
            f"{'CPU' if device is DeviceName.CPU else 'GPU'}"
        )
