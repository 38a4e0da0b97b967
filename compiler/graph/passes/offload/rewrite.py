"""A match between tensors in blocks: what goes into the kernel, and what stays around it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from compiler.graph.attributes import NOTHING, Attributes
from compiler.graph.constant import Constant
from compiler.graph.names import fresh
from compiler.graph.nodes import Atom, Call, Let, Var
from compiler.graph.operators import OPERATORS
from compiler.graph.operators.blocks import PackData, PackWindows, UnpackData
from compiler.graph.operators.products import Conv2d
from compiler.graph.operators.shapes import Reshape
from compiler.graph.passes.offload.matches import Match
from compiler.graph.types import TensorType, Type
from compiler.graph.visit import map_atoms
from hw.config import HardwareConfig

__all__ = ["Blocked", "blocked"]


@dataclass(frozen=True, slots=True)
class Blocked:
    """A match, rewritten.

    Attributes
    ----------
    before
        Brings operands into blocks.
    inside
        Becomes the kernel: from blocks to blocks.
    after
        Brings the result out of blocks; the last value has the name that the match had.
    """

    before: tuple[Let, ...]
    inside: tuple[Let, ...]
    after: tuple[Let, ...]

    @property
    def lets(self) -> tuple[Let, ...]:
        """All, in order."""
        return (*self.before, *self.inside, *self.after)


def blocked(
    match: Match,
    types: Mapping[str, Type],
    config: HardwareConfig,
    taken: set[str],
    windows: bool,
) -> Blocked:
    """The match between blocks.

    Parameters
    ----------
    taken
        Names that are not free.
    windows
        A convolution of few channels may have its windows packed instead of its image.
    """
    return _Writer(types, config, taken).blocked(match, windows)


class _Writer:
    def __init__(self, types: Mapping[str, Type], config: HardwareConfig, taken: set[str]) -> None:
        self._types = types
        self._config = config
        self._taken = taken
        self._before: list[Let] = []
        self._inside: list[Let] = []
        self._after: list[Let] = []

    def blocked(self, match: Match, windows: bool) -> Blocked:
        (data, *skips), (first, *_) = match.data, match.lets
        merged = self._merged(first, data) if windows else None
        if merged is None:
            block = self._config.block_in if match.multiplies else self._config.block_out
            merged = first, self._operand(data, block)
        changed, operand = merged
        # Of a tensor that is read twice there are two in blocks, which need not be alike.
        added = {each: self._operand(each) for each in skips}
        renamed = {data: operand}
        for let in (changed, *match.lets[1:]):
            value = map_atoms(let.value, lambda atom: _renamed(atom, renamed))
            inner = Var(fresh(f"{let.name}_inside", self._taken))
            renamed.update({**added, let.name: inner})
            self._inside.append(Let(inner.name, value))
        self._result(match, renamed[match.name])
        return Blocked(tuple(self._before), tuple(self._inside), tuple(self._after))

    def _operand(self, name: str, block: int | None = None) -> Var:
        """A tensor in blocks outside, of output channels unless told, and out of them inside."""
        blocks = PackData(self._config.batch, block or self._config.block_out)
        shape = self._shape(name)
        images = Var(name)
        if len(shape) == 2:
            images = self._add(self._before, f"{name}_image", "reshape", Var(name), _square(shape))
        packed = self._add(self._before, f"{name}_blocks", "pack_data", images, blocks)
        four = (*shape, 1, 1)[:4]
        plain = self._add(self._inside, f"{name}_plain", "unpack_data", packed, UnpackData(four))
        if len(shape) == 2:
            flat = Reshape(shape)
            plain = self._add(self._inside, f"{name}_flat", "reshape", plain, flat)
        return plain

    def _merged(self, first: Let, data: str) -> tuple[Let, Var] | None:
        """A convolution of windows, where that takes fewer blocks, and these windows."""
        call = first.value
        if not isinstance(call, Call) or not isinstance(call.attributes, Conv2d):
            return None
        weight, given = call.args[1], call.attributes
        if given.groups != 1:
            return None
        assert isinstance(weight, Constant), "matched"
        outputs, channels, tall, wide = weight.array.shape
        block = self._config.block_in
        apart = -(-channels // block) * tall * wide
        together = -(-channels * tall * wide // block)
        if together >= apart:
            return None
        shape = self._shape(data)
        packing = PackWindows(
            (tall, wide),
            self._config.batch,
            block,
            given.strides,
            given.padding,
            given.dilation,
        )
        packed = self._add(self._before, f"{data}_windows", "pack_windows", Var(data), packing)
        _, _, height, width = self._shape(first.name)
        seen = UnpackData((shape[0], channels * tall * wide, height, width))
        plain = self._add(self._inside, f"{data}_plain", "unpack_data", packed, seen)
        flat = Constant(np.ascontiguousarray(weight.array.reshape(outputs, -1, 1, 1)))
        plainer = replace(given, strides=(1, 1), padding=(0, 0, 0, 0), dilation=(1, 1))
        return Let(first.name, Call(call.callee, (Var(data), flat), plainer)), plain

    def _result(self, match: Match, result: Var) -> None:
        shape = self._shape(match.name)
        inner = result
        if len(shape) == 2:
            inner = self._add(self._inside, f"{match.name}_image", "reshape", inner, _square(shape))
        outputs = PackData(self._config.batch, self._config.block_out)
        packed = self._add(self._inside, f"{match.name}_blocks", "pack_data", inner, outputs)
        steps: list[tuple[str, Attributes]] = [("unpack_data", UnpackData((*shape, 1, 1)[:4]))]
        if match.wide:
            planes = f"{match.name}_bytes"
            packed = self._add(self._inside, planes, "byte_planes", packed, NOTHING)
            steps.insert(0, ("join_planes", NOTHING))
        if len(shape) == 2:
            steps.append(("reshape", Reshape(shape)))
        *first, (operator, given) = steps
        for each, attributes in first:
            packed = self._add(self._after, f"{match.name}_outside", each, packed, attributes)
        self._after.append(Let(match.name, Call(OPERATORS[operator], (packed,), given)))

    def _shape(self, name: str) -> tuple[int, ...]:
        type_ = self._types[name]
        assert isinstance(type_, TensorType), "matched"
        return type_.static_shape(name)

    def _add(self, lets: list[Let], stem: str, operator: str, of: Var, given: Attributes) -> Var:
        name = fresh(stem, self._taken)
        lets.append(Let(name, Call(OPERATORS[operator], (of,), given)))
        return Var(name)


def _renamed(atom: Atom, names: Mapping[str, Var]) -> Atom:
    return names.get(atom.name, atom) if isinstance(atom, Var) else atom


def _square(shape: tuple[int, ...]) -> Reshape:
    return Reshape((*shape, 1, 1))
