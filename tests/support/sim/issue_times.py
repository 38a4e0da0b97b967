"""When micro-ops are issued and when the instructions that issue them end: rule 6, with stalls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tandem.hw.config import HardwareConfig
from tandem.hw.custom_operations import MOST_STAGES, CustomOperation
from tandem.hw.isa import Alu, Gemm, Load, MemoryId, Program, Requantise
from tandem.hw.timing import (
    EARLY_OPS,
    FORWARD_DISTANCE,
    STALL_STAGE,
    custom_lead,
    forward_distance,
    issue_cycles,
    out_delay,
    pipeline_depth,
)
from tests.support.sim.reference import Image, ReferenceMachine


@dataclass(frozen=True, slots=True)
class Slot:
    """A micro-op in the pipeline."""

    dst: int
    """The accumulator that it writes."""
    waits_for: tuple[int, ...]
    """The accumulators whose results must be `distance` slots ahead."""
    distance: int = FORWARD_DISTANCE


Slots = Sequence[Slot | None]
"""What goes into the pipeline, cycle by cycle; None is a bubble, or a REQUANTISE."""


def slots_of(program: Program, image: Image) -> dict[int, Slots]:
    """What each GEMM, ALU and REQUANTISE of a program issues, by position.

    The micro-op memory is replayed from the LOADs; `image` is DRAM before the run, with all bases
    0, and no STORE may write the micro-ops in it.
    """
    machine = ReferenceMachine(program.config)
    slots: dict[int, Slots] = {}
    for position, instruction in enumerate(program):
        match instruction:
            case Load(memory=MemoryId.UOP):
                machine.step(instruction, image, position)
            case Gemm() | Alu():
                slots[position] = list(_slots(program.config, instruction, machine))
            case Requantise():
                slots[position] = [None]
    return slots


def _slots(
    config: HardwareConfig, loops: Gemm | Alu, machine: ReferenceMachine
) -> Iterator[Slot | None]:
    kernel = [machine.micro_op(index) for index in range(loops.uop_bgn, loops.uop_end)]
    tensor = isinstance(loops, Alu) and not (loops.use_imm or loops.from_inp)
    is_custom = isinstance(loops, Alu) and isinstance(loops.op, CustomOperation)
    is_early = is_custom or (isinstance(loops, Alu) and loops.op in EARLY_OPS)
    distance = forward_distance(config, custom=is_custom)
    if is_custom:
        yield from [None] * custom_lead(config)
    for o in range(loops.iter_out):
        for i in range(loops.iter_in):
            for uop in kernel:
                for _ in range(issue_cycles(config, two_reads=tensor) - 1):
                    yield None
                dst = uop.dst + o * loops.dst_factor_out + i * loops.dst_factor_in
                src = uop.src + o * loops.src_factor_out + i * loops.src_factor_in
                yield Slot(dst, (dst,) * is_early + (src,) * tensor, distance)


@dataclass
class _Stages:
    """The pipeline's stages up to the last whose result the stage of the stall can wait for, in the
    cycle `now`."""

    now: int = 0
    slots: list[Slot | None] = field(
        default_factory=lambda: [None] * (STALL_STAGE + FORWARD_DISTANCE + MOST_STAGES - 2)
    )
    """Stages 1, 2, ..."""

    @property
    def stall(self) -> bool:
        """Whether nothing can be issued in this cycle."""
        waits, *results = self.slots[STALL_STAGE - 1 :]
        return waits is not None and any(
            ahead is not None and ahead.dst in waits.waits_for
            for ahead in results[: waits.distance - 1]
        )

    def step(self, issued: Slot | None = None) -> None:
        """To the next cycle."""
        if self.stall:
            assert issued is None
            self.slots = [*self.slots[:STALL_STAGE], None, *self.slots[STALL_STAGE:-1]]
        else:
            self.slots = [issued, *self.slots[:-1]]
        self.now += 1

    def written(self, depth: int) -> int:
        """The cycle in which the slot in stage 1 is written."""
        later = replace(self)
        moves = 0
        while moves < STALL_STAGE:
            moves += not later.stall
            later.step()
        return later.now + depth - STALL_STAGE - 1


@dataclass
class IssueTimes:
    """The times of GEMM, ALU and REQUANTISE by position, and the cycles with a stall."""

    last_issue: dict[int, int] = field(default_factory=dict)
    """The cycle in which the last micro-op is issued."""
    end: dict[int, int] = field(default_factory=dict)
    stalls: list[int] = field(default_factory=list)


def issue_times(
    config: HardwareConfig, slots: Mapping[int, Slots], started: Mapping[int, int]
) -> IssueTimes:
    """The times that follow from the cycles in which the instructions in `slots` have started."""
    times, stages = IssueTimes(), _Stages()

    def pass_cycle(slot: Slot | None = None) -> None:
        if stages.stall:
            times.stalls.append(stages.now)
        stages.step(slot)

    for position, content in slots.items():
        first = started[position] + 1
        while stages.now < first and any(stages.slots):
            pass_cycle()
        stages.now = max(stages.now, first)
        for slot in content:
            while stages.stall:
                pass_cycle()
            pass_cycle(slot)
        times.last_issue[position] = stages.now - 1
        times.end[position] = stages.written(pipeline_depth(config)) + out_delay(config)
    while any(stages.slots):
        pass_cycle()
    return times
