"""Requantisation as exact values: how sums of products become small integers again."""

from compiler.requantisation.alu_steps import AluStep
from compiler.requantisation.residual import ResidualSpec
from compiler.requantisation.spec import RequantSpec

__all__ = ["AluStep", "RequantSpec", "ResidualSpec"]
