"""`--shape`: shapes of a model's inputs, as a command line states them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from tandem.compiler.frontends.onnx import StatedShape

_OPTION = "--shape"


def parse_shape(text: str) -> StatedShape:
    """The value of `--shape`: `NAME=1,3,224,224`."""
    name, equals, numbers = text.rpartition("=")
    try:
        extents = tuple(map(int, numbers.split(",")))
    except ValueError:
        extents = ()
    if not equals or not name or not extents or min(extents) < 0:
        raise typer.BadParameter(
            f"{text!r} is not NAME=N,N,...: an input and its extents, or an open extent and a "
            "number, which are 0 or more"
        )
    return StatedShape(name, extents, _OPTION)


def by_name(stated: Sequence[StatedShape]) -> dict[str, list[int]]:
    """What `parse_shape` read, as `tandem.load` takes it."""
    return {one.name: [number for number in one.extents if number is not None] for one in stated}


ShapeOption = Annotated[
    list[StatedShape] | None,
    typer.Option(
        _OPTION,
        metavar="NAME=1,3,224,224",
        parser=parse_shape,
        help="The shape of an input whose extents the model leaves open, or NAME=N for one open "
        "extent; can be repeated (default: those of arrays, and 1 for an open batch).",
    ),
]
