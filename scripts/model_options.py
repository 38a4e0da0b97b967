"""Options of the verbs that compile models, as annotated types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

import typer

from compiler.quantise.options import Mode
from runtime.inputs import Pixels
from scripts.errors import CommandError

__all__ = [
    "CalibrateOption",
    "DeviceName",
    "DeviceOption",
    "HidingOption",
    "PixelsOption",
    "Quantise",
    "QuantiseOption",
    "ThreadsOption",
    "check_for_cpu",
]


class Quantise(Enum):
    """The values of `--quantize`."""

    NONE = "none"
    POW2 = "pow2"
    MULTIPLIER = "multiplier"

    @property
    def mode(self) -> Mode | None:
        """The compiler's mode of quantisation; None for none."""
        return None if self is Quantise.NONE else Mode(self.value)


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
        help="Sample inputs to measure ranges with: .npy, .npz, or a folder of these and of "
        "pictures (default: seeded noise).",
    ),
]
PixelsOption = Annotated[
    Pixels,
    typer.Option(
        "--pixels", help="Pixels of pictures: normalised as for ImageNet, or from 0 to 1."
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
HidingOption = Annotated[
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


_ACCELERATOR_OPTIONS: Mapping[str, str] = MappingProxyType(
    {
        "config": "--config",
        "engine": "--engine",
        "memory": "--memory",
        "hiding": "--no-latency-hiding",
    }
)
"""Options that concern only the accelerator, by the names of their parameters."""


def check_for_cpu(context: typer.Context, options: Sequence[str] = ()) -> None:
    """Refuse options of the accelerator with `--device cpu`: `options`, and all that are on the
    command line, even with the value of their default."""
    for name, option in _ACCELERATOR_OPTIONS.items():
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            options = (*options, option)
    if options:
        raise CommandError(f"{options[0]} is for --device accelerator")
