"""The memory model: when reads are answered and writes acknowledged.

One model serves every simulator (machine.md, "Memory model"). A read burst accepted in cycle `a`
gives its first beat in cycle `max(a + latency, last + interval)`, where `last` is the cycle of the
last beat of the burst before it, and then one beat every `interval` cycles, in order. A write
burst takes one beat every `interval` cycles and is acknowledged `latency` cycles after its last.
At most `in_flight` bursts of each direction are accepted and unanswered; a burst leaves that count
in the cycle after its last beat (or its acknowledgement). Reads and writes are independent.
"""

from __future__ import annotations

from dataclasses import dataclass

from sim.errors import EngineError

__all__ = ["MEMORY_PRESETS", "MemoryModel", "parse_memory"]


@dataclass(frozen=True, slots=True)
class MemoryModel:
    """Parameters of the model, in cycles (`in_flight` in bursts)."""

    latency: int
    interval: int = 1
    in_flight: int = 16

    def __post_init__(self) -> None:
        for name, low in (("latency", 1), ("interval", 1), ("in_flight", 1)):
            value = getattr(self, name)
            if not low <= value <= 1_000_000:
                raise EngineError(f"memory {name} is {value}: it must lie in {low}..1000000")


MEMORY_PRESETS = {
    "fast": MemoryModel(latency=16, interval=1, in_flight=16),
    "ddr": MemoryModel(latency=64, interval=1, in_flight=32),
    "edge": MemoryModel(latency=64, interval=4, in_flight=32),
}


def parse_memory(text: str) -> MemoryModel:
    """A preset's name, or `latency=N,interval=N,in_flight=N` (what is left out is as in `fast`)."""
    if text in MEMORY_PRESETS:
        return MEMORY_PRESETS[text]
    values = {"latency": 16, "interval": 1, "in_flight": 16}
    for part in text.split(","):
        name, _, value = part.partition("=")
        if name.strip() not in values or not value.strip().isdecimal():
            known = ", ".join(MEMORY_PRESETS)
            raise EngineError(
                f"memory {text!r}: expected one of {known}, or latency=N,interval=N,in_flight=N"
            )
        values[name.strip()] = int(value)
    return MemoryModel(**values)
