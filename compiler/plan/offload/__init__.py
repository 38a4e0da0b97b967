"""Graph passes that assign operators to a target and choose tensor layouts."""

from tandem.compiler.plan.offload.cancel_conversions import CancelConversions
from tandem.compiler.plan.offload.compute_in_layouts import ComputeInLayouts
from tandem.compiler.plan.offload.keep_rows import KeepRows
from tandem.compiler.plan.offload.offload import Offload, Plans, kernel_passes, offload_passes
from tandem.compiler.plan.offload.place_parts import PlaceParts
from tandem.compiler.plan.offload.streams import AllOnHost, FormStreams

__all__ = [
    "AllOnHost",
    "CancelConversions",
    "ComputeInLayouts",
    "FormStreams",
    "KeepRows",
    "Offload",
    "PlaceParts",
    "Plans",
    "kernel_passes",
    "offload_passes",
]
