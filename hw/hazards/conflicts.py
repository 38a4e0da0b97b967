"""The search for conflicts: unordered accesses of one location by different units.

Why the last access is enough. Instructions are visited in an execution order that tokens allow
(`Order.sequence`). The later of two conflicting instructions is therefore never ordered before the
earlier, and there is a race exactly if the earlier may be incomplete when the later starts. The
complete instructions of a unit are always a prefix of its instructions (`order`): if the unit's
last access to a location is complete, so are all its earlier ones. So a table of last accesses, for
each unit and kind of access, finds every location with a race, and no other location. Any execution
order will do: it contains both of two unordered instructions.

Only accesses of different units are compared. Within a unit, results are those of program order
by construction of the machine: LOADs run one by one, GEMM and ALU forward results, any other
instruction of compute runs alone, and STOREs' writes have one AXI ID, which keeps them in order.

Few pairs of units can conflict. Each on-chip memory has one unit that writes it: load for INP
and WGT; compute for ACC, its mirror OUT, and UOP, which no other unit accesses. Only store writes
DRAM.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tandem.base.jit import compiled
from tandem.hw.config import HardwareConfig
from tandem.hw.hazards.accesses import ACCESSES, Access, Accesses, accesses_of
from tandem.hw.hazards.dram import Rectangles
from tandem.hw.hazards.dram_pieces import pieces_of
from tandem.hw.hazards.explain import Conflict
from tandem.hw.hazards.hazard_report import Unknown
from tandem.hw.hazards.order import Order, order_of
from tandem.hw.isa.columns import Columns, Ints
from tandem.hw.topology import MemoryId


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The result of `search`. Instruction indices ascend.

    Attributes
    ----------
    conflicts
        The first conflicts.
    count
        The number of all conflicts.
    unknown
        Instructions whose on-chip accesses are not known, by reason.
    never
        Instructions that never start.
    """

    conflicts: Sequence[Conflict]
    count: int
    unknown: Mapping[Unknown, Ints]
    never: Ints


def search(
    config: HardwareConfig,
    columns: Columns,
    units: npt.NDArray[np.int8],
    rectangles: Rectangles,
    bases: Sequence[int],
    image: npt.NDArray[np.uint8] | None,
    keep: int,
) -> SearchResult:
    """Search a legal program for conflicts, and keep `keep` of them; see `check_hazards`."""
    order = order_of(columns, units)
    pieces = pieces_of(rectangles)
    accesses = accesses_of(config, columns, order.sequence, pieces, bases[MemoryId.UOP], image)
    conflicts, count = _find_conflicts(config, order, accesses, pieces.cuts, keep)
    never_starts = np.ones(len(units), dtype=np.bool_)
    never_starts[order.sequence] = False
    return SearchResult(conflicts, count, accesses.unknown, np.flatnonzero(never_starts))


def _opponents(access: Access) -> list[int]:
    """The kinds of access that conflict with `access`, by their index in `ACCESSES`."""
    return [
        kind
        for kind, other in enumerate(ACCESSES)
        if other.memory == access.memory and other.writes is not access.writes
    ]


