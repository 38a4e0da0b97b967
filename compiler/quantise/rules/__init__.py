"""What each operator makes of integers: a rule each. What has none stays in real numbers."""

from collections.abc import Mapping
from types import MappingProxyType

from compiler.quantise.rules.given import GIVEN
from compiler.quantise.rules.places import MOVERS, PLACES
from compiler.quantise.rules.products import PRODUCTS
from compiler.quantise.rules.sums import SUMS
from compiler.quantise.walk import Rule

__all__ = ["MOVERS", "RULES"]

RULES: Mapping[str, Rule] = MappingProxyType({**GIVEN, **PLACES, **PRODUCTS, **SUMS})
"""By the operator's name."""
