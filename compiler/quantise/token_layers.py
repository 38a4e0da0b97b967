"""The pass that makes products of tokens and weights convolutions, which targets have more of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.graph.attributes import Attributes
from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.infer import infer
from tandem.compiler.graph.nodes import Atom, Body, Call, Function, Let, Var
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.operators.products import Conv2d, Product
from tandem.compiler.graph.operators.shapes import Reshape, Transpose
from tandem.compiler.graph.opspec import OpPattern, OpSpec
from tandem.compiler.graph.syntax import unique_name
from tandem.compiler.graph.types import TensorType, Type
from tandem.compiler.graph.verify import verify
from tandem.compiler.graph.visit import map_bodies, map_functions, rename, renamed
from tandem.compiler.quantise.stated_constants import StatedConstant

_SWAP = Transpose((1, 0))
_SCALED = ("quantise", "dequantise")


@dataclass(frozen=True, slots=True)
class TokenLayers:
    """Makes a product of tokens [..., tokens, features] and constant weights a convolution of 1x1
    on an image whose only row has a pixel for each token.

    ::

        y = matmul(x, w)       ->     i = x as image [1, features, 1, tokens]
                                      c = conv2d(i, transposed w)
                                      y = c as tokens

        y = matmul(w, x)       ->     i = x as images [n, features, 1, columns]
                                      c = conv2d(i, w)
                                      y = c in the shape of the product

    Weights may also be integers that are dequantised, as in a QDQ network; their integers are
    transposed. What is computed from such results element by element is computed on the images, so
    that the changes of layout between one layer and the next are dead. A single token, for which
    weights would not be read again, becomes a matrix of one row in place of an image. Matrices are
    left, as dense layers of one image or of several.
    """

    name: str = "token-layers"

    def apply(self, function: Function) -> Function:
        """The function with convolutions; dead values are left to `EliminateDead`."""
        verify(function)

        def changed(one: Function) -> Function:
            types = infer(one)
            return replace(one, body=_Rewriter(types, set(types)).body(one.body))

        return map_functions(function, changed)


@dataclass
class _Rewriter:
    """
    Attributes
    ----------
    images
        By the name of a tensor of tokens: the same values as an image, or as a row if there is one
        token. What is made on images keeps its name there.
    tokens
        By the same name: the values as tokens, if the name is that of the image.
    stated
        Dequantised constants, by name.
    """

    types: Mapping[str, Type]
    taken: set[str]
    images: dict[str, Var] = field(default_factory=dict)
    tokens: dict[str, Atom] = field(default_factory=dict)
    stated: dict[str, StatedConstant] = field(default_factory=dict)
    lets: list[Let] = field(default_factory=list)

    def body(self, body: Body) -> Body:
        for let in body.lets:
            value = let.value
            stated = StatedConstant.of(value)
            if stated is not None:
                self.stated[let.name] = stated
            if not isinstance(value, Call) or not (
                self._product(let, value)
                or self._product_of_columns(let, value)
                or self._elementwise(let, value)
            ):
                value = map_bodies(rename(value, self.tokens), self._inner)
                self.lets.append(replace(let, value=value))
        return Body(tuple(self.lets), renamed(body.result, self.tokens))

    def _inner(self, body: Body) -> Body:
        """A body within this one, in which the images around it are known."""
        known = dict(self.images), dict(self.tokens), dict(self.stated)
        inner = _Rewriter(self.types, self.taken, *known)
        return inner.body(body)

    def _product(self, let: Let, call: Call) -> bool:
        if not isinstance(call.callee, OpSpec) or call.callee.name != "matmul":
            return False
        data, weight = call.args
        shape = self._token_shape(data)
        if shape is None or len(shape) == 2:
            return False
        assert isinstance(data, Var), "it has a token shape"
        kernels = self._kernels(let, weight)
        if kernels is None:
            return False
        image = self._image(data, shape)
        if _is_row(shape):
            self._result(let, "matmul", [image, weight], Product())
        else:
            self._result(let, "conv2d", [image, self._atom(let, kernels)], Conv2d())
        return True

    def _product_of_columns(self, let: Let, call: Call) -> bool:
        """Weights on the left, as of a Fourier transform: the data have a pixel in each column."""
        if not isinstance(call.callee, OpSpec) or call.callee.name != "matmul":
            return False
        weight, data = call.args
        shape = self._token_shape(data)
        if shape is None or len(shape) < 2 or prod(shape) == shape[-2]:
            return False
        assert isinstance(data, Var), "it has a token shape"
        kernels = self._kernels(let, weight, outputs_first=True)
        if kernels is None:
            return False
        given = self.tokens.get(data.name, data)
        assert isinstance(given, Var), "a value that is computed"
        images = Reshape((prod(shape[:-2]), shape[-2], 1, shape[-1]))
        image = self._emit(data.name, "reshape", given, images)
        product = Call(OPERATORS["conv2d"], (image, self._atom(let, kernels)), Conv2d())
        self.lets.append(replace(let, value=product, type=None))
        result = self._token_shape(Var(let.name))
        assert result is not None, "its operands have static shapes"
        self.tokens[let.name] = self._emit(let.name, "reshape", Var(let.name), Reshape(result))
        return True

    def _kernels(
        self, let: Let, weight: Atom, *, outputs_first: bool = False
    ) -> Constant | StatedConstant | None:
        """Constant weights of two axes as kernels of 1x1, outputs first; None for others."""
        if isinstance(weight, Constant):
            if weight.array.ndim != 2 or not np.issubdtype(weight.array.dtype, np.floating):
                return None
            return Constant(_kernels(weight.array.T if outputs_first else weight.array))
        stated = self.stated.get(weight.name)
        if stated is None or stated.values.ndim != 2:
            return None
        if outputs_first:
            return StatedConstant(_kernels(stated.values.T), stated.scales, stated.axis)
        return StatedConstant(_kernels(stated.values), stated.scales, 1 - stated.axis)

    def _atom(self, let: Let, constant: Constant | StatedConstant) -> Atom:
        """The constant as an operand of what is emitted for `let`."""
        if isinstance(constant, Constant):
            return constant
        name = unique_name(f"{let.name}_weight", self.taken)
        self.lets.append(Let(name, constant.call))
        return Var(name)

    def _elementwise(self, let: Let, call: Call) -> bool:
        """Whether the value is made on images: it has the shape of its operands that are images,
        and the others are constants for all elements or for each feature."""
        if not isinstance(call.callee, OpSpec) or call.callee.pattern > OpPattern.BROADCAST:
            return False
        operands = [atom for atom in call.args if isinstance(atom, Var)]
        names = [operand.name for operand in operands if operand.name not in self.stated]
        if not names or any(name not in self.images for name in names):
            return False
        shape = self._token_shape(Var(let.name))
        if shape is None or any(self._token_shape(Var(name)) != shape for name in names):
            return False
        if call.callee.name in _SCALED:
            # Scales for each token or feature have an axis, which an image has elsewhere.
            scales = [atom.array for atom in call.args if isinstance(atom, Constant)]
            if len(names) < len(operands) or any(each.size > 1 for each in scales):
                return False
            scaled = [
                self.images[atom.name] if isinstance(atom, Var) else atom for atom in call.args
            ]
            self._result(let, call.callee.name, scaled, call.attributes)
            return True
        found = [self._operand(atom, shape) for atom in call.args]
        known = [operand for operand in found if operand is not None]
        if len(known) < len(found):
            return False
        atoms = [each if isinstance(each, Var) else self._atom(let, each) for each in known]
        self._result(let, call.callee.name, atoms, call.attributes)
        return True

    def _operand(self, atom: Atom, shape: Sequence[int]) -> Var | Constant | StatedConstant | None:
        """An operand of an operator on images; None for a constant with other numbers for other
        tokens."""
        if isinstance(atom, Constant):
            array = _by_feature(atom.array, shape)
            return None if array is None else Constant(array)
        if atom.name not in self.stated:
            return self.images[atom.name]
        stated = self.stated[atom.name]
        values = _by_feature(stated.values, shape)
        if values is None or (stated.scales.size > 1 and stated.axis != stated.values.ndim - 1):
            return None
        return StatedConstant(values, stated.scales, values.ndim - 1 if _is_row(shape) else 0)

    def _token_shape(self, atom: Atom) -> tuple[int, ...] | None:
        """The shape of a tensor of tokens; None for other values."""
        type_ = self.types[atom.name] if isinstance(atom, Var) else None
        if not isinstance(type_, TensorType) or not type_.rank:
            return None
        shape = tuple(each for each in type_.shape if isinstance(each, int))
        if len(shape) != type_.rank or 0 in shape:
            return None
        return shape

    def _image(self, data: Var, shape: Sequence[int]) -> Var:
        """The tokens as an image, made once."""
        if data.name not in self.images:
            tokens, features = prod(shape[:-1]), shape[-1]
            flat = self._emit(data.name, "reshape", data, Reshape((tokens, features)))
            if not _is_row(shape):
                columns = self._emit(data.name, "transpose", flat, _SWAP)
                whole = Reshape((1, features, 1, tokens))
                flat = self._emit(data.name, "reshape", columns, whole)
            self.images[data.name] = flat
        return self.images[data.name]

    def _result(self, let: Let, operator: str, operands: Sequence[Atom], given: Attributes) -> None:
        """Emits the operator on images, and its result as tokens too."""
        shape = self._token_shape(Var(let.name))
        assert shape is not None, "its operand has tokens"
        tokens, features = prod(shape[:-1]), shape[-1]
        call = Call(OPERATORS[operator], tuple(operands), given)
        self.lets.append(replace(let, value=call, type=None))
        self.images[let.name] = flat = Var(let.name)
        if not _is_row(shape):
            columns = self._emit(let.name, "reshape", flat, Reshape((features, tokens)))
            flat = self._emit(let.name, "transpose", columns, _SWAP)
        self.tokens[let.name] = self._emit(let.name, "reshape", flat, Reshape(shape))

    def _emit(self, stem: str, operator: str, operand: Var, given: Attributes) -> Var:
        name = unique_name(f"{stem}_tokens", self.taken)
        self.lets.append(Let(name, Call(OPERATORS[operator], (operand,), given)))
        return Var(name)


def _is_row(shape: Sequence[int]) -> bool:
    """Whether a tensor of tokens has one token."""
    return prod(shape[:-1]) == 1


def _kernels(weight: NDArray[Any]) -> NDArray[Any]:
    """Weights [inputs, outputs] as kernels of 1x1, outputs first."""
    return np.ascontiguousarray(weight.T)[:, :, None, None]


def _by_feature(array: NDArray[Any], shape: Sequence[int]) -> NDArray[Any] | None:
    """A constant that broadcasts to tokens as one that does to the image; None if it has other
    numbers for other tokens."""
    if array.ndim > len(shape) or any(extent != 1 for extent in array.shape[:-1]):
        return None
    last = array.shape[-1] if array.ndim else 1
    wanted = (last,) if _is_row(shape) else (last, 1, 1)
    return array.reshape(wanted) if last in (1, shape[-1]) else None
