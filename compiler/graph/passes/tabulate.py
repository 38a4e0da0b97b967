"""Functions of bytes as tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.evaluate import Runner, run_call
from tandem.compiler.graph.infer import infer
from tandem.compiler.graph.nodes import (
    Atom,
    Body,
    Call,
    Function,
    FunctionKind,
    Let,
    Param,
    Var,
)
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.opspec import OpPattern, OpSpec
from tandem.compiler.graph.passes.chain_length import chain_length
from tandem.compiler.graph.passes.eliminate_dead import EliminateDead
from tandem.compiler.graph.types import TensorType, Type
from tandem.compiler.graph.verify import verify
from tandem.compiler.graph.visit import map_atoms, map_bodies, map_functions, names_of, use_counts
from tandem.compiler.ir.byte_tables import ENTRIES
from tandem.compiler.ir.dtypes import INT8, UINT8


@dataclass(frozen=True, slots=True)
class Tabulate:
    """Replaces chains of element-wise operators from one tensor of bytes to another by a look-up.

    ::

        f = dequantise(x, 0.1, 3)
        s = sigmoid(f)                ->    q = lookup(x, int8[256](...))
        q = quantise(s, 0.004, -128)

    All other operands of a chain are constants of one element. A chain begins at the last tensor of
    bytes that has several uses, or at the first of all. The table is what the chain, as one kernel,
    computes for all 256 bytes, so that no bit changes.

    Attributes
    ----------
    run
        Computes tables.
    least
        The least length of a chain that a table replaces (`chain_length`).
    """

    run: Runner
    least: int
    name: str = "tabulate"

    def apply(self, function: Function) -> Function:
        """The function with tables for long chains."""
        verify(function)
        found = map_functions(function, self._function)
        return function if found == function else EliminateDead().apply(found)

    def _function(self, function: Function) -> Function:
        uses = use_counts(function.body)
        chains = _Chains(infer(function), {name for name, count in uses.items() if count > 1})
        return replace(function, body=self._body(function.body, chains))

    def _body(self, body: Body, chains: _Chains) -> Body:
        lets: list[Let] = []
        for let in body.lets:
            value = map_bodies(let.value, lambda inner: self._body(inner, chains))
            chains.add(let)
            let = replace(let, value=value)
            chain = chains.to_bytes(let.name)
            if chain is not None and chains.length(chain) >= self.least:
                let = self._looked_up(let, chain, chains)
            lets.append(let)
        return Body(tuple(lets), body.result)

    def _looked_up(self, let: Let, chain: _Chain, chains: _Chains) -> Let:
        """The last value of a chain, from a table; its reports are those of the chain."""
        call = Call(OPERATORS["lookup"], (Var(chain.source), self._table(chain, chains)))
        reasons = dict.fromkeys(reason for each in chain.lets for reason in each.reasons)
        return replace(let, value=call, reasons=tuple(reasons), replaced=chain.operators)

    def _table(self, chain: _Chain, chains: _Chains) -> Constant:
        """The chain's value for each byte, that of -1 at 255."""
        dtype = chains.tensor(chain.source).dtype
        param = Param("x", TensorType((ENTRIES,), dtype))
        names = {chain.source: Var(param.name)}
        lets = []
        for number, let in enumerate(chain.lets):
            value = map_atoms(let.value, lambda atom: _scalar(atom, names))
            names[let.name] = Var(f"v{number}")
            lets.append(Let(names[let.name].name, value))
        kernel = Function(
            "table", (param,), Body(tuple(lets), Var(lets[-1].name)), None, FunctionKind.KERNEL
        )
        every: NDArray[Any] = np.arange(ENTRIES, dtype=np.uint8).view(dtype.numpy)
        found = run_call(Call(kernel, (Var(param.name),)), [every], self.run)
        assert not isinstance(found, tuple), "one tensor"
        return Constant(found)


def _scalar(atom: Atom, names: Mapping[str, Var]) -> Atom:
    """An operand of a chain for vectors of all bytes; constants broadcast to any shape."""
    return Constant(atom.array.reshape(())) if isinstance(atom, Constant) else names[atom.name]


@dataclass(frozen=True, slots=True)
class _Chain:
    """Element-wise operators on the elements of one tensor, in order."""

    source: str
    lets: tuple[Let, ...]

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls of its operators."""
        return tuple(let.value for let in self.lets if isinstance(let.value, Call))

    @property
    def operators(self) -> tuple[str, ...]:
        """The names of its operators."""
        return tuple(each.callee.name for each in self.calls if isinstance(each.callee, OpSpec))


class _Chains:
    """The values of a function that depend on the elements of one tensor of bytes alone.

    Parameters
    ----------
    types
        The types of all names.
    shared
        Names with several uses.
    """

    def __init__(self, types: Mapping[str, Type], shared: set[str]) -> None:
        self._types = types
        self._shared = shared
        self._lets: dict[str, Let] = {}
        """The operators of chains, by name."""
        self._sources: dict[str, str] = {}
        """The tensors of bytes where the chains of these begin."""

    def add(self, let: Let) -> None:
        """Add a value, after those that it depends on."""
        match let.value:
            case Call(callee=OpSpec(pattern=pattern), args=args) if pattern <= OpPattern.BROADCAST:
                pass
            case _:
                return
        if any(isinstance(each, Constant) and each.array.size != 1 for each in args):
            return
        sources = {self._source(each.name) for each in args if isinstance(each, Var)}
        (source,) = sources if len(sources) == 1 else (None,)
        type_ = self._types[let.name]
        if source is not None and isinstance(type_, TensorType):
            if type_.shape == self.tensor(source).shape:
                self._lets[let.name], self._sources[let.name] = let, source

    def tensor(self, name: str) -> TensorType:
        """The type of a name that is a tensor."""
        type_ = self._types[name]
        assert isinstance(type_, TensorType), "a part of a chain"
        return type_

    def to_bytes(self, name: str) -> _Chain | None:
        """The chain to a name; None if there is none, or if its value is not one of bytes."""
        if name not in self._lets or not self._has_bytes(name):
            return None
        source = self._sources[name]
        needed = {name}
        for let in reversed(self._lets.values()):
            if let.name in needed:
                needed |= names_of(let.value) - {source}
        return _Chain(source, tuple(let for let in self._lets.values() if let.name in needed))

    def length(self, chain: _Chain) -> int:
        """The length of a chain, in instructions for a vector."""
        return sum(chain_length(call, self._types) for call in chain.calls)

    def _source(self, name: str) -> str | None:
        """Where chains through a name begin."""
        begins = self._has_bytes(name) and (name in self._shared or name not in self._sources)
        return name if begins else self._sources.get(name)

    def _has_bytes(self, name: str) -> bool:
        type_ = self._types[name]
        return (
            isinstance(type_, TensorType) and type_.layout is None and type_.dtype in (INT8, UINT8)
        )
