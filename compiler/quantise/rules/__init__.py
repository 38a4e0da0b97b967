"""How each operator is quantised: one rule each. An operator without one stays in real numbers."""

from collections.abc import Mapping
from types import MappingProxyType

from compiler.quantise.rewriter import Rule
from compiler.quantise.rules.accumulators import ACCUMULATORS
from compiler.quantise.rules.data_movement import DATA_MOVEMENT, POOLS
from compiler.quantise.rules.products import PRODUCTS
from compiler.quantise.rules.qdq import QDQ

__all__ = ["DATA_MOVEMENT", "RULES"]

RULES: Mapping[str, Rule] = MappingProxyType(
    {**QDQ, **DATA_MOVEMENT, **POOLS, **PRODUCTS, **ACCUMULATORS}
)
"""By the operator's name."""
