from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from tandem.compiler.errors import CapacityError, LoweringError
from tandem.compiler.ir.parser import parse
from tandem.compiler.ir.printer import text
from tandem.compiler.machines.accelerator.lower.dram_layout import Operator
from tandem.compiler.machines.accelerator.lower.stream import Stream, compile_stream
from tandem.compiler.machines.accelerator.lower.tokens import TokenedCommands
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.hw.isa import Finish, Load, Program, Store, Tokens, unit_of
from tandem.hw.isa.disasm import disassemble
from tandem.hw.topology import MemoryId, Unit
from tandem.runtime.launch import run_program
from tests.support.compiler.machines.accelerator.lower.clip_operators import clip
from tests.support.compiler.machines.accelerator.lower.invocations import INTRINSICS, TINY
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine
from tests.support.compiler.machines.accelerator.templates.random_convolution import (
    RandomConvolution,
)
from tests.support.compiler.machines.accelerator.templates.streams import run_stream

TARGET = AcceleratorTarget.of(TINY)
PAGE = 4096


def compiled(*operators: Operator) -> Stream:
    return compile_stream(operators, TARGET)


VALUES = np.arange(-12, 12, 2, dtype=np.int8).reshape(3, 1, 4)


def test_tensors_lie_one_behind_the_other() -> None:
    """The first page has nothing. After the tensors, at multiples of WGT's elements of 16 bytes,
    come the page of zeros, and the micro-ops."""
    stream = compiled(clip(rows=17), clip("again", source="D", result="E", rows=17))
    assert {name: (each.address, each.size) for name, each in stream.tensors.items()} == {
        "S": (PAGE, 68),
        "D": (PAGE + 80, 68),
        "E": (PAGE + 160, 68),
    }
    assert stream.constants[2 * PAGE] == bytes(PAGE)
    assert list(stream.constants) == [2 * PAGE, 3 * PAGE]
    assert stream.memory_bytes == 4 * PAGE


def test_a_tensor_lies_where_it_is_placed() -> None:
    """In page 0, too; tensors without an address come after the placed ones."""
    stream = compile_stream([clip()], TARGET, {"S": 0})
    assert {name: each.address for name, each in stream.tensors.items()} == {"S": 0, "D": PAGE}
    stream = compile_stream([clip()], TARGET, {"S": 5 * PAGE})
    assert stream.tensors["D"].address == 6 * PAGE


def test_a_stream_fits_in_the_address_space() -> None:
    """With the program, on a page of its own."""
    operators = [clip(rows=17)]
    far = {"S": (1 << 16) - 2 * PAGE}
    enough = AcceleratorTarget.of(TINY.replace(address_bits=17))
    assert compile_stream(operators, enough, far).memory_bytes < 1 << 17
    small = AcceleratorTarget.of(TINY.replace(address_bits=16))
    message = (
        r"^configuration tiny has addresses of 16 bits, which reach 65,536 bytes; the stream "
        r"needs 73,824: 73,728 for tensors and micro-ops, and 96 for the program$"
    )
    with pytest.raises(CapacityError, match=message):
        compile_stream(operators, small, far)


