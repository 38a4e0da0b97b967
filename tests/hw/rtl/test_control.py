"""The life of a launch."""

from __future__ import annotations

import pytest

from tandem.hw.faults import Fault
from tandem.hw.registers import NO_INSTRUCTION
from tandem.hw.rtl.control import Control
from tandem.hw.timing import DEADLOCK_CYCLES
from tests.support.hw.rtl.rtl import Context, simulate

OUTPUTS = (
    "clear",
    "core_reset",
    "core_start",
    "core_halt",
    "starting",
    "running",
    "draining",
    "done",
    "error",
)

OF_THE_CORE = ("complete", "tokens_left", "stuck", "fault", "fault_index")
"""What the core says of a program."""


def on(ctx: Context, control: Control) -> set[str]:
    """The outputs that are high."""
    return {name for name in OUTPUTS if ctx.get(getattr(control, name))}


async def launch(ctx: Context, control: Control) -> None:
    """To the first cycle in which the core works."""
    ctx.set(control.bus_idle, 1)
    await to_start(ctx, control)
    assert on(ctx, control) == {"running", "core_start"}
    await ctx.tick()
    assert on(ctx, control) == {"running"}


async def to_start(ctx: Context, control: Control) -> None:
    """To the cycle after the core's reset."""
    ctx.set(control.launch, 1)
    # A core that is stopped or being reset may be told so.
    assert on(ctx, control) - {"core_halt", "core_reset"} == {"clear"}
    await ctx.tick()
    # Nothing but the launch counts before the core starts: what the core says is of before.
    before = {name: ctx.get(getattr(control, name)) for name in OF_THE_CORE}
    for name in OF_THE_CORE:
        ctx.set(getattr(control, name), 1)
    ctx.set(control.soft_reset, 1)
    assert on(ctx, control) == {"core_halt", "core_reset", "starting"}
    assert ctx.get(control.error_code) == Fault.NONE
    await ctx.tick()
    ctx.set(control.launch, 0)
    ctx.set(control.soft_reset, 0)
    for name, value in before.items():
        ctx.set(getattr(control, name), value)


async def drained(ctx: Context, control: Control, *, error: bool) -> None:
    """From the cycle after a stop's cause to the end."""
    ctx.set(control.bus_idle, 0)
    for _ in range(5):
        assert on(ctx, control) == {"draining", "core_halt"}
        await ctx.tick()
    ctx.set(control.bus_idle, 1)
    assert on(ctx, control) == {"draining", "core_halt"} | ({"error"} if error else set())
    await ctx.tick()


def test_a_program_that_ends_well() -> None:
    control = Control()

    async def bench(ctx: Context) -> None:
        for _ in range(2):
            await launch(ctx, control)
            for _ in range(3):
                await ctx.tick()
            ctx.set(control.complete, 1)
            assert on(ctx, control) == {"running", "done"}
            await ctx.tick()
            ctx.set(control.complete, 0)
            assert on(ctx, control) == set()
            assert ctx.get(control.error_code) == Fault.NONE
            await ctx.tick()

    simulate(control, bench)


@pytest.mark.parametrize("fault", [fault for fault in Fault if fault is not Fault.NONE])
def test_a_fault_stops_drains_and_stays_to_be_read(fault: Fault) -> None:
    control = Control()

    async def bench(ctx: Context) -> None:
        await launch(ctx, control)
        ctx.set(control.fault, fault)
        ctx.set(control.fault_index, 1234)
        await ctx.tick()
        # What comes after the first fault does not count.
        ctx.set(control.fault, Fault.OPCODE)
        ctx.set(control.fault_index, 1)
        await drained(ctx, control, error=True)
        ctx.set(control.fault, Fault.NONE)
        for _ in range(3):
            # The core keeps its state, for the registers to show.
            assert on(ctx, control) == {"core_halt"}
            assert ctx.get(control.error_code) == fault
            assert ctx.get(control.error_index) == 1234
            await ctx.tick()
        await launch(ctx, control)
        assert ctx.get(control.error_code) == Fault.NONE

    simulate(control, bench)


