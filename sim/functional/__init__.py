"""The `functional` engine: results and work counts, without cycles."""

from tandem.sim.functional.engine import FunctionalEngine

__all__ = ["FunctionalEngine"]
