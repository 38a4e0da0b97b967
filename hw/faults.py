"""Fault codes: the values of the accelerator's error register."""

from __future__ import annotations

from enum import IntEnum
from typing import Self

from tandem.hw.topology import TokenQueue


class Fault(IntEnum):
    """Values of the error register; exceptions use the same codes.

    Faults of the first group are visible in the instruction alone and detected before dispatch;
    faults of the second group depend on data or timing and are detected during execution; faults of
    the third group are properties of the whole program.
    """

    meaning: str

    def __new__(cls, code: int, meaning: str = "") -> Self:
        """The member with a code."""
        member = int.__new__(cls, code)
        member._value_ = code
        member.meaning = meaning
        return member

    NONE = 0, "no fault"

    OPCODE = 1, "an opcode that this configuration does not have"
    MEMORY_ID = 2, "a memory id that this configuration does not have"
    LOAD_OUT = 3, "LOAD of OUT, which is store only"
    STORE_MEMORY = 4, "STORE of anything but OUT"
    STORE_PAD = 5, "padding on a STORE"
    NO_ROWS = 6, "y_size 0 with x_size above 0"
    LOOP_COUNT = 7, "a loop count of 0"
    UOP_RANGE = 8, "uop_end not above uop_bgn, or beyond the micro-op memory"
    SHIFT = 9, "a shift by more than `MAX_SHIFT`: an immediate, or an element of a tensor operand"
    SRAM_RANGE = 10, "a LOAD or STORE that reaches beyond its memory"
    TOKEN_FLAG = 11, "a dependence flag for which the instruction's unit has no token queue"
    FEATURE = (
        12,
        "an instruction, or a bit of one, of an extension that this configuration does not have",
    )

    SRAM_INDEX = 16, "a micro-op's index, with its loop offsets, beyond its memory"
    TOKEN_OVERFLOW = 17, "a token counter passed `MAX_TOKENS`"
    BUS_READ = 18, "memory answered a read with an error"
    BUS_WRITE = 19, "memory answered a write with an error"

    BUS_TIMEOUT = 20, "memory did not answer within `bus_timeout` cycles"

    AFTER_FINISH = 24, "an instruction after FINISH"
    NO_FINISH = 25, "a program without FINISH"
    TOKENS_LEFT = 26, "a token counter is not zero at the end"
    DEADLOCK = 27, "no unit can ever proceed"


class FaultSource(IntEnum):
    """What sees faults while a program runs. Of several that see one in the same cycle the last
    counts; the RTL and the cycle model take the order from here."""

    INDEX = 0
    SHIFT = 1
    READ = 2
    WRITE = 3
    TOKENS_LOAD_TO_COMPUTE = 4
    TOKENS_COMPUTE_TO_LOAD = 5
    TOKENS_COMPUTE_TO_STORE = 6
    TOKENS_STORE_TO_COMPUTE = 7
    DISPATCH = 8

    @classmethod
    def of_queue(cls, queue: TokenQueue) -> FaultSource:
        """The counter of a token queue."""
        return cls[f"TOKENS_{queue.name}"]
