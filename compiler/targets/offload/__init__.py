"""Graph passes that assign operators to a target and choose tensor layouts."""

from compiler.targets.offload.cancel_layouts import CancelLayouts
from compiler.targets.offload.offload import Offload, Plans, offload_passes
from compiler.targets.offload.place_parts import PlaceParts
from compiler.targets.offload.streams import FormStreams, StreamsOnHost

__all__ = [
    "CancelLayouts",
    "FormStreams",
    "Offload",
    "PlaceParts",
    "Plans",
    "StreamsOnHost",
    "offload_passes",
]
