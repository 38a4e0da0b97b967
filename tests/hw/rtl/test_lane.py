"""One lane: results are those of executing one micro-op after the other."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from tandem.hw.instruction_fields import SCALE_BITS
from tandem.hw.operations import MAX_SHIFT, AluOp
from tandem.hw.rtl.lane import Lane
from tandem.hw.timing import EARLY_OPS, FORWARD_DISTANCE, tree_levels
from tests.support.hw.alu_cases import alu_result, wrapped
from tests.support.hw.rtl.rtl import Context, built, seeds, simulate

# Half of the cases of each test run always.
pytestmark = pytest.mark.every(2)

ELEMENTS = 3
"""So few that micro-ops keep meeting each other's results."""
MOST_SCALE = (1 << SCALE_BITS) - 1
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
    inp: list[int] = field(default_factory=list)
    wgt: list[int] = field(default_factory=list)
    result: int = 0
    overwrite: bool = False
    scale: int = 0
    scaled: int | None = None
    """Of a RESIDUAL: the second operand times the scale, modulo 2**32."""

    @property
    def clears(self) -> bool:
        """Whether the first operand counts as 0."""
        return self.reset or self.overwrite or (not self.gemm and self.op is AluOp.MOVE)

    @property
    def drops(self) -> bool:
        """Whether the second operand counts as 0."""
        return self.reset or (not self.gemm and self.op is AluOp.RESIDUAL)

    def waits_for(self, ahead: MicroOp | None) -> bool:
        """Whether it must be `FORWARD_DISTANCE` behind the micro-op `ahead`, whose result it uses
        as the second operand, or in a product or shift."""
        if ahead is None:
            return False
        early = not self.gemm and self.op in EARLY_OPS
        return ahead.dst == self.src or (early and ahead.dst == self.dst)

    def waits_behind(self, slots: Sequence[MicroOp | None]) -> bool:
        """Whether it cannot be in the slot behind these."""
        return any(self.waits_for(ahead) for ahead in slots[1 - FORWARD_DISTANCE :])


def random_slots(
    rng: random.Random, block: int, count: int, ports: int = 2
) -> list[MicroOp | None]:
    """Micro-ops with their results, and bubbles between them. Memory starts at zero.

    With one read port of ACC, a micro-op that reads it twice comes after a bubble. A second
    operand, and one of MUL or SHR, is not the result of the two slots before: there are as many
    bubbles between as that takes.
    """
    memory = [0] * ELEMENTS
    slots: list[MicroOp | None] = []
    for _ in range(count):
        if rng.random() < 0.2:
            slots.append(None)
            continue
        kind = rng.choice(("gemm", "gemm", "overwrite", "reset", "immediate", "tensor", "tensor"))
        multiplies = kind in ("gemm", "overwrite", "reset")
        op = AluOp.ADD if multiplies else rng.choice(list(AluOp))
        dst, src = rng.randrange(ELEMENTS), rng.randrange(ELEMENTS)
        if kind == "tensor" and op is AluOp.SHR and abs(memory[src]) > MAX_SHIFT:
            op = AluOp.MIN
        micro_op = MicroOp(
            gemm=multiplies,
            reset=kind == "reset",
            overwrite=kind == "overwrite",
            op=op,
            dst=dst,
            src=src if kind == "tensor" else None,
            imm=rng.randint(-MAX_SHIFT, MAX_SHIFT) if op is AluOp.SHR else rng.randint(-99, 99),
            inp=[rng.randint(-128, 127) for _ in range(block)],
            wgt=[rng.randint(-128, 127) for _ in range(block)],
            scale=rng.choice((0, 1, MOST_SCALE, rng.getrandbits(SCALE_BITS))),
        )
        micro_op.result = memory[dst] = executed(micro_op, memory)
        if ports == 1 and micro_op.src is not None:
            slots.append(None)
        while micro_op.waits_behind(slots):
            slots.append(None)
        slots.append(micro_op)
    return slots


