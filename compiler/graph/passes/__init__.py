"""Passes over graphs, one per file; a pass rewrites a function."""

from tandem.compiler.graph.passes.bind_symbols import BindSymbols
from tandem.compiler.graph.passes.defunctionalise import Defunctionalise
from tandem.compiler.graph.passes.eliminate_common import EliminateCommon
from tandem.compiler.graph.passes.eliminate_dead import EliminateDead
from tandem.compiler.graph.passes.flatten_data import FlattenData
from tandem.compiler.graph.passes.fold_constants import FoldConstants
from tandem.compiler.graph.passes.fold_normalisation import FoldNormalisation
from tandem.compiler.graph.passes.fuse import Fuse
from tandem.compiler.graph.passes.infer_types import InferTypes
from tandem.compiler.graph.passes.inline import Inline
from tandem.compiler.graph.passes.lift_functions import LiftFunctions
from tandem.compiler.graph.passes.limit_memory import LimitMemory
from tandem.compiler.graph.passes.pipeline import GraphPass, simplifying_passes, transform
from tandem.compiler.graph.passes.stored_operands import StoredOperands
from tandem.compiler.graph.passes.tabulate import Tabulate
from tandem.compiler.graph.passes.unfold import Unfold
from tandem.compiler.graph.passes.unroll import Unroll
from tandem.compiler.graph.passes.widen_weights import WidenWeights

__all__ = [
    "BindSymbols",
    "Defunctionalise",
    "EliminateCommon",
    "EliminateDead",
    "FlattenData",
    "FoldConstants",
    "FoldNormalisation",
    "Fuse",
    "GraphPass",
    "InferTypes",
    "Inline",
    "LiftFunctions",
    "LimitMemory",
    "StoredOperands",
    "Tabulate",
    "Unfold",
    "Unroll",
    "WidenWeights",
    "simplifying_passes",
    "transform",
]
