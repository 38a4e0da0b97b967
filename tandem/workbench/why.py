"""What a layer's cycles went to, and the critical path through its events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tandem.hw.isa import disassemble
from tandem.hw.memory_model import MemoryModel
from tandem.runtime.executor import Run
from tandem.runtime.layer_profiles import LayerProfile, StreamRun
from tandem.sim.trace import Labels
from tandem.sim.why.causes import Cause
from tandem.sim.why.critical_path import Edge, EdgeKind
from tandem.sim.why.layer_paths import layer_paths

LONGEST = 8
"""Edges that are shown to people; the JSON has all."""


@dataclass(frozen=True, slots=True)
class PathEdge:
    """An edge of a critical path, with its instruction as text."""

    edge: Edge
    text: str

    def as_json(self) -> dict[str, object]:
        """The entry of this edge in the command's JSON."""
        edge = self.edge
        return {
            "kind": edge.kind.name.lower(),
            "start": edge.start,
            "end": edge.end,
            "cycles": edge.cycles,
            "queue": None if edge.queue is None else str(edge.queue),
            "instruction": edge.instruction,
            "text": self.text,
        }


@dataclass(frozen=True, slots=True)
class Why:
    """The causes of a layer's cycles, and its critical path in order of time.

    Both sum to the layer's cycles.
    """

    profile: LayerProfile
    path: tuple[PathEdge, ...]

    @property
    def name(self) -> str:
        """The layer's name."""
        return self.profile.layer.name

    @property
    def parts(self) -> Mapping[Cause, int]:
        """Cycles by cause."""
        return self.profile.causes

    @property
    def by_kind(self) -> Mapping[EdgeKind, tuple[int, int]]:
        """The number of edges of the path and their cycles, by kind; the longest first."""
        sums: dict[EdgeKind, tuple[int, int]] = {}
        for placed in self.path:
            count, cycles = sums.get(placed.edge.kind, (0, 0))
            sums[placed.edge.kind] = count + 1, cycles + placed.edge.cycles
        return dict(sorted(sums.items(), key=lambda item: -item[1][1]))

    @property
    def longest(self) -> Sequence[PathEdge]:
        """The longest edges, the longest first; of equal ones the earliest."""
        return sorted(self.path, key=lambda placed: -placed.edge.cycles)[:LONGEST]

    def as_json(self) -> dict[str, object]:
        """The entry `why` of the command's JSON."""
        return {
            "layer": self.name,
            "cycles": self.profile.cycles,
            "parts": {cause.name.lower(): cycles for cause, cycles in self.parts.items()},
            "path": [each.as_json() for each in self.path],
        }


def explain_layers(stream: StreamRun, memory: MemoryModel) -> tuple[Why, ...]:
    """Why each layer of a stream took its cycles; the run must have events and time."""
    text = [" ".join(line.split()[1:]) for line in disassemble(stream.program).splitlines()]
    paths = layer_paths(stream.program, stream.result, labels_of(stream), memory)
    return tuple(
        Why(profile, tuple(PathEdge(edge, text[edge.instruction]) for edge in path))
        for profile, path in zip(stream.layers, paths, strict=True)
    )


def explain_run(run: Run, memory: MemoryModel) -> tuple[Why, ...]:
    """Why each layer of a run took its cycles."""
    return tuple(why for stream in run.profile.streams for why in explain_layers(stream, memory))


def labels_of(stream: StreamRun) -> Labels:
    """The labels of a stream's instructions."""
    code = stream.stream
    names = tuple(layer.name for layer in code.layers)
    macs = tuple(layer.macs for layer in code.layers)
    return Labels(names, macs, code.layer_of, code.places)