@pytest.mark.parametrize("side", [0, 1])
def test_wrong_tokens_are_noticed(side: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that are never pushed, and those that are never popped."""

    def one_less(slots: TokenedCommands) -> TokenedCommands:
        tokens = slots.tokens.copy()
        tokens[np.flatnonzero(tokens[:, side])[0], side] = 0
        return replace(slots, tokens=tokens)

    monkeypatch.setattr("tandem.compiler.machines.accelerator.lower.stream.await_stores", one_less)
    with pytest.raises(LoweringError, match=r"^compiler bug, please report it: the strea"):
        compiled(clip())


def test_an_image_has_tensors_and_constants() -> None:
    stream = compiled(clip())
    image = stream.image({"S": VALUES})
    assert image.shape == (stream.memory_bytes,)
    np.testing.assert_array_equal(stream.read(image, "S"), VALUES)
    stream.read(image, "S")[:] = 1
    np.testing.assert_array_equal(stream.read(image, "S"), VALUES, "what was read is a copy")
    np.testing.assert_array_equal(stream.read(image, "D"), np.zeros_like(VALUES))
    for address, data in stream.constants.items():
        assert image[address : address + len(data)].tobytes() == data
    np.testing.assert_array_equal(stream.image({"S": np.asfortranarray(VALUES)}), image)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("S", VALUES[:2], r"^S must be int8\[3, 1, 4\], not int8\[2, 1, 4\]$"),
        ("S", VALUES.astype(np.int32), r"^S must be int8\[3, 1, 4\], not int32\[3, 1, 4\]$"),
        ("X", VALUES, "^there is no tensor X; there are S, D$"),
    ],
)
def test_other_values_are_refused(name: str, value: np.ndarray, message: str) -> None:
    stream = compiled(clip())
    with pytest.raises(LoweringError, match=message):
        stream.image({name: value})
    with pytest.raises(LoweringError, match=r"^there is no tensor a; there are S, D$"):
        stream.read(stream.image({}), "a")


def test_operators_share_a_tensor_of_one_name() -> None:
    """`D` of one is `S` of the other, under a third name."""
    stream = compiled(clip(result="middle"), clip("again", source="middle", result="end"))
    assert list(stream.tensors) == ["S", "middle", "end"]
    outputs, _ = run_stream(stream, {"S": VALUES})
    np.testing.assert_array_equal(outputs["middle"], np.maximum(VALUES, -7))
    np.testing.assert_array_equal(outputs["end"], np.maximum(VALUES, -7))


def test_a_buffer_in_dram_that_nobody_names_is_its_operators_own() -> None:
    def through(name: str, result: str) -> Operator:
        first = clip(name)
        program = text(first.program)
        head, tail = program.split("  for m in 3")
        between = "".join(
            f"  for {row} in 3:\n    for {lane} in 4:\n      {assignment}\n"
            for row, lane, assignment in (
                ("x", "y", "T[x, 0, y] = int8(a[x, 0, y])"),
                ("v", "w", "a[v, 0, w] = int32(T[v, 0, w])"),
            )
        )
        head = head.replace("  alloc a", "  alloc T: int8[3, 1, 4]\n  alloc a")
        return Operator(parse(f"{head}{between}  for m in 3{tail}", INTRINSICS), {"D": result})

    stream = compiled(through("one", "D"), through("two", "E"))
    assert list(stream.tensors) == ["S", "D", "one.T", "E", "two.T"]


def test_tensors_that_do_not_exist_or_differ_are_refused() -> None:
    wrong = Operator(clip().program, {"Z": "x", "Y": "y", "a": "z"})
    with pytest.raises(LoweringError, match=r"^clip has no buffer Y, Z, a; it has S, D$"):
        compiled(wrong)
    with pytest.raises(
        LoweringError, match=r"^D is int8\[3, 1, 4\], and int8\[5, 1, 4\] in again$"
    ):
        compiled(clip(), clip("again", source="D", result="E", rows=5))


def test_every_instruction_tells_where_it_comes_from() -> None:
    stream = compiled(clip(), clip("again", source="D", result="E"))
    assert len(stream.sites) == len(stream.program) == len(stream.slots) + 1
    *instructions, last = stream.program
    assert last == Finish()
    operators = stream.operator_of.tolist()
    assert (operators[-1], stream.sites[-1]) == (-1, ("", ()))
    found = list(zip(operators, (stage for stage, _ in stream.sites), strict=True))
    places = zip(instructions, found, stream.commands, stream.slots.unit, strict=False)
    for instruction, (operator, stage), command, unit in places:
        assert unit_of(instruction) is Unit(unit)
        nothing = isinstance(instruction, Load) and not instruction.x_size
        assert (operator < 0) is (not stage) is (command is None) is nothing
        if isinstance(instruction, Load) and instruction.memory is MemoryId.UOP and not nothing:
            assert stage == "micro-ops"
    assert {*found} == {(-1, ""), *product((0, 1), ("micro-ops", "a", "D"))}
    commands = [each for each in operators if each >= 0]
    assert commands == sorted(commands)


def test_all_stages_of_a_convolution_have_instructions() -> None:
    drawn = RandomConvolution.of(18, machine("tiny"), largest=3)
    stream = drawn.stream()
    stages = {stage for stage, _ in stream.sites if stage}
    operands = {f"out_{name}" for name in drawn.values if name not in ("data", "weight")}
    assert stages == {"micro-ops", "out", "out_pad", "out_weight", "out_sum", *operands}
    iterations = {dict(iterations)["out.oc_o"] for _, iterations in stream.sites if iterations}
    assert iterations == {0, 1}


def test_dump_has_every_stage() -> None:
    stream = compiled(clip(), clip(source="D", result="E"))
    found = stream.dump()
    assert list(found) == [
        "clip: schedule",
        "clip: lowered",
        "clip: elaborate",
        "clip: drop-unused-loads",
        "clip (1): schedule",
        "clip (1): lowered",
        "clip (1): elaborate",
        "clip (1): drop-unused-loads",
        "commands",
        "instructions",
    ]
    for name, (operator, program) in zip(("clip", "clip (1)"), stream.elaborated, strict=True):
        assert found[f"{name}: schedule"] == text(operator.program)
        assert found[f"{name}: lowered"] == text(program.lowered)
        stages = [each for made, each in found.items() if made.startswith(f"{name}: ")][2:]
        assert {*stages} == {"\n".join(map(str, program.commands))}
    assert found["instructions"] == disassemble(stream.program)


def test_commands_are_shown_with_their_tokens() -> None:
    stream = compiled(clip())
    assert stream.dump()["commands"].splitlines() == [
        "compute acc_8bit[0 :+ 3] <- dram[1024 :+ 3]",
        "compute uop[0 :+ 1] <- dram[3072 :+ 1]",
        "compute max -7 1 x 3 x 1 micro-ops from acc[0] >store",
        "store   out[0 :+ 3] -> dram[1028 :+ 3] <compute >compute",
        "compute wait <store",
    ]


@pytest.mark.parametrize("engine", ["functional", "rtl"])
def test_the_wait_at_the_end_costs_a_few_cycles_and_changes_no_result(engine: str) -> None:
    stream = compiled(clip(rows=17), clip("again", source="D", result="E", rows=17))
    image = stream.image({"S": np.arange(-34, 34, dtype=np.int8).reshape(17, 1, 4)})
    *instructions, wait, finish = stream.program
    assert isinstance(wait, Load)
    assert (wait.memory, wait.x_size, wait.tokens) == (MemoryId.UOP, 0, Tokens(pop_next=True))
    last = max(at for at, each in enumerate(instructions) if isinstance(each, Store))
    store = instructions[last]
    instructions[last] = replace(store, tokens=replace(store.tokens, push_prev=False))
    without = Program.from_instructions(TINY, [*instructions, finish])
    (found, ran), (wanted, before) = (
        run_program(program, image, engine=engine) for program in (stream.program, without)
    )
    np.testing.assert_array_equal(found, wanted)
    assert np.all(stream.read(found, "E").astype(np.int8) >= -7)
    if ran.cycles is not None and before.cycles is not None:
        assert 0 < ran.cycles - before.cycles <= 6


def test_llvm_waits_until_a_stream_is_made() -> None:
    code = (
        "import sys, tandem.compiler.machines.accelerator.lower\n"
        "assert 'llvmlite' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
