"""The track of layers: the spans of cycles that belong to each layer.

Cycles are attributed to layers as seen from compute: a layer's cycles run from the previous layer's
last completion in compute to its own, so that they fill the time from launch to done. Where
instructions of two layers alternate, a layer has several spans.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tandem.hw.isa import Unit
from tandem.sim.events import Event, EventKind
from tandem.sim.trace.labels import Labels
from tandem.sim.trace.tracks import PROCESS, Track, cycle_of, number_of


@dataclass(frozen=True, slots=True)
class Span:
    """Consecutive cycles of one layer, from `start` to `end` (excluded)."""

    layer: int
    start: int
    end: int


def layer_spans(events: Sequence[Event], labels: Labels, cycles: int) -> Iterator[Span]:
    """The spans of all layers, contiguous from 0 to `cycles`, the end of the run."""
    if not labels.layers:
        return
    numbers = labels.layer_of.tolist()
    layer, begin, now = 0, 0, 0
    for event in events:
        if event.unit is not Unit.COMPUTE or event.kind is not EventKind.END:
            continue
        own = numbers[event.instruction]
        if own >= 0 and own != layer:
            if now > begin:
                yield Span(layer, begin, now)
            layer, begin = own, now
        now = max(now, cycle_of(event))
    if cycles > begin:
        yield Span(layer, begin, cycles)


def layer_records(
    events: Sequence[Event], labels: Labels, cycles: int, multipliers: int
) -> Iterator[dict[str, Any]]:
    """A slice for each span, with the cycles and the utilisation of its whole layer."""
    spans = list(layer_spans(events, labels, cycles))
    totals = [0] * len(labels.layers)
    for span in spans:
        totals[span.layer] += span.end - span.start
    for span in spans:
        macs, total = labels.macs[span.layer], totals[span.layer]
        args: dict[str, Any] = {"cycles": total, "multiply-accumulates": macs}
        if macs:
            args["utilisation"] = f"{macs / (total * multipliers):.1%}"
        yield {
            "ph": "X",
            "pid": PROCESS,
            "tid": number_of(Track.LAYERS),
            "ts": span.start,
            "dur": span.end - span.start,
            "name": labels.layers[span.layer],
            "cat": "layer",
            "args": args,
        }
