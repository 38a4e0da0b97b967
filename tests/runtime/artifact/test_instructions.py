"""Instructions of functions: how files name them, and how many calls may wait."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tandem.runtime.artifact import Artifact, Manifest, Provenance
from tandem.runtime.artifact.instructions import (
    Branch,
    BranchForm,
    CallFunction,
    FunctionCode,
    Instruction,
    Jump,
    MakeCell,
    Move,
    MoveRow,
    ReadCell,
    Return,
    RunStep,
    TailCall,
)
from tandem.runtime.errors import RunError
from tandem.runtime.register_machine import RegisterMachine

CASES: list[tuple[Instruction, dict[str, Any]]] = [
    (RunStep(3), {"type": "run", "step": 3}),
    (Move("a", "b"), {"type": "move", "source": "a", "target": "b"}),
    (MoveRow("a", "b", "i"), {"type": "move_row", "source": "a", "target": "b", "index": "i"}),
    (Jump(4), {"type": "jump", "target": 4}),
    (Branch("c", 5), {"type": "branch", "condition": "c", "otherwise": 5}),
    (
        CallFunction("f", ("a",), ("b", "c")),
        {"type": "call", "function": "f", "inputs": ["a"], "outputs": ["b", "c"]},
    ),
    (TailCall("f", ("a",)), {"type": "tail_call", "function": "f", "inputs": ["a"]}),
    (
        MakeCell(1, ("a", "b"), "c"),
        {"type": "make_cell", "form": 1, "fields": ["a", "b"], "target": "c"},
    ),
    (
        BranchForm("c", 1, 6),
        {"type": "branch_form", "source": "c", "form": 1, "otherwise": 6},
    ),
    (
        ReadCell(1, "c", ("a",)),
        {"type": "read_cell", "form": 1, "source": "c", "fields": ["a"]},
    ),
    (Return(), {"type": "return"}),
]


@pytest.mark.parametrize(("instruction", "plain"), CASES)
def test_files(instruction: Instruction, plain: dict[str, Any]) -> None:
    assert msgspec.json.decode(msgspec.json.encode(instruction)) == plain
    assert msgspec.convert(plain, Instruction) == instruction
    with pytest.raises(msgspec.ValidationError, match="unknown field `more`"):
        msgspec.convert({**plain, "more": 1}, Instruction)


def test_the_code_of_a_function() -> None:
    code = FunctionCode("f", ("a",), ("b",), ("a", "b"), (Move("a", "b"), Return()), 64)
    plain = {
        **{"name": "f", "params": ["a"], "results": ["b"], "tensors": ["a", "b"]},
        "instructions": [{"type": "move", "source": "a", "target": "b"}, {"type": "return"}],
        "frame_bytes": 64,
    }
    assert msgspec.json.decode(msgspec.json.encode(code)) == plain
    assert msgspec.convert(plain, FunctionCode) == code
    with pytest.raises(msgspec.ValidationError, match="Invalid value 'halt'"):
        msgspec.convert({**plain, "instructions": [{"type": "halt"}]}, FunctionCode)


def chain(count: int) -> Artifact:
    """A network of functions without tensors, each of which calls the next: `count` calls wait
    when the last one runs."""
    functions = [
        FunctionCode(f"f{at}", (), (), (), (CallFunction(f"f{at + 1}", (), ()), Return()), 0)
        for at in range(count)
    ]
    functions.append(FunctionCode(f"f{count}", (), (), (), (Return(),), 0))
    return Artifact(
        Manifest("net", Provenance("net"), (), (), (), (), 0, functions=tuple(functions)), {}, {}
    )


def test_a_thousand_calls_may_wait() -> None:
    RegisterMachine(chain(1000), {}).run({}, lambda *_: None)
    with pytest.raises(RunError, match=r"f1001 of net: more than 1000 calls wait for results"):
        RegisterMachine(chain(1001), {}).run({}, lambda *_: None)
