"""Instructions to queues, in order, up to the first that is refused."""

from __future__ import annotations

import random

import pytest
from amaranth.hdl import Value

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.encoding import INSTRUCTION_BYTES, Opcode
from tandem.hw.errors import ProgramError
from tandem.hw.faults import Fault
from tandem.hw.isa import (
    Assembler,
    Finish,
    Instruction,
    MemoryId,
    Program,
    Unit,
    encode,
    unit_of,
    validate,
)
from tandem.hw.registers import NO_INSTRUCTION
from tandem.hw.rtl.dispatch import Dispatch
from tandem.hw.rtl.layouts import queued_layout
from tandem.hw.timing import CHECK_STAGES
from tests.support.hw.rtl.rtl import (
    Agent,
    Context,
    Sink,
    Source,
    Watch,
    built,
    cycle,
    cycles,
    simulate,
)
from tests.support.hw.rtl.words import faults_of, near_legal_word

# Half of the cases of each test run always.
pytestmark = pytest.mark.every(2)

CONFIGS = [load_config(name) for name in ("tiny", "pynq", "small8")]
TINY = CONFIGS[0]
SHOWN_LATER = (Fault.SRAM_INDEX, Fault.TOKENS_LEFT, Fault.DEADLOCK, Fault.TOKEN_OVERFLOW)
"""What validate can tell of a program, and the machine when it runs."""

Words = list[int]


def number(config: HardwareConfig, instruction: Instruction) -> int:
    return int.from_bytes(encode(config, instruction), "little")


def legal_words(config: HardwareConfig, rng: random.Random, count: int) -> Words:
    """No fault, no FINISH."""
    words: Words = []
    while len(words) < count:
        drawn = [near_legal_word(rng, config) for _ in range(4 * count)]
        for word, fault in zip(drawn, faults_of(config, drawn), strict=True):
            if fault is Fault.NONE and word & 7 != Opcode.FINISH:
                words.append(word)
    return words[:count]


def wrong_word(config: HardwareConfig, rng: random.Random) -> int:
    """Any fault of its own."""
    while True:
        word = near_legal_word(rng, config)
        if faults_of(config, [word]) != [Fault.NONE]:
            return word


class Outcome:
    """What dispatch did with a program."""

    def __init__(self) -> None:
        self.dispatched: dict[Unit, list[tuple[int, int]]] = {unit: [] for unit in Unit}
        self.times: dict[Unit, list[int]] = {}
        self.event_cycles: dict[str, list[int]] = {"fetched": [], "dispatched": []}
        """The cycles in which each of these outputs of dispatch is high."""
        self.taken: list[int] = []
        """The cycles in which dispatch takes an instruction."""
        self.offered: list[bool] = []
        self.ready: dict[Unit, list[bool]] = {unit: [] for unit in Unit}
        """In each cycle: an instruction is offered; the unit's queue has space."""
        self.exhausted: list[bool] = []
        """In each cycle: dispatch says that nothing is left."""
        self.fault = Fault.NONE
        self.fault_index = 0


def run_dispatch(config: HardwareConfig, words: Words, seed: int, chance: float) -> Outcome:
    """Let dispatch take `words`; stop a while after it is stuck."""
    rng = random.Random(seed)
    dispatch = built(Dispatch, config)
    outcome = Outcome()
    layout = queued_layout()

    async def bench(ctx: Context) -> None:
        source = Source(dispatch.instruction, words, rng, chance)
        sinks = {unit: Sink(getattr(dispatch, unit.name.lower()), rng, chance) for unit in Unit}
        ctx.set(dispatch.start, 1)
        ctx.set(dispatch.count, len(words))
        await ctx.tick()
        ctx.set(dispatch.start, 0)
        ctx.set(dispatch.count, rng.getrandbits(32))
        quiet = 0

        def look(ctx: Context) -> None:
            watch_flags(ctx, dispatch, len(words))
            for name, times in outcome.event_cycles.items():
                if ctx.get(getattr(dispatch, name)):
                    times.append(sinks[Unit.LOAD].now)
            outcome.exhausted.append(bool(ctx.get(dispatch.exhausted)))
            outcome.offered.append(bool(ctx.get(dispatch.instruction.valid)))
            for unit, ready in outcome.ready.items():
                ready.append(bool(ctx.get(getattr(dispatch, unit.name.lower()).ready)))

        def settled() -> bool:
            nonlocal quiet
            quiet = quiet + 1 if ctx.get(dispatch.stuck) else 0
            return quiet > 60

        await cycles(ctx, source, Watch(look), *sinks.values(), until=settled)
        for unit, sink in sinks.items():
            queued = [layout.from_bits(value) for value in sink.received]
            outcome.dispatched[unit] = [(each.index, each.word) for each in queued]
            outcome.times[unit] = sink.times
        outcome.taken = source.times
        outcome.fault = Fault(ctx.get(dispatch.fault))
        outcome.fault_index = ctx.get(dispatch.fault_index)

    simulate(dispatch, bench)
    return outcome


