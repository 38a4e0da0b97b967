"""A match of a schedule template as a kernel between tensors in the layouts of its machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tandem.compiler.graph.nodes import Atom, Call, Let, Var
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.operators.layouts import Convert
from tandem.compiler.graph.syntax import unique_name
from tandem.compiler.graph.types import TensorType, Type
from tandem.compiler.graph.visit import map_atoms, names_of
from tandem.compiler.layouts.layout import Bytes, Layout
from tandem.compiler.plan.pattern import Match
from tandem.compiler.plan.schedule_template import RESULT, HostPacking, ScheduleTemplate


@dataclass(frozen=True, slots=True)
class Rewrite:
    """The operators of a match, rewritten for operands and results in the machine's layouts.

    Attributes
    ----------
    operands
        Convert operands to the machine's layouts, on the host.
    kernel
        The body of the kernel.
    result
        Convert the result back, on the host; the last value has the match's name.
    """

    operands: tuple[Let, ...]
    kernel: tuple[Let, ...]
    result: tuple[Let, ...]


def rewrite(
    template: ScheduleTemplate[Any, Any],
    match: Match,
    machine: Any,
    types: Mapping[str, Type],
    taken: set[str],
    packing: HostPacking | None = None,
) -> Rewrite:
    """The match as a kernel between tensors in the layouts that its template states.

    Parameters
    ----------
    taken
        Names in use; names of new values are added.
    packing
        How the host packs the first operand, if not into the layout that the template states.
    """
    return _Rewriter(template, match, machine, types, taken).rewritten(packing)


@dataclass
class _Rewriter:
    template: ScheduleTemplate[Any, Any]
    match: Match
    machine: Any
    types: Mapping[str, Type]
    taken: set[str]
    operands: list[Let] = field(default_factory=list)
    kernel: list[Let] = field(default_factory=list)

    def rewritten(self, packing: HostPacking | None) -> Rewrite:
        lets = self.match.lets
        data, *others = self.match.computed
        if packing is None:
            operand = self._operand(data)
        else:
            name = self.match.variable(data)
            lets = _with_replaced(lets, packing.replaced)
            spec = OPERATORS[packing.operator]
            type_ = spec.result(name, [self.types[name]], packing.attributes)
            assert isinstance(type_, TensorType), "packed"
            call = Call(spec, (Var(name),), packing.attributes)
            packed = self._add(self.operands, f"{name}_{packing.suffix}", call)
            operand = self._plain(packed, name, type_)
        # A tensor bound to two operands is converted for each: the two layouts may differ.
        added = {self.match.variable(each): self._operand(each) for each in others}
        renamed = {**added, self.match.variable(data): operand}
        for let in lets:
            value = map_atoms(let.value, lambda atom: _renamed(atom, renamed))
            inner = Var(unique_name(f"{let.name}_inside", self.taken))
            renamed.update({**added, let.name: inner})
            self.kernel.append(Let(inner.name, value, origin=let.source))
        result = self._result(renamed[self.match.name])
        return Rewrite(tuple(self.operands), tuple(self.kernel), result)

    def _operand(self, operand: str) -> Var:
        """Adds conversions of an operand: on the host, and back in the kernel."""
        name, layout = self.match.variable(operand), self._layout(operand)
        if layout is None:
            return Var(name)
        type_ = self._type(name, layout)
        packed = self._add(
            self.operands, f"{name}_blocks", _convert(Var(name), type_.plain, layout)
        )
        return self._plain(packed, name, type_)

    def _plain(self, packed: Var, name: str, type_: TensorType) -> Var:
        return self._add(self.kernel, f"{name}_plain", _convert(packed, type_, None))

    def _result(self, result: Var) -> tuple[Let, ...]:
        """Adds the conversion of the result in the kernel; the one back on the host."""
        name, layout = self.match.name, self._layout(RESULT)
        if layout is None:
            self.kernel[-1] = _named(self.kernel[-1], name)
            return ()
        plain = self._type(name, None)
        suffix = "bytes" if Bytes() in layout.parts else "blocks"
        packed = self._add(self.kernel, f"{name}_{suffix}", _convert(result, plain, layout))
        back = _convert(packed, self._type(name, layout), None)
        return (Let(name, back, origin=self._origin),)

    def _layout(self, name: str) -> Layout | None:
        return self.template.layout(self.match, name, self._shape, self.machine)

    def _shape(self, name: str) -> tuple[int, ...]:
        return shape_of(self.types, name)

    def _type(self, name: str, layout: Layout | None) -> TensorType:
        type_ = self.types[name]
        assert isinstance(type_, TensorType), "matched"
        return TensorType(type_.shape, type_.dtype, layout)

    @property
    def _origin(self) -> str:
        """The source name of the match's result in the network."""
        return self.match.lets[-1].source

    def _add(self, lets: list[Let], stem: str, call: Call) -> Var:
        name = unique_name(stem, self.taken)
        lets.append(Let(name, call, origin=None if lets is self.operands else self._origin))
        return Var(name)


def shape_of(types: Mapping[str, Type], name: str) -> tuple[int, ...]:
    """The shape of a tensor, by the types of all values."""
    type_ = types[name]
    assert isinstance(type_, TensorType), "matched"
    return type_.static_shape(name)


def _with_replaced(lets: tuple[Let, ...], replaced: Sequence[Let]) -> tuple[Let, ...]:
    """The operators with others in the place of those of the same names, without those before the
    last of these that it does not read."""
    others = {let.name: let for let in replaced}
    changed = tuple(others.get(let.name, let) for let in lets)
    at = max(place for place, let in enumerate(lets) if let.name in others)
    read = {*names_of(changed[at].value)}
    return (*(let for let in changed[:at] if let.name in read), *changed[at:])


def _convert(of: Var, type_: TensorType, target: Layout | None) -> Call:
    """The conversion of a value of a type to a layout."""
    given = Convert(type_.static_shape(of.name), type_.layout, target)
    return Call(OPERATORS["convert"], (of,), given)


def _named(let: Let, name: str) -> Let:
    return Let(name, let.value, origin=let.origin)


def _renamed(atom: Atom, names: Mapping[str, Var]) -> Atom:
    return names.get(atom.name, atom) if isinstance(atom, Var) else atom
