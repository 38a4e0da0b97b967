"""A run as a timeline that Perfetto and Chrome show.

write_timeline(Path("run.json"), result, program)
"""

from tandem.sim.trace.labels import Labels
from tandem.sim.trace.records import timeline
from tandem.sim.trace.writer import write_timeline

__all__ = ["Labels", "timeline", "write_timeline"]
