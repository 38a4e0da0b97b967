"""From real numbers to integers: how sums of products become small integers again."""

from compiler.quantise.alu_steps import AluStep, emulate
from compiler.quantise.requantise import RequantSpec
from compiler.quantise.residual import ResidualSpec

__all__ = ["AluStep", "RequantSpec", "ResidualSpec", "emulate"]
