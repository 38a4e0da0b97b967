"""The quantisation rules of operators. An operator without a rule stays in real numbers."""

from collections.abc import Mapping
from types import MappingProxyType

from tandem.compiler.quantise.rewriter import Rewriter
from tandem.compiler.quantise.rule import Rule
from tandem.compiler.quantise.rules.accumulators import ACCUMULATORS
from tandem.compiler.quantise.rules.data_movement import DATA_MOVEMENT, POOLS
from tandem.compiler.quantise.rules.products import PRODUCTS
from tandem.compiler.quantise.rules.qdq import QDQ

__all__ = ["DATA_MOVEMENT", "RULES"]

RULES: Mapping[str, Rule[Rewriter]] = MappingProxyType(
    {**QDQ, **DATA_MOVEMENT, **POOLS, **PRODUCTS, **ACCUMULATORS}
)
"""All rules by the operator's name."""
