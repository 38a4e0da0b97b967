"""The critical path of each layer of a run."""

from __future__ import annotations

from tandem.hw.isa import Program
from tandem.hw.memory_model import MemoryModel
from tandem.sim.result import Result
from tandem.sim.trace import Labels
from tandem.sim.trace.layer_spans import layer_spans
from tandem.sim.why.critical_path import Edge, PathFinder
from tandem.sim.why.lone_loads import LoneLoads
from tandem.sim.why.times import RunTimes


def layer_paths(
    program: Program, result: Result, labels: Labels, memory: MemoryModel
) -> tuple[tuple[Edge, ...], ...]:
    """By layer, the critical paths of the layer's spans, one behind the other.

    The cycles of a layer's edges sum to the layer's cycles.

    Parameters
    ----------
    result
        The result, with events, of a run of `program` on `memory`, from an engine with time.

    Raises
    ------
    EngineError
        See `RunTimes.of`.
    """
    times = RunTimes.of(program, result)
    finder = PathFinder.of(program, times, LoneLoads(program, memory))
    paths: list[list[Edge]] = [[] for _ in labels.layers]
    for span in layer_spans(result.events, labels, times.cycles):
        paths[span.layer] += finder.path(span.start, span.end)
    return tuple(map(tuple, paths))
