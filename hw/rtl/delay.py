"""Shift registers: values that arrive some cycles later."""

from __future__ import annotations

from amaranth.hdl import Module, Signal, Value


def delay_line(
    m: Module, value: Value, cycles: int, name: str, *, reset: bool = False
) -> list[Value]:
    """`value`, and `value` as it was 1, 2, ..., `cycles` cycles before.

    The registers are `name` and a number; with `reset` they are reset to zero. All have the shape
    of `value`: of a view of a struct they are views.
    """
    stages = [value]
    for number in range(1, cycles + 1):
        later = Signal.like(value, name=f"{name}_{number}", init=None, reset_less=not reset)
        m.d.sync += later.eq(stages[-1])
        stages.append(later)
    return stages


def delayed(m: Module, value: Value, cycles: int, name: str, *, reset: bool = False) -> Value:
    """`value` as it was `cycles` cycles before: the end of a `delay_line`."""
    return delay_line(m, value, cycles, name, reset=reset)[-1]
