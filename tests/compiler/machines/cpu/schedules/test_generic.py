"""A schedule for any operators keeps their results, bit for bit unless it is told otherwise."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from tandem.compiler import te
from tandem.compiler.ir.dtypes import FLOAT32
from tandem.compiler.ir.interpreter import run
from tandem.compiler.ir.stmt import LoopKind, PrimFunc
from tandem.compiler.ir.visit import blocks, loops
from tandem.compiler.layouts.conversion import convert
from tandem.compiler.layouts.layout import image_blocks
from tandem.compiler.machines.cpu.codegen import CpuTarget, ThreadPool, compile_function
from tandem.compiler.machines.cpu.schedules.generic import cpu_schedule, inline_stages
from tandem.compiler.machines.cpu.schedules.simd import Simd
from tandem.compiler.operators.activations import gelu, mish, relu, sigmoid, softplus
from tandem.compiler.operators.arithmetic import cast, clip
from tandem.compiler.operators.conv2d import conv2d
from tandem.compiler.operators.elementwise import ELEMENTWISE
from tandem.compiler.operators.gather import gather
from tandem.compiler.operators.layout import expand, flatten, reshape, transpose
from tandem.compiler.operators.matmul import dense, matmul
from tandem.compiler.operators.norm import batch_norm, layer_norm, log_softmax, rms_norm, softmax
from tandem.compiler.operators.pad import PadMode, pad
from tandem.compiler.operators.pool import average_pool, global_average_pool, max_pool
from tandem.compiler.operators.reduce import (
    arg_max,
    reduce_log_sum_exp,
    reduce_max,
    reduce_mean,
    reduce_sum,
)
from tandem.compiler.operators.slicing import concat, slice_of
from tandem.compiler.te import Tensor, placeholder
from tandem.compiler.te.build import program_of
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.te.tree import extent_of, find_block, find_loop, loops_on_path, path_to
from tests.support.compiler.operators.operators import Array, given_as, numbers, same

Make = Callable[..., Tensor]

add, multiply = ELEMENTWISE["add"], ELEMENTWISE["multiply"]


BLOCKS = image_blocks(1, 16)


def block_of_a_network(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    """Convolution, bias, shortcut, activation, pooling, and the classifier's start."""
    sums = conv2d(x, w, bias=b, padding=(1, 1, 1, 1))
    return flatten(global_average_pool(relu(add(sums, x))))


def of_integers(x: Tensor, w: Tensor) -> Tensor:
    return clip(conv2d(x, w, padding=(1, 0, 1, 2), strides=(2, 1)), min=-5000, max=5000)


def packed(x: Tensor) -> Tensor:
    rows = relu(transpose(x, (0, 3, 1, 2)))
    return convert(rows, shape=rows.shape, target=BLOCKS)


def unpacked(x: Tensor) -> Tensor:
    """Tokens of 37 features, from blocks of 16."""
    return relu(transpose(convert(x, shape=(1, 37, 5, 1), source=BLOCKS), (0, 2, 3, 1)))


