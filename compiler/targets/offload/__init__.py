"""Which operators run on which target, and in which layout."""

from compiler.targets.offload.cancel_layouts import CancelLayouts
from compiler.targets.offload.offload import Offload, Plans
from compiler.targets.offload.on_host import StreamsOnHost
from compiler.targets.offload.pipeline import offload_passes
from compiler.targets.offload.streams import FormStreams

__all__ = ["CancelLayouts", "FormStreams", "Offload", "Plans", "StreamsOnHost", "offload_passes"]
