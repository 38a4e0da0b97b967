"""Fault codes: the values of the accelerator's error register."""

from __future__ import annotations

from enum import IntEnum


class Fault(IntEnum):
    """Values of the error register; exceptions use the same codes.

    Faults of the first group are visible in the instruction alone and detected before dispatch;
    faults of the second group depend on data or timing and are detected during execution; faults of
    the third group are properties of the whole program.
    """

    NONE = 0

    OPCODE = 1
    """An opcode that this configuration does not have."""
    MEMORY_ID = 2
    """A memory id that this configuration does not have."""
    LOAD_OUT = 3
    """LOAD of OUT, which is store only."""
    STORE_MEMORY = 4
    """STORE of anything but OUT."""
    STORE_PAD = 5
    """Padding on a STORE."""
    NO_ROWS = 6
    """y_size 0 with x_size above 0."""
    LOOP_COUNT = 7
    """A loop count of 0."""
    UOP_RANGE = 8
    """uop_end not above uop_bgn, or beyond the micro-op memory."""
    SHIFT = 9
    """A shift by more than `MAX_SHIFT`: an immediate, or an element of a tensor operand."""
    SRAM_RANGE = 10
    """A LOAD or STORE that reaches beyond its memory."""
    TOKEN_FLAG = 11
    """A dependence flag for which the instruction's unit has no token queue."""
    FEATURE = 12
    """An instruction, or a bit of one, of an extension that this configuration does not have."""

    SRAM_INDEX = 16
    """A micro-op's index, with its loop offsets, beyond its memory."""
    TOKEN_OVERFLOW = 17
    """A token counter passed `MAX_TOKENS`."""
    BUS_READ = 18
    """Memory answered a read with an error."""
    BUS_WRITE = 19
    """Memory answered a write with an error."""

    AFTER_FINISH = 24
    """An instruction after FINISH."""
    NO_FINISH = 25
    """A program without FINISH."""
    TOKENS_LEFT = 26
    """A token counter is not zero at the end."""
    DEADLOCK = 27
    """No unit can ever proceed."""
