"""What the checker found, and what it could not look at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from hw.errors import HardwareError, ProgramError
from hw.topology import MemoryId, TokenQueue

__all__ = ["Doubt", "Gap", "HazardError", "HazardReport", "Overwrite", "Race"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Race:
    """Two instructions of different modules that touch one place, one of them writing, in no order.

    Attributes
    ----------
    first, second
        Their indices; `first` is the earlier in the program.
    memory
        Where: INP, WGT or ACC (which OUT mirrors), or None for DRAM.
    address
        An element of `memory`, or a physical byte of DRAM: the least that both touch.
    first_writes, second_writes
        What each does there.
    queues
        The token queues that would order them, from `first` to `second`: one between neighbours,
        two (by way of compute) between load and store.
    explanation
        All this in a sentence of one line.
    """

    first: int
    second: int
    memory: MemoryId | None
    address: int
    first_writes: bool
    second_writes: bool
    queues: tuple[TokenQueue, ...]
    explanation: str

    def __str__(self) -> str:
        return self.explanation


class HazardError(HardwareError):
    """A program whose tokens do not order what must be ordered, or of which that is not proved.

    Attributes
    ----------
    races
        The pairs of instructions that nothing orders; empty for another reason.
    """

    def __init__(self, message: str, races: Sequence[Race] = ()) -> None:
        super().__init__(message)
        self.races = tuple(races)


@dataclass(frozen=True, slots=True)
class Overwrite:
    """A STORE onto the program itself, which may be fetched before or after it.

    `instruction` is the STORE, `address` the first byte of the program that it writes.
    """

    instruction: int
    address: int

    def __str__(self) -> str:
        return (
            f"instruction {self.instruction} stores over the program, at byte {self.address:#x}: "
            f"nothing orders it with the fetch of instructions"
        )


class Doubt(IntEnum):
    """Why it is not known what an instruction touches. Of several, the greatest is told."""

    UNLOADED = 1
    NO_IMAGE = 2
    BEYOND_IMAGE = 3
    STORED = 4
    BEYOND_MEMORY = 5
    BEYOND_ADDRESSES = 6
    NEVER_STARTS = 7

    def __str__(self) -> str:
        return _DOUBTS[self]


_DOUBTS = {
    Doubt.UNLOADED: "uses micro-ops that the program never loaded",
    Doubt.NO_IMAGE: "uses micro-ops, and no memory image tells them",
    Doubt.BEYOND_IMAGE: "uses micro-ops that were loaded from beyond the memory image",
    Doubt.STORED: "uses micro-ops that were loaded from where a STORE may have written",
    Doubt.BEYOND_MEMORY: "has micro-ops with an index beyond its memory, which stops the machine",
    Doubt.BEYOND_ADDRESSES: "reaches beyond the machine's addresses, where they begin anew",
    Doubt.NEVER_STARTS: "never starts",
}


@dataclass(frozen=True, slots=True)
class Gap:
    """Instructions that were not looked at, or not at all that they touch, for one reason."""

    doubt: Doubt
    instructions: tuple[int, ...]

    def __str__(self) -> str:
        others = len(self.instructions) - 1
        more = f" (and {others} more alike)" if others else ""
        return f"instruction {self.instructions[0]}{more} {self.doubt}"


@dataclass(frozen=True, slots=True, kw_only=True)
class HazardReport:
    """The result of a check.

    Attributes
    ----------
    token_fault
        TOKEN_OVERFLOW, TOKENS_LEFT or a `DeadlockError`, as `hw.isa.validate` tells them: exact,
        over every order that the machine can run in. None where tokens balance.
    races
        The first races found, in an order of execution. There is one for each pair of instructions
        and memory of which the earlier is the last of its module to touch the address.
    race_count
        How many were found; `races` keeps some.
    overwrites
        STOREs onto the program.
    gaps
        What was not looked at. Races with these instructions are not in `races`.
    """

    token_fault: ProgramError | None
    races: tuple[Race, ...]
    race_count: int
    overwrites: tuple[Overwrite, ...]
    gaps: tuple[Gap, ...]

    @property
    def proved(self) -> bool:
        """Whether every order in which the machine can run the program has the same result, as far
        as order matters: nothing is wrong, and nothing was left out."""
        return not (self.token_fault or self.races or self.overwrites or self.gaps)

    def raise_if_any(self, *, allow_gaps: bool = False) -> None:
        """Raise what was found.

        Raises
        ------
        ProgramError, DeadlockError
            `token_fault`, if there is one.
        HazardError
            A race, a STORE onto the program or, unless `allow_gaps`, something that was not looked
            at. The message is one line; `races` of the error has them all.
        """
        if self.token_fault is not None:
            raise self.token_fault
        if self.races:
            more = _more(self.race_count - 1, "race")
            raise HazardError(f"race: {self.races[0]}{more}", self.races)
        if self.overwrites:
            more = _more(len(self.overwrites) - 1, "such STORE")
            raise HazardError(f"{self.overwrites[0]}{more}")
        if self.gaps and not allow_gaps:
            gaps = "; ".join(str(gap) for gap in self.gaps)
            raise HazardError(f"the order of the program is not proved: {gaps}")


def _more(count: int, what: str) -> str:
    return f" (and {count} more {what}{'s' * (count > 1)})" if count else ""
