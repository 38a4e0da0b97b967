"""Requantisation as an exact value: accumulators of products become small integers."""

from compiler.requantisation.scales import ScaledResidual
from compiler.requantisation.spec import RequantSpec, Residual

__all__ = ["RequantSpec", "Residual", "ScaledResidual"]
