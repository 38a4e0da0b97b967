"""Graph passes that assign operators to a target and choose tensor layouts."""

from compiler.plan.offload.cancel_conversions import CancelConversions
from compiler.plan.offload.compute_in_layouts import ComputeInLayouts
from compiler.plan.offload.offload import Offload, Plans, kernel_passes, offload_passes
from compiler.plan.offload.place_parts import PlaceParts
from compiler.plan.offload.streams import AllOnHost, FormStreams

__all__ = [
    "AllOnHost",
    "CancelConversions",
    "ComputeInLayouts",
    "FormStreams",
    "Offload",
    "PlaceParts",
    "Plans",
    "kernel_passes",
    "offload_passes",
]
