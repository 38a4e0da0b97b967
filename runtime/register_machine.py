"""The register machine: executes the functions of an artifact with control flow.

A call has a frame, memory with the offsets of its function's plan, in which instructions are bound
to arrays once. Frames that are free are kept for later calls, so that loops allocate nothing.

Cells are objects of Python, which counts their uses: a cell is free with its last use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, assert_never

import numpy as np
from numpy.typing import NDArray

from tandem.runtime.artifact import (
    MAX_CALLS,
    Artifact,
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
    Reference,
    Return,
    RunStep,
    TailCall,
)
from tandem.runtime.devices.device import Device
from tandem.runtime.errors import RunError
from tandem.runtime.frame import new_frame

_Array: TypeAlias = NDArray[Any]
_Operands: TypeAlias = Sequence[Any]
"""Arrays, and memory that devices keep."""
Execute: TypeAlias = Callable[[int, _Operands, _Operands], None]
"""Runs a step, by its number in the manifest, on its inputs and outputs."""


@dataclass(frozen=True, slots=True, eq=False)
class Cell:
    """A value of a data type: the number of its form, and its fields."""

    form: int
    fields: tuple[_Array | Cell, ...]


@dataclass(slots=True, eq=False)
class _Register:
    """A place in a frame that refers to a cell; to none before it is written."""

    cell: Cell | None = None


_Place: TypeAlias = _Array | _Register
_Places: TypeAlias = Sequence[_Place]


def _assign(target: _Place, source: _Place) -> None:
    """Copy an array, or refer to the cell that another register refers to."""
    if isinstance(target, _Register):
        assert isinstance(source, _Register), "checked"
        target.cell = source.cell
    else:
        np.copyto(target, source)  # type: ignore[arg-type]  # checked: no register


@dataclass(frozen=True, slots=True)
class _Step:
    number: int
    inputs: _Operands
    outputs: _Operands


@dataclass(frozen=True, slots=True)
class _Copy:
    source: _Place
    target: _Place


@dataclass(frozen=True, slots=True)
class _RowCopy:
    source: _Array
    target: _Array
    index: _Array


@dataclass(frozen=True, slots=True)
class _Test:
    condition: _Array
    otherwise: int


@dataclass(frozen=True, slots=True)
class _Call:
    """A call of a function; `outputs` is None for a tail call."""

    function: str
    inputs: _Places
    outputs: _Places | None


@dataclass(frozen=True, slots=True)
class _Make:
    form: int
    fields: _Places
    target: _Register


@dataclass(frozen=True, slots=True)
class _FormTest:
    source: _Register
    form: int
    otherwise: int


@dataclass(frozen=True, slots=True)
class _Read:
    form: int
    source: _Register
    fields: _Places


_Bound: TypeAlias = (
    _Step | _Copy | _RowCopy | _Test | _Call | _Make | _FormTest | _Read | Jump | Return
)


@dataclass(frozen=True, slots=True, eq=False)
class _Frame:
    """The memory of one call: instructions bound to it, its parameters and results, and what refers
    to cells."""

    function: str
    code: Sequence[_Bound]
    params: _Places
    results: _Places
    registers: Sequence[_Register]


@dataclass(slots=True)
class _Waiting:
    """A call that waits for the result of another: where it continues, and where results go."""

    frame: _Frame
    at: int
    outputs: _Places


class RegisterMachine:
    """The functions of an artifact, ready to run; one run at a time."""

    def __init__(self, artifact: Artifact, devices: Mapping[str, Device]) -> None:
        self._artifact = artifact
        self._devices = devices
        self._main, *_ = artifact.manifest.functions
        self._functions = {each.name: each for each in artifact.manifest.functions}
        self._tensors = {each.name: each for each in artifact.manifest.tensors}
        self._free: dict[str, list[_Frame]] = {name: [] for name in self._functions}

    def run(self, arrays: Mapping[str, Any], execute: Execute) -> None:
        """Run the network's own function.

        Parameters
        ----------
        arrays
            All tensors of the network's own function, by name.
        execute
            Called for each step that runs.

        Raises
        ------
        RunError
            More than `MAX_CALLS` calls wait for results, there is no memory for a frame, or a cell
            has another form than the artifact says.
        """
        frame = self._bind(self._main, arrays)
        waiting: list[_Waiting] = []
        at = 0
        while True:
            instruction = frame.code[at]
            at += 1
            match instruction:
                case _Step(number=number, inputs=inputs, outputs=outputs):
                    execute(number, inputs, outputs)
                case _Copy(source=source, target=target):
                    _assign(target, source)
                case _RowCopy(source=source, target=target, index=index):
                    if 0 <= index < len(target):
                        np.copyto(target[int(index)], source)
                case _Test(condition=condition, otherwise=otherwise):
                    if not condition:
                        at = otherwise
                case Jump(target=number):
                    at = number
                case _Make(form=form, fields=fields, target=register):
                    register.cell = Cell(form, tuple(map(_kept, fields)))
                case _FormTest(source=register, form=form, otherwise=otherwise):
                    if _cell(register).form != form:
                        at = otherwise
                case _Read(form=form, source=register, fields=fields):
                    self._read(_cell(register), form, fields)
                case _Call(function=name, inputs=inputs, outputs=results):
                    called = self._frame(name)
                    for array, param in zip(inputs, called.params, strict=True):
                        _assign(param, array)
                    if results is None:
                        self._end(frame)
                    elif len(waiting) >= MAX_CALLS:
                        raise RunError(
                            f"function {name} of {self._artifact.manifest.name}: more than "
                            f"{MAX_CALLS} calls wait for results"
                        )
                    else:
                        waiting.append(_Waiting(frame, at, results))
                    frame, at = called, 0
                case Return():
                    if not waiting:
                        return
                    caller = waiting.pop()
                    for array, result in zip(caller.outputs, frame.results, strict=True):
                        _assign(array, result)
                    self._end(frame)
                    frame, at = caller.frame, caller.at
                case _:
                    assert_never(instruction)

    def _read(self, cell: Cell, form: int, fields: _Places) -> None:
        if cell.form != form:
            raise RunError(f"{self._artifact.manifest.name} reads a cell of another form")
        for place, field in zip(fields, cell.fields, strict=True):
            if isinstance(field, Cell):
                assert isinstance(place, _Register), "checked"
                place.cell = field
            else:
                np.copyto(place, field)  # type: ignore[arg-type]  # checked: no register

    def _end(self, frame: _Frame) -> None:
        """The frame is free, and uses no cells."""
        for register in frame.registers:
            register.cell = None
        self._free[frame.function].append(frame)

    def _frame(self, name: str) -> _Frame:
        """A free frame of a function, or a new one."""
        free = self._free[name]
        if free:
            return free.pop()
        function = self._functions[name]
        tensors = [self._tensors[own] for own in function.tensors]
        frame = new_frame(f"function {name}", function.frame_bytes, tensors, self._devices)
        return self._bind(function, {**self._artifact.constants, **frame})

    def _bind(self, function: FunctionCode, arrays: Mapping[str, Any]) -> _Frame:
        registers = {
            name: _Register()
            for name in function.tensors
            if isinstance(self._tensors[name].place, Reference)
        }
        arrays = {**arrays, **registers}

        def of(names: Sequence[str]) -> list[Any]:
            return [arrays[name] for name in names]

        def bound(instruction: Instruction) -> _Bound:
            match instruction:
                case RunStep(step=number):
                    step = self._artifact.manifest.steps[number]
                    return _Step(number, of(step.inputs), of(step.outputs))
                case Move(source=source, target=target):
                    return _Copy(arrays[source], arrays[target])
                case MoveRow(source=source, target=target, index=index):
                    return _RowCopy(arrays[source], arrays[target], arrays[index])
                case Branch(condition=condition, otherwise=otherwise):
                    return _Test(arrays[condition], otherwise)
                case CallFunction(function=name, inputs=inputs, outputs=outputs):
                    return _Call(name, of(inputs), of(outputs))
                case TailCall(function=name, inputs=inputs):
                    return _Call(name, of(inputs), None)
                case MakeCell(form=form, fields=fields, target=target):
                    return _Make(form, of(fields), registers[target])
                case BranchForm(source=source, form=form, otherwise=otherwise):
                    return _FormTest(registers[source], form, otherwise)
                case ReadCell(form=form, source=source, fields=fields):
                    return _Read(form, registers[source], of(fields))
                case Jump() | Return():
                    return instruction
                case _:
                    assert_never(instruction)

        code = [bound(each) for each in function.instructions]
        params, results = of(function.params), of(function.results)
        return _Frame(function.name, code, params, results, [*registers.values()])


def _kept(place: _Place) -> _Array | Cell:
    """What a cell holds of a place."""
    return _cell(place) if isinstance(place, _Register) else place.copy()


def _cell(register: _Register) -> Cell:
    assert register.cell is not None, "checked: it is written before"
    return register.cell
