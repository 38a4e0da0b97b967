"""Where the cycles went."""

from __future__ import annotations

import random

import pytest

from hw.registers import State, register_map
from hw.rtl.counters import Counters, counter_names
from hw.topology import Unit
from tests.support.rtl import Context, seeds, simulate


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
            if snapshot or not running:
                copy = dict(live)
            if clear:
                live = dict.fromkeys(live, 0)
            elif running:
                live["cycles"] += 1
                for unit, state in states.items():
                    if state is not None:
                        live[f"{unit.name.lower()}_{state.value}"] += 1

    simulate(counters, bench)
