"""The accelerator's tensor layouts: blocks of channels, between its kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from compiler.graph.attributes import NO_ATTRIBUTES, Attributes
from compiler.graph.nodes import Atom, Call, Let, Var
from compiler.graph.operators import OPERATORS
from compiler.graph.operators.blocks import UnpackData
from compiler.graph.syntax import unique_name
from compiler.graph.types import TensorType, Type
from compiler.graph.visit import map_atoms
from compiler.machines.accelerator.machine import AcceleratorTarget
from compiler.machines.accelerator.templates.template import RESULT, AcceleratorTemplate, Layout
from compiler.plan.pattern import Match
from compiler.plan.target import LayoutRewrite, Layouts

_PACKING = MappingProxyType(
    {
        "reshape": "image",
        "transpose": "columns",
        "pack_data": "blocks",
        "pack_weight": "blocks",
        "byte_planes": "bytes",
    }
)
_UNPACKING = MappingProxyType({"unpack_data": "plain", "transpose": "rows", "reshape": "flat"})


@dataclass(frozen=True, slots=True)
class Blocks(Layouts):
    """The layouts that templates state, which are blocks of channels (NCHWnc) as a rule. Results
    wider than a byte are stored as byte planes."""

    operators = frozenset({"unpack_data", "pack_data", "reshape", "transpose", "byte_planes"})

    machine: AcceleratorTarget

    def rewrite(
        self,
        template: AcceleratorTemplate[Any],
        match: Match,
        types: Mapping[str, Type],
        taken: set[str],
        *,
        from_host: bool,
    ) -> LayoutRewrite:
        """The match as a kernel between tensors in blocks."""
        return _Rewriter(self.machine, template, match, types, taken).rewrite(from_host)


@dataclass
class _Rewriter:
    machine: AcceleratorTarget
    template: AcceleratorTemplate[Any]
    match: Match
    types: Mapping[str, Type]
    taken: set[str]
    operands: list[Let] = field(default_factory=list)
    kernel: list[Let] = field(default_factory=list)
    result: list[Let] = field(default_factory=list)

    def rewrite(self, from_host: bool) -> LayoutRewrite:
        first, *rest = self.match.lets
        data, *skips = self.match.computed
        repacked = None
        if from_host:
            repacked = self.template.repacked(self.match, self._shape, self.machine)
        if repacked is None:
            operand = self._operand(data)
        else:
            first, name = repacked.first, self.match.variable(data)
            stem = f"{name}_{repacked.suffix}"
            packed = self._add(
                self.operands, stem, repacked.operator, Var(name), repacked.attributes
            )
            plain = UnpackData(repacked.shape)
            operand = self._add(self.kernel, f"{name}_plain", "unpack_data", packed, plain)
        # A tensor bound to two operands is packed for each: the two layouts may differ.
        added = {self.match.variable(skip): self._operand(skip) for skip in skips}
        renamed = {**added, self.match.variable(data): operand}
        for let in (first, *rest):
            value = map_atoms(let.value, lambda atom: _renamed(atom, renamed))
            inner = Var(unique_name(f"{let.name}_inside", self.taken))
            renamed.update({**added, let.name: inner})
            self.kernel.append(Let(inner.name, value, origin=let.source))
        self._result(renamed[self.match.name])
        return LayoutRewrite(tuple(self.operands), tuple(self.kernel), tuple(self.result))

    def _operand(self, operand: str) -> Var:
        """Adds operators that pack an operand on the host and unpack it in the kernel."""
        name, layout = self.match.variable(operand), self._layout(operand)
        packed = self._steps(self.operands, Var(name), name, layout.pack, _PACKING)
        return self._steps(self.kernel, packed, name, layout.unpack, _UNPACKING)

    def _result(self, result: Var) -> None:
        name, layout = self.match.name, self._layout(RESULT)
        pack, unpack = layout.pack, layout.unpack
        if self.template.leaves_in_bytes:
            pack = (*pack, ("byte_planes", NO_ATTRIBUTES))
            unpack = (("join_planes", NO_ATTRIBUTES), *unpack)
        packed = self._steps(self.kernel, result, name, pack, _PACKING)
        *first, (operator, given) = unpack
        packed = self._steps(self.result, packed, name, first, {})
        last = Let(name, Call(OPERATORS[operator], (packed,), given), origin=self._origin)
        self.result.append(last)

    def _layout(self, name: str) -> Layout:
        return self.template.layout(self.match, name, self._shape, self.machine)

    def _shape(self, name: str) -> tuple[int, ...]:
        type_ = self.types[name]
        assert isinstance(type_, TensorType), "matched"
        return type_.static_shape(name)

    @property
    def _origin(self) -> str:
        """The source name of the match's result in the network."""
        return self.match.lets[-1].source

    def _steps(
        self,
        lets: list[Let],
        of: Var,
        stem: str,
        steps: Sequence[tuple[str, Attributes]],
        suffixes: Mapping[str, str],
    ) -> Var:
        """The value after unary operators; `suffixes` of their results' names by operator."""
        for operator, given in steps:
            name = f"{stem}_{suffixes.get(operator, 'outside')}"
            of = self._add(lets, name, operator, of, given)
        return of

    def _add(self, lets: list[Let], stem: str, operator: str, of: Var, given: Attributes) -> Var:
        name = unique_name(stem, self.taken)
        call = Call(OPERATORS[operator], (of,), given)
        lets.append(Let(name, call, origin=None if lets is self.operands else self._origin))
        return Var(name)


def _renamed(atom: Atom, names: Mapping[str, Var]) -> Atom:
    return names.get(atom.name, atom) if isinstance(atom, Var) else atom
