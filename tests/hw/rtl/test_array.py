"""Which lane gets what, and what all of them compute."""

from __future__ import annotations

import random

import numpy as np
import numpy.typing as npt
import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.features import BASE, Feature
from tandem.hw.operations import AluOp
from tandem.hw.rtl.array import Array
from tandem.hw.timing import tree_levels
from tests.support.hw.rtl.rtl import Context, built, seeds, simulate

# Half of the cases of each test run always.
pytestmark = pytest.mark.every(2)

SHAPES = [(0, 0, 0), (0, 2, 1), (1, 1, 2), (2, 3, 1), (1, 4, 0)]
"""log2 of batch, block_in and block_out."""


def machine(
    log_batch: int, log_block_in: int, log_block_out: int, features: frozenset[Feature] = BASE
) -> HardwareConfig:
    return HardwareConfig(
        features=features,
        log_batch=log_batch,
        log_block_in=log_block_in,
        log_block_out=log_block_out,
        log_uop_buffer=8,
        log_inp_buffer=4 + log_batch + log_block_in,
        log_wgt_buffer=4 + log_block_in + log_block_out,
        log_acc_buffer=6 + log_batch + log_block_out,
    )


def number(values: npt.NDArray[np.generic]) -> int:
    """A whole element as it lies on a port."""
    return int.from_bytes(values.tobytes(), "little")


@pytest.mark.parametrize("seed", seeds(3))
@pytest.mark.parametrize("shape", SHAPES)
def test_multiplies_matrices(shape: tuple[int, int, int], seed: int) -> None:
    config = machine(*shape)
    random_values = np.random.default_rng(seed)
    array = built(Array, config)
    levels = tree_levels(config.block_in)

    async def bench(ctx: Context) -> None:
        for _ in range(4):
            inp = random_values.integers(-128, 128, (config.batch, config.block_in), np.int8)
            wgt = random_values.integers(-128, 128, (config.block_out, config.block_in), np.int8)
            acc = random_values.integers(
                -(1 << 31), 1 << 31, (config.batch, config.block_out), np.int32
            )
            ctx.set(array.inp, number(inp))
            ctx.set(array.wgt, number(wgt))
            ctx.set(array.dst, number(acc))
            ctx.set(array.enable, -1)
            ctx.set(array.control, {"gather": 1})
            # The elements, the products, and every level of the tree but the last.
            for _ in range(1 + levels):
                await ctx.tick()
            ctx.set(array.control, {"prepare": 1, "prepare_gemm": 1, "prepare_op": AluOp.ADD})
            await ctx.tick()
            ctx.set(array.control, {"execute": 1, "execute_op": AluOp.ADD})
            await ctx.tick()
            product = inp.astype(np.int64) @ wgt.astype(np.int64).T
            wanted = (acc + product).astype(np.uint64).astype(np.uint32)
            assert ctx.get(array.result) == number(wanted)

    simulate(array, bench)


@pytest.mark.parametrize("shape", SHAPES)
def test_elements_are_registered_in_the_cycle_of_their_enable(shape: tuple[int, int, int]) -> None:
    """INP and WGT count in the cycle of bit 0; every later stage moves with its own bit."""
    config = machine(*shape)
    rng = random.Random(sum(shape))
    random_values = np.random.default_rng(rng.randrange(1 << 30))
    array = built(Array, config)
    stages = 1 + tree_levels(config.block_in)
    assert len(array.enable) == stages

    async def bench(ctx: Context) -> None:
        # A model of the stages: what product each of them holds.
        held: list[npt.NDArray[np.int64] | None] = [None] * stages
        executed: npt.NDArray[np.int64] | None = None
        compared = 0
        for _ in range(100):
            inp = random_values.integers(-128, 128, (config.batch, config.block_in), np.int8)
            wgt = random_values.integers(-128, 128, (config.block_out, config.block_in), np.int8)
            enable = rng.getrandbits(stages) | rng.getrandbits(stages)
            ctx.set(array.inp, number(inp))
            ctx.set(array.wgt, number(wgt))
            ctx.set(array.enable, enable)
            # The accumulators are 0 all the time: a dot product is prepared in the cycle after
            # its last register took it, and executed in the next.
            ctx.set(
                array.control,
                {
                    "gather": 1,
                    "prepare": 1,
                    "prepare_gemm": 1,
                    "execute": 1,
                    "execute_op": AluOp.ADD,
                },
            )
            await ctx.tick()
            if executed is not None:
                wanted = executed.astype(np.uint64).astype(np.uint32)
                assert ctx.get(array.result) == number(wanted)
                compared += 1
            executed = held[-1]
            taken = [inp.astype(np.int64) @ wgt.astype(np.int64).T, *held[:-1]]
            held = [taken[n] if enable >> n & 1 else held[n] for n in range(stages)]
        assert compared > 50

    simulate(array, bench)


