"""Requantisation in exact integer arithmetic, from int32 accumulators to small integers."""

from tandem.compiler.requantisation.scales import ANY_FACTORS, ScaledResidual, ShortFactors
from tandem.compiler.requantisation.spec import RequantSpec, Residual

__all__ = ["ANY_FACTORS", "RequantSpec", "Residual", "ScaledResidual", "ShortFactors"]
