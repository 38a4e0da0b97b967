"""Tokens as arrows, from each push to the pop that takes it.

Tokens of a queue are alike, so the k-th pushed is the k-th popped.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from hw.isa import TokenQueue
from sim.result import Event, EventKind
from sim.trace.tracks import PROCESS, Slice

__all__ = ["arrows"]


def arrows(events: tuple[Event, ...], slices: Mapping[int, Slice]) -> Iterator[dict[str, Any]]:
    """A pair of records for each token that was pushed and popped by what is drawn.

    `slices` are by instruction. Their records have to come before these in the file: what begins
    an arrow and what ends one belong to the slice that is open there.
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
            giver, taker = slices.get(push), slices.get(pop)
            if giver is None or taker is None:
                continue
            number += 1
            # Half a cycle before its end the slice is open still, and the next is not yet.
            sent = max(giver.start, min(giver.end - 0.5, taker.start))
            common = {"cat": "token", "name": name, "id": number}
            yield {"ph": "s", "pid": PROCESS, "tid": giver.number, "ts": sent, **common}
            yield {
                "ph": "f",
                "bp": "e",
                "pid": PROCESS,
                "tid": taker.number,
                "ts": taker.start,
                **common,
            }
