"""The passes for a target beside the host."""

from __future__ import annotations

from typing import Any

from compiler.graph.passes.base import Pass
from compiler.graph.passes.eliminate_common import EliminateCommon
from compiler.graph.passes.eliminate_dead import EliminateDead
from compiler.targets.offload.cancel_layouts import CancelLayouts
from compiler.targets.offload.offload import Offload, Plans
from compiler.targets.offload.streams import FormStreams
from compiler.targets.target import Target

__all__ = ["offload_passes"]


def offload_passes(target: Target[Any], plan: Plans) -> tuple[Pass, ...]:
    """What the target can do goes there; the host does the rest."""
    return (
        Offload(target, plan),
        CancelLayouts(),
        EliminateDead(),
        EliminateCommon(),
        EliminateDead(),
        FormStreams(target.name),
    )