# Name, operators, shapes of their tensors, type.
CASES: dict[str, tuple[Make, tuple[tuple[int, ...], ...], str]] = {
    "add-relu": (lambda x, y: relu(add(x, y)), ((2, 3, 5, 37), (3, 1, 1)), "float32"),
    "one-axis": (lambda x: sigmoid(x), ((133,),), "float32"),
    "scalar": (lambda x: gelu(x), ((),), "float32"),
    "int8": (lambda x, y: add(multiply(x, y), y), ((3, 150), (150,)), "int8"),
    "cast": (lambda x: cast(relu(x), to=FLOAT32), ((3, 70),), "int8"),
    "last-axes-of-1": (lambda x: relu(x), ((2, 19, 1, 1),), "float32"),
    "softmax": (lambda x: softmax(x), ((5, 37),), "float32"),
    "softmax-middle": (lambda x: softmax(x, axis=1), ((2, 5, 21),), "float32"),
    "log-softmax": (lambda x: log_softmax(x), ((3, 19),), "float64"),
    "mean-rows": (lambda x: reduce_mean(x, [1]), ((3, 70),), "float32"),
    "mean-columns": (lambda x: reduce_mean(x, [0]), ((7, 90),), "float32"),
    "mean-all": (lambda x: reduce_mean(x, keepdims=False), ((3, 5, 19),), "float32"),
    "max-rows": (lambda x: reduce_max(x, [1]), ((3, 150),), "int8"),
    "log-sum-exp": (lambda x: reduce_log_sum_exp(x, [0, 2]), ((3, 5, 7),), "float32"),
    "arg-max": (lambda x: arg_max(x, 1), ((3, 40),), "float32"),
    "max-pool": (
        lambda x: max_pool(x, (3, 3), strides=(2, 2), padding=(1, 1, 1, 1)),
        ((1, 2, 9, 23),),
        "float32",
    ),
    "average-pool": (
        lambda x: average_pool(x, (2, 3), padding=(1, 1, 0, 1), ceil_mode=True, strides=(2, 2)),
        ((1, 2, 6, 35),),
        "float32",
    ),
    "layer-norm": (lambda x, s, b: layer_norm(x, s, b), ((3, 5, 20), (20,), (20,)), "float32"),
    "layer-norm-rows": (
        lambda x, s, b: layer_norm(x, s, b),
        ((1, 19, 37), (37,), (37,)),
        "float32",
    ),
    "rms-norm-rows": (lambda x, s: rms_norm(x, s), ((2, 8, 11), (11,)), "float64"),
    "sum-rows": (lambda x: relu(reduce_sum(x, [1])), ((29, 70),), "float32"),
    "sum-planes": (lambda x: reduce_sum(x, [2, 3]), ((2, 13, 5, 6),), "float32"),
    "softmax-rows": (lambda x: relu(softmax(x)), ((3, 21, 40),), "float32"),
    "softmax-transposed": (lambda x: transpose(softmax(x)), ((21, 40),), "float32"),
    # The last row is short, and no row is whole vectors.
    "short-last-row": (
        lambda x: slice_of(flatten(x, axis=0), [0], [50], [1]),
        ((3, 19),),
        "float32",
    ),
    "unpacked-rows": (unpacked, ((1, 3, 5, 1, 1, 16),), "float32"),
    "packed-rows": (
        packed,
        ((1, 5, 1, 61),),
        "float32",
    ),
    "batch-norm": (
        lambda x, s, b, m, v: relu(batch_norm(x, s, b, m, multiply(v, v, name="square"))),
        ((2, 3, 4, 9), (3,), (3,), (3,), (3,)),
        "float32",
    ),
    "transpose": (lambda x: transpose(x, (0, 2, 3, 1)), ((1, 37, 4, 5),), "float32"),
    "transpose-matrix": (lambda x: transpose(x), ((21, 35),), "int16"),
    "reshape": (lambda x: relu(reshape(x, (4, -1))), ((4, 3, 20),), "float32"),
    "reshape-unlike": (lambda x: reshape(x, (21, 10)), ((14, 15),), "float32"),
    "concat": (lambda x, y: relu(concat([x, y], 1)), ((2, 3, 19), (2, 4, 19)), "float32"),
    "slice": (lambda x: slice_of(x, [5, 60], [0, 3], [0, 1], [-2, -3]), ((7, 80),), "float32"),
    "pad": (lambda x: pad(x, (1, 20, 2, 3), mode=PadMode.REFLECT), ((4, 22),), "float32"),
    "gather": (
        lambda x, i: gather(x, i, 1),
        ((3, 20), (18,)),
        "int32",
    ),
    "conv": (block_of_a_network, ((1, 3, 6, 19), (3, 3, 3, 3), (3,)), "float32"),
    "conv-int8": (of_integers, ((1, 3, 6, 19), (4, 3, 3, 3)), "int8"),
    "depthwise": (
        lambda x, w: conv2d(x, w, groups=4, padding=(1, 1, 1, 1)),
        ((1, 4, 5, 18), (4, 1, 3, 3)),
        "float32",
    ),
    "dense": (lambda x, w, b: relu(dense(x, w, bias=b)), ((2, 35), (20, 35), (20,)), "float32"),
    "matmul": (lambda x, y: matmul(x, y), ((2, 3, 7), (2, 7, 21)), "float32"),
}