def watch_flags(ctx: Context, dispatch: Dispatch, count: int) -> None:
    """In each cycle: one queue at most is offered the head; `exhausted` and `stuck` are true."""
    targets = [getattr(dispatch, unit.name.lower()) for unit in Unit]
    offered = [target for target in targets if ctx.get(target.valid)]
    assert len(offered) <= 1
    fault = Fault(ctx.get(dispatch.fault))
    assert not (offered and fault is not Fault.NONE)
    done = False
    if offered:
        index = queued_layout().from_bits(ctx.get(Value.cast(offered[0].payload))).index
        assert index < count
        assert not ctx.get(dispatch.exhausted)
        done = bool(ctx.get(offered[0].ready))
    assert ctx.get(dispatch.dispatched) == done
    blocked = fault is not Fault.NONE or (bool(offered) and not done)
    assert ctx.get(dispatch.stuck) == (ctx.get(dispatch.exhausted) | blocked)


def expected(config: HardwareConfig, words: Words) -> Outcome:
    """By the rules: each instruction in its queue, up to the one that is refused."""
    outcome = Outcome()
    data = b"".join(word.to_bytes(INSTRUCTION_BYTES, "little") for word in words)
    units = Program(config, data).units()
    finished = False
    for index, (word, fault) in enumerate(zip(words, faults_of(config, words), strict=True)):
        is_finish = word & 7 == Opcode.FINISH
        if fault is Fault.NONE and finished:
            fault = Fault.AFTER_FINISH
        if fault is Fault.NONE and index == len(words) - 1 and not is_finish:
            fault, index = Fault.NO_FINISH, NO_INSTRUCTION
        if fault is not Fault.NONE:
            outcome.fault, outcome.fault_index = fault, index
            return outcome
        outcome.dispatched[Unit(int(units[index]))].append((index, word))
        finished = finished or is_finish
    return outcome


@pytest.mark.parametrize("kind", ["legal", "after finish", "no finish", "wrong"])
@pytest.mark.parametrize("config", CONFIGS)
def test_deals_by_the_rules(config: HardwareConfig, kind: str) -> None:
    seed = len(kind)
    rng = random.Random(seed)
    words = [*legal_words(config, rng, 40), number(config, Finish())]
    match kind:
        case "after finish":
            words.append(rng.choice(words))
        case "no finish":
            words.pop()
        case "wrong":
            words[rng.randrange(40)] = wrong_word(config, rng)
    for chance in (1.0, 0.5):
        found, wanted = run_dispatch(config, words, seed, chance), expected(config, words)
        assert found.fault is wanted.fault
        assert found.dispatched == wanted.dispatched
        if wanted.fault is not Fault.NONE:
            assert found.fault_index == wanted.fault_index
        check_times(found)


@pytest.mark.parametrize("chance", [1.0, 0.5])
@pytest.mark.parametrize("kind", ["legal", "after finish", "no finish", "wrong", "wrong last"])
@pytest.mark.parametrize("count", [1, 2, 3, CHECK_STAGES, CHECK_STAGES + 1])
def test_the_end_of_short_programs(count: int, kind: str, chance: float) -> None:
    """The flags of the last instruction, in programs that fit into the stages, and about."""
    rng = random.Random(10 * count + len(kind))
    words = [*legal_words(TINY, rng, count)[: count - 1], number(TINY, Finish())]
    match kind:
        case "after finish":
            words.append(rng.choice(words))
        case "no finish":
            words[-1] = legal_words(TINY, rng, 1)[0]
        case "wrong":
            words[rng.randrange(count)] = wrong_word(TINY, rng)
        case "wrong last":
            words.append(wrong_word(TINY, rng))
    found, wanted = run_dispatch(TINY, words, count, chance), expected(TINY, words)
    assert (found.fault, found.dispatched) == (wanted.fault, wanted.dispatched)
    if wanted.fault is not Fault.NONE:
        assert found.fault_index == wanted.fault_index
    check_times(found)


