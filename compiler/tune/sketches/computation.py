"""Computations: what sketches schedule, and what records of sketches are keyed by."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.expr import Expr, Var
from tandem.compiler.ir.parser import parse
from tandem.compiler.ir.printer import text
from tandem.compiler.ir.stmt import Block, BlockIter, IterKind, PrimFunc
from tandem.compiler.ir.verify import verify
from tandem.compiler.ir.visit import blocks, substitute, substitute_in
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.te.tree import (
    LoopRef,
    allocations,
    map_blocks,
    map_buffers,
    rename_loops,
)

_NAME = "kernel"


@dataclass(frozen=True, slots=True)
class Computation:
    """Tensor expressions as a program of one nest for each stage, whose names tell nothing of where
    they came from.

    Attributes
    ----------
    program
        The text of the program. Its inputs are called `a0`, `a1` and so on, its stages `s0`, `s1`;
        their spatial axes `i0`, `i1`, and their reduction axes `r0`, `r1`.
    constants
        The numbers of the inputs that are known when the program is compiled, in order.
    reassociate
        Whether floats may be added in another order than the program's.
    """

    program: str
    constants: tuple[int, ...] = ()
    reassociate: bool = False

    @staticmethod
    def of(
        program: PrimFunc, constants: Collection[int] = (), *, reassociate: bool = False
    ) -> Computation:
        """The computation of a schedule's initial program, whose stages have one block each."""
        return Computation(text(_renamed(program)), tuple(sorted(constants)), reassociate)

    @property
    def constant_names(self) -> frozenset[str]:
        """The names of the constant inputs."""
        return frozenset(f"a{number}" for number in self.constants)

    def start(self) -> Schedule:
        """The initial schedule."""
        return _parsed(self.program)


def input_number(name: str) -> int:
    """The number of a computation's input, from its name."""
    return int(name.removeprefix("a"))


@lru_cache(maxsize=64)
def _parsed(program: str) -> Schedule:
    found = parse(program)
    verify(found)
    return Schedule(found)


def _renamed(program: PrimFunc) -> PrimFunc:
    buffers = {each.name: f"a{number}" for number, each in enumerate(program.inputs)}
    buffers |= {each.name: f"s{number}" for number, each in enumerate(blocks(program.body))}
    axes: dict[str, dict[str, str]] = {
        block.name: dict(_axis_names(block)) for block in blocks(program.body)
    }

    def loop(name: str) -> str:
        stage, axis = LoopRef.of(name)
        return LoopRef(buffers[stage], axes[stage][axis]).name

    def block(old: Block) -> Block:
        names = axes[old.name]
        values: dict[str, Expr] = {axis: Var(new) for axis, new in names.items()}
        return Block(
            buffers[old.name],
            tuple(
                BlockIter(Var(names[axis.var.name]), axis.extent, axis.kind, axis.value)
                for axis in old.iters
            ),
            tuple(substitute(test, values) for test in old.guard),
            None if old.init is None else substitute_in(old.init, values),
            substitute_in(old.body, values),
        )

    known = {each.name: each for each in (*program.inputs, *program.outputs)}
    known |= {each.buffer.name: each.buffer for each in allocations(program.body)}
    # Names that no buffer has yet, so that a rename meets none of the old names.
    new: dict[str, Buffer] = {
        name: replace(buffer, name=buffers[name]) for name, buffer in known.items()
    }
    body = rename_loops(map_blocks(program.body, block), loop)
    body = map_buffers(body, new)
    return PrimFunc(
        _NAME,
        tuple(new[each.name] for each in program.inputs),
        tuple(new[each.name] for each in program.outputs),
        body,
    )


def _axis_names(block: Block) -> Iterator[tuple[str, str]]:
    for kind, letter in ((IterKind.SPATIAL, "i"), (IterKind.REDUCE, "r")):
        for number, axis in enumerate(block.axes(kind)):
            yield axis.var.name, f"{letter}{number}"
