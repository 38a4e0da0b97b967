"""Tokens as arrows, from the push of each token to its pop.

Tokens of a queue are alike, so the k-th pushed is the k-th popped.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tandem.hw.isa import TokenQueue
from tandem.sim.events import Event, EventKind
from tandem.sim.trace.tracks import PROCESS, Slice


def arrows(events: Sequence[Event], slices: Mapping[int, Slice]) -> Iterator[dict[str, Any]]:
    """A pair of flow events for each token whose push and pop both belong to drawn instructions.

    `slices` are by instruction. In the file, records of slices precede arrows: each end of an arrow
    is attached to the slice that is open on its track at that time.
    """
    pushes: dict[TokenQueue, list[int]] = defaultdict(list)
    pops: dict[TokenQueue, list[int]] = defaultdict(list)
    for event in events:
        if event.queue is not None:
            side = pushes if event.kind is EventKind.PUSH else pops
            side[event.queue].append(event.instruction)
    number = 0
    for queue in TokenQueue:
        name = str(queue)
        for push, pop in zip(pushes[queue], pops[queue], strict=False):
            producer, consumer = slices.get(push), slices.get(pop)
            if producer is None or consumer is None:
                continue
            number += 1
            # Half a cycle before its end the slice is still open, and the next has not begun.
            sent = max(producer.start, min(producer.end - 0.5, consumer.start))
            common = {"cat": "token", "name": name, "id": number}
            yield {"ph": "s", "pid": PROCESS, "tid": producer.number, "ts": sent, **common}
            yield {
                "ph": "f",
                "bp": "e",
                "pid": PROCESS,
                "tid": consumer.number,
                "ts": consumer.start,
                **common,
            }
