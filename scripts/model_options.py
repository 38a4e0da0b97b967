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
    """`--quantize`, as it is written."""

    NONE = "none"
    POW2 = "pow2"
    MULTIPLIER = "multiplier"

    @property
    def mode(self) -> Mode | None:
        """As the compiler calls it."""
        return None if self is Quantise.NONE else Mode(self.value)


QuantiseOption = Annotated[
    Quantise | None,
    typer.Option(
        "--quantize",
        help="int8 with scales that are any numbers, or powers of two; none: float32 "
        "(default: multiplier).",
    ),
]
CalibrateOption = Annotated[
    Path | None,
    typer.Option(
        "--calibrate",
        metavar="PATH",
        readable=False,
        help="Inputs to measure ranges with: .npy, .npz, or a folder of these and of pictures "
        "(default: seeded noise).",
    ),
]
PixelsOption = Annotated[
    Pixels,
    typer.Option("--pixels", help="Pictures as ImageNet's statistics make them, or as 0 to 1."),
]


class DeviceName(Enum):
    """`--device`, as it is written."""

    ACCELERATOR = "accelerator"
    CPU = "cpu"


DeviceOption = Annotated[
    DeviceName,
    typer.Option("--device", help="The simulated accelerator, with the CPU's help; or the CPU."),
]
HidingOption = Annotated[
    bool,
    typer.Option(
        " /--no-latency-hiding",
        help="The same tiles with one virtual thread instead of two.",
        show_default=False,
    ),
]
ThreadsOption = Annotated[
    int | None,
    typer.Option("--threads", metavar="N", min=1, help="Threads of the CPU (default: all cores)."),
]


_OF_ACCELERATOR: Mapping[str, str] = MappingProxyType(
    {
        "config": "--config",
        "engine": "--engine",
        "memory": "--memory",
        "hiding": "--no-latency-hiding",
    }
)
"""Options that say nothing of a CPU, by their parameters."""


def check_for_cpu(context: typer.Context, others: Sequence[str] = ()) -> None:
    """Refuse options of the accelerator where the CPU does everything: `others`, and those that
    stand on the command line, even with their default's value."""
    for name, option in _OF_ACCELERATOR.items():
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            others = (*others, option)
    if others:
        raise CommandError(f"{others[0]} is for --device accelerator")
