"""Passes over graphs, one per file; a pass rewrites a function."""

from compiler.graph.passes.bind_symbols import BindSymbols
from compiler.graph.passes.eliminate_common import EliminateCommon
from compiler.graph.passes.eliminate_dead import EliminateDead
from compiler.graph.passes.fold_constants import FoldConstants
from compiler.graph.passes.fold_normalisation import FoldNormalisation
from compiler.graph.passes.fuse import Fuse
from compiler.graph.passes.infer_types import InferTypes
from compiler.graph.passes.inline import Inline
from compiler.graph.passes.pipeline import GraphPass, simplifying_passes, transform
from compiler.graph.passes.unroll import Unroll

__all__ = [
    "BindSymbols",
    "EliminateCommon",
    "EliminateDead",
    "FoldConstants",
    "FoldNormalisation",
    "Fuse",
    "GraphPass",
    "InferTypes",
    "Inline",
    "Unroll",
    "simplifying_passes",
    "transform",
]