each_case = pytest.mark.parametrize("case", sorted(CASES))


def tensors_of(case: str) -> tuple[Tensor, list[Tensor], list[Array]]:
    make, shapes, dtype = CASES[case]
    arrays = [numbers(number, shape, dtype) for number, shape in enumerate(shapes)]
    inputs = [given_as(f"x{number}", array) for number, array in enumerate(arrays)]
    return make(*inputs), inputs, arrays


@pytest.mark.parametrize("width", [16, 64])
@each_case
def test_results_stay_bit_for_bit(case: str, width: int) -> None:
    output, inputs, arrays = tensors_of(case)
    (expected,) = run(program_of([output], inputs), arrays)
    schedule = cpu_schedule(output, simd=Simd(width, 16), inputs=inputs)
    (actual,) = run(schedule.program, arrays)
    np.testing.assert_array_equal(actual, expected)


def serial(output: Tensor, inputs: Sequence[Tensor]) -> PrimFunc:
    """The program with nothing done to its loops. Stages are inlined: a product that a sum takes
    in is rounded once less, where the processor multiplies and adds in one."""
    return inline_stages(Schedule.of(output, inputs=inputs)).program


@each_case
def test_results_are_those_of_native_code(case: str) -> None:
    output, inputs, arrays = tensors_of(case)
    target = CpuTarget.host(threads=2)
    simd = Simd.of(target)
    (expected,) = compile_function(serial(output, inputs), target)(*arrays)
    (actual,) = compile_function(cpu_schedule(output, simd=simd, inputs=inputs).program, target)(
        *arrays
    )
    np.testing.assert_array_equal(actual, expected)


@each_case
def test_reassociation_changes_roundings_only(case: str) -> None:
    output, inputs, arrays = tensors_of(case)
    (expected,) = run(program_of([output], inputs), arrays)
    schedule = cpu_schedule(output, simd=Simd(64, 32), inputs=inputs, reassociate=True)
    (actual,) = run(schedule.program, arrays)
    same(actual, expected)


LARGE: dict[str, tuple[Make, tuple[tuple[int, ...], ...]]] = {
    "add-relu": (lambda x, y: relu(add(x, y)), ((1, 31, 33, 65), (31, 1, 1))),
    "one-axis": (lambda x: sigmoid(x), ((70003,),)),
    "softmax": (lambda x: softmax(x), ((117, 317),)),
    "mean-rows": (lambda x: reduce_mean(x, [1]), ((301, 170),)),
    "mean-columns": (lambda x: reduce_mean(x, [0]), ((301, 170),)),
    "transpose": (lambda x: transpose(x), ((301, 170),)),
    "conv": (block_of_a_network, ((1, 16, 17, 19), (16, 16, 3, 3), (16,))),
}


@pytest.mark.parametrize("case", sorted(LARGE))
def test_threads_give_the_same(case: str) -> None:
    make, shapes = LARGE[case]
    arrays = [numbers(number, shape) for number, shape in enumerate(shapes)]
    inputs = [given_as(f"x{number}", array) for number, array in enumerate(arrays)]
    output = make(*inputs)
    target = CpuTarget.host(threads=2)
    schedule = cpu_schedule(output, simd=Simd.of(target), inputs=inputs)
    assert LoopKind.PARALLEL in {each.kind for each in loops(schedule.program.body)}
    (expected,) = compile_function(serial(output, inputs), target)(*arrays)
    with ThreadPool(3) as pool:
        (actual,) = compile_function(schedule.program, target, pool)(*arrays)
    np.testing.assert_array_equal(actual, expected)


def kinds(schedule: Schedule) -> set[LoopKind]:
    return {each.kind for each in loops(schedule.program.body)}


def test_little_work_stays_on_one_thread() -> None:
    x = placeholder((3, 5), FLOAT32, "X")
    assert LoopKind.PARALLEL not in kinds(cpu_schedule(relu(x), simd=Simd(64, 32)))