def test_tokens_that_are_left() -> None:
    control = Control()

    async def bench(ctx: Context) -> None:
        await launch(ctx, control)
        ctx.set(control.complete, 1)
        ctx.set(control.tokens_left, 1)
        assert on(ctx, control) == {"running"}
        await ctx.tick()
        await drained(ctx, control, error=True)
        assert ctx.get(control.error_code) == Fault.TOKENS_LEFT
        assert ctx.get(control.error_index) == NO_INSTRUCTION

    simulate(control, bench)


def test_an_empty_program_has_no_finish() -> None:
    control = Control()

    async def bench(ctx: Context) -> None:
        ctx.set(control.empty, 1)
        await to_start(ctx, control)
        assert on(ctx, control) == {"running"}
        await ctx.tick()
        await drained(ctx, control, error=True)
        assert ctx.get(control.error_code) == Fault.NO_FINISH
        assert ctx.get(control.error_index) == NO_INSTRUCTION

    simulate(control, bench)


def test_a_deadlock_needs_patience_without_a_pause() -> None:
    control = Control()

    async def bench(ctx: Context) -> None:
        await launch(ctx, control)
        for _ in range(2):
            # Any sign of life starts the count again.
            ctx.set(control.stuck, 1)
            for _ in range(DEADLOCK_CYCLES - 1):
                await ctx.tick()
            ctx.set(control.stuck, 0)
            assert ctx.get(control.running)
            await ctx.tick()
        ctx.set(control.stuck, 1)
        for _ in range(DEADLOCK_CYCLES):
            assert on(ctx, control) == {"running"}
            await ctx.tick()
        assert on(ctx, control) == {"running"}
        await ctx.tick()
        await drained(ctx, control, error=True)
        assert ctx.get(control.error_code) == Fault.DEADLOCK
        assert ctx.get(control.error_index) == NO_INSTRUCTION

    simulate(control, bench)


@pytest.mark.parametrize("wait", [False, True], ids=["launch_in_the_reset", "launch_later"])
def test_soft_reset_of_a_run_is_no_error(wait: bool) -> None:
    control = Control()

    async def bench(ctx: Context) -> None:
        await launch(ctx, control)
        ctx.set(control.soft_reset, 1)
        await ctx.tick()
        ctx.set(control.soft_reset, 0)
        # A launch in the meantime is refused.
        ctx.set(control.launch, 1)
        await drained(ctx, control, error=False)
        ctx.set(control.launch, 0)
        assert on(ctx, control) == {"core_halt"}
        await ctx.tick()
        assert on(ctx, control) == {"core_halt", "core_reset"}
        if wait:
            await ctx.tick()
            assert on(ctx, control) == set()
        await launch(ctx, control)

    simulate(control, bench)


def test_soft_reset_after_a_fault_clears_the_core() -> None:
    control = Control()

    async def bench(ctx: Context) -> None:
        await launch(ctx, control)
        ctx.set(control.fault, Fault.SHIFT)
        await ctx.tick()
        ctx.set(control.fault, Fault.NONE)
        await drained(ctx, control, error=True)
        ctx.set(control.soft_reset, 1)
        assert on(ctx, control) == {"core_halt"}
        await ctx.tick()
        ctx.set(control.soft_reset, 0)
        assert on(ctx, control) == {"core_halt", "core_reset"}
        await ctx.tick()
        assert on(ctx, control) == set()
        assert ctx.get(control.error_code) == Fault.SHIFT

    simulate(control, bench)


def test_soft_reset_of_an_idle_machine_does_nothing() -> None:
    control = Control()

    async def bench(ctx: Context) -> None:
        ctx.set(control.soft_reset, 1)
        for _ in range(3):
            await ctx.tick()
            assert on(ctx, control) == set()

    simulate(control, bench)


def test_a_core_that_is_reset_is_halted() -> None:
    control = Control()
    resets = 0

    async def look(ctx: Context) -> None:
        nonlocal resets
        while True:
            await ctx.tick()
            if ctx.get(control.core_reset):
                resets += 1
                assert ctx.get(control.core_halt)

    async def bench(ctx: Context) -> None:
        await launch(ctx, control)
        ctx.set(control.soft_reset, 1)
        await ctx.tick()
        ctx.set(control.soft_reset, 0)
        await drained(ctx, control, error=False)
        for _ in range(3):
            await ctx.tick()
        await launch(ctx, control)
        # At the first launch, after the stop, and at the second.
        assert resets == 3

    simulate(control, bench, look)
