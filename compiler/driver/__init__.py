"""From a graph to an artifact: every kernel compiled, every tensor in its place."""

from compiler.driver.build import build

__all__ = ["build"]
