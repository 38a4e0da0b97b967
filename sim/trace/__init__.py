"""A run as a timeline that Perfetto and Chrome show.

write_timeline(Path("run.json"), result, program)
"""

from sim.trace.labels import Labels
from sim.trace.records import timeline
from sim.trace.writer import write_timeline

__all__ = ["Labels", "timeline", "write_timeline"]