def executed(micro_op: MicroOp, memory: list[int]) -> int:
    """Its result, as a signed number of 32 bits."""
    if micro_op.reset:
        return 0
    a = 0 if micro_op.overwrite else memory[micro_op.dst]
    b = micro_op.imm if micro_op.src is None else memory[micro_op.src]
    if not micro_op.gemm and micro_op.op is AluOp.RESIDUAL:
        micro_op.scaled = b * micro_op.scale & 0xFFFF_FFFF
    if micro_op.gemm:
        b = sum(x * y for x, y in zip(micro_op.inp, micro_op.wgt, strict=True))
    return alu_result(micro_op.op, a, wrapped(b))


class Surroundings:
    """The pipeline and ACC around a lane: slot `n` is gathered in cycle `n`.

    It is prepared in cycle `n + 1`, executed in `n + 2` and written in `n + 3`.
    """

    def __init__(self, lane: Lane, block: int, slots: list[MicroOp | None], ports: int = 2) -> None:
        self.lane = lane
        self.holds = ports == 1
        self.residuals = "scale" in lane.signature.members
        self.levels = tree_levels(block)
        self.slots = slots
        self.noise = random.Random(len(slots)).getrandbits

    def slot(self, cycle: int) -> MicroOp | None:
        return self.slots[cycle] if 0 <= cycle < len(self.slots) else None

    def memory(self, element: int, cycle: int) -> int:
        """What memory gives in `cycle`: a write four slots ahead came too late for it."""
        just = self.slot(cycle - 4)
        if just is not None and just.dst == element:
            return GARBAGE
        for earlier in range(cycle - 5, -1, -1):
            micro_op = self.slot(earlier)
            if micro_op is not None and micro_op.dst == element:
                return micro_op.result
        return 0

    def wrote(self, slot: int, element: int | None) -> int:
        writer = self.slot(slot)
        return int(writer is not None and writer.dst == element)

    def forward(self, element: int | None, cycle: int) -> dict[str, int]:
        """The selects at the memories' outputs: written in this cycle, in the one before."""
        return {
            "from_write": self.wrote(cycle - 3, element),
            "from_written": self.wrote(cycle - 4, element),
        }

    def drive(self, ctx: Context, cycle: int) -> None:
        control: dict[str, object] = {"gather": 0, "prepare": 0, "execute": 0}
        gathered = self.slot(cycle)
        if gathered is not None:
            control |= {
                "gather": 1,
                "gather_second": int(not gathered.gemm),
                "gather_imm": int(gathered.src is None),
                "gather_dst": self.forward(gathered.dst, cycle),
                "gather_src": self.forward(gathered.src, cycle),
            }
            ctx.set(self.lane.imm, gathered.imm)
        ctx.set(self.lane.dst, GARBAGE if gathered is None else self.memory(gathered.dst, cycle))
        if self.holds:
            self.hold(ctx, cycle)
        else:
            element = None if gathered is None else gathered.src
            ctx.set(self.lane.src, GARBAGE if element is None else self.memory(element, cycle))
        for stage, name in ((1, "prepare"), (2, "execute")):
            micro_op = self.slot(cycle - stage)
            if micro_op is not None:
                reads_dst = int(not micro_op.clears)
                control |= {
                    name: 1,
                    f"{name}_op": micro_op.op,
                    f"{name}_dst": self.wrote(cycle - 3, micro_op.dst) & reads_dst,
                }
        prepared = self.slot(cycle - 1)
        if prepared is not None:
            control |= {
                "prepare_gemm": int(prepared.gemm),
                "prepare_reset": int(prepared.drops),
                "prepare_clear": int(prepared.clears),
            }
        if self.residuals:
            op = AluOp.ADD if gathered is None or gathered.gemm else gathered.op
            enters = op is AluOp.RESIDUAL
            takes = enters or op is AluOp.MUL
            value = self.noise(SCALE_BITS) if gathered is None else gathered.scale
            ctx.set(self.lane.scale, {"takes": takes, "enters": enters, "value": value})
        ctx.set(self.lane.control, control)
        multiplied = self.slot(cycle + self.levels - 1)
        if multiplied is not None:
            ctx.set(self.lane.inp, packed(multiplied.inp))
            ctx.set(self.lane.wgt, packed(multiplied.wgt))
        enable = 0
        for stage in range(self.levels):
            micro_op = self.slot(cycle + self.levels - 1 - stage)
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
        written = self.wrote(cycle - 4, element)
        ctx.set(self.lane.hold, {"take": 1, "from_written": written})
        ctx.set(self.lane.src, self.memory(element, cycle))

    async def run(self, ctx: Context) -> None:
        """Run all slots; every result must be right in the cycle of its write."""
        for cycle in range(-self.levels, len(self.slots) + 4):
            self.drive(ctx, cycle)
            written = self.slot(cycle - 3)
            if written is not None:
                assert ctx.get(self.lane.result) == written.result, f"slot {cycle - 3}: {written}"
            executed = self.slot(cycle - 2)
            if executed is not None:
                assert not ctx.get(self.lane.shift_out_of_range)
            if self.residuals and executed is not None and executed.scaled is not None:
                assert ctx.get(self.lane.scaled) == executed.scaled
            await ctx.tick()


