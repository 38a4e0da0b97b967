"""Memory behind the master port: its time is the model's, its data are the program's, and a master
that breaks a rule of AXI is caught. Both benches, one behaviour."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tandem.hw.memory_model import MEMORY_PRESETS, MemoryModel
from tandem.sim.engine import Stalls
from tandem.sim.errors import EngineError
from tandem.sim.rtl.bench import Bench
from tests.sim.rtl.benches import expected_times, random_memory, run_traffic
from tests.support.sim.traffic import AxiViolation, Traffic, pattern

# Half of the cases of each test run always.
pytestmark = pytest.mark.every(2)

MakeBench = Callable[[MemoryModel], Bench]

FAST = MEMORY_PRESETS["fast"]
SIZE = 1 << 16
models = st.builds(
    MemoryModel, latency=st.integers(1, 40), interval=st.integers(1, 5), in_flight=st.integers(1, 6)
)
lengths = st.sampled_from([1, 2, 3, 8, 16])
shared_bench = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60
)


def read_sum(memory: np.ndarray, traffic: Traffic) -> int:
    words = memory[traffic.read_address :][: 8 * traffic.reads * traffic.length].view("<u8")
    return int(np.sum(words, dtype=np.uint64))


@shared_bench
@given(model=models, reads=st.integers(0, 12), writes=st.integers(0, 12), length=lengths)
def test_time_is_the_models(
    compiled_bench: MakeBench, model: MemoryModel, reads: int, writes: int, length: int
) -> None:
    memory = random_memory(SIZE)
    traffic = Traffic(reads=reads, writes=writes, length=length, write_address=SIZE // 2)
    checksum = read_sum(memory, traffic)
    seen = run_traffic(compiled_bench(model), traffic, memory)
    assert seen.times == expected_times(model, traffic)
    assert seen.checksum == checksum
    written = memory[SIZE // 2 :][: 8 * writes * length].view("<u8")
    assert written.tolist() == [pattern(beat) for beat in range(writes * length)]


@pytest.mark.parametrize(
    "model", [*MEMORY_PRESETS.values(), MemoryModel(1, 1, 1), MemoryModel(1, 200, 1)], ids=str
)
def test_time_starts_afresh_with_each_launch(make_bench: MakeBench, model: MemoryModel) -> None:
    """The interval of 200 cycles is longer than what lies between the launches."""
    bench = make_bench(model)
    for length in (1, 16, 5):
        traffic = Traffic(reads=7, writes=6, length=length, write_address=SIZE // 2)
        seen = run_traffic(bench, traffic, random_memory(SIZE))
        assert seen.times == expected_times(model, traffic)


@shared_bench
@given(seed=st.integers(0, 1 << 64), percent=st.integers(1, 95), length=lengths)
def test_stalls_change_time_and_nothing_else(
    compiled_bench: MakeBench, seed: int, percent: int, length: int
) -> None:
    memory, calm = random_memory(SIZE), random_memory(SIZE)
    traffic = Traffic(reads=9, writes=9, length=length, write_address=SIZE // 2)
    stalls = Stalls(percent / 100, seed % (1 << 64))
    seen = run_traffic(compiled_bench(FAST), traffic, memory, stalls=stalls)
    quiet = run_traffic(compiled_bench(FAST), traffic, calm)
    assert seen.checksum == quiet.checksum
    assert np.array_equal(memory, calm)
    assert [len(times) for times in seen.times.values()] == [
        len(times) for times in quiet.times.values()
    ]


@pytest.mark.parametrize("hands", [AxiViolation.NONE, AxiViolation.HANDS_OFF])
@pytest.mark.parametrize("stalls", [None, Stalls(0.5, 3)])
def test_benches_agree_on_every_cycle(
    compiled_bench: MakeBench,
    simulator_bench: MakeBench,
    stalls: Stalls | None,
    hands: AxiViolation,
) -> None:
    model = MemoryModel(5, 2, 3)
    traffic = Traffic(reads=6, writes=6, length=4, write_address=SIZE // 2, misdeeds=hands)
    ours, theirs = random_memory(SIZE), random_memory(SIZE)
    assert run_traffic(compiled_bench(model), traffic, ours, stalls=stalls) == run_traffic(
        simulator_bench(model), traffic, theirs, stalls=stalls
    )
    assert np.array_equal(ours, theirs)


def test_same_seed_same_stalls(compiled_bench: MakeBench) -> None:
    traffic = Traffic(reads=9, length=4)
    first, again, other = (
        run_traffic(compiled_bench(FAST), traffic, random_memory(SIZE), stalls=Stalls(0.5, seed))
        for seed in (1, 1, 2)
    )
    assert first == again
    assert first.times != other.times


@pytest.mark.parametrize("strobes", [0x00, 0x01, 0x80, 0x3C, 0xFF])
def test_strobes_choose_bytes(make_bench: MakeBench, strobes: int) -> None:
    memory = random_memory(SIZE)
    before = memory.copy()
    run_traffic(make_bench(FAST), Traffic(writes=1, strobes=strobes), memory)
    for byte in range(8):
        assert memory[byte] == (1 if strobes >> byte & 1 else before[byte])
    assert np.array_equal(memory[8:], before[8:])


@pytest.mark.parametrize(
    ("address", "refused", "worst"),
    [
        (SIZE - 64, (), 0),
        (SIZE, (), 3),
        (0x8000_0000, (), 3),
        (0x100, ((0x108, 0x109),), 2),
        (0x100, ((0x0, 0x100), (0x140, 0x180)), 0),
    ],
)
def test_errors_of_memory(
    make_bench: MakeBench, address: int, refused: tuple[tuple[int, int], ...], worst: int
) -> None:
    for traffic in (
        Traffic(reads=1, length=8, read_address=address),
        Traffic(writes=1, length=8, write_address=address),
    ):
        memory = random_memory(SIZE)
        before = memory.copy()
        seen = run_traffic(make_bench(FAST), traffic, memory, refused=refused)
        assert seen.worst == worst
        if worst == 3:
            assert seen.checksum == 0
            assert np.array_equal(memory, before)


@pytest.mark.parametrize(
    ("traffic", "message"),
    [
        (Traffic(reads=3, misdeeds=AxiViolation.MOVE_AR), "AR changed or fell before ARREADY"),
        (Traffic(writes=3, misdeeds=AxiViolation.DROP_AW), "AW changed or fell before AWREADY"),
        (Traffic(writes=3, misdeeds=AxiViolation.CHANGE_W), "W changed or fell before WREADY"),
        (
            Traffic(writes=1, length=4, misdeeds=AxiViolation.NEVER_LAST),
            "WLAST is not on the last beat",
        ),
        (Traffic(reads=1, misdeeds=AxiViolation.NARROW), "AR: only INCR bursts of full beats"),
        (Traffic(reads=1, read_address=0x101), "AR: only INCR bursts of full beats"),
        (Traffic(writes=1, write_address=0x2004), "AW: only INCR bursts of full beats"),
        (Traffic(reads=1, length=2, read_address=0xFF8), "AR crosses a 4 KiB page"),
        (Traffic(writes=1, length=9, write_address=0x1FC0), "AW crosses a 4 KiB page"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_broken_rules_are_caught(make_bench: MakeBench, traffic: Traffic, message: str) -> None:
    bench = make_bench(MemoryModel(latency=4, interval=2, in_flight=1))
    with pytest.raises(EngineError, match=f"protocol violation on m_axi: {message}"):
        run_traffic(bench, traffic, random_memory(SIZE))


def test_a_refused_register(make_bench: MakeBench) -> None:
    bench = make_bench(FAST)
    with pytest.raises(EngineError, match=r"read of register 0x200: .* answered with response 2"):
        bench.read(0x200)


@pytest.mark.parametrize("stalls", [Stalls(1.0), Stalls(-0.1), Stalls(0.5, -1)])
def test_impossible_stalls(make_bench: MakeBench, stalls: Stalls) -> None:
    with pytest.raises(EngineError, match="must be in 0"):
        run_traffic(make_bench(FAST), Traffic(reads=1), random_memory(SIZE), stalls=stalls)
