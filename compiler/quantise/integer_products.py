"""The pass that makes products of integers, such as MatMulInteger, dense layers of int8."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.graph.attributes import NO_ATTRIBUTES, Attributes
from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.infer import infer
from tandem.compiler.graph.nodes import Atom, Body, Call, Function, Let, Value, Var
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.operators.elementwise import Cast
from tandem.compiler.graph.operators.parts import Concat, Gather, Pad, Slice
from tandem.compiler.graph.operators.products import Conv2d, Product
from tandem.compiler.graph.operators.shapes import Reshape, Transpose, Unsqueeze
from tandem.compiler.graph.opspec import OpSpec
from tandem.compiler.graph.syntax import unique_name
from tandem.compiler.graph.types import TensorType, Type
from tandem.compiler.graph.verify import verify
from tandem.compiler.graph.visit import map_functions
from tandem.compiler.ir.dtypes import INT8, INT32, UINT8
from tandem.compiler.operators.pad import PadMode
from tandem.compiler.quantise.narrow_weights import NarrowWeights

_CHANNELS = 16
"""The channels of a product of grouped convolutions: those of a block of most machines."""


@dataclass(frozen=True, slots=True)
class IntegerProducts:
    """Makes products of 8-bit integers less a zero point and constant weights dense layers of int8.

    ::

        c = cast(q, to=int32)                       d = cast(add(x, subtract(z, 128)), to=int8)
        x = subtract(c, z)                  ->      p = dense(d, int8 weights)
        y = matmul(x, w)                            y = add(p, multiply(subtract(128, z), sums))

    Dynamic quantisers export MatMulInteger and ConvInteger so, with scales and zero points that are
    computed when the network runs. An accelerator gives the sums of dense layers as they are, in 32
    bits; windows of a convolution become rows of a matrix. `sums` are those of each output's
    weights, which may take inputs twice to be int8. Integers wrap around, before and after.
    """

    name: str = "integer-products"

    def apply(self, function: Function) -> Function:
        """The function with dense layers; dead values are left to `EliminateDead`."""
        verify(function)

        def changed(one: Function) -> Function:
            types = infer(one)
            return replace(one, body=_Rewriter(types, set(types)).body(one.body))

        return map_functions(function, changed)


@dataclass(frozen=True, slots=True)
class _Centred:
    """Integers less a zero point, if there is one: from 0 to 255, or from -128 to 127 if signed."""

    signed: bool
    zero: Atom | None = None

    @property
    def middle(self) -> int:
        """The number by which the integers exceed int8."""
        return 0 if self.signed else -int(INT8.low)


@dataclass
class _Rewriter:
    """
    Attributes
    ----------
    centred
        Values that are int32 of 8-bit integers less a zero point, by name, also where they moved.
    """

    types: Mapping[str, Type]
    taken: set[str]
    centred: dict[str, _Centred] = field(default_factory=dict)
    lets: list[Let] = field(default_factory=list)

    def body(self, body: Body) -> Body:
        """The body rewritten; bodies within it are left as they are."""
        for let in body.lets:
            found = self._centred(let.value)
            if found is not None:
                self.centred[let.name] = found
            if not self._product(let):
                self.lets.append(let)
        return Body(tuple(self.lets), body.result)

    def _centred(self, value: Value) -> _Centred | None:
        match value:
            case Call(callee=OpSpec(name="cast"), args=(data,), attributes=Cast(to=to)):
                dtype = self._type(data).dtype
                return _Centred(dtype == INT8) if to == INT32 and dtype in (INT8, UINT8) else None
            case Call(callee=OpSpec(name="subtract"), args=(Var(name), zero)):
                found = self.centred.get(name)
                by_rows = self._type(zero).size == 1 or self._type(zero).shape[-1] == 1
                if found is None or found.zero is not None or not by_rows:
                    return None
                return replace(found, zero=zero)
            case (
                Call(args=(Var(name),), attributes=Pad(mode=PadMode.CONSTANT, value=0))
                | Call(callee=OpSpec(name=("reshape" | "slice")), args=(Var(name),))
                | Call(
                    callee=OpSpec(name=("squeeze" | "transpose" | "unsqueeze")), args=(Var(name),)
                )
            ):
                return self._moved((name,))
            case Call(callee=OpSpec(name="concat"), args=args):
                names = [operand.name for operand in args if isinstance(operand, Var)]
                return self._moved(names) if len(names) == len(args) else None
            case _:
                return None

    def _moved(self, names: Sequence[str]) -> _Centred | None:
        """What is made of the elements of values that have one zero point."""
        found = {self.centred.get(name) for name in names}
        first = found.pop()
        return first if first is not None and not found and self._has_one_zero(first) else None

    def _has_one_zero(self, found: _Centred) -> bool:
        return found.zero is None or self._type(found.zero).size == 1

    def _product(self, let: Let) -> bool:
        """Whether the value is a product that is emitted as dense layers."""
        match let.value:
            case Call(callee=OpSpec(name="matmul"), args=(Var(name) as data, Constant() as weight)):
                shape = self._static(data)
                if name not in self.centred or shape is None or weight.array.ndim != 2:
                    return False
                return self._matmul(let, data, weight.array)
            case Call(
                callee=OpSpec(name="conv2d"),
                args=(Var(name) as data, Constant() as weight),
                attributes=Conv2d() as windows,
            ):
                if name not in self.centred or self._static(data) is None:
                    return False
                if not self._has_one_zero(self.centred[name]):
                    return False
                return self._convolution(let, data, weight.array, windows)
            case _:
                return False

    def _matmul(self, let: Let, data: Var, weight: NDArray[Any]) -> bool:
        narrow = NarrowWeights.of(np.ascontiguousarray(weight.T))
        shape = self._static(data)
        if narrow is None or shape is None:
            return False
        small = self._int8(let, data, self.centred[data.name])
        flat = self._call(let, "reshape", [small], Reshape((prod(shape[:-1]), shape[-1])))
        acc = self._dense(let, flat, narrow)
        whole = self._call(let, "reshape", [acc], Reshape((*shape[:-1], weight.shape[1])))
        self._finish(let, whole, self.centred[data.name], weight.sum(0, dtype=np.int64))
        return True

    def _convolution(self, let: Let, data: Var, weight: NDArray[Any], windows: Conv2d) -> bool:
        """A convolution as a product of its windows, a row for each pixel. Grouped channels are
        brought together to a block, with weights of 0 between groups."""
        outputs, inputs, *kernel = weight.shape
        own, count = (
            outputs // windows.groups,
            max(1, _CHANNELS // max(inputs, outputs // windows.groups)),
        )
        parts: list[NarrowWeights] = []
        for first in range(0, windows.groups, count):
            groups = range(first, min(first + count, windows.groups))
            block = np.zeros((len(groups), own, len(groups), inputs * prod(kernel)), np.int64)
            for number, group in enumerate(groups):
                block[number, :, number] = weight[group * own : (group + 1) * own].reshape(own, -1)
            narrow = NarrowWeights.of(block.reshape(len(groups) * own, -1))
            if narrow is None:
                return False
            parts.append(narrow)
        found = self.centred[data.name]
        if any(windows.padding):
            top, left, bottom, right = windows.padding
            data = self._call(let, "pad", [data], Pad((0, 0, top, left, 0, 0, bottom, right)))
        rows = self._windows(let, self._int8(let, data, found), kernel, windows)
        step, sums = count * inputs * prod(kernel), []
        for number, narrow in enumerate(parts):
            taken = Slice((number * step,), ((number + 1) * step,), (1,))
            own_rows = rows if len(parts) == 1 else self._call(let, "slice", [rows], taken)
            sums.append(self._dense(let, own_rows, narrow))
        whole = sums[0] if len(sums) == 1 else self._call(let, "concat", sums, Concat(1))
        images, _, height, width = self._shape(let.name)
        shape = Reshape((images, height, width, outputs))
        whole = self._call(let, "reshape", [whole], shape)
        whole = self._call(let, "transpose", [whole], Transpose((0, 3, 1, 2)))
        totals = weight.reshape(outputs, -1).sum(1, dtype=np.int64)[:, None, None]
        self._finish(let, whole, found, totals)
        return True

    def _windows(self, let: Let, data: Var, kernel: Sequence[int], windows: Conv2d) -> Var:
        """The windows of padded images as rows of a matrix, a channel's elements side by side."""
        images, _, *extents = self._shape(let.name)
        taps: list[Atom] = []
        for at in product(*map(range, kernel)):
            starts = [tap * gap for tap, gap in zip(at, windows.dilation, strict=True)]
            ends = [
                start + (extent - 1) * stride + 1
                for start, extent, stride in zip(starts, extents, windows.strides, strict=True)
            ]
            taken = Slice(tuple(starts), tuple(ends), (2, 3), windows.strides)
            tap = self._call(let, "slice", [data], taken)
            taps.append(self._call(let, "unsqueeze", [tap], Unsqueeze((2,))))
        whole = taps[0] if len(taps) == 1 else self._call(let, "concat", taps, Concat(2))
        last = self._call(let, "transpose", [whole], Transpose((0, 3, 4, 1, 2)))
        return self._call(let, "reshape", [last], Reshape((images * prod(extents), -1)))

    def _int8(self, let: Let, data: Var, found: _Centred) -> Var:
        """The integers themselves as int8, of data less their zero point."""
        moved: Atom = data
        if found.zero is not None:
            zero = self._call(let, "subtract", [found.zero, _number(found.middle)])
            moved = self._call(let, "add", [data, zero])
        elif found.middle:
            moved = self._call(let, "subtract", [data, _number(found.middle)])
        return self._call(let, "cast", [moved], Cast(INT8))

    def _dense(self, let: Let, data: Var, narrow: NarrowWeights) -> Var:
        if narrow.inputs is not None:
            data = self._call(let, "gather", [data, Constant(narrow.inputs)], Gather(1))
        return self._call(let, "dense", [data, Constant(narrow.values)], Product(INT32))

    def _finish(self, let: Let, acc: Var, found: _Centred, sums: NDArray[np.int64]) -> None:
        """Emits the value: the sums of products, and what int8 lacks of integers less their zero
        point, times the sums of weights."""
        weights = Constant(sums.astype(np.int32))
        if found.zero is not None:
            factor = self._call(let, "subtract", [_number(found.middle), found.zero])
            term: Atom = self._call(let, "multiply", [weights, factor])
        elif found.middle:
            term = Constant((sums * found.middle).astype(np.int32))
        else:
            self.lets.append(replace(let, value=Call(OPERATORS["identity"], (acc,))))
            return
        self.lets.append(replace(let, value=Call(OPERATORS["add"], (acc, term))))

    def _call(
        self, let: Let, operator: str, operands: Sequence[Atom], given: Attributes = NO_ATTRIBUTES
    ) -> Var:
        """An operator's result under a new name, for what is emitted in place of `let`."""
        name = unique_name(f"{let.name}_{operator}", self.taken)
        self.lets.append(
            Let(name, Call(OPERATORS[operator], tuple(operands), given), origin=let.source)
        )
        return Var(name)

    def _type(self, atom: Atom) -> TensorType:
        found = atom.type if isinstance(atom, Constant) else self.types[atom.name]
        assert isinstance(found, TensorType), "verified: operators take tensors"
        return found

    def _static(self, data: Var) -> tuple[int, ...] | None:
        """The shape of a value; None if an extent is not known."""
        shape = tuple(each for each in self._type(data).shape if isinstance(each, int))
        return shape if len(shape) == self._type(data).rank else None

    def _shape(self, name: str) -> tuple[int, ...]:
        found = self._static(Var(name))
        assert found is not None, "its operands have known shapes"
        return found


def _number(value: int) -> Constant:
    return Constant(np.array(value, np.int32))
