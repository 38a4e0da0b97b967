"""Interprets programs: the reference for every transformation and every back end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, assert_never

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.errors import IRError
from tandem.compiler.ir.evaluate import Cell, Frame, Memory, element
from tandem.compiler.ir.stmt import (
    Alloc,
    Block,
    For,
    If,
    Invoke,
    IterKind,
    LoopKind,
    PrimFunc,
    Region,
    Seq,
    Stmt,
    Store,
    kept_axes,
    parameters,
)
from tandem.compiler.ir.verify import verify

_Action: TypeAlias = Callable[[], None]

_ANY_ORDER = (
    LoopKind.PARALLEL,
    LoopKind.VECTORIZED,
    LoopKind.VIRTUAL_THREAD,
    LoopKind.BLOCKS,
    LoopKind.THREADS,
)


def run(
    function: PrimFunc, arrays: Sequence[NDArray[Any]], *, complete: bool = True
) -> tuple[NDArray[Any], ...]:
    """Run a program and return its outputs, in order.

    Loops whose iterations may run in any order run backwards, so that a dependence between
    iterations shows.

    Parameters
    ----------
    arrays
        One array for each input, in order, of its shape and type; not modified.
    complete
        Whether to refuse a program that leaves an element of an output unwritten, instead of
        returning 0 there.

    Raises
    ------
    IRError
        If the program is not legal (`verify`), an array does not fit, an element outside a buffer
        is accessed or one is read before it is written, an axis of a block leaves its domain, a
        loop's extent is negative, or an output is not complete. Names the element and the iteration
        of each loop.
    """
    verify(function)
    if len(arrays) != len(function.inputs):
        names = ", ".join(each.name for each in function.inputs)
        raise IRError(
            f"{function.name} takes {len(function.inputs)} arrays ({names}), not {len(arrays)}"
        )
    frame = Frame({}, {}, ())
    for buffer in parameters(function):
        frame.declare(buffer).clear()
    for buffer, array in zip(function.inputs, arrays, strict=True):
        _check(function, frame.memories[buffer.name], array)
        frame.memories[buffer.name].fill(array)
    action = _action(function.body, frame)
    with np.errstate(all="ignore"):
        action()
    return tuple(_result(frame.memories[each.name], complete) for each in function.outputs)


def _check(function: PrimFunc, memory: Memory, array: NDArray[Any]) -> None:
    buffer = memory.buffer
    name = f"input {buffer.name} of {function.name}"
    if not isinstance(array, np.ndarray):
        raise IRError(f"{name} is a NumPy array, not {type(array).__name__}")
    if array.shape != buffer.shape:
        raise IRError(f"{name} has the shape {buffer.shape}, not {array.shape}")
    if array.dtype != buffer.dtype.numpy:
        raise IRError(f"{name} is {buffer.dtype}, not {array.dtype}")


def _result(memory: Memory, complete: bool) -> NDArray[Any]:
    buffer = memory.buffer
    missing = [position for position, value in enumerate(memory.cells) if value is None]
    if missing and complete:
        index = [int(each) for each in np.unravel_index(missing[0], buffer.shape)]
        name = element(buffer, index)
        raise IRError(f"{len(missing)} elements of an output are never written, first {name}")
    for position in missing:
        memory.cells[position] = 0
    return (
        np.array(memory.cells, buffer.dtype.holder.numpy)
        .view(buffer.dtype.numpy)
        .reshape(buffer.shape)
    )


def _action(stmt: Stmt, frame: Frame) -> _Action:
    """Return a function that executes the statement."""
    match stmt:
        case Store():
            return _store(stmt, frame)
        case Seq(body=body):
            return _in_order([_action(each, frame) for each in body])
        case For():
            return _for(stmt, frame)
        case If():
            return _if(stmt, frame)
        case Alloc(buffer=buffer, body=body):
            memory = frame.declare(buffer)
            return _in_order([memory.clear, _action(body, frame)])
        case Block():
            return _block(stmt, frame)
        case Invoke():
            return _invoke(stmt, frame)
        case _:
            assert_never(stmt)


def _in_order(actions: Sequence[_Action]) -> _Action:
    def sequence() -> None:
        for action in actions:
            action()

    return sequence


def _store(stmt: Store, frame: Frame) -> _Action:
    memory = frame.memories[stmt.buffer.name]
    position, value = frame.position(memory, stmt.indices), frame.value(stmt.value)

    def write() -> None:
        memory.cells[position()] = value()

    return write


def _if(stmt: If, frame: Frame) -> _Action:
    condition, body = frame.value(stmt.condition), _action(stmt.body, frame)

    def decide() -> None:
        if condition():
            body()

    return decide


def _for(loop: For, frame: Frame) -> _Action:
    extent = frame.value(loop.extent)
    iteration: Cell = [0]
    body = _action(loop.body, frame.inside_loop(loop.var.name, iteration))
    backwards = loop.kind in _ANY_ORDER

    def repeat() -> None:
        count = extent()
        if count < 0:
            raise frame.error(f"loop {loop.var.name} has {count} iterations")
        for iteration[0] in range(count - 1, -1, -1) if backwards else range(count):
            body()

    return repeat


def _block(block: Block, frame: Frame) -> _Action:
    guard = [frame.value(each) for each in block.guard]
    cells: dict[str, Cell] = {axis.var.name: [0] for axis in block.iters}
    axes = [(axis, cells[axis.var.name], frame.value(axis.value)) for axis in block.iters]
    reduced = [cells[axis.var.name] for axis in block.axes(IterKind.REDUCE)]
    inside = frame.inside_block(cells)
    init = _in_order([]) if block.init is None else _action(block.init, inside)
    body = _action(block.body, inside)

    def execute() -> None:
        for condition in guard:
            if not condition():
                return
        for axis, cell, value in axes:
            cell[0] = value()
            if not 0 <= cell[0] < axis.extent:
                raise inside.error(
                    f"axis {axis.var.name} of block {block.name} is {cell[0]}, outside its "
                    f"extent {axis.extent}"
                )
        if not any(cell[0] for cell in reduced):
            init()
        body()

    return execute


def _invoke(stmt: Invoke, frame: Frame) -> _Action:
    intrinsic = stmt.intrinsic
    inside = Frame({}, {}, frame.enclosing)
    bindings = [
        _binding(intrinsic, region, inside.declare(parameter), frame)
        for parameter, region in zip(parameters(intrinsic), stmt.operands, strict=True)
    ]
    return _in_order([*bindings, _action(intrinsic.body, inside)])


def _binding(intrinsic: PrimFunc, region: Region, parameter: Memory, frame: Frame) -> _Action:
    """Return a function that makes a parameter of an intrinsic a view of its operand."""
    operand = frame.memories[region.buffer.name]
    lower = [frame.value(each) for each in region.lower]
    kept = kept_axes(region.shape, parameter.buffer.shape)
    assert kept is not None, "the verifier has seen that the shapes fit"
    strides = operand.strides
    parameter.strides = tuple(strides[axis] for axis in kept)

    def bind() -> None:
        first = [each() for each in lower]
        for low, extent, whole in zip(first, region.shape, region.buffer.shape, strict=True):
            if low < 0 or low + extent > whole:
                name = element(region.buffer, first)
                raise frame.error(
                    f"operand {region.shape} of {intrinsic.name}, from {name}, reaches beyond the "
                    "buffer"
                )
        parameter.cells = operand.cells
        parameter.offset = operand.offset + sum(map(int.__mul__, first, strides))

    return bind
