"""One lane: results are those of executing one micro-op after the other."""

from __future__ import annotations

import random
from dataclasses import dataclass

import pytest

from hw.operations import MAX_SHIFT, AluOp
from hw.rtl.lane import Lane
from hw.timing import tree_levels
from tests.support.alu_cases import alu_result, wrapped
from tests.support.rtl import Context, seeds, simulate

ELEMENTS = 3
"""So few that micro-ops keep meeting each other's results."""
HELD = ("from_write", "from_written")
"""Where a second operand that is read ahead can come from."""
GARBAGE = -0x21524111
"""What memory gives of an element that is written while it is read."""


@dataclass
class MicroOp:
    """What one micro-op does to its accumulator, and, once known, with what result."""

    gemm: bool
    reset: bool
    op: AluOp
    dst: int
    src: int | None
    imm: int
    inp: list[int]
    wgt: list[int]
    result: int = 0


def random_slots(
    rng: random.Random, block: int, count: int, ports: int = 2
) -> list[MicroOp | None]:
    """Micro-ops with their results, and bubbles between them. Memory starts at zero.

    With one read port of ACC, a micro-op that reads it twice comes after a bubble.
    """
    memory = [0] * ELEMENTS
    slots: list[MicroOp | None] = []
    for _ in range(count):
        if rng.random() < 0.2:
            slots.append(None)
            continue
        kind = rng.choice(("gemm", "gemm", "reset", "immediate", "tensor", "tensor"))
        op = AluOp.ADD if kind in ("gemm", "reset") else rng.choice(list(AluOp))
        dst, src = rng.randrange(ELEMENTS), rng.randrange(ELEMENTS)
        if kind == "tensor" and op is AluOp.SHR and abs(memory[src]) > MAX_SHIFT:
            op = AluOp.MIN
        micro_op = MicroOp(
            gemm=kind in ("gemm", "reset"),
            reset=kind == "reset",
            op=op,
            dst=dst,
            src=src if kind == "tensor" else None,
            imm=rng.randint(-MAX_SHIFT, MAX_SHIFT) if op is AluOp.SHR else rng.randint(-99, 99),
            inp=[rng.randint(-128, 127) for _ in range(block)],
            wgt=[rng.randint(-128, 127) for _ in range(block)],
        )
        micro_op.result = memory[dst] = executed(micro_op, memory)
        if ports == 1 and micro_op.src is not None:
            slots.append(None)
        slots.append(micro_op)
    return slots


def executed(micro_op: MicroOp, memory: list[int]) -> int:
    """Its result, as a signed number of 32 bits."""
    if micro_op.reset:
        return 0
    a = memory[micro_op.dst]
    b = micro_op.imm if micro_op.src is None else memory[micro_op.src]
    if micro_op.gemm:
        b = sum(x * y for x, y in zip(micro_op.inp, micro_op.wgt, strict=True))
    return alu_result(micro_op.op, a, wrapped(b))


