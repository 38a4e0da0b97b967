"""Checks of an artifact's functions: types of operands, and memory on every path.

Two analyses over the instructions of a function: which tensors are certainly written before an
instruction (forwards), and which may be read after it (backwards). Sets of tensors are bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn, assert_never

import numpy as np

from tandem.runtime.artifact.instructions import (
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
    Return,
    RunStep,
    TailCall,
)
from tandem.runtime.artifact.manifest import (
    Arena,
    ConstantPlace,
    Input,
    Kept,
    Manifest,
    Output,
    Reference,
    Tensor,
)


def check_code(
    manifest: Manifest, tensors: Mapping[str, Tensor], fail: Callable[[str], NoReturn]
) -> None:
    """Call `fail` with the first reason why the functions of a manifest are not legal; its steps
    and tensors are checked before."""
    functions = {each.name: each for each in manifest.functions}
    if len(functions) < len(manifest.functions):
        fail("two functions have one name")
    main, *_ = manifest.functions
    if main.params or main.results or main.frame_bytes != manifest.arena_bytes:
        fail(f"{main.name}, its own function, has parameters, results or an arena of its own")
    owners: dict[str, str] = {}
    for function in manifest.functions:
        for name in function.tensors:
            if (
                name not in tensors
                or isinstance(tensors[name].place, ConstantPlace)
                or name in owners
            ):
                fail(f"{name} is no tensor of {function.name} alone")
            if isinstance(tensors[name].place, Input | Output) and function is not main:
                fail(f"{name} of {function.name} is an input or a result of the network")
            owners[name] = function.name
    for name, tensor in tensors.items():
        if name not in owners and not isinstance(tensor.place, ConstantPlace):
            fail(f"{name} is a tensor of no function")
    run = [
        instruction.step
        for function in manifest.functions
        for instruction in function.instructions
        if isinstance(instruction, RunStep)
    ]
    if sorted(run) != list(range(len(manifest.steps))):
        fail(f"its functions run the steps {sorted(run)}, and there are {len(manifest.steps)}")
    for function in manifest.functions:
        _Function(function, manifest, tensors, functions, fail).check()


@dataclass(frozen=True, slots=True)
class _Effect:
    """What an instruction reads and writes, and where it may continue.

    Attributes
    ----------
    changes
        Of what it writes, the tensors of which parts stay: these are read, too.
    """

    reads: tuple[str, ...]
    writes: tuple[str, ...]
    next: tuple[int, ...]
    changes: tuple[str, ...] = ()


def _refers(tensor: Tensor) -> bool:
    return isinstance(tensor.place, Reference)


class _Function:
    """The check of one function."""

    def __init__(
        self,
        code: FunctionCode,
        manifest: Manifest,
        tensors: Mapping[str, Tensor],
        functions: Mapping[str, FunctionCode],
        fail: Callable[[str], NoReturn],
    ) -> None:
        self._code = code
        self._manifest = manifest
        self._tensors = tensors
        self._functions = functions
        self._refuse = fail
        self._main = code is manifest.functions[0]
        self._names = code.tensors
        self._bits = {name: 1 << number for number, name in enumerate(code.tensors)}
        arenas = [tensors[name] for name in code.tensors]
        offsets = [it.place.offset if isinstance(it.place, Arena) else -1 for it in arenas]
        self._starts = np.array(offsets, np.int64)
        self._ends = self._starts + np.array([each.bytes for each in arenas], np.int64)

    def check(self) -> None:
        code = self._code
        if code.frame_bytes < 0:
            self._fail(f"a frame of {code.frame_bytes} bytes")
        for name in (*code.params, *code.results):
            if name not in self._bits:
                self._fail(f"its parameter or result {name} is no tensor of its own")
        if len(set(code.params)) < len(code.params):
            self._fail("two parameters are one tensor")
        effects = [self._effect(at, each) for at, each in enumerate(code.instructions)]
        if not effects:
            self._fail("it has no instructions")
        for at, effect in enumerate(effects):
            self._effect_is_legal(at, effect)
            if isinstance(code.instructions[at], MoveRow | Branch):
                self._no_references((*effect.reads, *effect.writes))
            if not isinstance(code.instructions[at], RunStep):
                self._in_host_memory((*effect.reads, *effect.writes))
        self._in_host_memory((*code.params, *code.results))
        self._written(effects)
        self._apart(effects)

    # Single instructions --------------------------------------------------------------------------

    def _effect(self, at: int, instruction: Instruction) -> _Effect:
        after = (at + 1,)
        match instruction:
            case RunStep(step=number):
                step = self._manifest.steps[number]
                return _Effect(step.inputs, step.outputs, after)
            case Move(source=source, target=target):
                self._same(at, (source,), (target,))
                return _Effect((source,), (target,), after)
            case MoveRow(source=source, target=target, index=index):
                self._is_row(at, instruction)
                return _Effect((source, index), (target,), after, (target,))
            case Jump(target=number):
                return _Effect((), (), (number,))
            case Branch(condition=condition, otherwise=number):
                tensor = self._own(at, condition)
                if (tensor.shape, tensor.dtype) != ((), "bool"):
                    self._fail(f"instruction {at} branches on {condition}, which is {tensor}")
                return _Effect((condition,), (), (*after, number))
            case CallFunction(function=name, inputs=inputs, outputs=outputs):
                called = self._called(at, name)
                self._same(at, inputs, called.params, others=True)
                self._same(at, outputs, called.results, others=True)
                return _Effect(inputs, outputs, after)
            case TailCall(function=name, inputs=inputs):
                called = self._called(at, name)
                if self._main:
                    self._fail(f"instruction {at} ends the network with a call")
                self._same(at, inputs, called.params, others=True)
                self._same(at, self._code.results, called.results, others=True)
                return _Effect(inputs, (), ())
            case MakeCell(form=number, fields=fields, target=target):
                self._fits(at, number, fields)
                self._refers(at, target)
                return _Effect(fields, (target,), after)
            case BranchForm(source=source, form=number, otherwise=otherwise):
                self._form(at, number)
                self._refers(at, source)
                return _Effect((source,), (), (*after, otherwise))
            case ReadCell(form=number, source=source, fields=fields):
                self._fits(at, number, fields)
                self._refers(at, source)
                return _Effect((source,), fields, after)
            case Return():
                return _Effect(self._results(), (), ())
            case _:
                assert_never(instruction)

    def _form(self, at: int, number: int) -> Form:
        forms = self._manifest.forms
        if not 0 <= number < len(forms):
            self._fail(f"instruction {at} has the form {number}, and there are {len(forms)}")
        return forms[number]

    def _fits(self, at: int, number: int, names: Sequence[str]) -> None:
        """Check that tensors have the types of a form's fields."""
        form = self._form(at, number)
        tensors = [self._own(at, name) for name in names]
        found = tuple(None if _refers(it) else (it.shape, it.dtype) for it in tensors)
        if found != form.fields:
            given = ", ".join(map(str, tensors))
            self._fail(f"instruction {at} has ({given}) for the fields of {form.name}")

    def _refers(self, at: int, name: str) -> None:
        if not _refers(self._own(at, name)):
            self._fail(f"instruction {at} takes {name} for a cell, and it refers to none")

    def _is_row(self, at: int, move: MoveRow) -> None:
        row, target, index = (self._own(at, it) for it in (move.source, move.target, move.index))
        fits = target.shape[1:] == row.shape and target.dtype == row.dtype
        if not target.shape or not fits or (index.shape, index.dtype) != ((), "int64"):
            self._fail(f"instruction {at} copies {row} to a row of {target}, at {index}")

    def _results(self) -> tuple[str, ...]:
        if not self._main:
            return self._code.results
        return tuple(name for name in self._manifest.returned if name in self._bits)

    def _called(self, at: int, name: str) -> FunctionCode:
        found = self._functions.get(name)
        if found is None or found is self._manifest.functions[0]:
            self._fail(f"instruction {at} calls {name}, and there is no such function")
        return found

    def _own(self, at: int, name: str) -> Tensor:
        tensor = self._tensors.get(name)
        if tensor is None:
            self._fail(f"an operand of instruction {at} is {name}, and there is no such tensor")
        if name not in self._bits and not isinstance(tensor.place, ConstantPlace):
            self._fail(f"instruction {at} has the operand {name}, of another function")
        return tensor

    def _same(
        self, at: int, ours: Sequence[str], theirs: Sequence[str], *, others: bool = False
    ) -> None:
        """Check that tensors have the same types; `others` if `theirs` are of another function."""
        if len(ours) != len(theirs):
            self._fail(f"instruction {at} has {len(ours)} operands for {len(theirs)}")
        for name, other in zip(ours, theirs, strict=True):
            left = self._own(at, name)
            right = self._tensors.get(other) if others else self._own(at, other)
            if (
                right is None
                or (left.shape, left.dtype) != (right.shape, right.dtype)
                or _refers(left) != _refers(right)
            ):
                self._fail(f"instruction {at} copies {name}, {left}, as {other}, {right}")

    def _effect_is_legal(self, at: int, effect: _Effect) -> None:
        for name in (*effect.reads, *effect.writes):
            self._own(at, name)
        for name in effect.writes:
            place = self._tensors[name].place
            if name not in self._bits or not isinstance(place, Arena | Output | Kept | Reference):
                self._fail(f"instruction {at} writes {name}, which is not its own")
            if name in effect.reads or effect.writes.count(name) > 1:
                self._fail(f"instruction {at} reads or writes {name} in passing")
        for number in effect.next:
            if not 0 <= number < len(self._code.instructions):
                self._fail(f"instruction {at} continues at {number}, where there is none")

    def _in_host_memory(self, names: Sequence[str]) -> None:
        for name in names:
            if isinstance(self._tensors[name].place, Kept):
                self._fail(f"{name} stays on a device, and is no operand of steps alone")

    def _no_references(self, names: Sequence[str]) -> None:
        for name in names:
            if _refers(self._tensors[name]):
                self._fail(f"{name} refers to a cell, and is no number")

    # All paths ------------------------------------------------------------------------------------

    def _set(self, names: Sequence[str]) -> int:
        found = 0
        for name in names:
            found |= self._bits.get(name, 0)  # constants are always there
        return found

    def _named(self, bits: int) -> str:
        return next(name for name, bit in self._bits.items() if bit & bits)

    def _written(self, effects: Sequence[_Effect]) -> None:
        """Check that no path reads a tensor that it has not written."""
        inputs = [name for name in self._names if isinstance(self._tensors[name].place, Input)]
        before: dict[int, int] = {0: self._set((*self._code.params, *inputs))}
        waiting = [0]
        while waiting:
            at = waiting.pop()
            after = before[at] | self._set(effects[at].writes)
            for number in effects[at].next:
                known = before.get(number)
                joined = after if known is None else known & after
                if joined != known:
                    before[number] = joined
                    waiting.append(number)
        for at, written in before.items():
            missing = self._set((*effects[at].reads, *effects[at].changes)) & ~written
            if missing:
                self._fail(f"instruction {at} reads {self._named(missing)} before it is written")

    def _apart(self, effects: Sequence[_Effect]) -> None:
        """Check that no write destroys a tensor that a path from there reads."""
        reads = [self._set((*effect.reads, *effect.changes)) for effect in effects]
        writes = [self._set(effect.writes) for effect in effects]
        before = [0] * len(effects)
        comes_from: list[list[int]] = [[] for _ in effects]
        for at, effect in enumerate(effects):
            for number in effect.next:
                comes_from[number].append(at)
        waiting = list(range(len(effects)))
        while waiting:
            at = waiting.pop()
            live = self._after(effects[at], before) & ~writes[at] | reads[at]
            if live != before[at]:
                before[at] = live
                waiting += comes_from[at]
        for at, effect in enumerate(effects):
            needed = self._after(effect, before) | reads[at] | writes[at]
            for name in effect.writes:
                self._alone(f"instruction {at}", name, needed)
        for name in self._code.params:
            self._alone("a call", name, self._set(self._code.params))

    @staticmethod
    def _after(effect: _Effect, before: Sequence[int]) -> int:
        found = 0
        for number in effect.next:
            found |= before[number]
        return found

    def _alone(self, writer: str, name: str, needed: int) -> None:
        number = self._bits[name].bit_length() - 1
        if not isinstance(self._tensors[name].place, Arena):
            return
        start, end = self._starts[number], self._ends[number]
        shares = (self._starts >= 0) & (self._starts < end) & (start < self._ends)
        shares[number] = False
        for other in np.flatnonzero(shares):
            if needed >> int(other) & 1:
                self._fail(
                    f"{writer} writes {name} over {self._names[other]}, which is still needed"
                )

    def _fail(self, reason: str) -> NoReturn:
        self._refuse(f"function {self._code.name}: {reason}")
