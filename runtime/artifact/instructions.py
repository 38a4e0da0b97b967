"""Instructions: the order in which the steps of an artifact with control flow run.

    code        = name, params, results, tensors, instructions, frame_bytes
    instruction = run(step) | move(source, target) | move_row(source, target, index)
                | jump(target) | branch(condition, otherwise)
                | call(function, inputs, outputs) | tail_call(function, inputs) | return
                | make_cell(form, fields, target) | branch_form(source, form, otherwise)
                | read_cell(form, source, fields)

A function has tensors of its own, in a frame: memory that each of its calls has for itself, with
the offsets of one plan. Constants are shared. Operands are names of tensors; targets of jumps are
numbers of instructions in the same function. Operands of a call are copied into the frame of the
called function, its results back: no frame refers to another.

Values of data types are cells on a heap, made once and never changed. A tensor whose place is
`Reference` refers to one: it counts as a use of the cell from the instruction that writes it until
another value is written or its frame is free, and a copy of it is a use of the same cell. So do the
fields of a cell, until nothing uses the cell. Cells only refer to older ones: counts suffice.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from msgspec import Struct

MAX_CALLS: Final = 1000
"""The maximum number of calls that wait for the result of another; tail calls do not wait."""


class RunStep(Struct, frozen=True, tag="run", forbid_unknown_fields=True):
    """Runs a step, by its number in the manifest."""

    step: int


class Move(Struct, frozen=True, tag="move", forbid_unknown_fields=True):
    """Copies a tensor to another of its shape and type."""

    source: str
    target: str


class MoveRow(Struct, frozen=True, tag="move_row", forbid_unknown_fields=True):
    """Copies a tensor to a row of another one, whose other rows stay.

    Attributes
    ----------
    target
        Has another axis before those of `source`.
    index
        The row: an int64 scalar. Nothing is copied if it is out of range.
    """

    source: str
    target: str
    index: str


class Jump(Struct, frozen=True, tag="jump", forbid_unknown_fields=True):
    """Continues at another instruction."""

    target: int


class Branch(Struct, frozen=True, tag="branch", forbid_unknown_fields=True):
    """Continues at the next instruction if the condition, a bool scalar, holds, else at
    `otherwise`."""

    condition: str
    otherwise: int


class CallFunction(Struct, frozen=True, tag="call", forbid_unknown_fields=True):
    """Calls a function: copies `inputs` to its parameters, and its results to `outputs`."""

    function: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


class TailCall(Struct, frozen=True, tag="tail_call", forbid_unknown_fields=True):
    """Ends this function with a call, whose results are this function's; its frame is free then."""

    function: str
    inputs: tuple[str, ...]


class Form(Struct, frozen=True, forbid_unknown_fields=True):
    """What the cells of one constructor of a data type hold.

    Attributes
    ----------
    name
        The type and the constructor, for messages.
    fields
        Shapes and NumPy's names of types; None for a reference.
    """

    name: str
    fields: tuple[tuple[tuple[int, ...], str] | None, ...]


class MakeCell(Struct, frozen=True, tag="make_cell", forbid_unknown_fields=True):
    """Makes a cell of copies of `fields`; `target` refers to it. `form` is a number in the
    manifest."""

    form: int
    fields: tuple[str, ...]
    target: str


class BranchForm(Struct, frozen=True, tag="branch_form", forbid_unknown_fields=True):
    """Continues at the next instruction if the cell of `source` has the form, else at
    `otherwise`."""

    source: str
    form: int
    otherwise: int


class ReadCell(Struct, frozen=True, tag="read_cell", forbid_unknown_fields=True):
    """Copies the fields of the cell of `source`, which has the form, to the tensors `fields`."""

    form: int
    source: str
    fields: tuple[str, ...]


class Return(Struct, frozen=True, tag="return", forbid_unknown_fields=True):
    """Ends the function: its results are in its result tensors."""


Instruction: TypeAlias = (
    RunStep
    | Move
    | MoveRow
    | Jump
    | Branch
    | CallFunction
    | TailCall
    | MakeCell
    | BranchForm
    | ReadCell
    | Return
)


class FunctionCode(Struct, frozen=True, forbid_unknown_fields=True):
    """The code of a function.

    Attributes
    ----------
    params, results
        Tensors that a call writes before the first instruction, and reads after `Return`; the
        network's own function has its inputs and results in the manifest instead.
    tensors
        The function's own tensors: no other function has them as operands.
    frame_bytes
        Size of the memory in which the offsets of tensors in the arena count.
    """

    name: str
    params: tuple[str, ...]
    results: tuple[str, ...]
    tensors: tuple[str, ...]
    instructions: tuple[Instruction, ...]
    frame_bytes: int