def _find_conflicts(
    config: HardwareConfig, order: Order, accesses: Accesses, cuts: Ints, keep: int
) -> tuple[list[Conflict], int]:
    """Compare every access with the accesses before it in the execution order.

    An access conflicts with each unordered instruction that was the last of its unit to access one
    of the same locations; the conflict names the lowest such location.

    Parameters
    ----------
    cuts
        The first byte of each piece of DRAM.
    keep
        How many conflicts to return; all further conflicts are only counted.

    Returns
    -------
    The first `keep` conflicts, and how many there are.
    """
    widest = max(len(_opponents(access)) for access in ACCESSES)
    opponents = np.full((len(ACCESSES), widest), -1, dtype=np.int64)
    for kind, access in enumerate(ACCESSES):
        found = _opponents(access)
        opponents[kind, : len(found)] = found
    units = np.array([access.unit for access in ACCESSES], dtype=np.int64)
    memories = [access.memory for access in ACCESSES]
    sizes = [len(cuts) if memory is None else config.depth(memory) for memory in memories]
    rows, count = compare_accesses(
        order.sequence,
        order.clocks,
        accesses.kinds,
        accesses.which,
        accesses.sets.start,
        accesses.sets.begin,
        accesses.sets.end,
        opponents,
        units,
        np.concatenate([[0], np.cumsum(sizes)]),
        keep,
    )
    # Sort the conflicts of one comparison by the earlier instruction.
    rows = rows[np.lexsort((rows[:, 3], rows[:, 0]))][:keep]
    earlier = order.positions[order.begins[units[rows[:, 2]]] + rows[:, 3] - 1]
    conflicts = [
        Conflict(
            first,
            later,
            memories[kind],
            location if memories[kind] is not None else int(cuts[location]),
            ACCESSES[kind].writes,
        )
        for first, (_, kind, _, _, later, location) in zip(
            earlier.tolist(), rows.tolist(), strict=True
        )
    ]
    return conflicts, count


def compare_accesses(
    sequence: Ints,
    clocks: Ints,
    kinds: Ints,
    which: Ints,
    start: Ints,
    begin: Ints,
    end: Ints,
    opponents: Ints,
    units: Ints,
    tables: Ints,
    keep: int,
) -> tuple[Ints, int]:
    """The loop of `_find_conflicts`; the last accesses of a kind begin at `tables[kind]`.

    Returns rows and the number of conflicts. A row is: the number of the comparison, kind of the
    later access, kind of the earlier, 1 + the earlier instruction's position within
    its unit, the later instruction, the location. All comparisons up to that of the `keep`-th
    conflict have their rows.
    """
    last = np.zeros(tables[-1], dtype=np.int32)
    seen = np.zeros((len(tables) - 1, len(clocks) + 1), dtype=np.int32)
    rows = np.empty((keep + len(clocks), 6), dtype=np.int64)
    kept, count = _compare_accesses(
        sequence,
        clocks,
        kinds,
        which,
        start,
        begin,
        end,
        opponents,
        units,
        tables,
        keep,
        last,
        seen,
        rows,
    )
    return rows[:kept], count


@compiled
def _compare_accesses(
    sequence: Ints,
    clocks: Ints,
    kinds: Ints,
    which: Ints,
    start: Ints,
    begin: Ints,
    end: Ints,
    opponents: Ints,
    units: Ints,
    tables: Ints,
    keep: int,
    last: npt.NDArray[np.int32],
    seen: npt.NDArray[np.int32],
    rows: Ints,
) -> tuple[int, int]:
    """The rows of `compare_accesses`, put into `rows`: how many, and the number of conflicts.

    `last` is, for each entry of a table, 1 + the position, within its unit, of the instruction with
    the last access; `seen` the comparison in which each instruction last conflicted, by kind.
    """
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
                clock = clocks[position, units[opponent]]
                latest = 0
                for run in range(start[chosen], start[chosen + 1]):
                    for value in table[begin[run] : end[run]]:
                        latest = max(latest, value)
                if latest <= clock:
                    continue
                comparisons += 1
                keeping = kept < keep
                for run in range(start[chosen], start[chosen + 1]):
                    for location in range(begin[run], end[run]):
                        value = table[location]
                        if value > clock and seen[opponent, value] != comparisons:
                            seen[opponent, value] = comparisons
                            count += 1
                            if keeping:
                                rows[kept, 0], rows[kept, 1] = comparisons, kind
                                rows[kept, 2], rows[kept, 3] = opponent, value
                                rows[kept, 4], rows[kept, 5] = position, location
                                kept += 1
            own = last[tables[kind] : tables[kind + 1]]
            number = clocks[position, units[kind]] + 1
            for run in range(start[chosen], start[chosen + 1]):
                for location in range(begin[run], end[run]):
                    own[location] = number
    return kept, count
