"""A reference evaluator of quantised networks, on NumPy's 64-bit integers.

The reference shares no code with the operators, which tests compare with it bit for bit. Sums of
products use NumPy's float64 matrix products, which are exact under 2^53. Of float operators it has
only those that convert from or to integers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from tandem.compiler.errors import QuantisationError
from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.nodes import Atom, Call, Function
from tandem.compiler.graph.opspec import OpSpec

Array = NDArray[Any]
_Rule = Callable[[Sequence[Array], Any], Array]


def reference(function: Function, given: Sequence[Array]) -> dict[str, Array]:
    """Every value of the function by its name, from its parameters.

    Raises
    ------
    QuantisationError
        An operator that has no reference, or a value that is no call of an operator.
    """
    values = {param.name: each for param, each in zip(function.params, given, strict=True)}

    def value(atom: Atom) -> Array:
        return atom.array if isinstance(atom, Constant) else values[atom.name]

    for let in function.body.lets:
        call = let.value
        if not isinstance(call, Call) or not isinstance(call.callee, OpSpec):
            raise QuantisationError(f"reference: {let.name} is no operator's result")
        name = call.callee.name
        if name not in REFERENCE:
            raise QuantisationError(
                f"reference: {let.name} is computed by {name}, which has no reference"
            )
        values[let.name] = REFERENCE[name]([value(each) for each in call.args], call.attributes)
    return values


# Between real numbers and integers ----------------------------------------------------------------


def _along_axis(numbers: Array, data: Array, axis: int) -> Array:
    shape = [1] * data.ndim
    if numbers.size > 1:
        shape[axis] = numbers.size
    return numbers.reshape(shape)


def _quantise(args: Sequence[Array], given: Any) -> Array:
    x, step, zero = args
    limits = np.iinfo(given.to.numpy)
    with np.errstate(all="ignore"):
        nearest = np.nan_to_num(np.rint(x / _along_axis(step, x, given.axis)).astype(np.float64))
        moved = nearest + _along_axis(zero, x, given.axis)
    return np.clip(moved, limits.min, limits.max).astype(given.to.numpy)


def _dequantise(args: Sequence[Array], given: Any) -> Array:
    x, step, zero = args
    whole = x.astype(np.int64) - _along_axis(zero, x, given.axis)
    return whole.astype(step.dtype) * _along_axis(step, x, given.axis)


def _requantise(args: Sequence[Array], given: Any) -> Array:
    acc, multiplier, addend, *skipped = args
    total = acc.astype(np.int64) * _along_axis(multiplier, acc, given.axis).astype(np.int64)
    total += _along_axis(addend, acc, given.axis)
    if skipped:
        skip, factor = skipped
        total += skip.astype(np.int64) * _along_axis(factor, acc, given.axis)
    outputs = np.clip(total >> given.shift, given.low, given.high)
    types = (np.dtype(f"int{bits}") for bits in (8, 16, 32))
    to = next(
        type_
        for type_ in types
        if np.iinfo(type_).min <= given.low and given.high <= np.iinfo(type_).max
    )
    return outputs.astype(to)


# Sums ---------------------------------------------------------------------------------------------


def _summed(total: Array, given: Any, *operands: Array) -> Array:
    """An exact sum, in the operator's result type."""
    if np.abs(total).max(initial=0) >= 1 << 53:
        raise QuantisationError("reference: a sum is not exact in float64")
    wide = np.int32 if all(each.itemsize <= 4 for each in operands) else np.int64
    to = given.out_dtype.numpy if given.out_dtype is not None else np.dtype(wide)
    return total.astype(np.int64).astype(to)


def _whole(operator: str, *operands: Array) -> None:
    if any(each.dtype.kind not in "iu" for each in operands):
        raise QuantisationError(f"reference: {operator} of real numbers has no reference")