@pytest.mark.parametrize("shape", SHAPES)
def test_each_lane_has_its_own_operands_and_complaint(shape: tuple[int, int, int]) -> None:
    config = machine(*shape)
    rng = random.Random(sum(shape))
    array = built(Array, config)
    lanes = config.acc_lanes

    async def bench(ctx: Context) -> None:
        for lane in (0, lanes - 1, rng.randrange(lanes)):
            dst = np.array([rng.randint(-(1 << 31), (1 << 31) - 1) for _ in range(lanes)], np.int32)
            src = np.array([rng.randint(-31, 31) for _ in range(lanes)], np.int32)
            for amount, shift_out_of_range in ((31, 0), (32, 1)):
                src[lane] = amount
                ctx.set(array.dst, number(dst))
                ctx.set(array.src, number(src))
                ctx.set(array.control, {"gather": 1, "gather_second": 1})
                await ctx.tick()
                for op, wanted in ((AluOp.SHR, shift_out_of_range), (AluOp.MAX, 0)):
                    ctx.set(array.control, {"prepare": 1, "prepare_op": op})
                    await ctx.tick()
                    assert ctx.get(array.shift_out_of_range) == wanted
                ctx.set(array.control, {"execute": 1, "execute_op": AluOp.MAX})
                await ctx.tick()
                assert ctx.get(array.result) == number(np.maximum(dst, src))

    simulate(array, bench)


@pytest.mark.every(5)
@pytest.mark.parametrize("residuals", [False, True])
@pytest.mark.parametrize("shape", [(0, 0), (0, 2), (2, 1), (1, 3), (0, 5)])
def test_operands_from_inp(shape: tuple[int, int], residuals: bool) -> None:
    """One in each cycle, or an immediate: the byte in the lane's row and column, sign-extended.

    A sum with it comes three cycles after its gathering; its product with a scale, as it executes.
    """
    added_features = {Feature.REQUANTISE} if residuals else set()
    features = frozenset({Feature.INPUT_OPERANDS} | added_features)
    config = machine(shape[0], shape[1], shape[1], features)
    rng = random.Random(sum(shape))
    random_values = np.random.default_rng(rng.randrange(1 << 30))
    array = built(Array, config)
    levels = tree_levels(config.block_in)
    count = 40
    elements = random_values.integers(-128, 128, (count, config.batch, config.block_in), np.int8)
    elements[0], elements[1] = -128, 127
    sums = random_values.integers(-(1 << 31), 1 << 31, elements.shape, np.int32)
    from_inp = [True, True, *(rng.random() < 0.7 for _ in range(count - 2))]
    imms = [rng.choice((-(1 << 15), (1 << 15) - 1, rng.randint(-99, 99))) for _ in range(count)]
    choices = (AluOp.ADD, AluOp.RESIDUAL) if residuals else (AluOp.ADD,)
    ops = [rng.choice(choices) for _ in range(count)]
    scales = [rng.choice(((1 << 24) - 1, rng.getrandbits(24))) for _ in range(count)]

    def wanted(index: int) -> npt.NDArray[np.int64]:
        """The second operands."""
        values = np.full(elements[index].shape, imms[index], np.int64)
        if from_inp[index]:
            values[:] = elements[index]
        return values

    async def bench(ctx: Context) -> None:
        for cycle in range(count + levels + 4):

            def at(stage: int, cycle: int = cycle) -> int | None:
                """What is in a stage after that in which INP is registered."""
                return cycle - stage if 0 <= cycle - stage < count else None

            read, operand, gathers = at(0), at(levels - 1), at(levels)
            ctx.set(array.inp, number(elements[read]) if read is not None else rng.getrandbits(8))
            ctx.set(array.enable, int(read is not None and from_inp[read]))
            if operand is not None:
                taken = {"take": 1, "inp": from_inp[operand], "imm": imms[operand]}
                ctx.set(array.operand, taken)
            control: dict[str, int] = {}
            if gathers is not None:
                ctx.set(array.dst, number(sums[gathers]))
                control |= {"gather": 1, "gather_second": 1, "gather_imm": 1}
            prepares, executes, done = at(levels + 1), at(levels + 2), at(levels + 3)
            if prepares is not None:
                control |= {"prepare": 1, "prepare_op": ops[prepares]}
                control |= {"prepare_reset": int(ops[prepares] is AluOp.RESIDUAL)}
            if residuals:
                enters = gathers is not None and ops[gathers] is AluOp.RESIDUAL
                value = rng.getrandbits(24) if gathers is None else scales[gathers]
                ctx.set(array.scale, {"takes": enters, "enters": enters, "value": value})
            if executes is not None:
                control |= {"execute": 1, "execute_op": ops[executes]}
            ctx.set(array.control, control)
            if executes is not None and ops[executes] is AluOp.RESIDUAL:
                products = (wanted(executes) * scales[executes]).astype(np.uint64)
                assert ctx.get(array.scaled) == number(products.astype(np.uint32))
            if done is not None:
                added = 0 if ops[done] is AluOp.RESIDUAL else wanted(done)
                result = (sums[done] + added).astype(np.uint64).astype(np.uint32)
                assert ctx.get(array.result) == number(result)
            await ctx.tick()

    simulate(array, bench)
