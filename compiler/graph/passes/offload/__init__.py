"""Which operators run on the accelerator, and in which layout."""

from compiler.graph.passes.offload.cancel_layouts import CancelLayouts
from compiler.graph.passes.offload.offload import Accepts, Offload
from compiler.graph.passes.offload.on_cpu import StreamsOnCpu
from compiler.graph.passes.offload.pipeline import offload_passes
from compiler.graph.passes.offload.streams import FormStreams

__all__ = ["Accepts", "CancelLayouts", "FormStreams", "Offload", "StreamsOnCpu", "offload_passes"]