def check_times(found: Outcome) -> None:
    """Each instruction is fetched when those before it are dispatched, then dispatched itself;
    one with a fault never is."""
    fetched, dispatched = found.event_cycles["fetched"], found.event_cycles["dispatched"]
    last = dispatched[-1] if dispatched and found.fault is Fault.NONE else len(found.exhausted)
    assert found.exhausted == [cycle > last for cycle in range(len(found.exhausted))]
    assert dispatched == sorted(time for times in found.times.values() for time in times)
    assert len(fetched) == len(dispatched) + (found.fault is not Fault.NONE)
    assert all(came <= went for came, went in zip(fetched, dispatched, strict=False))
    assert all(went < came for went, came in zip(dispatched, fetched[1:], strict=False))


def predicted(found: Outcome) -> tuple[list[int], dict[Unit, list[int]]]:
    """When instructions are taken and dispatched, by rule 3: one moves into a stage in the cycle
    in which the one ahead leaves it, or later."""
    units = {index: unit for unit in Unit for index, _ in found.dispatched[unit]}
    taken: list[int] = []
    times = {unit: list[int]() for unit in Unit}
    left = [-1] * CHECK_STAGES
    for _, unit in sorted(units.items()):
        cycle = max(left[0], taken[-1] + 1 if taken else 0)
        while not found.offered[cycle]:
            cycle += 1
        taken.append(cycle)
        moved = taken[-1]
        for stage in range(CHECK_STAGES - 1):
            left[stage] = moved = max(moved + 1, left[stage + 1])
        moved += 1
        while not found.ready[unit][moved]:
            moved += 1
        left[-1] = moved
        times[unit].append(moved)
    return taken, times


@pytest.mark.parametrize("chance", [1.0, 0.7, 0.3])
@pytest.mark.parametrize("config", CONFIGS)
def test_time_is_the_rules(config: HardwareConfig, chance: float) -> None:
    words = [*legal_words(config, random.Random(12), 60), number(config, Finish())]
    found = run_dispatch(config, words, 7, chance)
    assert (found.taken, found.times) == predicted(found)


def test_agrees_with_validate() -> None:
    """The same fault, at the same instruction."""
    rng = random.Random(9)
    seen = set()
    for _ in range(30):
        words = legal_words(TINY, rng, 6)
        words[rng.randrange(6)] = near_legal_word(rng, TINY)
        words.append(number(TINY, Finish()))
        data = b"".join(word.to_bytes(INSTRUCTION_BYTES, "little") for word in words)
        try:
            validate(Program(TINY, data))
            fault, index = Fault.NONE, None
        except ProgramError as error:
            fault, index = error.fault, error.instruction
        if fault in SHOWN_LATER:
            continue
        found = run_dispatch(TINY, words, 0, 1.0)
        assert found.fault is fault
        if fault is not Fault.NONE:
            assert found.fault_index == (NO_INSTRUCTION if index is None else index)
        seen.add(fault)
    assert len(seen) > 4


def test_one_a_cycle() -> None:
    assembler = Assembler(TINY)
    for _ in range(6):
        assembler.load(MemoryId.INP, sram=0, dram=0, columns=1)
        assembler.load(MemoryId.UOP, sram=0, dram=0, columns=1)
        assembler.load(MemoryId.WGT, sram=0, dram=0, columns=1)
        assembler.load(MemoryId.ACC_8BIT, sram=0, dram=0, columns=1)
        assembler.store(sram=0, dram=0, columns=1)
        assembler.gemm((0, 1))
    assembler.finish()
    program = assembler.build()
    words = [int.from_bytes(program.word(place), "little") for place in range(len(program))]
    found = run_dispatch(TINY, words, 0, 1.0)
    assert found.fault is Fault.NONE
    for unit in Unit:
        mine = [place for place, each in enumerate(program) if unit_of(each) is unit]
        assert [index for index, _ in found.dispatched[unit]] == mine
        assert found.times[unit] == [place + CHECK_STAGES for place in mine]
    assert found.event_cycles["fetched"] == found.event_cycles["dispatched"]


