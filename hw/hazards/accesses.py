"""Who touched each place last, and who touches it now without an order between the two.

Why the last access is enough. Instructions are taken in an order of execution that tokens allow
(`Order.sequence`). Of two that conflict, the later one is therefore never ordered before the
earlier, and it is enough to ask whether the earlier is complete when the later starts. Those of one
module that are complete are a prefix of its instructions (`order`): if the last of them to touch a
place is complete, so are all before it; and if any is not, the last is not. So a table of last
accesses, one for each module and kind of access, misses no place with a race, and finds none that
is not there. Which order of execution was taken does not matter: two instructions that nothing
orders are both in it, one after the other.

Only accesses of different modules are compared. Within a module, results are those of program order
by construction of the machine: LOADs run one by one, GEMM and ALU forward, everything else of
compute runs alone, and STOREs' writes have one AXI ID, which keeps them in order.

What can conflict is little. Each on-chip memory has one module that writes it: INP and WGT load,
ACC, its mirror OUT and UOP compute, and nobody else touches UOP. DRAM is written by store only.
"""

from __future__ import annotations

import numpy as np

from hw.config import HardwareConfig
from hw.hazards.explain import Conflict
from hw.hazards.order import Order
from hw.hazards.touches import ACCESSES, Access, Touches
from hw.isa.columns import Ints
from hw.jit import cached

__all__ = ["find_conflicts"]


def _opponents(access: Access) -> list[int]:
    """The kinds of access that conflict with `access`, by their index in `ACCESSES`."""
    return [
        kind
        for kind, other in enumerate(ACCESSES)
        if other.memory == access.memory and other.writes is not access.writes
    ]


def find_conflicts(
    config: HardwareConfig, order: Order, touches: Touches, cuts: Ints, keep: int
) -> tuple[list[Conflict], int]:
    """Go through the order of execution and compare every access with those before it.

    There is a conflict for each instruction that was the last of its module to touch some of an
    access's places, at the least such place.

    Parameters
    ----------
    cuts
        The first byte of each piece of DRAM.
    keep
        Of how many conflicts more is wanted than their number.

    Returns
    -------
    The first `keep` conflicts, and how many there are.
    """
    widest = max(len(_opponents(access)) for access in ACCESSES)
    opponents = np.full((len(ACCESSES), widest), -1, dtype=np.int64)
    for kind, access in enumerate(ACCESSES):
        found = _opponents(access)
        opponents[kind, : len(found)] = found
    modules = np.array([access.module for access in ACCESSES], dtype=np.int64)
    memories = [access.memory for access in ACCESSES]
    sizes = [len(cuts) if memory is None else config.depth(memory) for memory in memories]
    rows, count = compare_accesses(
        order.sequence,
        order.clocks,
        touches.kinds,
        touches.which,
        touches.sets.start,
        touches.sets.begin,
        touches.sets.end,
        opponents,
        modules,
        np.concatenate([[0], np.cumsum(sizes)]),
        keep,
    )
    # Those of one comparison by their earlier instruction; its places were met in ascending order.
    rows = rows[np.lexsort((rows[:, 3], rows[:, 0]))][:keep]
    earlier = order.positions[order.begins[modules[rows[:, 2]]] + rows[:, 3] - 1]
    conflicts = [
        Conflict(
            first,
            later,
            memories[kind],
            place if memories[kind] is not None else int(cuts[place]),
            ACCESSES[kind].writes,
        )
        for first, (_, kind, _, _, later, place) in zip(
            earlier.tolist(), rows.tolist(), strict=True
        )
    ]
    return conflicts, count


@cached
def compare_accesses(
    sequence: Ints,
    clocks: Ints,
    kinds: Ints,
    which: Ints,
    start: Ints,
    begin: Ints,
    end: Ints,
    opponents: Ints,
    modules: Ints,
    tables: Ints,
    keep: int,
) -> tuple[Ints, int]:
    """The loop of `find_conflicts`; the table of a kind begins at `tables[kind]`.

    A row of what it returns is: the number of the comparison, kind of the later access, kind of the
    earlier, 1 + how many instructions of its module are before the earlier one, the later
    instruction, the place. The rows are those of all comparisons up to the one that has the
    `keep`-th.
    """
    # 1 more than the place, in its module, of the instruction that touched last.
    last = np.zeros(tables[-1], dtype=np.int32)
    seen = np.zeros((len(tables) - 1, len(clocks) + 1), dtype=np.int32)
    rows = np.empty((keep + len(clocks), 6), dtype=np.int64)
    comparisons = count = kept = 0
    for position in sequence:
        for slot in range(which.shape[1]):
            chosen, kind = which[position, slot], kinds[position, slot]
            if chosen < 0:
                continue
            for opponent in opponents[kind]:
                if opponent < 0:
                    continue
                table = last[tables[opponent] : tables[opponent + 1]]
                clock = clocks[position, modules[opponent]]
                latest = np.int32(0)
                for run in range(start[chosen], start[chosen + 1]):
                    for value in table[begin[run] : end[run]]:
                        latest = max(latest, value)
                if latest <= clock:
                    continue
                comparisons += 1
                wanted = kept < keep
                for run in range(start[chosen], start[chosen + 1]):
                    for place in range(begin[run], end[run]):
                        value = table[place]
                        if value > clock and seen[opponent, value] != comparisons:
                            seen[opponent, value] = comparisons
                            count += 1
                            if wanted:
                                rows[kept, 0], rows[kept, 1] = comparisons, kind
                                rows[kept, 2], rows[kept, 3] = opponent, value
                                rows[kept, 4], rows[kept, 5] = position, place
                                kept += 1
            own = last[tables[kind] : tables[kind + 1]]
            mine = clocks[position, modules[kind]] + 1
            for run in range(start[chosen], start[chosen + 1]):
                for place in range(begin[run], end[run]):
                    own[place] = mine
    return rows[:kept], count
