"""The `functional` engine: results and amounts of work, no time."""

from sim.functional.engine import FunctionalEngine

__all__ = ["FunctionalEngine"]
