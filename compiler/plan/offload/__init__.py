"""Graph passes that assign operators to a target and choose tensor layouts."""

from compiler.plan.offload.cancel_conversions import CancelConversions
from compiler.plan.offload.offload import Offload, Plans, offload_passes
from compiler.plan.offload.place_parts import PlaceParts
from compiler.plan.offload.streams import FormStreams, StreamsOnHost

__all__ = [
    "CancelConversions",
    "FormStreams",
    "Offload",
    "PlaceParts",
    "Plans",
    "StreamsOnHost",
    "offload_passes",
]