@pytest.mark.parametrize("blocked", Unit)
def test_a_full_queue_blocks_all_behind_it(blocked: Unit) -> None:
    order = {
        Unit.LOAD: (MemoryId.INP,),
        Unit.COMPUTE: (MemoryId.UOP,),
        Unit.STORE: (),
    }
    assembler = Assembler(TINY)
    for unit in (*(other for other in Unit if other is not blocked), blocked, *Unit):
        for memory in order[unit]:
            assembler.load(memory, sram=0, dram=0, columns=1)
        if unit is Unit.STORE:
            assembler.store(sram=0, dram=0, columns=1)
    assembler.finish()
    program = assembler.build()
    words = [int.from_bytes(program.word(place), "little") for place in range(len(program))]
    dispatch = built(Dispatch, TINY)

    async def bench(ctx: Context) -> None:
        rng = random.Random(0)
        source = Source(dispatch.instruction, words, rng)
        sinks = {
            unit: Sink(getattr(dispatch, unit.name.lower()), rng, float(unit is not blocked))
            for unit in Unit
        }
        ctx.set(dispatch.start, 1)
        ctx.set(dispatch.count, len(words))
        await ctx.tick()
        ctx.set(dispatch.start, 0)
        assert not ctx.get(dispatch.stuck)
        counts = {"fetched": 0, "dispatched": 0}

        def look(ctx: Context) -> None:
            for name in counts:
                counts[name] += ctx.get(getattr(dispatch, name))

        agents: list[Agent] = [source, Watch(look), *sinks.values()]
        for _ in range(2):
            await cycles(ctx, *agents, until=lambda: bool(ctx.get(dispatch.stuck)))
            end = len(source.times) + sum(len(sink.received) for sink in sinks.values())
            assert ctx.get(dispatch.stuck)
            await cycle(ctx, *agents, count=10)
            assert end == len(source.times) + sum(len(sink.received) for sink in sinks.values())
        assert {len(sink.received) for unit, sink in sinks.items() if unit is not blocked} == {1}
        assert not sinks[blocked].received
        assert counts == {"fetched": 3, "dispatched": 2}
        # The stages hold what came after it.
        assert len(source.times) == 2 + CHECK_STAGES
        sinks[blocked].chance = 1.0
        done = len(words)
        await cycles(
            ctx,
            *agents,
            until=lambda: sum(len(sink.received) for sink in sinks.values()) == done,
        )
        assert ctx.get(dispatch.stuck)
        assert ctx.get(dispatch.fault) == Fault.NONE

    simulate(dispatch, bench)


def test_a_new_program_starts_from_zero() -> None:
    dispatch = built(Dispatch, TINY)

    async def bench(ctx: Context) -> None:
        rng = random.Random(0)
        sinks = [Sink(getattr(dispatch, unit.name.lower()), rng) for unit in Unit]
        assert ctx.get(dispatch.stuck)
        for count in (3, 1, 1, 2, 3):
            sinks[Unit.COMPUTE].received.clear()
            loads = [number(TINY, _uop_load()) for _ in range(count - 1)]
            source = Source(dispatch.instruction, [*loads, number(TINY, Finish())], rng)
            ctx.set(dispatch.start, 1)
            ctx.set(dispatch.count, count)
            await ctx.tick()
            ctx.set(dispatch.start, 0)
            assert not ctx.get(dispatch.exhausted)
            await cycles(ctx, source, *sinks, until=lambda: bool(ctx.get(dispatch.stuck)))
            assert ctx.get(dispatch.exhausted)
            queued = [queued_layout().from_bits(word) for word in sinks[Unit.COMPUTE].received]
            assert [each.index for each in queued] == list(range(count))
            assert ctx.get(dispatch.fault) == Fault.NONE

    simulate(dispatch, bench)


def _uop_load() -> Instruction:
    assembler = Assembler(TINY)
    assembler.load(MemoryId.UOP, sram=0, dram=0, columns=1)
    return assembler.build()[0]
