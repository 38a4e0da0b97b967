"""The result of a hazard check: races, overwrites, token faults and unchecked instructions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from tandem.hw.errors import HardwareError, ProgramError
from tandem.hw.topology import MemoryId, TokenQueue


@dataclass(frozen=True, slots=True, kw_only=True)
class Race:
    """Unordered instructions of two units that access one location, one of them writing.

    Attributes
    ----------
    first, second
        The instructions' indices; `first` is the earlier in the program.
    memory
        INP, WGT or ACC (which OUT mirrors), or None for DRAM.
    address
        The lowest element of `memory`, or physical byte of DRAM, that both access.
    first_writes, second_writes
        Whether the instruction writes the location; if not, it reads.
    queues
        The token queues that would order the two, from `first` to `second`: one between neighbours,
        two (by way of compute) between load and store.
    explanation
        The race in a sentence of one line.
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
    """A program whose tokens leave a conflict unordered, or may leave one: there is no proof.

    Attributes
    ----------
    races
        The races found; empty if the error has another cause.
    """

    def __init__(self, message: str, races: Sequence[Race] = ()) -> None:
        super().__init__(message)
        self.races = tuple(races)


@dataclass(frozen=True, slots=True)
class Overwrite:
    """A STORE into the program, whose instructions may be fetched before or after the STORE.

    `instruction` is the STORE, `address` the first byte of the program that it writes.
    """

    instruction: int
    address: int

    def __str__(self) -> str:
        return (
            f"instruction {self.instruction} stores over the program, at byte {self.address:#x}: "
            f"nothing orders it with the fetch of instructions"
        )


class Unknown(IntEnum):
    """Reasons for which an instruction's accesses are not known; the greatest of several counts."""

    UNLOADED = 1
    NO_IMAGE = 2
    BEYOND_IMAGE = 3
    STORED = 4
    BEYOND_MEMORY = 5
    BEYOND_ADDRESSES = 6
    NEVER_STARTS = 7

    def __str__(self) -> str:
        return _REASONS[self]


_REASONS = {
    Unknown.UNLOADED: "uses micro-ops that the program never loaded",
    Unknown.NO_IMAGE: "uses micro-ops, and there is no memory image that holds them",
    Unknown.BEYOND_IMAGE: "uses micro-ops that were loaded from beyond the memory image",
    Unknown.STORED: "uses micro-ops that were loaded from where a STORE may have written",
    Unknown.BEYOND_MEMORY: "has micro-ops with an index beyond its memory, which stops the machine",
    Unknown.BEYOND_ADDRESSES: "reaches beyond the machine's addresses, where they begin anew",
    Unknown.NEVER_STARTS: "never starts",
}


@dataclass(frozen=True, slots=True)
class Unchecked:
    """Instructions whose accesses were not all checked, for one reason."""

    reason: Unknown
    instructions: tuple[int, ...]

    def __str__(self) -> str:
        others = len(self.instructions) - 1
        more = f" (and {others} more alike)" if others else ""
        return f"instruction {self.instructions[0]}{more} {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class HazardReport:
    """The result of a check.

    Attributes
    ----------
    token_fault
        TOKEN_OVERFLOW, TOKENS_LEFT or a `DeadlockError`, as `hw.isa.validate` raises them: exact,
        over every order that the machine can run in. None where tokens balance.
    races
        The first races found, in an execution order: one for each memory and pair of instructions
        of which the earlier is the last of its unit to access the address.
    race_count
        The number of all races found.
    overwrites
        STOREs into the program.
    unchecked
        Instructions that were not checked. Their races are not in `races`.
    """

    token_fault: ProgramError | None
    races: tuple[Race, ...]
    race_count: int
    overwrites: tuple[Overwrite, ...]
    unchecked: tuple[Unchecked, ...]

    @property
    def proved(self) -> bool:
        """Whether every order in which the machine can run the program has the same result, as far
        as order matters: nothing is wrong, and all instructions were checked."""
        return not (self.token_fault or self.races or self.overwrites or self.unchecked)

    def raise_if_any(self, *, allow_unchecked: bool = False) -> None:
        """Raise an error for the first finding.

        Raises
        ------
        ProgramError, DeadlockError
            `token_fault`, if there is one.
        HazardError
            A race, a STORE into the program or, unless `allow_unchecked`, an unchecked instruction.
            The message is one line; the error's `races` are those of the report.
        """
        if self.token_fault is not None:
            raise self.token_fault
        if self.races:
            more = _more(self.race_count - 1, "race")
            raise HazardError(f"race: {self.races[0]}{more}", self.races)
        if self.overwrites:
            more = _more(len(self.overwrites) - 1, "such STORE")
            raise HazardError(f"{self.overwrites[0]}{more}")
        if self.unchecked and not allow_unchecked:
            unchecked = "; ".join(map(str, self.unchecked))
            raise HazardError(f"the order of the program is not proved: {unchecked}")


def _more(count: int, what: str) -> str:
    return f" (and {count} more {what}{'s' * (count > 1)})" if count else ""
