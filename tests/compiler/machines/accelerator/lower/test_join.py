"""Addresses and immediates of operators that are joined."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.errors import LoweringError
from tandem.compiler.ir import interpreter
from tandem.compiler.ir.dtypes import INT8, INT32, INT64
from tandem.compiler.ir.ops import cast, const
from tandem.compiler.ir.parser import parse
from tandem.compiler.ir.printer import text
from tandem.compiler.ir.stmt import PrimFunc
from tandem.compiler.machines.accelerator.intrinsics.base import (
    BINARY,
    alu_value,
    immediate,
    immediate_argument,
)
from tandem.compiler.machines.accelerator.intrinsics.extensions import requantised
from tandem.compiler.machines.accelerator.intrinsics.scopes import OnChip
from tandem.compiler.machines.accelerator.lower.dram_layout import Operator
from tandem.compiler.machines.accelerator.lower.join import join
from tandem.compiler.machines.accelerator.lower.programs import ProgramCache
from tandem.compiler.machines.accelerator.lower.residency import KernelStore
from tandem.compiler.machines.accelerator.lower.stream import Stream, compile_stream
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.te import Schedule, compute, placeholder
from tandem.hw.isa import Requantise
from tandem.hw.operations import AluOp
from tests.support.compiler.machines.accelerator.lower.clip_operators import clip
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine
from tests.support.compiler.machines.accelerator.templates.streams import run_stream

TINY = machine("tiny")
TARGET = AcceleratorTarget.of(TINY)
INTRINSICS = {each.name: each.function for each in TARGET.instructions}
SHAPE = (3, 1, 4)


def passes(ops: list[AluOp], numbers: list[int | None], name: str = "passes") -> PrimFunc:
    """`ops` one after the other: with these numbers, or with inputs `n0`, `n1`, ..."""
    data = placeholder(SHAPE, INT8, "data")
    start = value = compute(
        SHAPE, lambda x, b, o: cast(data[x, b, o], INT32), "start", ["x", "b", "o"]
    )
    stages, inputs = [], [data]
    for at, (op, number) in enumerate(zip(ops, numbers, strict=True)):
        given = placeholder((), INT32, f"n{at}", OnChip.IMM)
        operand = given[()] if number is None else const(number, INT32)
        inputs += [given] if number is None else []
        value = compute(
            SHAPE,
            lambda x, b, o, a=value, op=op, n=operand: alu_value(op, a[x, b, o], n),
            f"pass{at}",
            ["x", "b", "o"],
        )
        stages.append((value.name, op, number))
    output = compute(SHAPE, lambda x, b, o: cast(value[x, b, o], INT8), "out", ["x", "b", "o"])
    schedule = Schedule.of(output, inputs=inputs, name=name)
    for stage in (start.name, *(stage for stage, _, _ in stages)):
        schedule = schedule.set_scope(stage, OnChip.ACC)
    for stage, op, number in stages:
        instruction = (
            immediate_argument(TINY, op) if number is None else immediate(TINY, op, number)
        )
        schedule = schedule.tensorize(stage, "b", instruction.function)
    return schedule.program


PASSES = st.lists(
    st.sampled_from(BINARY).flatmap(
        lambda op: st.tuples(
            st.just(op),
            st.integers(*((0, 31) if op is AluOp.SHR else (-(1 << 15), (1 << 15) - 1))),
        )
    ),
    min_size=1,
    max_size=5,
)


@settings(max_examples=10)
@given(PASSES)
def test_streams_are_those_of_numbers_in_the_program(drawn: list[tuple[AluOp, int]]) -> None:
    ops, numbers = [op for op, _ in drawn], [number for _, number in drawn]
    given_later = passes(ops, [None] * len(ops))
    immediates = {f"n{at}": number for at, number in enumerate(numbers)}
    found = compile_stream([Operator(given_later, {}, immediates=immediates)], TARGET)
    wanted = compile_stream([Operator(passes(ops, list(numbers)), {})], TARGET)
    assert found.program == wanted.program
    assert found.constants == wanted.constants
    assert list(found.tensors) == list(wanted.tensors)
    assert found.sites == wanted.sites
    assert found.operator_of.tolist() == wanted.operator_of.tolist()


def test_operators_share_a_program_with_numbers_of_their_own() -> None:
    program = passes([AluOp.ADD, AluOp.SHR, AluOp.MIN], [None, 1, None])
    operators = [
        Operator(program, {"out": "middle"}, "first", {"n0": 9, "n2": 50}),
        Operator(program, {"data": "middle", "out": "end"}, "second", {"n0": -20, "n2": 7}),
    ]
    stream = compile_stream(operators, TARGET)
    values = np.arange(-60, 60, 10, dtype=np.int8).reshape(SHAPE)
    outputs = values.astype(np.int32)
    found = {"middle": values, "end": values}
    for name, more, most in (("middle", 9, 50), ("end", -20, 7)):
        outputs = np.minimum((outputs + more) >> 1, most)
        found[name] = outputs.astype(np.int8)
    memory = stream.image({"data": values})
    assert {*stream.operator_of.tolist()} == {0, 1, -1}
    ran, _ = run_stream(stream, {"data": values})
    assert stream.read(memory, "data").tolist() == values.tolist()
    for name, wanted in found.items():
        np.testing.assert_array_equal(ran[name], wanted)


def test_the_interpreter_and_the_text_form_know_them() -> None:
    program = passes([AluOp.SHR, AluOp.MAX], [None, None])
    assert "n0: int32[] @ imm" in text(program)
    assert parse(text(program), INTRINSICS) == program
    values = np.arange(-60, 60, 10, dtype=np.int8).reshape(SHAPE)
    (found,) = interpreter.run(program, [values, np.array(2, np.int32), np.array(-3, np.int32)])
    np.testing.assert_array_equal(found, np.maximum(values >> 2, -3))


@pytest.mark.parametrize(
    ("immediates", "message"),
    [
        ({"n0": 1}, "^net has no value for n1$"),
        ({}, "^net has no value for n0, n1$"),
        ({"n0": 1, "n1": 2, "data": 3}, "^net has no immediate data; it has n0, n1$"),
        ({"n0": 32, "n1": 2}, "^net: n0: immediate 32 of SHR: 0 to 31 is allowed"),
        ({"n0": -1, "n1": 2}, "^net: n0: immediate -1 of SHR: 0 to 31 is allowed"),
        ({"n0": 0, "n1": 1 << 15}, "^net: n1: immediate 32768 of ADD: -32768 to 32767 is"),
    ],
)
def test_numbers_that_do_not_fit_are_refused(immediates: Mapping[str, int], message: str) -> None:
    program = passes([AluOp.SHR, AluOp.ADD], [None, None])
    with pytest.raises(LoweringError, match=message):
        compile_stream([Operator(program, {}, "net", immediates)], TARGET)


def test_an_operator_without_numbers_takes_none() -> None:
    program = passes([AluOp.SHR], [3])
    with pytest.raises(LoweringError, match=r"^passes has no immediate n0; it has none$"):
        compile_stream([Operator(program, {}, immediates={"n0": 1})], TARGET)


@pytest.mark.parametrize(
    ("declared", "index", "message"),
    [
        (
            "int32[2] @ imm",
            "0 :+ 1",
            r"^alu_add_imm: I must be one number in imm, not \[2\] in imm \(n\)$",
        ),
        (
            "int32[1]",
            "0 :+ 1",
            r"^alu_add_imm: I must be one number in imm, not \[1\] in global \(n\)$",
        ),
    ],
)
def test_what_is_no_number_is_refused(declared: str, index: str, message: str) -> None:
    function = passes([AluOp.ADD], [None])
    program = (
        text(function).replace("n0: int32[] @ imm", f"n: {declared}").replace("n0[]", f"n[{index}]")
    )
    with pytest.raises(LoweringError, match=message):
        compile_stream([Operator(parse(program, INTRINSICS), {}, immediates={"n": 1})], TARGET)


def test_tensors_where_no_element_begins_are_refused() -> None:
    program = ProgramCache(TARGET).elaborated(clip().program, from_top=False)
    message = "^S lies at 0x42, no multiple of the 4 bytes of an element of ACC_8BIT$"
    with pytest.raises(LoweringError, match=message):
        join([(clip(), program)], [{"S": 66, "D": 256}], KernelStore(), 0, TINY)


# Modes --------------------------------------------------------------------------------------------

EXTENDED = machine("extended")


def requantisation(name: str = "layer") -> PrimFunc:
    """A tensor in INP, moved to ACC and requantised."""
    target = AcceleratorTarget.of(EXTENDED)
    data = placeholder(SHAPE, INT8, "data")
    words = placeholder((3, 4), INT64, "words")
    low, high = (placeholder((), INT32, each, OnChip.IMM) for each in ("low", "high"))
    axes = ["x", "b", "o"]
    start = compute(SHAPE, lambda x, b, o: cast(data[x, b, o], INT32), "start", axes)
    value = compute(
        SHAPE,
        lambda x, b, o: requantised(start[x, b, o], words[x, o], low[()], high[()]),
        "value",
        axes,
    )
    output = compute(SHAPE, lambda *at: cast(value[at], INT8), "out", axes)
    schedule = Schedule.of(output, inputs=[data, words, low, high], name=name)
    schedule = schedule.set_scope("start", OnChip.ACC).set_scope("value", OnChip.ACC)
    schedule = schedule.cache_read("data", ("start",), OnChip.INP, "data_inp")
    schedule = schedule.cache_read("words", ("value",), OnChip.PAR, "words_par")
    for stage, intrinsic in (("start", "alu_move_inp"), ("value", "requantise")):
        schedule = schedule.tensorize(stage, "b", target.instruction(intrinsic).function)
    return schedule.program


def modes_of(stream: Stream) -> list[Requantise]:
    return [each for each in stream.program if isinstance(each, Requantise)]


def test_a_mode_is_set_where_it_changes() -> None:
    """Off for the move, as parameters are loaded only behind it, and on for the pass."""
    program = requantisation()
    limits = ((-9, 50), (-20, 7))
    operators = [
        Operator(program, {"out": f"out{number}"}, str(number), {"low": low, "high": high})
        for number, (low, high) in enumerate(limits)
    ]
    stream = compile_stream(operators, AcceleratorTarget.of(EXTENDED))
    first, off, second = modes_of(stream)
    assert [each.active for each in (first, off, second)] == [True, False, True]
    assert [(each.low, each.high) for each in (first, second)] == [*limits]
    assert len(stream.sites) == len(stream.program)
    stages = [stage for stage, _ in stream.sites]
    modes = [at for at, each in enumerate(stream.program) if isinstance(each, Requantise)]
    assert [stages[at] for at in modes] == ["start"] * 3, "the stage of what they are for"
    assert stream.operator_of[modes].tolist() == [0, 1, 1]
    lines = stream.dump()["commands"].splitlines()
    assert sum("requantise par" in line for line in lines) == 2


def test_a_mode_has_the_operators_numbers() -> None:
    words = np.array([[3 + (5 << 32) + (2 << 48)] * 4] * 3, np.int64)
    values = np.arange(-60, 60, 10, dtype=np.int8).reshape(SHAPE)
    operator = Operator(requantisation(), {}, "layer", {"low": -50, "high": 60})
    stream = compile_stream([operator], AcceleratorTarget.of(EXTENDED))
    ran, _ = run_stream(stream, {"data": values, "words": words})
    wanted = np.clip((values.astype(np.int64) * 5 + 3) >> 2, -50, 60)
    np.testing.assert_array_equal(ran["out"], wanted)


@pytest.mark.parametrize(
    ("immediates", "message"),
    [
        ({"low": -129, "high": 5}, "^layer: low: low -129: -128 to 127 is allowed$"),
        ({"low": 0, "high": 128}, "^layer: high: high 128: -128 to 127 is allowed$"),
        ({"low": 0}, "^layer has no value for high$"),
    ],
)
def test_limits_that_do_not_fit_are_refused(immediates: Mapping[str, int], message: str) -> None:
    with pytest.raises(LoweringError, match=message):
        compile_stream(
            [Operator(requantisation(), {}, "layer", immediates)], AcceleratorTarget.of(EXTENDED)
        )