def _conv2d(args: Sequence[Array], given: Any) -> Array:
    x, weight, *bias = args
    _whole("conv2d", x, weight)
    top, left, bottom, right = given.padding
    padded = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right))).astype(np.float64)
    windows = _windows(padded, weight.shape[2:], given.strides, given.dilation)
    batch, _, rows, columns = windows.shape[:4]
    outputs, inputs = weight.shape[:2]
    found = np.empty((batch, outputs, rows, columns))
    for group in range(given.groups):
        own = slice(group * inputs, (group + 1) * inputs)
        made = slice(group * (outputs // given.groups), (group + 1) * (outputs // given.groups))
        terms = windows[:, own].transpose(0, 2, 3, 1, 4, 5).reshape(batch * rows * columns, -1)
        flat = weight[made].reshape(outputs // given.groups, -1).astype(np.float64)
        sums = (terms @ flat.T).reshape(batch, rows, columns, -1)
        found[:, made] = sums.transpose(0, 3, 1, 2)
    if bias:
        found += bias[0].astype(np.float64)[:, None, None]
    return _summed(found, given, x, weight)


def _windows(
    padded: Array, kernel: Sequence[int], strides: Sequence[int], dilation: Sequence[int]
) -> Array:
    """Sliding windows: [N, C, rows, columns, kernel rows, kernel columns]."""
    spans = [(each - 1) * step + 1 for each, step in zip(kernel, dilation, strict=True)]
    found = sliding_window_view(padded, spans, (2, 3))
    return found[:, :, :: strides[0], :: strides[1], :: dilation[0], :: dilation[1]]


def _dense(args: Sequence[Array], given: Any) -> Array:
    x, weight, *bias = args
    _whole("dense", x, weight)
    total = x.astype(np.float64) @ weight.astype(np.float64).T
    if bias:
        total += bias[0].astype(np.float64)
    return _summed(total, given, x, weight)


def _matmul(args: Sequence[Array], given: Any) -> Array:
    _whole("matmul", *args)
    a, b = (each.astype(np.float64) for each in args)
    return _summed(a @ b, given, *args)


def _reduce_sum(args: Sequence[Array], given: Any) -> Array:
    (x,) = args
    _whole("reduce_sum", x)
    return x.astype(np.int64).sum(given.axes, keepdims=given.keepdims).astype(x.dtype)


# Data movement ------------------------------------------------------------------------------------


def _max_pool(args: Sequence[Array], given: Any) -> Array:
    (x,) = args
    _whole("max_pool", x)
    if x.ndim != 4 or given.ceil_mode:
        raise QuantisationError("reference: max_pool of other than plain images has no reference")
    top, left, bottom, right = given.padding or (0, 0, 0, 0)
    pads = ((0, 0), (0, 0), (top, bottom), (left, right))
    padded = np.pad(x, pads, constant_values=np.iinfo(x.dtype).min)
    strides, dilation = given.strides or (1, 1), given.dilation or (1, 1)
    return _windows(padded, given.kernel, strides, dilation).max((4, 5))


def _pad(args: Sequence[Array], given: Any) -> Array:
    (x,) = args
    rank = x.ndim
    widths = list(zip(given.pads[:rank], given.pads[rank:], strict=True))
    if given.mode.value != "constant" or any(each < 0 for each in given.pads):
        raise QuantisationError("reference: only padding by a constant has a reference")
    return np.pad(x, widths, constant_values=given.value)


def _reshape(args: Sequence[Array], given: Any) -> Array:
    (x,) = args
    kept = [
        x.shape[axis] if extent == 0 and not given.allow_zero else extent
        for axis, extent in enumerate(given.shape)
    ]
    return x.reshape(kept)


def _flatten(args: Sequence[Array], given: Any) -> Array:
    (x,) = args
    at = given.axis if given.axis >= 0 else given.axis + x.ndim
    return x.reshape(int(np.prod(x.shape[:at])), -1)


def _clip(args: Sequence[Array], given: Any) -> Array:
    (x,) = args
    return x if given.min is None and given.max is None else np.clip(x, given.min, given.max)


def _widen(args: Sequence[Array], given: Any) -> Array:
    codes, *scales = (each.astype(np.int64) for each in args)
    values = np.array(given.table)[codes]
    for factors in scales:
        numbers = np.arange(codes.shape[given.axis]) // given.group
        values = values * np.take(factors, numbers, given.axis)
    return (values & 0xFF).astype(np.uint8).view(np.int8)


REFERENCE: Mapping[str, _Rule] = MappingProxyType(
    {
        "add": lambda args, _: args[0] + args[1],
        "cast": lambda args, given: args[0].astype(given.to.numpy),
        "clip": _clip,
        "concat": lambda args, given: np.concatenate(args, given.axis),
        "conv2d": _conv2d,
        "dense": _dense,
        "dequantise": _dequantise,
        "divide": lambda args, _: np.trunc(args[0] / args[1]).astype(args[0].dtype),
        "flatten": _flatten,
        "gather": lambda args, given: np.take(args[0], args[1], given.axis),
        "identity": lambda args, _: args[0],
        "matmul": _matmul,
        "max_pool": _max_pool,
        "maximum": lambda args, _: np.maximum(*args),
        "minimum": lambda args, _: np.minimum(*args),
        "multiply": lambda args, _: args[0] * args[1],
        "pad": _pad,
        "quantise": _quantise,
        "reduce_sum": _reduce_sum,
        "relu": lambda args, _: np.maximum(args[0], 0),
        "requantise": _requantise,
        "requantise_add": _requantise,
        "reshape": _reshape,
        "squeeze": lambda args, given: np.squeeze(args[0], given.axes),
        "subtract": lambda args, _: args[0] - args[1],
        "transpose": lambda args, given: np.transpose(args[0], given.perm),
        "upsample": lambda args, given: (
            args[0].repeat(given.factors[0], 2).repeat(given.factors[1], 3)
        ),
        "unsqueeze": lambda args, given: np.expand_dims(args[0], given.axes),
        "widen": _widen,
    }
)
"""Each operator as a function of arrays and its attributes."""