class Surroundings:
    """The pipeline and ACC around a lane: slot `n` is gathered in cycle `n`."""

    def __init__(self, lane: Lane, block: int, slots: list[MicroOp | None], ports: int = 2) -> None:
        self.lane = lane
        self.holds = ports == 1
        self.levels = tree_levels(block)
        self.slots = slots

    def slot(self, cycle: int) -> MicroOp | None:
        return self.slots[cycle] if 0 <= cycle < len(self.slots) else None

    def memory(self, element: int, cycle: int) -> int:
        """What memory gives in `cycle`: a write three slots ahead came too late for it."""
        just = self.slot(cycle - 3)
        if just is not None and just.dst == element:
            return GARBAGE
        for earlier in range(cycle - 4, -1, -1):
            micro_op = self.slot(earlier)
            if micro_op is not None and micro_op.dst == element:
                return micro_op.result
        return 0

    def forward(self, element: int | None, cycle: int) -> dict[str, int]:
        names = ("from_execute", "from_write", "from_written")
        writers = [self.slot(cycle - distance) for distance in (1, 2, 3)]
        return {
            name: int(writer is not None and writer.dst == element)
            for name, writer in zip(names, writers, strict=True)
        }

    def drive(self, ctx: Context, cycle: int) -> None:
        control: dict[str, object] = {"gather": 0, "execute": 0}
        gathered, executes = self.slot(cycle), self.slot(cycle - 1)
        if gathered is not None:
            control |= {
                "gather": 1,
                "gather_imm": int(gathered.src is None),
                "imm": gathered.imm,
                "dst": self.forward(gathered.dst, cycle),
                "src": self.forward(gathered.src, cycle),
            }
            ctx.set(self.lane.dst, self.memory(gathered.dst, cycle))
            if not self.holds:
                src = GARBAGE if gathered.src is None else self.memory(gathered.src, cycle)
                ctx.set(self.lane.src, src)
        if self.holds:
            self.hold(ctx, cycle)
        if executes is not None:
            control |= {
                "execute": 1,
                "execute_gemm": int(executes.gemm),
                "execute_reset": int(executes.reset),
                "op": executes.op,
            }
        ctx.set(self.lane.control, control)
        multiplied = self.slot(cycle + self.levels)
        if multiplied is not None:
            ctx.set(self.lane.inp, packed(multiplied.inp))
            ctx.set(self.lane.wgt, packed(multiplied.wgt))
        enable = 0
        for stage in range(1 + self.levels):
            micro_op = self.slot(cycle + self.levels - stage)
            enable |= int(micro_op is not None and micro_op.gemm and not micro_op.reset) << stage
        ctx.set(self.lane.enable, enable)

    def hold(self, ctx: Context, cycle: int) -> None:
        """What the next slot's micro-op reads second is there now, and only now."""
        following = self.slot(cycle + 1)
        element = following.src if following is not None else None
        if element is None:
            ctx.set(self.lane.hold, {"take": 0})
            ctx.set(self.lane.src, GARBAGE)
            return
        forward = self.forward(element, cycle)
        ctx.set(self.lane.hold, {"take": 1, **{name: forward[name] for name in HELD}})
        ctx.set(self.lane.src, self.memory(element, cycle))


def packed(vector: list[int]) -> int:
    return int.from_bytes(bytes(value & 0xFF for value in vector), "little")


@pytest.mark.parametrize("seed", seeds(3))
@pytest.mark.parametrize(
    ("block", "ports"), [(1, 2), (4, 2), (8, 2), (32, 2), (2, 1), (8, 1), (32, 1)]
)
def test_forwards_results_at_every_distance(block: int, ports: int, seed: int) -> None:
    slots = random_slots(random.Random(seed), block, 150, ports)
    lane = Lane(block, ports)
    around = Surroundings(lane, block, slots, ports)

    async def bench(ctx: Context) -> None:
        for cycle in range(-around.levels, len(slots) + 2):
            around.drive(ctx, cycle)
            written = around.slot(cycle - 2)
            if written is not None:
                assert ctx.get(lane.result) == written.result, f"slot {cycle - 2}: {written}"
            if around.slot(cycle - 1) is not None:
                assert not ctx.get(lane.shift_out_of_range)
            await ctx.tick()

    simulate(lane, bench)


@pytest.mark.parametrize("distance", [1, 2, 3, 4])
@pytest.mark.parametrize("operand", ["dst", "src"])
def test_one_operand_at_one_distance(operand: str, distance: int) -> None:
    """Two micro-ops with bubbles between them, and nothing else to help."""

    def add(dst: int, src: int | None, imm: int, result: int) -> MicroOp:
        return MicroOp(False, False, AluOp.ADD, dst, src, imm, [0], [0], result)

    first = add(0, None, 41, 41)
    second = add(0, None, 1, 42) if operand == "dst" else add(1, 0, 0, 41)
    slots: list[MicroOp | None] = [first, *[None] * (distance - 1), second]
    lane = Lane(1)
    around = Surroundings(lane, 1, slots)

    async def bench(ctx: Context) -> None:
        for cycle in range(len(slots) + 1):
            around.drive(ctx, cycle)
            await ctx.tick()
        assert ctx.get(lane.result) == second.result

    simulate(lane, bench)


@pytest.mark.parametrize(
    ("amount", "shift_out_of_range"), [(31, 0), (32, 1), (-31, 0), (-32, 1), (1 << 30, 1)]
)
def test_a_shift_by_an_accumulator_is_checked(amount: int, shift_out_of_range: int) -> None:
    lane = Lane(1)

    async def bench(ctx: Context) -> None:
        ctx.set(lane.control, {"gather": 1})
        ctx.set(lane.src, amount)
        await ctx.tick()
        ctx.set(lane.control, {"execute": 1, "op": AluOp.SHR})
        assert ctx.get(lane.shift_out_of_range) == shift_out_of_range

    simulate(lane, bench)