def test_nothing_to_do() -> None:
    x = placeholder((0, 5), FLOAT32, "X")
    assert kinds(cpu_schedule(softmax(x), simd=Simd(64, 32))) == {LoopKind.SERIAL}


def test_rows_are_summed_in_lanes_only_if_that_is_allowed() -> None:
    rows = reduce_sum(placeholder((2, 24), FLOAT32, "X"), [1])
    assert LoopKind.VECTORIZED not in kinds(cpu_schedule(rows, simd=Simd(64, 32)))
    assert LoopKind.VECTORIZED in kinds(cpu_schedule(rows, simd=Simd(64, 32), reassociate=True))
    greatest = reduce_max(placeholder((2, 24), FLOAT32, "X"), [1])
    assert LoopKind.VECTORIZED in kinds(cpu_schedule(greatest, simd=Simd(64, 32)))


def loops_of(stage: str, *outputs: Tensor) -> list[tuple[str, LoopKind]]:
    """The loops around a stage's block, outermost first."""
    body = cpu_schedule(*outputs, simd=Simd(64, 32)).program.body
    block = find_block(body, stage)
    assert block is not None
    return [(each.var.name, each.kind) for each in loops_on_path(path_to(body, block))]


def test_rows_advance_together() -> None:
    """Eight accumulators: an addition need not wait for the one before it."""
    sums = loops_of("s", reduce_sum(placeholder((24, 24), FLOAT32, "X"), [1], name="s"))
    assert sums[-1] == ("s.i0_r", LoopKind.UNROLLED)
    # Terms that cost more than a sum are computed in lanes.
    rows = placeholder((24, 24), FLOAT32, "X")
    powers = te.compute((24, 24), lambda *i: te.exp(rows[i]), "p")
    found = loops_of("s", reduce_sum(powers, [1], name="s"))
    assert LoopKind.VECTORIZED in [kind for _, kind in found]


def test_long_rows_are_summed_in_stripes() -> None:
    """The stripes are lanes, whatever the registers: their order is the operator's."""
    sums = reduce_sum(placeholder((24, 100), FLOAT32, "X"), [1], name="s")
    for stage in ("s_stripes", "s_8", "s_4"):
        assert loops_of(stage, sums)[-1] == (f"{stage}.s", LoopKind.VECTORIZED)
    assert loops_of("s_rest", sums)[-1][1] is LoopKind.UNROLLED


@pytest.mark.parametrize(
    ("rows", "columns", "found"), [(24, 192, 8), (21, 192, 7), (23, 192, 1), (24, 3200, 2)]
)
def test_rows_are_normalised_in_blocks(rows: int, columns: int, found: int) -> None:
    """What is reduced is read again while it is in the nearest cache."""
    x = placeholder((rows, columns), FLOAT32, "X")
    schedule = cpu_schedule(softmax(x), simd=Simd(64, 32))
    block = find_loop(schedule.program.body, "softmax.i0_b")
    outer = find_loop(schedule.program.body, "softmax.i0")
    assert block is not None
    assert outer is not None
    assert extent_of(block) == found
    inside = {each.name for each in blocks(outer)}
    assert {"softmax_max_stripes", "softmax_exp", "softmax_sum_stripes"} <= inside


