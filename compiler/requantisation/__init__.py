"""Requantisation in exact integer arithmetic, from int32 accumulators to small integers."""

from tandem.compiler.requantisation.scales import ScaledResidual
from tandem.compiler.requantisation.spec import RequantSpec, Residual

__all__ = ["RequantSpec", "Residual", "ScaledResidual"]
