"""Dequantised constants, such as the weights of a QDQ network, and the pass that moves them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.graph.attributes import Attributes
from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.evaluate import Runner, run_call
from tandem.compiler.graph.nodes import Atom, Body, Call, Function, Let, Value, Var
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.operators.quantised import Dequantise
from tandem.compiler.graph.opspec import OpSpec
from tandem.compiler.graph.verify import verify
from tandem.compiler.graph.visit import map_bodies, map_functions, rename, renamed
from tandem.compiler.ir.dtypes import INT32, smallest_int
from tandem.compiler.quantise.integer_moves import MOVES as INTEGER_MOVES

MOVES = INTEGER_MOVES - {"max_pool", "upsample"}
"""Operators that only move the elements of their operand, whatever its shape."""


@dataclass(frozen=True, slots=True, eq=False)
class StatedConstant:
    """A constant in integers whose scales the network states: the real numbers are
    values * scales.

    Attributes
    ----------
    values
        Integers, less their zero points.
    scales
        Of the real numbers' type: one, or one for each index of `axis`.
    """

    values: NDArray[Any]
    scales: NDArray[Any]
    axis: int = 0

    @staticmethod
    def of(value: Value) -> StatedConstant | None:
        """The operands of a `dequantise` of constants; None for other values, and where integers
        less their zero points exceed 32 bits."""
        match value:
            case Call(
                callee=OpSpec(name="dequantise"),
                args=(Constant() as data, Constant() as step, Constant() as zero),
                attributes=Dequantise(axis=axis),
            ):
                pass
            case _:
                return None
        rank, scales = data.array.ndim, step.array.reshape(-1)
        axis = axis % rank if rank and max(scales.size, zero.array.size) > 1 else 0
        if data.array.dtype == np.int8 and not zero.array.any():
            return StatedConstant(data.array, scales, axis)
        zeros = _along(zero.array.astype(np.int64), axis, rank)
        values = data.array.astype(np.int64) - zeros
        least, greatest = int(values.min(initial=0)), int(values.max(initial=0))
        if least < INT32.low or greatest > INT32.high:
            return None
        narrow = values.astype(smallest_int(least, greatest).numpy)
        return StatedConstant(narrow, scales, axis)

    @property
    def call(self) -> Call:
        """The constant in real numbers, as a `dequantise`."""
        scales = self.scales if self.scales.size > 1 else self.scales.reshape(())
        zeros = np.zeros(scales.shape, self.values.dtype)
        operands = Constant(self.values), Constant(scales), Constant(zeros)
        return Call(OPERATORS["dequantise"], operands, Dequantise(self.axis))

    def moved(self, operator: str, given: Attributes, run: Runner) -> StatedConstant | None:
        """The constant with its elements moved by an operator of `MOVES`; None where the scales
        are not those of one axis any more."""

        def changed(array: NDArray[Any]) -> NDArray[Any]:
            found = run_call(Call(OPERATORS[operator], (Constant(array),), given), [array], run)
            assert isinstance(found, np.ndarray), "it has one result"
            return found

        values = changed(self.values)
        if self.scales.size == 1:
            return StatedConstant(values, self.scales)
        whole = np.broadcast_to(_along(self.scales, self.axis, self.values.ndim), self.values.shape)
        scales = changed(np.ascontiguousarray(whole))
        for axis in range(scales.ndim):
            line = np.moveaxis(scales, axis, 0).reshape(scales.shape[axis], -1)[:, 0]
            if np.array_equal(
                scales, np.broadcast_to(_along(line, axis, scales.ndim), scales.shape)
            ):
                return StatedConstant(values, line, axis)
        return None


@dataclass(frozen=True, slots=True)
class MoveDequantise:
    """Moves the integers of dequantised constants in place of their real numbers.

    ::

        r = dequantise(int8[8, 4, 3], s, z)
        w = unsqueeze(r, axes=[2])             ->    w = dequantise(int8[8, 4, 1, 3], s, 0)

    The importer makes weights of convolutions along one axis, and of transposed ones, so. Their
    integers have to be known where they are multiplied. Real constants that the network quantises
    itself, as after training with quantisation, are quantised here.

    Attributes
    ----------
    run
        The runner that moves the integers.
    """

    run: Runner
    name: str = "move-dequantise"

    def apply(self, function: Function) -> Function:
        """The function with integers moved; dead values are left to `EliminateDead`."""
        verify(function)
        return map_functions(function, lambda one: replace(one, body=self._body(one.body, {}, {})))

    def _body(
        self, body: Body, around: Mapping[str, StatedConstant], quantised: Mapping[str, Atom]
    ) -> Body:
        known, names = dict(around), dict(quantised)
        lets: list[Let] = []
        for let in body.lets:
            value = rename(let.value, names)
            integers = self._quantised(value)
            if integers is not None:
                names[let.name] = integers
                continue
            found = self._stated(value, known)
            if found is None:
                value = map_bodies(value, lambda inner: self._body(inner, known, names))
            else:
                known[let.name], value = found, found.call
            lets.append(replace(let, value=value))
        return Body(tuple(lets), renamed(body.result, names))

    def _quantised(self, value: Value) -> Constant | None:
        """The integers of a `quantise` of constants; None for other values."""
        match value:
            case Call(
                callee=OpSpec(name="quantise"),
                args=(Constant() as data, Constant() as step, Constant() as zero),
            ):
                found = run_call(value, [data.array, step.array, zero.array], self.run)
                assert isinstance(found, np.ndarray), "it has one result"
                return Constant(found)
            case _:
                return None

    def _stated(self, value: Value, known: Mapping[str, StatedConstant]) -> StatedConstant | None:
        match value:
            case Call(callee=OpSpec(name=operator), args=(Var(name),), attributes=given) if (
                operator in MOVES and name in known
            ):
                return known[name].moved(operator, given, self.run)
            case _:
                return StatedConstant.of(value)


def _along(numbers: NDArray[Any], axis: int, rank: int) -> NDArray[Any]:
    """Numbers for each index of an axis, or one number, as an array that broadcasts to `rank`."""
    shape: Sequence[int] = [-1 if number == axis else 1 for number in range(rank)]
    return numbers.reshape(() if numbers.size == 1 else tuple(shape))
