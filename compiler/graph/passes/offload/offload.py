"""Operators into kernels of the accelerator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from compiler.graph.infer import infer
from compiler.graph.nodes import Body, Call, Function, FunctionKind, Let
from compiler.graph.passes.kernels import KernelPool
from compiler.graph.passes.offload.matches import Match, matches
from compiler.graph.passes.offload.rewrite import Blocked, blocked
from compiler.graph.types import Type
from compiler.graph.verify import verify
from compiler.graph.visit import all_lets, functions
from hw.config import HardwareConfig

__all__ = ["Accepts", "Offload"]

Accepts: TypeAlias = Callable[[str, Call], bool]
"""Whether the accelerator can do a kernel of these operands, for a result of that name."""


@dataclass(frozen=True, slots=True)
class Offload:
    """Moves operators on small integers to the accelerator, one kernel each.

    ::

        c = conv2d(x, W)              offload @conv2d_requantise(p0, p1, p2, p3):
        y = requantise(c, M, C)         x = unpack_data(p0)
                                        c = conv2d(x, p1)
                              ->        r = requantise(c, p2, p3)
                                        y = pack_data(r)
                                        return y

                                      x_blocks = pack_data(x)
                                      y_blocks = @conv2d_requantise(x_blocks, W, M, C)
                                      y = unpack_data(y_blocks)

    A kernel says in plain operators what it computes, between tensors in blocks: any back end can
    run it. `CancelLayouts` then removes what two neighbours do to each other's layout. The first
    convolution, whose few channels would leave most of a block empty, has its windows packed.

    Attributes
    ----------
    accepts
        Asked about each kernel with its operands: what it refuses stays as it was.
    """

    config: HardwareConfig
    accepts: Accepts
    name: str = "offload"

    def apply(self, function: Function) -> Function:
        """The function with kernels for the accelerator. Symbols must have numbers."""
        types = verify(function)
        found = list(matches(function.body, types))
        refused: set[str] = set()
        while True:
            chosen = {each.name: each for each in found if each.name not in refused}
            blocks = self._blocked(function, types, chosen)
            changed = _with(function.body, blocks)
            kernels = _kernels(function, changed, blocks)
            worse = {name for name, each in kernels.items() if not self._accepted(each)}
            if not worse:
                return replace(function, body=_called(changed, blocks, kernels))
            refused |= worse

    def _accepted(self, let: Let) -> bool:
        assert isinstance(let.value, Call), "made so"
        return self.accepts(let.name, let.value)

    def _blocked(
        self, function: Function, types: Mapping[str, Type], chosen: Mapping[str, Match]
    ) -> dict[str, Blocked]:
        taken = {each.name for each in function.params}
        taken |= {each.name for each in all_lets(function.body)}
        return {
            name: blocked(each, types, self.config, taken, each.data[0] not in chosen)
            for name, each in chosen.items()
        }


def _kernels(function: Function, changed: Body, blocks: Mapping[str, Blocked]) -> dict[str, Let]:
    """The kernels' calls, by the names of matches."""
    types = infer(replace(function, body=changed))
    names = {each.name for each in functions(function)}
    pool = KernelPool(types, names, FunctionKind.OFFLOAD)
    return {name: pool.fused(each.inside) for name, each in blocks.items()}


def _called(body: Body, blocks: Mapping[str, Blocked], kernels: Mapping[str, Let]) -> Body:
    """The body with calls in place of the operators that are in kernels."""
    inside = {let.name for each in blocks.values() for let in each.inside}
    calls = {each.name: each for each in kernels.values()}
    lets = (calls.get(let.name, let) for let in body.lets)
    return Body(
        tuple(let for let in lets if let.name in calls or let.name not in inside), body.result
    )


def _with(body: Body, blocks: Mapping[str, Blocked]) -> Body:
    """The body with what is around kernels, and what is in them, in place of what ends a match.
    Its other operators stay; nobody needs them."""
    lets: list[Let] = []
    for let in body.lets:
        lets += blocks[let.name].lets if let.name in blocks else (let,)
    return Body(tuple(lets), body.result)
