"""The passes for an accelerator beside a CPU."""

from __future__ import annotations

from compiler.graph.evaluate import Runner
from compiler.graph.passes.base import Pass
from compiler.graph.passes.eliminate_common import EliminateCommon
from compiler.graph.passes.eliminate_dead import EliminateDead
from compiler.graph.passes.fold_constants import FoldConstants
from compiler.graph.passes.fuse import Fuse
from compiler.graph.passes.infer_types import InferTypes
from compiler.graph.passes.offload.cancel_layouts import CancelLayouts
from compiler.graph.passes.offload.offload import Accepts, Offload
from compiler.graph.passes.offload.streams import FormStreams
from hw.config import HardwareConfig

__all__ = ["offload_passes"]


def offload_passes(run: Runner, config: HardwareConfig, accepts: Accepts) -> tuple[Pass, ...]:
    """What the accelerator can do goes there, and the CPU does the rest; `run` computes constants.

    For quantised networks: in real numbers there is nothing that it can do.
    """
    return (
        EliminateDead(),
        EliminateCommon(),
        FoldConstants(run),
        EliminateDead(),
        Offload(config, accepts),
        CancelLayouts(),
        EliminateDead(),
        EliminateCommon(),
        EliminateDead(),
        FormStreams(),
        Fuse(),
        InferTypes(),
    )
