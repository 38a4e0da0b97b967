"""Options of commands that place and route for an ECP5."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from tandem.hw.synthesis.native_tool import Program
from tandem.hw.synthesis.nextpnr import NEXTPNR, Device, native_nextpnr

DeviceOption: TypeAlias = Annotated[
    Device | None,
    typer.Option("--device", help="ECP5 device to place for (default: 85k)."),
]
SpeedOption: TypeAlias = Annotated[
    int | None,
    typer.Option("--speed", min=6, max=8, help="Speed grade of the device (default: 6)."),
]
SeedsOption: TypeAlias = Annotated[
    int | None,
    typer.Option("--seeds", min=1, metavar="N", help="Place N times (default: 3)."),
]


NextpnrOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--nextpnr",
        metavar="FILE",
        readable=False,
        help="A native nextpnr-ecp5, which takes about half of the time (default: the wheel's).",
    ),
]


def nextpnr_of(path: Path | None) -> Program:
    """The nextpnr that an option named, or the wheel's."""
    return NEXTPNR if path is None else native_nextpnr(path)


def check_unused(owner: str, **values: object) -> None:
    """Raise `typer.BadParameter` for an option that was given without the one that it is of."""
    for name, value in values.items():
        if value is not None:
            raise typer.BadParameter(f"--{name} is an option of {owner}")
