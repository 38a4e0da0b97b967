"""`--layer`: a convolution, by the numbers that describe it."""

from __future__ import annotations

import typer

from tandem.workbench.errors import ConvolutionError
from tandem.workbench.utilization.conv_layers import ConvLayer, parse_layer


def parse_layer_option(text: str) -> ConvLayer:
    """The value of `--layer`."""
    try:
        return parse_layer(text)
    except ConvolutionError as error:
        raise typer.BadParameter(str(error)) from None