def packed(vector: list[int]) -> int:
    return int.from_bytes(bytes(value & 0xFF for value in vector), "little")


@pytest.mark.parametrize("seed", seeds(3))
@pytest.mark.parametrize(
    ("block", "ports", "residuals"),
    [
        *((block, 2, False) for block in (1, 4, 8, 32)),
        *((block, 1, False) for block in (1, 2, 8, 32)),
        (1, 2, True),
        (2, 1, True),
    ],
)
def test_forwards_results_at_every_distance(
    block: int, ports: int, residuals: bool, seed: int
) -> None:
    slots = random_slots(random.Random(seed), block, 150, ports)
    lane = built(Lane, block, ports, residuals)
    simulate(lane, Surroundings(lane, block, slots, ports).run)


@pytest.mark.parametrize(("block", "ports"), [(1, 2), (8, 2), (2, 1)])
def test_residuals_are_scaled_between_products(block: int, ports: int) -> None:
    """MUL and RESIDUAL back to back, with the extremes of an operand from INP."""
    rng = random.Random(block)
    memory = [0] * ELEMENTS
    slots: list[MicroOp | None] = [
        MicroOp(False, False, AluOp.ADD, dst, None, rng.randint(-(1 << 31), (1 << 31) - 1))
        for dst in range(ELEMENTS)
    ]
    for number, bits in enumerate((0, 1, MOST_SCALE, *(1 << at for at in range(SCALE_BITS)))):
        imm = (-128, 127, rng.randint(-128, 127))[number % 3]
        slots.append(MicroOp(False, False, AluOp.RESIDUAL, 1, None, imm, scale=bits))
        slots += [None] * rng.randrange(3)
        slots.append(MicroOp(False, False, AluOp.MUL, 2 * (number % 2), None, imm, scale=bits))
    for micro_op in slots:
        if micro_op is not None:
            micro_op.result = memory[micro_op.dst] = executed(micro_op, memory)
    lane = built(Lane, block, ports, True)
    simulate(lane, Surroundings(lane, block, slots, ports).run)


SET_41 = MicroOp(gemm=False, reset=False, op=AluOp.ADD, dst=0, src=None, imm=41)
SETS: dict[str, list[MicroOp | None]] = {
    "ALU": [SET_41],
    "GEMM": [MicroOp(True, False, AluOp.ADD, 0, None, 0, [-41], [-1])],
    "overwrite": [SET_41, MicroOp(True, False, AluOp.ADD, 0, None, 0, [3], [5], overwrite=True)],
    "reset": [SET_41, MicroOp(True, True, AluOp.ADD, 0, None, 0)],
    "MUL": [SET_41, None, None, MicroOp(False, False, AluOp.MUL, 0, None, -3)],
    "SHR": [SET_41, None, None, MicroOp(False, False, AluOp.SHR, 0, None, 1)],
}
"""Slots whose last one sets accumulator 0."""
USES = {
    "dst": [MicroOp(False, False, op, 0, None, 7) for op in AluOp],
    "src": [MicroOp(False, False, op, 1, 0, 0) for op in AluOp],
    "both": [MicroOp(False, False, op, 0, 0, 0) for op in AluOp],
    "GEMM": [MicroOp(True, False, AluOp.ADD, 0, None, 0, [12], [-11])],
}
"""Micro-ops that use accumulator 0, by the operand."""


