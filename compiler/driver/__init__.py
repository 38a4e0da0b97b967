"""The compiler driver: from a graph to an artifact of compiled kernels and planned memory."""

from tandem.compiler.driver.build import build

__all__ = ["build"]
