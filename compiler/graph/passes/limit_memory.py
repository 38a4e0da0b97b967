"""A limit of the memory of intermediate values: some are computed again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TypeAlias

from tandem.compiler.errors import GraphError
from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.expressions import placeholders, tensors
from tandem.compiler.graph.infer import infer
from tandem.compiler.graph.live_ranges import bytes_of
from tandem.compiler.graph.nodes import Atom, Body, Call, Function, Let, Tuple, TupleGet, Var
from tandem.compiler.graph.recompute import Part, Run, Step, limited
from tandem.compiler.graph.syntax import unique_name
from tandem.compiler.graph.types import Nested, TensorType, leaves, tensors_of
from tandem.compiler.graph.visit import atoms, map_atoms, names_taken
from tandem.compiler.te.build import macs_of

_MACS = 2
"""Multiply-accumulates in the time of a byte that is read or written."""


@dataclass(frozen=True, slots=True)
class LimitMemory:
    """Computes values again, late, as far as a limit of memory needs that; the limit is for the
    tensors that a function computes, without its results.

    ::

        a = @f(x)                 a = @f(x)
        b = @g(a)                 b = @g(a)
        c = @h(b)          ->     c = @h(b)
        d = @k(c, a)              a_1 = @f(x)
        return d                  d = @k(c, a_1)
                                  return d

    It runs behind `fuse`: no pass behind it makes one of two equal calls.

    Attributes
    ----------
    most
        Bytes.
    overwritten
        By the name of a parameter the number of the result, flattened to tensors, that may lie in
        its memory.
    """

    most: int
    overwritten: tuple[tuple[str, int], ...] = ()
    name: str = "limit-memory"

    def apply(self, function: Function) -> Function:
        """The function, in which kernels may be called again, and results early.

        Raises
        ------
        MemoryLimitError
            The limit is not met by what can be computed again.
        GraphError
            The function has branches, or calls functions: its memory is not known ahead.
        """
        calls = _Calls(function)
        overwritten: dict[int, set[str]] = {}
        for param, number in self.overwritten:
            tensor = calls.results[number]
            if isinstance(tensor, _Tensor):
                overwritten.setdefault(tensor.step, set()).add(param)
        first = calls.results[0] if calls.results else None
        splits = (first.step + 1,) if isinstance(first, _Tensor) else ()
        return calls.function_of(limited(calls.steps(overwritten), self.most, splits))


@dataclass(frozen=True, slots=True)
class _Tensor:
    """A tensor by the number of the step that computes it, and its own among the step's."""

    step: int
    part: int


_Source: TypeAlias = _Tensor | str | None
"""What a name stands for: a tensor, a parameter, or, None, a constant."""


class _Calls:
    """The calls of kernels in a function without control flow."""

    def __init__(self, function: Function) -> None:
        self._function = function
        self._types = infer(function)
        self._lets: list[Let] = []
        self._items: dict[_Tensor, list[Let]] = {}
        """The values that are items of a step's tuple."""
        self._given: list[Let] = []
        """The values that are items of parameters."""
        self._tuples: list[Let] = []
        """The values that are tuples, and items of them."""
        self._sources: dict[str, Nested[_Source]] = {
            param.name: param.name for param in function.params
        }
        for let in function.body.lets:
            self._sources[let.name] = self._value(let)
        self.results = [*leaves(self._source(function.body.result))]

    def steps(self, overwritten: Mapping[int, set[str]]) -> list[Step]:
        """The steps that the calls are, some of which write results over parameters."""
        outside = {each for each in self.results if isinstance(each, _Tensor)}
        costs: dict[str, float] = {}
        found = []
        for number, let in enumerate(self._lets):
            kernel = _kernel(let)
            sizes = [bytes_of(type_, let.name) for type_ in tensors_of(self._types[let.name])]
            if kernel.digest not in costs:
                costs[kernel.digest] = _cost(kernel, sum(sizes))
            parts = (Part(size, _Tensor(number, at) in outside) for at, size in enumerate(sizes))
            found.append(
                Step(
                    tuple((tensor.step, tensor.part) for tensor in self._read(let)),
                    tuple(parts),
                    costs[kernel.digest],
                    frozenset(each for each in self._operands(let) if isinstance(each, str)),
                    frozenset(overwritten.get(number, ())),
                )
            )
        return found

    def function_of(self, runs: Sequence[Run]) -> Function:
        """The function in which the calls are made as these runs say."""
        taken = names_taken(self._function)
        lets = [*self._given]
        names: dict[tuple[int, int], str] = {}
        met: set[int] = set()
        for number, run in enumerate(runs):
            let = self._lets[run.step]
            again, type_ = run.step in met, self._types[let.name]
            met.add(run.step)
            given = {
                tensor: Var(names[read])
                for tensor, read in zip(self._read(let), run.reads, strict=True)
            }

            def operand(atom: Atom, given: Mapping[_Tensor, Var] = given) -> Atom:
                source = self._source(atom)
                return given[source] if isinstance(source, _Tensor) else atom

            name = unique_name(let.name, taken) if again else let.name
            lets.append(replace(let, name=name, value=map_atoms(let.value, operand)))
            if isinstance(type_, TensorType):
                names[number, 0] = name
                continue
            for at in range(len(tensors_of(type_))):
                for item in self._items.get(_Tensor(run.step, at), ()):
                    own = unique_name(item.name, taken) if again else item.name
                    lets.append(Let(own, TupleGet(Var(name), at), item.type))
                    names[number, at] = own
        body = Body((*lets, *self._tuples), self._function.body.result)
        return replace(self._function, body=body)

    def _operands(self, let: Let) -> Iterator[_Source]:
        for atom in atoms(let.value):
            yield from leaves(self._source(atom))

    def _read(self, let: Let) -> list[_Tensor]:
        """The tensors that a call reads, each once."""
        return [*dict.fromkeys(it for it in self._operands(let) if isinstance(it, _Tensor))]

    def _source(self, atom: Atom) -> Nested[_Source]:
        return None if isinstance(atom, Constant) else self._sources[atom.name]

    def _value(self, let: Let) -> Nested[_Source]:
        match let.value:
            case Call(callee=Function()):
                number = len(self._lets)
                self._lets.append(let)
                type_ = self._types[let.name]
                if isinstance(type_, TensorType):
                    return _Tensor(number, 0)
                return tuple(_Tensor(number, at) for at in range(len(tensors_of(type_))))
            case Tuple(items=items):
                self._tuples.append(let)
                return tuple(map(self._source, items))
            case TupleGet(operand=operand, index=index):
                whole = self._sources[operand.name]
                if not isinstance(whole, tuple):
                    self._given.append(let)
                    return whole
                found = whole[index]
                if isinstance(found, _Tensor) and self._lets[found.step].name == operand.name:
                    self._items.setdefault(found, []).append(let)
                else:
                    self._tuples.append(let)
                return found
            case _:
                raise GraphError(
                    f"function {self._function.name}: {let.name} is a branch, calls a function or "
                    "is of a data type; memory is limited where all steps are known ahead"
                )


def _kernel(let: Let) -> Function:
    assert isinstance(let.value, Call), "a call"
    assert isinstance(let.value.callee, Function), "of a kernel"
    return let.value.callee


def _cost(kernel: Function, written: int) -> float:
    """The time of a kernel, in that of a byte that is read or written."""
    given = placeholders(kernel)
    read = sum(prod(each.shape) * each.dtype.numpy.itemsize for each in given)
    return read + written + macs_of(tensors(kernel, given)) / _MACS
