"""Timing model of DRAM: when reads are answered and writes acknowledged.

All simulators and the compiler's estimates use this model. A read burst accepted in cycle `a`
gives its first beat in cycle `max(a + latency, last + interval)`, where `last` is the cycle of the
last beat of the burst before it, and then one beat every `interval` cycles, in order. A write burst
takes one beat every `interval` cycles and is acknowledged `latency` cycles after its last beat. At
most `in_flight` bursts of each direction are accepted and unanswered; a burst leaves that count in
the cycle after its last beat (or its acknowledgement). Reads and writes are independent.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from tandem.hw.errors import MemoryModelError

_MOST = 1_000_000


@dataclass(frozen=True, slots=True)
class MemoryModel:
    """Parameters of the model.

    Attributes
    ----------
    latency
        Cycles from an accepted read burst to its first beat, and from the last beat of a write
        burst to its acknowledgement.
    interval
        Cycles per beat.
    in_flight
        Maximum number of outstanding bursts in each direction.

    Raises
    ------
    MemoryModelError
        A parameter outside 1..1000000.
    """

    latency: int
    interval: int = 1
    in_flight: int = 16

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not 1 <= value <= _MOST:
                raise MemoryModelError(f"memory {name} is {value}: it must lie in 1..{_MOST}")

    @property
    def text(self) -> str:
        """The model, as `parse_memory` takes it."""
        return ",".join(f"{name}={value}" for name, value in asdict(self).items())


MEMORY_PRESETS = {
    "fast": MemoryModel(latency=16, interval=1, in_flight=16),
    "ddr": MemoryModel(latency=64, interval=1, in_flight=32),
    "edge": MemoryModel(latency=64, interval=4, in_flight=32),
}
DEFAULT_MEMORY = MEMORY_PRESETS["fast"]


def parse_memory(text: str) -> MemoryModel:
    """The model that `text` describes: a preset's name, or `latency=N,interval=N,in_flight=N`.

    Missing parameters are those of `DEFAULT_MEMORY`. `MemoryModelError` for any other text.
    """
    if text in MEMORY_PRESETS:
        return MEMORY_PRESETS[text]
    values = asdict(DEFAULT_MEMORY)
    given: set[str] = set()
    for part in text.split(","):
        name, _, value = part.partition("=")
        name = name.strip()
        if name in given:
            raise MemoryModelError(f"memory {text!r}: {name} is given twice")
        given.add(name)
        if name not in values or not value.strip().isdecimal():
            known = ", ".join(MEMORY_PRESETS)
            raise MemoryModelError(
                f"memory {text!r}: expected one of {known}, or latency=N,interval=N,in_flight=N"
            )
        # Python converts no number of more than some thousand digits.
        values[name] = int(value) if len(value) < 20 else _MOST + 1
    return MemoryModel(**values)
