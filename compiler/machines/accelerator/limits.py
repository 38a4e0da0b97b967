"""Why the accelerator does not do operators that no template has."""

from __future__ import annotations

from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.nodes import Call
from tandem.compiler.graph.operators.parts import Gather
from tandem.compiler.graph.opspec import OpPattern, OpSpec

_PIXEL_AXES = (2, 3)


def limit_of(call: Call) -> str | None:
    """The limit that an operator hits; None to say only that there is no template for it."""
    if not isinstance(call.callee, OpSpec):
        return None
    match call.callee.name:
        case "quantise" | "dequantise":
            return "the accelerator has integers only, so that the CPU converts real numbers"
        case "gather" if _is_resizing(call):
            return (
                "of resizing, the accelerator has only that of images to the nearest pixel, by "
                "whole factors"
            )
        case "gather" | "gather_elements" | "gather_nd" | "scatter_elements" | "scatter_nd":
            return (
                "elements are looked up by indices, and addresses are part of the accelerator's "
                "instructions"
            )
        case "conv2d" | "dense" | "matmul" | "max_pool":
            return None
        case _ if call.callee.pattern is OpPattern.INJECTIVE:
            return (
                "elements change their places within blocks of channels, which LOAD and STORE move "
                "as they are"
            )
        case _:
            return None


def _is_resizing(call: Call) -> bool:
    """Whether a `gather` takes rows or columns of an image at constant places."""
    given = call.attributes
    if not isinstance(given, Gather) or not isinstance(call.args[1], Constant):
        return False
    return given.axis in _PIXEL_AXES and call.args[1].array.ndim == 1
