"""The accelerator's tensor layouts: blocks of channels, between its kernels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from compiler.graph.attributes import NO_ATTRIBUTES, Attributes
from compiler.graph.nodes import Atom, Call, Let, Var
from compiler.graph.operators import OPERATORS
from compiler.graph.operators.blocks import PackData, UnpackData
from compiler.graph.operators.shapes import Reshape
from compiler.graph.syntax import unique_name
from compiler.graph.types import TensorType, Type
from compiler.graph.visit import map_atoms
from compiler.target import AcceleratorTarget
from compiler.targets.target import LayoutRewrite, Layouts
from compiler.templates.accelerator.template import AcceleratorTemplate
from compiler.templates.pattern import Match


@dataclass(frozen=True, slots=True)
class Blocks(Layouts):
    """Blocked layouts (NCHWnc): an operand of the array has blocks of input channels, all other
    tensors blocks of output channels. Results wider than a byte are stored as byte planes."""

    operators = frozenset({"unpack_data", "pack_data", "reshape", "byte_planes"})

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
        config, name = self.machine.config, self.match.variable(operand)
        of_array = operand == self.template.array_operand
        blocks = PackData(config.batch, config.block_in if of_array else config.block_out)
        shape = self._shape(name)
        images = Var(name)
        if len(shape) == 2:
            images = self._add(self.operands, f"{name}_image", "reshape", images, _square(shape))
        packed = self._add(self.operands, f"{name}_blocks", "pack_data", images, blocks)
        four = UnpackData((*shape, 1, 1)[:4])
        plain = self._add(self.kernel, f"{name}_plain", "unpack_data", packed, four)
        if len(shape) == 2:
            plain = self._add(self.kernel, f"{name}_flat", "reshape", plain, Reshape(shape))
        return plain

    def _result(self, result: Var) -> None:
        name, config = self.match.name, self.machine.config
        shape = self._shape(name)
        if len(shape) == 2:
            result = self._add(self.kernel, f"{name}_image", "reshape", result, _square(shape))
        outputs = PackData(config.batch, config.block_out)
        packed = self._add(self.kernel, f"{name}_blocks", "pack_data", result, outputs)
        steps: list[tuple[str, Attributes]] = [("unpack_data", UnpackData((*shape, 1, 1)[:4]))]
        if self.template.leaves_in_bytes:
            packed = self._add(self.kernel, f"{name}_bytes", "byte_planes", packed, NO_ATTRIBUTES)
            steps.insert(0, ("join_planes", NO_ATTRIBUTES))
        if len(shape) == 2:
            steps.append(("reshape", Reshape(shape)))
        *first, (operator, given) = steps
        for step, attributes in first:
            packed = self._add(self.result, f"{name}_outside", step, packed, attributes)
        last = Let(name, Call(OPERATORS[operator], (packed,), given), origin=self._origin)
        self.result.append(last)

    def _shape(self, name: str) -> tuple[int, ...]:
        type_ = self.types[name]
        assert isinstance(type_, TensorType), "matched"
        return type_.static_shape(name)

    @property
    def _origin(self) -> str:
        """The source name of the match's result in the network."""
        return self.match.lets[-1].source

    def _add(self, lets: list[Let], stem: str, operator: str, of: Var, given: Attributes) -> Var:
        name = unique_name(stem, self.taken)
        call = Call(OPERATORS[operator], (of,), given)
        lets.append(Let(name, call, origin=None if lets is self.operands else self._origin))
        return Var(name)


def _renamed(atom: Atom, names: Mapping[str, Var]) -> Atom:
    return names.get(atom.name, atom) if isinstance(atom, Var) else atom


def _square(shape: tuple[int, ...]) -> Reshape:
    return Reshape((*shape, 1, 1))
