"""The text of networks of a few instructions: goldens of their functions, which LLVM accepts."""

from __future__ import annotations

import re
from collections.abc import Callable

import llvmlite.binding as llvm
import pytest
from msgspec.structs import replace

from tandem.compiler.machines.cpu.network.frames import place_frames
from tandem.compiler.machines.cpu.network.text import Program, network_text
from tandem.runtime.artifact import (
    Arena,
    Branch,
    BranchForm,
    CallFunction,
    Form,
    FunctionCode,
    Instruction,
    Jump,
    MakeCell,
    Move,
    MoveRow,
    ReadCell,
    Reference,
    Return,
    RunStep,
    Step,
    TailCall,
    Tensor,
)
from tandem.runtime.artifact.manifest import Input, Output

FLAG, INDEX, VECTOR = ("bool", ()), ("int64", ()), ("float32", (3,))


def tensor(name: str, kind: tuple[str, tuple[int, ...]], offset: int) -> Tensor:
    return Tensor(name=name, shape=kind[1], dtype=kind[0], place=Arena(offset=offset))


def function(name: str, *instructions: Instruction, **fields: tuple[str, ...]) -> FunctionCode:
    parts = {"params": (), "results": (), "tensors": (), **fields}
    return FunctionCode(name=name, instructions=instructions, frame_bytes=64, **parts)


def program(
    functions: tuple[FunctionCode, ...], tensors: tuple[Tensor, ...], forms: tuple[Form, ...] = ()
) -> Program:
    """With a step of two operands, whose kernel takes the second one first."""
    steps = (
        Step(
            name="s",
            device="cpu",
            code="kernel",
            inputs=("x",),
            outputs=("y",),
            operators=(),
            macs=0,
        ),
    )
    named = {each.name: each for each in tensors}
    references = [name for name, each in named.items() if isinstance(each.place, Reference)]
    return Program(
        functions,
        steps,
        named,
        forms,
        slots={"x": 4, "out": 5},
        kernels={"kernel": 6},
        arguments={"kernel": (1, 0)},
        frames=place_frames(functions, references),
    )


OUTSIDE = (
    Tensor(name="x", shape=(3,), dtype="float32", place=Input()),
    Tensor(name="out", shape=(3,), dtype="float32", place=Output()),
)


def loops() -> Program:
    """A function that is called, and one that goes on with itself and with another."""
    main = function(
        "main",
        RunStep(step=0),
        MoveRow(source="y", target="rows", index="at"),
        Branch(condition="flag", otherwise=4),
        Jump(target=0),
        CallFunction(function="loop", inputs=("y",), outputs=("out",)),
        Return(),
    )
    loop = function(
        "loop",
        Branch(condition="more", otherwise=3),
        Jump(target=2),
        TailCall(function="loop", inputs=("of_loop",)),
        TailCall(function="last", inputs=("of_loop",)),
        params=("of_loop",),
    )
    last = function("last", Return(), params=("of_last",), results=("of_last",))
    own = (
        *(tensor("y", VECTOR, 0), tensor("rows", ("float32", (2, 3)), 16)),
        *(tensor("at", INDEX, 40), tensor("flag", FLAG, 48)),
        *(tensor("of_loop", VECTOR, 0), tensor("more", FLAG, 16), tensor("of_last", VECTOR, 8)),
    )
    return program((main, loop, last), (*OUTSIDE, *own))


def cells() -> Program:
    """Cells that are made, told apart and read, and a function that waits for itself."""
    main = function(
        "main",
        MakeCell(form=1, fields=("list", "y"), target="made"),
        BranchForm(source="made", form=1, otherwise=4),
        ReadCell(form=1, source="made", fields=("list", "y")),
        Move(source="list", target="made"),
        CallFunction(function="deep", inputs=("made",), outputs=("list",)),
        Return(),
        tensors=("y", "made", "list"),
    )
    deep = function(
        "deep",
        CallFunction(function="deep", inputs=("given",), outputs=("given",)),
        TailCall(function="ends", inputs=("given",)),
        tensors=("given",),
        params=("given",),
    )
    ends = function("ends", Return(), tensors=("result",), params=("result",), results=("result",))
    names = ("made", "list", "given", "result")
    references = [Tensor(name=name, shape=(), dtype="int64", place=Reference()) for name in names]
    forms = Form(name="Nil", fields=()), Form(name="Cons", fields=(None, ((3,), "float32")))
    own = (*OUTSIDE, tensor("y", VECTOR, 0), *references)
    return program((main, deep, ends), own, forms)


def functions_of(text: str) -> str:
    """What depends on the network: its dispatcher and its own functions."""
    found = re.findall(r"^define internal i64 @(?:enter|f\d+)\(.*?^}$", text, re.M | re.S)
    return "\n\n".join(found) + "\n"


MADE = {"loops": loops, "cells": cells}


@pytest.mark.parametrize("name", MADE)
def test_functions(name: str, golden: Callable[[str, str], None]) -> None:
    text = network_text(MADE[name]())
    golden(f"network_text/{name}.ll", functions_of(text))
    module = llvm.parse_assembly(text)
    module.verify()
    assert ("define internal ptr @make(" in text) == (name == "cells")


def test_a_loop_of_one_instruction_can_be_stopped() -> None:
    forever = program((function("main", Jump(target=0), Return()),), OUTSIDE)
    assert "  %breath0 = call i64 @breathe(ptr %state)" in functions_of(network_text(forever))
    forward = program((function("main", Jump(target=1), Return()),), OUTSIDE)
    assert "breath0" not in network_text(forward)


def test_a_heap_is_for_cells_and_for_calls_that_wait_for_themselves() -> None:
    main = function("main", CallFunction(function="deep", inputs=(), outputs=()), Return())
    deep = function("deep", CallFunction(function="deep", inputs=(), outputs=()), Return())
    forms = (Form(name="Nil", fields=()),)
    for functions, of, heap in (
        ((main, deep), (), True),
        ((function("main", Return()),), forms, True),
        ((function("main", Return()),), (), False),
    ):
        made = program(functions, OUTSIDE, of)
        assert bool(made.has_heap) is heap
        assert ("@allocate(" in network_text(made)) is heap


def test_names_are_no_part_of_the_text() -> None:
    plain = loops()
    renamed = program(tuple(map(_renamed, plain.functions)), tuple(plain.tensors.values()))
    assert network_text(renamed) == network_text(plain)


def _renamed(code: FunctionCode) -> FunctionCode:
    """The same function by another name, which calls others by theirs."""
    calls = (CallFunction, TailCall)
    instructions = tuple(
        type(one)(f"other_{one.function}", *_rest(one)) if isinstance(one, calls) else one
        for one in code.instructions
    )
    return replace(code, name=f"other_{code.name}", instructions=instructions)


def _rest(call: CallFunction | TailCall) -> tuple[tuple[str, ...], ...]:
    return (call.inputs, call.outputs) if isinstance(call, CallFunction) else (call.inputs,)