@pytest.mark.every(5)
@pytest.mark.parametrize("ports", [1, 2])
@pytest.mark.parametrize(
    ("operand", "distance"),
    [
        (operand, distance)
        for operand in USES
        for distance in range(1, 8)
        if distance >= FORWARD_DISTANCE or operand in ("dst", "GEMM")
    ],
)
def test_one_operand_at_one_distance(operand: str, distance: int, ports: int) -> None:
    """Two micro-ops with bubbles between them, and nothing else to help."""
    # What is multiplied or shifted must not be 0.
    preset = MicroOp(False, False, AluOp.ADD, 1, None, 0x123456)
    resets = [MicroOp(True, True, AluOp.ADD, element, None, 0) for element in (0, 1)]
    slots: list[MicroOp | None] = []
    memory = [0] * ELEMENTS
    for writers, use in itertools.product(SETS.values(), USES[operand]):
        between = [None] * (distance - 1)
        if use.waits_behind([*writers, *between]):
            continue
        pair = [*resets, preset, *[None] * 6, *writers, *between, use, *[None] * 6]
        for template in pair:
            micro_op = None if template is None else replace(template)
            slots.append(micro_op)
            if micro_op is not None:
                src = micro_op.src
                if micro_op.op is AluOp.SHR and src is not None and abs(memory[src]) > MAX_SHIFT:
                    micro_op.op = AluOp.MUL
                memory[micro_op.dst] = micro_op.result = executed(micro_op, memory)
    assert slots
    lane = built(Lane, 1, ports)
    simulate(lane, Surroundings(lane, 1, slots, ports).run)


@pytest.mark.parametrize("ports", [1, 2])
@pytest.mark.parametrize("distance", [None, 3, 4, 5, 6])
@pytest.mark.parametrize(
    ("amount", "shift_out_of_range"), [(31, 0), (32, 1), (-31, 0), (-32, 1), (1 << 30, 1)]
)
def test_a_shift_by_an_accumulator_is_checked(
    amount: int, shift_out_of_range: int, distance: int | None, ports: int
) -> None:
    """The amount comes from memory, or is the result of a micro-op so many slots ahead."""
    lane = built(Lane, 1, ports)
    shift = MicroOp(False, False, AluOp.SHR, 1, 0, 0)
    first = MicroOp(False, False, AluOp.ADD, 0, None, amount, result=amount)
    slots: list[MicroOp | None] = [first]
    slots += [None] * ((distance or 9) - 1)
    around = Surroundings(lane, 1, [*slots, shift], ports)

    async def bench(ctx: Context) -> None:
        for cycle in range(len(slots) + 2):
            around.drive(ctx, cycle)
            await ctx.tick()
        around.drive(ctx, len(slots) + 2)
        assert ctx.get(lane.shift_out_of_range) == shift_out_of_range

    simulate(lane, bench)


def test_only_a_shift_can_be_out_of_range() -> None:
    """And no GEMM, whatever its operation is."""
    lane = Lane(1)

    async def bench(ctx: Context) -> None:
        ctx.set(lane.control, {"gather": 1, "gather_second": 1})
        ctx.set(lane.src, 32)
        await ctx.tick()
        for op in (AluOp.SHR, *AluOp):
            ctx.set(lane.control, {"prepare": 1, "prepare_op": op})
            await ctx.tick()
            assert ctx.get(lane.shift_out_of_range) == (op is AluOp.SHR)
        ctx.set(lane.control, {"prepare": 1, "prepare_gemm": 1, "prepare_op": AluOp.SHR})
        await ctx.tick()
        assert not ctx.get(lane.shift_out_of_range)

    simulate(lane, bench)
