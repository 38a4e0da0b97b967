"""Pullbacks of functions that are called by name.

The pullback of a function takes its arguments and a gradient for each float of its result, and
gives those of the arguments. It computes the function's values again, as far as gradients need
them: a loop's pullback computes one iteration, calls itself for those that follow, and then takes
the gradient back through its own iteration. So the calls that wait hold the values of all
iterations, and no other store is needed; of these there may be `evaluate.MAX_CALLS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from tandem.compiler.graph.gradients.adders import adder
from tandem.compiler.graph.gradients.cotangents import nested
from tandem.compiler.graph.gradients.data_gradients import gradient_types
from tandem.compiler.graph.gradients.reverse import Reverse
from tandem.compiler.graph.gradients.varied import varied_names
from tandem.compiler.graph.gradients.writer import GraphWriter, atom_of
from tandem.compiler.graph.infer import infer
from tandem.compiler.graph.nodes import Body, Function, Global, Param
from tandem.compiler.graph.opspec import Registry
from tandem.compiler.graph.syntax import unique_name
from tandem.compiler.graph.types import DataType, FunctionType, Part, TupleType

_Key: TypeAlias = tuple[str, tuple[bool, ...], tuple[bool, ...]]
"""A function's name; whether each parameter's gradient is wanted; whether each float of the result
has one."""


@dataclass(slots=True)
class Pullbacks:
    """The pullbacks that a program needs.

    Attributes
    ----------
    named
        The functions that can be called by name.
    taken
        The names of functions in use.
    """

    named: Mapping[str, Function]
    operators: Registry
    taken: set[str]
    _found: dict[_Key, Global] = field(default_factory=dict)
    _waiting: list[_Key] = field(default_factory=list)
    _adders: dict[DataType, Global] = field(default_factory=dict)

    def of(self, name: str, wanted: tuple[bool, ...], present: tuple[bool, ...]) -> Global:
        """The pullback of a function: see `reverse.PullbackOf`."""
        key = name, wanted, present
        if key not in self._found:
            type_ = FunctionType(
                (*(param.type for param in self.named[name].params), *self._given(key)),
                TupleType(self._results(key)),
            )
            self._found[key] = Global(unique_name(f"{name}_pullback", self.taken), type_)
            self._waiting.append(key)
        return self._found[key]

    def adder(self, type_: DataType) -> Global:
        """The function that adds two gradients of a data type."""
        if type_ not in self._adders:
            function = FunctionType((type_, type_), type_)
            name = unique_name(f"add_{type_.name}", self.taken)
            self._adders[type_] = Global(name, function)
        return self._adders[type_]

    def definitions(self) -> tuple[Function, ...]:
        """All pullbacks that are called, those that they call too, and what adds gradients."""
        written = []
        while self._waiting:
            written.append(self._written(self._waiting.pop(0)))
        added: dict[DataType, Function] = {}
        while missing := [each for each in self._adders if each not in added]:
            for type_ in missing:
                added[type_] = adder(self._adders[type_].name, type_, self.operators, self.adder)
        return (*written, *added.values())

    def _given(self, key: _Key) -> tuple[Part, ...]:
        """The types of the gradients that a pullback takes."""
        name, _, present = key
        result = self.named[name].result
        assert result is not None, "functions that are called by name declare their results"
        return tuple(
            type_ for type_, there in zip(gradient_types(result), present, strict=True) if there
        )

    def _results(self, key: _Key) -> tuple[Part, ...]:
        """The types of the gradients that a pullback gives."""
        name, wanted, _ = key
        return tuple(
            type_
            for param, want in zip(self.named[name].params, wanted, strict=True)
            if want
            for type_ in gradient_types(param.type)
        )

    def _written(self, key: _Key) -> Function:
        name, wanted, present = key
        function = self.named[name]
        assert function.result is not None, "functions that are called by name declare theirs"
        types = dict(infer(function))
        taken = {*types}
        writer = GraphWriter(self.operators, taken, types, adder=self.adder)
        writer.lets += function.body.lets
        given = [Param(unique_name("gradient", taken), type_) for type_ in self._given(key)]
        types.update((param.name, param.type) for param in given)
        waiting = iter(given)
        terms = [writer.leaves(next(waiting).name)[0] if there else None for there in present]
        asked = [param.name for param, want in zip(function.params, wanted, strict=True) if want]
        varied = varied_names(function.body, asked, types)
        reverse = Reverse(name, writer, self.of, varied)
        reverse.body(function.body, nested(terms, function.result))
        writer.stem = "gradients"
        found = [term for one in asked for term in reverse.terms_of(one) if term is not None]
        results = self._results(key)
        result = writer.tuple_of([atom_of(term) for term in found], results)
        return Function(
            self._found[key].name,
            (*function.params, *given),
            Body(tuple(writer.lets), result),
            TupleType(results),
        )
