"""Kernels of operators, shared by equal groups of operators."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.nodes import Atom, Body, Call, Function, FunctionKind, Let, Param, Var
from tandem.compiler.graph.opspec import OpSpec
from tandem.compiler.graph.syntax import unique_name
from tandem.compiler.graph.types import Type
from tandem.compiler.graph.visit import map_atoms

_NAMED = 4
"""The maximum number of operators that a kernel's name lists."""


class KernelPool:
    """The kernels created for a program so far; equal groups of operators share a kernel.

    Parameters
    ----------
    taken
        Names of the existing functions.
    target
        The kernels' target; empty for the host.
    """

    def __init__(
        self,
        taken: Iterable[str],
        target: str = "",
    ) -> None:
        self._target = target
        self._taken = set(taken)
        self._kernels: dict[str, Function] = {}
        """Kernels by the digest that they have when they are named `kernel`."""

    def copy(self) -> KernelPool:
        """A pool with these kernels, to which others can be added."""
        pool = KernelPool(self._taken, self._target)
        pool._kernels.update(self._kernels)
        return pool

    def fused(self, lets: Sequence[Let], types: Mapping[str, Type], template: str = "") -> Let:
        """A `Let` of the last value whose value calls a kernel that computes all `lets`; `types`
        are those of their function, and `template` is how the target does it."""
        nameless, args = self._nameless(lets, types, template)
        kernel = self._kernels.get(nameless.digest)
        if kernel is None:
            kernel = replace(nameless, name=unique_name(_stem(lets), self._taken))
            self._kernels[nameless.digest] = kernel
        reasons = dict.fromkeys(reason for let in lets for reason in let.reasons)
        replaced: tuple[str, ...] = ()
        if any(let.replaced for let in lets):
            replaced = tuple(name for let in lets for name in let.replaced or (_operator(let),))
        value = Call(kernel, args)
        return replace(lets[-1], value=value, reasons=tuple(reasons), replaced=replaced)

    def _nameless(
        self, lets: Sequence[Let], types: Mapping[str, Type], template: str
    ) -> tuple[Function, tuple[Atom, ...]]:
        """A kernel `kernel` that computes `lets`, and its arguments: operands defined outside."""
        params: dict[Atom, Param] = {}
        names: dict[str, str] = {}
        taken: set[str] = set()

        def inside(atom: Atom) -> Atom:
            if isinstance(atom, Constant):
                if atom.array.size == 1:
                    return atom
                type_: Type = atom.type
            elif atom.name in names:
                return Var(names[atom.name])
            else:
                type_ = types[atom.name]
            return Var(params.setdefault(atom, Param(f"p{len(params)}", type_)).name)

        renamed = []
        for let in lets:
            value = map_atoms(let.value, inside)
            names[let.name] = unique_name(_operator(let), taken)
            renamed.append(Let(names[let.name], value, types[let.name]))
        result = Var(names[lets[-1].name])
        kernel = Function(
            "kernel",
            tuple(params.values()),
            Body(tuple(renamed), result),
            types[lets[-1].name],
            FunctionKind.KERNEL,
            self._target,
            template,
        )
        return kernel, tuple(params)


def _operator(let: Let) -> str:
    assert isinstance(let.value, Call), "only operators are fused"
    assert isinstance(let.value.callee, OpSpec), "only operators are fused"
    return let.value.callee.name


def _stem(lets: Sequence[Let]) -> str:
    """The stem of the kernel's name: the names of its first operators, without conversions of
    layouts if it has others."""
    every = [_operator(each) for each in lets]
    names = [each for each in every if each != "convert"] or every
    more = [f"and_{len(names) - _NAMED}_more"] if len(names) > _NAMED else []
    return "_".join([*names[:_NAMED], *more])
