"""Verifies programs: types, names, scopes, shapes. `interpreter` checks bounds."""

from __future__ import annotations

from typing import assert_never

from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.dtypes import BOOL, INDEX
from tandem.compiler.ir.expr import Const, Load
from tandem.compiler.ir.facts import facts
from tandem.compiler.ir.printer import text
from tandem.compiler.ir.stmt import (
    Alloc,
    Block,
    Facts,
    For,
    If,
    Invoke,
    LoopKind,
    PrimFunc,
    Region,
    Seq,
    Stmt,
    Store,
    kept_axes,
    parameters,
)
from tandem.compiler.ir.syntax import MAX_DEPTH
from tandem.compiler.ir.verifier_scope import VerifierScope
from tandem.compiler.ir.visit import subexpressions


def verify(function: PrimFunc) -> None:
    """Raise an error unless a program is legal. Takes time linear in the program's size; statements
    that were verified before, in other programs or elsewhere in this one, are not walked again.

    Raises
    ------
    IRError
        Names the enclosing function, loops and blocks, the fault and what is allowed.
    """
    _Verifier(function.name).function(function)


class _Verifier:
    """The verification of one program."""

    def __init__(self, name: str) -> None:
        self._at = VerifierScope(name)
        self._axes: set[str] = set()
        """The names of all axes of blocks so far, which blocks may share."""
        self._read_only: set[str] = set()
        self._vectorized: str | None = None
        """The enclosing vectorized loop."""
        self._intrinsics: set[int] = set()
        """The identities of intrinsics that are legal."""

    def function(self, function: PrimFunc) -> None:
        """Verify a whole program."""
        self._at.check_name(function.name, "a function")
        for buffer in function.inputs:
            self._at.declare(buffer, "an input")
        self._read_only = {buffer.name for buffer in function.inputs}
        for buffer in function.outputs:
            if buffer.name not in self._read_only:
                self._at.declare(buffer, "an output")
            elif buffer not in function.inputs:
                self._at.fail(f"{buffer.name} is both input and output, and not the same buffer")
            self._read_only.discard(buffer.name)
        self._stmt(function.body, 1)

    def _stmt(self, stmt: Stmt, depth: int) -> None:
        known: Facts | None = getattr(stmt, "facts", None)
        if known is not None and known.verified and self._fits(known, depth):
            self._at.declared |= dict.fromkeys(known.loops, "a loop")
            self._at.declared |= dict.fromkeys(known.allocated, "an allocation")
            self._axes |= known.axes
            return
        if depth > MAX_DEPTH:
            self._at.fail(f"nested more than {MAX_DEPTH} deep")
        self._walk(stmt, depth)
        facts(stmt).verified = True

    def _fits(self, known: Facts, depth: int) -> bool:
        """Whether a statement that was verified elsewhere is legal here."""
        at = self._at
        return (
            depth + known.height - 1 <= MAX_DEPTH
            and known.variables <= at.variables
            and all([at.buffers.get(name) == buffer for name, buffer in known.buffers.items()])
            and known.writes.isdisjoint(self._read_only)
            and at.declared.keys().isdisjoint(known.loops)
            and at.declared.keys().isdisjoint(known.allocated)
            and self._axes.isdisjoint(known.loops)
            and not any([at.declared.get(axis) == "a loop" for axis in known.axes])
            and not (known.parallel and self._vectorized is not None)
        )

    def _walk(self, stmt: Stmt, depth: int) -> None:
        match stmt:
            case Store():
                self._store(stmt, depth)
            case Seq(body=body):
                for part in body:
                    self._stmt(part, depth + 1)
            case For():
                self._at.enter("loop", stmt.var.name)
                self._for(stmt, depth)
                self._at.leave()
            case If(condition=condition, body=body):
                self._at.expr(condition, BOOL, "a condition", depth)
                self._stmt(body, depth + 1)
            case Alloc(buffer=buffer, body=body):
                self._at.declare(buffer, "an allocation")
                self._stmt(body, depth + 1)
                del self._at.buffers[buffer.name]
            case Block():
                self._at.enter("block", stmt.name)
                self._block(stmt, depth)
                self._at.leave()
            case Invoke():
                self._at.enter("invoke", stmt.intrinsic.name)
                self._invoke(stmt, depth)
                self._at.leave()
            case _:
                assert_never(stmt)

    def _store(self, store: Store, depth: int) -> None:
        buffer = store.buffer
        self._at.check_access(buffer, store.indices, depth)
        self._at.expr(store.value, buffer.dtype, f"what is stored to {buffer.name}", depth)
        self._writable(buffer)

    def _writable(self, buffer: Buffer) -> None:
        if buffer.name in self._read_only:
            self._at.fail(
                f"{buffer.name} is an input: nothing is stored to it unless it is an output too"
            )

    def _for(self, loop: For, depth: int) -> None:
        name, extent = loop.var.name, loop.extent
        self._at.variable(loop.var, "a loop")
        self._at.declare_name(name, "a loop")
        if name in self._axes:
            self._at.fail(f"{name} names a loop, and already an axis of a block")
        self._at.expr(extent, INDEX, "the extent", depth)
        if isinstance(extent, Const):
            if extent.value < 0:
                self._at.fail(f"the extent is {extent.value}: 0 or more is allowed")
        elif loop.kind in (LoopKind.VECTORIZED, LoopKind.UNROLLED):
            self._at.fail(f"{loop.kind.value} loops have a constant extent, not {text(extent)}")
        elif any(isinstance(each, Load) for each in subexpressions(extent)):
            self._at.fail(f"the extent reads a buffer: {text(extent)}")
        if loop.kind is LoopKind.PARALLEL and self._vectorized is not None:
            self._at.fail(f"a parallel loop inside the vectorized loop {self._vectorized}")
        outer = self._vectorized
        if loop.kind is LoopKind.VECTORIZED:
            self._vectorized = name
        self._at.variables.add(name)
        self._stmt(loop.body, depth + 1)
        self._at.variables.discard(name)
        self._vectorized = outer

    def _block(self, block: Block, depth: int) -> None:
        self._at.check_name(block.name, "a block")
        for axis in block.iters:
            self._at.variable(axis.var, "an axis")
            if self._at.declared.get(axis.var.name) == "a loop":
                self._at.fail(f"{axis.var.name} names an axis, and already a loop")
            if axis.extent < 0:
                self._at.fail(
                    f"axis {axis.var.name} has {axis.extent} values: 0 or more is allowed"
                )
            self._at.expr(axis.value, INDEX, f"axis {axis.var.name}", depth)
        for condition in block.guard:
            self._at.expr(condition, BOOL, "a condition", depth)
        axes = {axis.var.name for axis in block.iters}
        if len(axes) < len(block.iters):
            names = ", ".join(axis.var.name for axis in block.iters)
            self._at.fail(f"two axes of one name: {names}")
        self._axes |= axes
        outside, self._at.variables = self._at.variables, axes
        if block.init is not None:
            self._stmt(block.init, depth + 1)
        self._stmt(block.body, depth + 1)
        self._at.variables = outside

    def _invoke(self, invoke: Invoke, depth: int) -> None:
        intrinsic = invoke.intrinsic
        if id(intrinsic) not in self._intrinsics:
            verify(intrinsic)
            self._intrinsics.add(id(intrinsic))
        expected = parameters(intrinsic)
        if len(invoke.operands) != len(expected):
            names = ", ".join(each.name for each in expected)
            self._at.fail(f"{len(expected)} operands ({names}), not {len(invoke.operands)}")
        for parameter, region in zip(expected, invoke.operands, strict=True):
            self._region(region, parameter, depth)
            if parameter in intrinsic.outputs:
                self._writable(region.buffer)

    def _region(self, region: Region, parameter: Buffer, depth: int) -> None:
        buffer = region.buffer
        self._at.check_access(buffer, region.lower, depth)
        if len(region.shape) != len(buffer.shape) or not all(
            0 <= extent <= whole for extent, whole in zip(region.shape, buffer.shape, strict=True)
        ):
            self._at.fail(f"{region.shape} is no box of {buffer.name} {buffer.shape}")
        if kept_axes(region.shape, parameter.shape) is None:
            self._at.fail(
                f"{buffer.name} {region.shape} stands for {parameter.name} {parameter.shape}: "
                "only axes of extent 1 may come between"
            )
        if buffer.dtype != parameter.dtype:
            self._at.fail(
                f"{buffer.name} is {buffer.dtype} and stands for {parameter.name}, which is "
                f"{parameter.dtype}"
            )