@pytest.mark.parametrize("features", [37, 21])
def test_rows_from_blocks_are_copied_in_lanes(features: int) -> None:
    """Also where the last block is not full."""
    blocks_of_data = placeholder((1, -(-features // 16), 5, 1, 1, 16), FLOAT32, "X")
    plain = convert(blocks_of_data, shape=(1, features, 5, 1), source=BLOCKS)
    rows = relu(transpose(plain, (0, 2, 3, 1)), name="r")
    for stage in ("r", "r_tail"):
        assert loops_of(stage, rows)[-1][1] is LoopKind.VECTORIZED


def test_what_is_padded_is_computed_where_it_is_packed() -> None:
    data = relu(placeholder((1, 61, 5, 1), FLOAT32, "D"), name="r")
    assert inlined(convert(data, shape=data.shape, target=BLOCKS, name="p")) == ["p"]
    # Blocks that are mostly padding would compute it again and again.
    few = relu(placeholder((1, 3, 5, 1), FLOAT32, "D"), name="r")
    assert inlined(convert(few, shape=few.shape, target=BLOCKS, name="p")) == ["r", "p"]


def test_several_outputs() -> None:
    x = placeholder((3, 40), FLOAT32, "X")
    a = relu(x, name="a")
    b = gelu(a, name="b")
    schedule = cpu_schedule(a, b, simd=Simd(32, 16))
    array = numbers(0, (3, 40))
    for actual, expected in zip(
        run(schedule.program, [array]), run(program_of([a, b]), [array]), strict=True
    ):
        np.testing.assert_array_equal(actual, expected)


def test_same_schedule_for_same_operators() -> None:
    """Traces are values: they can be kept, compared, replayed."""
    x = placeholder((5, 37), FLOAT32, "X")
    first, second = (cpu_schedule(softmax(x), simd=Simd(64, 32)) for _ in range(2))
    assert first == second
    assert Schedule.of(softmax(x)).replay(first.trace) == first


@pytest.mark.parametrize("case", ["softmax", "conv", "transpose", "mean-rows"])
def test_text(case: str, golden: Callable[[str, str], None]) -> None:
    output, inputs, _ = tensors_of(case)
    schedule = cpu_schedule(output, simd=Simd(32, 16), inputs=inputs, reassociate=True)
    golden(f"operators/cpu/{case}.txt", str(schedule))


def test_stages_next_to_their_reader() -> None:
    """Of a softmax over many rows, all stages of a row come before the next row's."""
    schedule = cpu_schedule(softmax(placeholder((1050, 1000), FLOAT32, "X")), simd=Simd(32, 16))
    (outer,) = [each for each in loops(schedule.program.body) if each.var.name == "softmax.i0"]
    inside = {each.name for each in blocks(outer)}
    stages = ("softmax_max_stripes", "softmax_exp", "softmax_sum_stripes", "softmax")
    assert {*stages} <= inside


def inlined(*outputs: Tensor) -> list[str]:
    return [each.name for each in blocks(inline_stages(Schedule.of(*outputs)).program.body)]


X = placeholder((4, 6), FLOAT32, "X")


def test_a_chain_becomes_one() -> None:
    assert inlined(relu(add(relu(X, name="a"), X, name="b"), name="c")) == ["c"]


def test_what_two_stages_read_stays() -> None:
    a = softplus(X, name="a")
    assert inlined(
        add(relu(a, name="b"), transpose(transpose(a, name="t"), name="u"), name="c")
    ) == [*("a", "c")]


def test_outputs_stay() -> None:
    a = relu(X, name="a")
    assert inlined(a, relu(a, name="b")) == ["a", "b"]


def test_sums_stay() -> None:
    assert inlined(relu(reduce_sum(X, name="s"), name="r")) == ["s", "r"]


def test_elements_that_are_read_again_and_again_stay() -> None:
    image = placeholder((1, 2, 6, 6), FLOAT32, "I")
    weight = placeholder((3, 2, 3, 3), FLOAT32, "W")
    assert inlined(conv2d(image, weight, padding=(1, 1, 1, 1))) == ["conv_pad", "conv"]
    row = softplus(placeholder((1, 6), FLOAT32, "R"), name="a")
    assert inlined(add(row, X, name="b")) == ["a", "b"]


def test_what_is_only_moved_goes_into_element_wise_readers() -> None:
    row = transpose(placeholder((6, 1), FLOAT32, "R"), name="t")
    assert inlined(relu(expand(row, (4, 6), name="e"), name="r")) == ["r"]


def test_what_a_sum_reads_once_goes_into_it() -> None:
    assert inlined(reduce_sum(relu(X, name="r"), name="s")) == ["s"]


def test_expressions_stay_short() -> None:
    """Each `mish` names its operand many times: two of them would be too much."""
    once = mish(X, name="a")
    assert inlined(mish(mish(once, name="b"), name="c")) == ["a", "b", "c"]
