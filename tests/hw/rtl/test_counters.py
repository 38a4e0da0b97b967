"""Where the cycles went."""

from __future__ import annotations

import random

import pytest

from tandem.hw.registers import State, register_map
from tandem.hw.rtl.counters import Counters, counter_names
from tandem.hw.topology import Unit
from tests.support.hw.rtl.rtl import Context, seeds, simulate


def test_every_counter_is_a_register() -> None:
    names = [register.name for register in register_map()]
    assert [name for name in names if name in counter_names()] == list(counter_names())
    assert len(counter_names()) == 1 + len(Unit) * len(State)


@pytest.mark.parametrize("seed", seeds(3))
def test_counts_states_while_running(seed: int) -> None:
    rng = random.Random(seed)
    counters = Counters()

    async def bench(ctx: Context) -> None:
        live = dict.fromkeys(counter_names(), 0)
        copy = dict(live)
        # What the cycle before adds: each cycle is counted in the next one.
        was_running = False
        happened: list[str] = []
        for cycle in range(300):
            running = cycle // 40 % 2 == 0
            clear, snapshot = rng.random() < 0.01, rng.random() < 0.05
            states = {unit: rng.choice((*State, None)) for unit in Unit}
            ctx.set(counters.running, running)
            ctx.set(counters.clear, clear)
            ctx.set(counters.snapshot, snapshot)
            for unit, state in states.items():
                status = getattr(counters, f"{unit.name.lower()}_status")
                for other in State:
                    ctx.set(getattr(status, other.value), other is state)
            for name, value in copy.items():
                assert ctx.get(getattr(counters, name)) == value, f"{name} in cycle {cycle}"
            await ctx.tick()
            if snapshot or not was_running:
                copy = dict(live)
            if clear:
                live = dict.fromkeys(live, 0)
            else:
                for name in happened:
                    live[name] += 1
            was_running = running
            happened = ["cycles"] if running else []
            for unit, state in states.items():
                if running and state is not None:
                    happened.append(f"{unit.name.lower()}_{state.value}")

    simulate(counters, bench)


@pytest.mark.parametrize("pause", [1, 2, 5])
def test_every_cycle_of_a_run_counts_and_none_of_the_run_before(pause: int) -> None:
    """Runs that follow each other as `Control` has them: `clear` comes two cycles before."""
    counters = Counters()
    unit = Unit.COMPUTE
    status = counters.compute_status

    async def bench(ctx: Context) -> None:
        for length in (7, 1, 30):
            ctx.set(counters.clear, 1)
            await ctx.tick()
            ctx.set(counters.clear, 0)
            # Being reset, the core may say anything.
            for state in State:
                ctx.set(getattr(status, state.value), 1)
            await ctx.tick()
            ctx.set(counters.running, 1)
            for now in range(length):
                for place, state in enumerate(State):
                    ctx.set(getattr(status, state.value), now % len(State) == place)
                await ctx.tick()
            ctx.set(counters.running, 0)
            for state in State:
                ctx.set(getattr(status, state.value), 1)
            # A run is shown three cycles after its last, also if the next is launched by then.
            for _ in range(pause):
                await ctx.tick()
            if pause >= 2:
                assert ctx.get(counters.cycles) == length
                for place, state in enumerate(State):
                    name = f"{unit.name.lower()}_{state.value}"
                    expected = len(range(place, length, len(State)))
                    assert ctx.get(getattr(counters, name)) == expected, name
                assert ctx.get(counters.load_busy) == 0

    simulate(counters, bench)
