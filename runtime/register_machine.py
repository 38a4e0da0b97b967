"""The register machine: executes the functions of an artifact with control flow.

A call has a frame, memory with the offsets of its function's plan, in which instructions are bound
to arrays once. Frames that are free are kept for later calls, so that loops allocate nothing.
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
    CallFunction,
    FunctionCode,
    Instruction,
    Jump,
    Move,
    MoveRow,
    Return,
    RunStep,
    TailCall,
)
from tandem.runtime.devices.device import Device
from tandem.runtime.errors import RunError
from tandem.runtime.frame import new_frame

_Array: TypeAlias = NDArray[Any]
_Arrays: TypeAlias = Sequence[_Array]
_Operands: TypeAlias = Sequence[Any]
"""Arrays, and memory that devices keep."""
Execute: TypeAlias = Callable[[int, _Operands, _Operands], None]
"""Runs a step, by its number in the manifest, on its inputs and outputs."""


@dataclass(frozen=True, slots=True)
class _Step:
    number: int
    inputs: _Operands
    outputs: _Operands


@dataclass(frozen=True, slots=True)
class _Copy:
    source: _Array
    target: _Array


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
    inputs: _Arrays
    outputs: _Arrays | None


_Bound: TypeAlias = _Step | _Copy | _RowCopy | _Test | _Call | Jump | Return


@dataclass(frozen=True, slots=True, eq=False)
class _Frame:
    """The memory of one call: instructions bound to it, its parameters and results."""

    function: str
    code: Sequence[_Bound]
    params: _Arrays
    results: _Arrays


@dataclass(slots=True)
class _Waiting:
    """A call that waits for the result of another: where it continues, and where results go."""

    frame: _Frame
    at: int
    outputs: _Arrays


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
            More than `MAX_CALLS` calls wait for results, or there is no memory for a frame.
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
                    np.copyto(target, source)
                case _RowCopy(source=source, target=target, index=index):
                    if 0 <= index < len(target):
                        np.copyto(target[int(index)], source)
                case _Test(condition=condition, otherwise=otherwise):
                    if not condition:
                        at = otherwise
                case Jump(target=number):
                    at = number
                case _Call(function=name, inputs=inputs, outputs=results):
                    called = self._frame(name)
                    for array, param in zip(inputs, called.params, strict=True):
                        np.copyto(param, array)
                    if results is None:
                        self._free[frame.function].append(frame)
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
                        np.copyto(array, result)
                    self._free[frame.function].append(frame)
                    frame, at = caller.frame, caller.at
                case _:
                    assert_never(instruction)

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
                case Jump() | Return():
                    return instruction
                case _:
                    assert_never(instruction)

        code = [bound(each) for each in function.instructions]
        return _Frame(function.name, code, of(function.params), of(function.results))
