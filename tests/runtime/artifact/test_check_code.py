"""Functions of artifacts by hand: what is legal, and the first reason why something is not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NoReturn

import pytest
from msgspec.structs import replace

from tandem.runtime.artifact import (
    Arena,
    Branch,
    BranchForm,
    CallFunction,
    ConstantPlace,
    FunctionCode,
    Input,
    Instruction,
    Jump,
    Kept,
    MakeCell,
    Manifest,
    Move,
    MoveRow,
    Output,
    Port,
    Provenance,
    ReadCell,
    Reference,
    Return,
    RunStep,
    Step,
    TailCall,
    Tensor,
)
from tandem.runtime.artifact.check_code import check_code
from tandem.runtime.artifact.instructions import Form

TENSORS = [
    Tensor("x", (2,), "float32", Input()),
    Tensor("y", (2,), "float32", Output()),
    Tensor("k", (2,), "float32", ConstantPlace()),
    Tensor("a", (2,), "float32", Arena(0)),
    Tensor("b", (2,), "float32", Arena(64)),
    Tensor("over", (2,), "float32", Arena(64)),
    Tensor("rows", (3, 2), "float32", Arena(128)),
    Tensor("at", (), "int64", Arena(192)),
    Tensor("yes", (), "bool", Arena(256)),
    Tensor("kept", (2,), "float32", Kept("gpu")),
    Tensor("cell", (), "int64", Reference()),
    Tensor("rest", (), "int64", Reference()),
    Tensor("p", (2,), "float32", Arena(0)),
    Tensor("q", (2,), "float32", Arena(64)),
    Tensor("t", (2,), "float32", Arena(128)),
]
OWN = tuple(each.name for each in TENSORS if each.name not in ("k", "p", "q", "t"))
STEPS = [
    Step("s0", "cpu", "c", ("x",), ("a",), (), 0),
    Step("s1", "cpu", "c", ("a",), ("y",), (), 0),
    Step("s2", "cpu", "c", ("p",), ("q",), (), 0),
]
INNER = FunctionCode("inner", ("p",), ("q",), ("p", "q", "t"), (RunStep(2), Return()), 192)
FORMS = (Form("list.nil", ()), Form("list.cons", (((2,), "float32"), None)))


def main(instructions: Sequence[Instruction]) -> FunctionCode:
    return FunctionCode("main", (), (), OWN, tuple(instructions), 320)


def manifest(instructions: Sequence[Instruction], inner: FunctionCode = INNER) -> Manifest:
    return Manifest(
        *("net", Provenance("net"), tuple(TENSORS), (Port("x", "x"),), (Port("y", "y"),)),
        *(tuple(STEPS), 320, (main(instructions), inner), (), FORMS),
    )


class Refused(Exception):
    """The reason that was told."""


def fail(reason: str) -> NoReturn:
    raise Refused(reason)


def check(checked: Manifest) -> None:
    check_code(checked, {tensor.name: tensor for tensor in checked.tensors}, fail)


def allowed(*between: Instruction, inner: FunctionCode = INNER) -> None:
    """Between the two steps of the network there may be such instructions."""
    check(manifest((RunStep(0), *between, RunStep(1), Return()), inner))


def refused(reason: str, *between: Instruction, inner: FunctionCode = INNER) -> None:
    with pytest.raises(Refused, match=f"^{re.escape(reason)}"):
        allowed(*between, inner=inner)


def refused_manifest(reason: str, checked: Manifest) -> None:
    with pytest.raises(Refused, match=f"^{re.escape(reason)}"):
        check(checked)


def refused_whole(reason: str, **changes: Any) -> None:
    """A change of the whole manifest."""
    refused_manifest(reason, replace(manifest((RunStep(0), RunStep(1), Return())), **changes))


def test_legal_functions() -> None:
    allowed()
    allowed(CallFunction("inner", ("a",), ("b",)), Move("b", "a"))
    # A constant is an operand of all functions.
    allowed(CallFunction("inner", ("k",), ("b",)))
    allowed(inner=replace(INNER, instructions=(RunStep(2), TailCall("inner", ("q",)))))
    allowed(inner=replace(INNER, frame_bytes=0))


def test_functions_and_their_tensors() -> None:
    whole = manifest((RunStep(0), RunStep(1), Return()))
    own, inner = whole.functions
    refused_whole("two functions have one name", functions=(own, inner, inner))
    said = "main, its own function, has parameters, results or an arena of its own"
    for changes in ({"params": ("a",)}, {"results": ("a",)}, {"frame_bytes": 256}):
        refused_whole(said, functions=(replace(own, **changes), inner))
    for name in ("missing", "k", "x", "a"):
        other = replace(inner, tensors=("p", "q", "t", name))
        refused_whole(f"{name} is no tensor of inner alone", functions=(own, other))
    mine = replace(own, tensors=tuple(name for name in OWN if name != "y"))
    other = replace(inner, tensors=("p", "q", "t", "y"))
    refused_whole("y of inner is an input or a result of the network", functions=(mine, other))
    short = replace(inner, tensors=("p", "q"))
    refused_whole("t is a tensor of no function", functions=(own, short))


def test_each_step_runs_once() -> None:
    refused("its functions run the steps [0, 0, 1, 2], and there are 3", RunStep(0))
    own = main((RunStep(0), Move("a", "y"), Return()))
    refused_whole("its functions run the steps [0, 2], and there are 3", functions=(own, INNER))


def test_the_parts_of_a_function() -> None:
    for changes, reason in (
        ({"frame_bytes": -1}, "a frame of -1 bytes"),
        ({"params": ("p", "a")}, "its parameter or result a is no tensor of its own"),
        ({"results": ("k",)}, "its parameter or result k is no tensor of its own"),
        ({"params": ("p", "p")}, "two parameters are one tensor"),
    ):
        refused(f"function inner: {reason}", inner=replace(INNER, **changes))
    steps = (Step("s0", "cpu", "c", ("x",), ("a",), (), 0), STEPS[1])
    empty = replace(INNER, instructions=())
    whole = manifest((RunStep(0), RunStep(1), Return()), empty)
    refused_manifest("function inner: it has no instructions", replace(whole, steps=steps))


def test_moves() -> None:
    allowed(Move("a", "b"))
    allowed(Move("k", "b"))
    refused("function main: instruction 1 copies a, float32[2], as at, int64[]", Move("a", "at"))
    refused("function main: instruction 1 copies a, float32[2], as rows, fl", Move("a", "rows"))
    refused("function main: an operand of instruction 1 is no, and there is no", Move("no", "a"))
    refused("function main: instruction 1 has the operand p, of another function", Move("p", "b"))
    refused("function main: instruction 1 has the operand p, of another function", Move("a", "p"))
    refused("function main: instruction 1 writes k, which is not its own", Move("a", "k"))
    refused("function main: instruction 1 writes x, which is not its own", Move("a", "x"))
    refused("function main: instruction 1 reads or writes a in passing", Move("a", "a"))
    refused("function main: kept stays on a device, and is no operand of ", Move("a", "kept"))
    refused("function main: instruction 1 copies cell, int64[], as at, int64[]", Move("cell", "at"))


NIL = MakeCell(0, (), "rest")


def test_rows() -> None:
    put: list[Instruction] = [Move("k", "b"), MoveRow("b", "rows", "at")]
    count = Step("s3", "cpu", "c", (), ("at", "rows"), (), 0)

    def whole(*between: Instruction) -> Manifest:
        plain = manifest((RunStep(3), RunStep(0), *between, RunStep(1), Return()))
        return replace(plain, steps=(*STEPS, count))

    check(whole(*put))
    for row, target, index in (
        ("b", "rows", "b"),
        ("b", "a", "at"),
        ("at", "rows", "at"),
        ("rows", "b", "at"),
    ):
        with pytest.raises(Refused, match=r"^function main: instruction 3 copies .* to a row of"):
            check(whole(Move("k", "b"), MoveRow(row, target, index)))
    # The other rows stay: they have to be there before.
    only = replace(count, outputs=("at",))
    refused_manifest(
        "function main: instruction 3 reads rows before it is wri",
        replace(whole(*put), steps=(*STEPS, only)),
    )
    refused_manifest(
        "function main: cell refers to a cell, and is no number",
        whole(NIL, MakeCell(1, ("a", "rest"), "cell"), MoveRow("b", "rows", "cell")),
    )


def test_branches() -> None:
    test = Step("s3", "cpu", "c", (), ("yes",), (), 0)

    def whole(*instructions: Instruction) -> Manifest:
        return replace(manifest(instructions), steps=(*STEPS, test))

    both = (RunStep(3), RunStep(0), Branch("yes", 4), Move("a", "b"), RunStep(1), Return())
    check(whole(*both))
    for otherwise in (-1, 6):
        refused_manifest(
            f"function main: instruction 2 continues at {otherwise},",
            whole(*both[:2], Branch("yes", otherwise), *both[3:]),
        )
    refused_manifest(
        "function main: instruction 5 reads y before it is written",
        whole(*both[:2], Branch("yes", 5), *both[3:]),
    )
    refused_manifest(
        "function main: instruction 2 branches on a, which is float32[2]",
        whole(*both[:2], Branch("a", 4), *both[3:]),
    )
    # What one path has not written, no path may read.
    refused_manifest(
        "function main: instruction 4 reads b before it is written",
        whole(*both[:4], Move("b", "a"), RunStep(1), Return()),
    )
    refused("function main: instruction 1 continues at 7, where there", Jump(7))
    # A path that never ends reads what comes before it, too.
    allowed(Jump(2))
    refused("function main: instruction 2 reads b before it is", Jump(2), Move("b", "a"))


def test_calls() -> None:
    refused("function main: instruction 1 calls no, and th", CallFunction("no", (), ()))
    refused("function main: instruction 1 calls main, and there", CallFunction("main", (), ()))
    refused("function main: instruction 1 has 0 operands for 1", CallFunction("inner", (), ("b",)))
    refused(
        "function main: instruction 1 has 2 oper",
        CallFunction("inner", ("a",), ("a", "b")),
    )
    said = "function main: instruction 1 copies rows, float32[3, 2], as p, float32[2]"
    refused(said, CallFunction("inner", ("rows",), ("b",)))
    said = "function main: instruction 1 copies rows, float32[3, 2], as q, float32[2]"
    refused(said, CallFunction("inner", ("a",), ("rows",)))
    refused("function main: instruction 1 reads b", CallFunction("inner", ("b",), ("over",)))
    refused("function main: instruction 1 ends the network with a call", TailCall("inner", ("a",)))
    tail = replace(INNER, results=("t",), instructions=(RunStep(2), TailCall("inner", ())))
    refused("function inner: instruction 1 has 0 operands for 1", inner=tail)


def test_cells() -> None:
    cons = MakeCell(1, ("a", "rest"), "cell")
    read = ReadCell(1, "cell", ("b", "rest"))
    allowed(NIL, cons, BranchForm("cell", 1, 5), read)
    refused("function main: instruction 1 has the form 2, and there are 2", MakeCell(2, (), "rest"))
    refused("function main: instruction 1 has the form -1, and", MakeCell(-1, (), "rest"))
    refused("function main: instruction 2 has the form 2, and ", NIL, BranchForm("rest", 2, 3))
    refused("function main: instruction 1 takes at for a cell, and it ref", MakeCell(0, (), "at"))
    refused("function main: instruction 1 takes a for a cell", BranchForm("a", 0, 2))
    refused("function main: instruction 2 takes a for a cell", NIL, ReadCell(0, "a", ()))
    said = "function main: instruction 2 has (float32[2], int64[]) for the fields of list.cons"
    refused(said, NIL, MakeCell(1, ("a", "at"), "cell"))
    said = "function main: instruction 2 has (float32[3, 2], int64[]) for the fields of list.cons"
    refused(said, NIL, MakeCell(1, ("rows", "rest"), "cell"))
    refused(
        "function main: instruction 2 has () for the f",
        NIL,
        MakeCell(1, (), "cell"),
    )
    refused("function main: instruction 1 reads cell before it is written", read)
    twice = ReadCell(1, "cell", ("b", "cell"))
    refused("function main: instruction 3 reads or writes cell in passing", NIL, cons, twice)


def test_nothing_is_read_before_it_is_written() -> None:
    refused_manifest(
        "function main: instruction 0 reads a before it is written",
        manifest((RunStep(1), RunStep(0), Return())),
    )
    unwritten = replace(INNER, instructions=(RunStep(2), Move("t", "q"), Return()))
    refused("function inner: instruction 1 reads t before it is written", inner=unwritten)
    without = replace(INNER, results=("t",))
    refused("function inner: instruction 1 reads t before it is written", inner=without)
    # The result of the network is read at its end.
    own = main((RunStep(0), Return()))
    inner = replace(INNER, instructions=(RunStep(1), Return()))
    whole = replace(manifest(()), functions=(own, inner), steps=(STEPS[0], STEPS[2]))
    refused_manifest("function main: instruction 1 reads y before it is written", whole)


def test_nothing_is_overwritten_that_is_still_needed() -> None:
    allowed(Move("a", "b"), Move("b", "a"), Move("k", "over"))
    said = "function main: instruction 2 writes over over b, which is still needed"
    refused(said, Move("a", "b"), Move("k", "over"), Move("b", "a"))
    # Neither on a path that comes back.
    loop = (Move("a", "b"), Move("k", "over"), Jump(2))
    allowed(*loop)
    refused(
        "function main: instruction 3 writes over over b, which is still needed",
        *(Move("a", "b"), Move("b", "a"), Move("k", "over"), Jump(2)),
    )
    # Nor what the same instruction reads or writes.
    said = "function main: instruction 2 writes over over b, which is still needed"
    refused(said, Move("a", "b"), CallFunction("inner", ("b",), ("over",)))
    two = replace(INNER, results=("q", "t"), instructions=(RunStep(2), Move("q", "t"), Return()))
    said = "function main: instruction 1 writes b over over, which is still needed"
    refused(said, CallFunction("inner", ("a",), ("b", "over")), inner=two)


def test_parameters_lie_apart() -> None:
    tensors = {each.name: each for each in TENSORS}
    two = replace(INNER, params=("p", "t"))
    call = CallFunction("inner", ("a", "k"), ("b",))
    allowed(call, inner=two)
    for offset, fits in ((0, False), (7, False), (8, True)):
        other = {**tensors, "t": replace(tensors["t"], place=Arena(offset))}
        whole = manifest((RunStep(0), call, RunStep(1), Return()), two)
        whole = replace(whole, tensors=tuple(other.values()))
        if fits:
            check(whole)
            continue
        refused_manifest("function inner: a call writes p over t, which is still", whole)
