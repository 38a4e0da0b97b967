"""The memory of thread pools: where native code finds each field, by hand."""

from __future__ import annotations

from ctypes import Structure, sizeof

import pytest

from tandem.runtime.native.pool_state import (
    CACHE_LINE,
    CPU_SET_BYTES,
    CallState,
    HelperState,
    LoopState,
    PoolState,
    RangeState,
)


@pytest.mark.parametrize(
    ("structure", "size", "offsets"),
    [
        (
            CallState,
            48,
            {"launch": 0, "pool": 8, "poll": 16, "next_poll": 24, "poll_every": 32, "stopped": 40},
        ),
        (RangeState, 64, {"left": 0}),
        (
            LoopState,
            64,
            {
                **{"call": 0, "task": 8, "closure": 16, "iterations": 24, "unit": 32},
                **{"ranges": 40, "range_count": 48, "shares": 56},
            },
        ),
        (HelperState, 256, {"asleep": 0, "thread": 4, "semaphore": 64, "cpus": 128}),
        (
            PoolState,
            320,
            {
                # What threads wait for, what callers write and what nobody writes lie apart.
                **{"gate": 0, "busy": 64, "missed": 72, "ended": 80},
                **{"closed": 128, "helpers": 136, "spin": 144, "worth": 152, "shares": 160},
                **{"left": 192, "loop": 256},
            },
        ),
    ],
)
def test_fields(structure: type[Structure], size: int, offsets: dict[str, int]) -> None:
    assert sizeof(structure) == size
    assert {name: getattr(structure, name).offset for name in offsets} == offsets


def test_sizes_of_the_system() -> None:
    # A `cpu_set_t` has 1024 bits.
    assert (CACHE_LINE, CPU_SET_BYTES) == (64, 1024 // 8)
    assert PoolState.left.size == HelperState.semaphore.size == 64
    assert HelperState.cpus.size == 128


def test_a_value_that_no_field_takes_is_refused() -> None:
    with pytest.raises(TypeError):
        PoolState(gate="open")
