"""A choice of faults at random."""

from __future__ import annotations

import random
from collections.abc import Sequence
from hashlib import sha256

from tests.mutation.python.faults import Fault, Kind


def sample(faults: Sequence[Fault], count: int, seed: int) -> list[Fault]:
    """So many faults, all if there are no more, in the order in which they are drawn: the first of
    them are a sample, too.

    Kinds are drawn first, all alike: of constants and arguments there are many times as many as of
    slices or negations. The choice stays while other lines change.
    """
    source = random.Random(seed)
    ranked = sorted(faults, key=lambda fault: sha256(f"{seed} {fault.name}".encode()).digest())
    by_kind = {kind: [fault for fault in ranked if fault.kind is kind] for kind in Kind}
    chosen: list[Fault] = []
    while len(chosen) < min(count, len(faults)):
        kind = source.choice([kind for kind, left in by_kind.items() if left])
        chosen.append(by_kind[kind].pop())
    return chosen
