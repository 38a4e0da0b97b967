"""The products of a network whose weights may be compressed, and the rows of their data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.nodes import Call, Function, Let, Var
from tandem.compiler.graph.operators.products import Conv2d, Gemm
from tandem.compiler.graph.opspec import OpSpec
from tandem.compiler.graph.visit import all_lets

PRODUCTS: Final = frozenset(("conv2d", "dense", "gemm", "matmul"))
"""The operators that multiply and sum."""
_AXES: Final = {"conv2d": 0, "dense": 0, "matmul": 1}
"""The axis of output channels of the weights, by operator; that of `gemm` is in its attributes."""


@dataclass(frozen=True, slots=True, eq=False)
class WeightedProduct:
    """A product of data that are computed and constant weights of real numbers.

    Attributes
    ----------
    name
        The value's name in its function.
    data
        The name of the data.
    weights
        [C, I, ...], output channels first.
    axis
        The axis of output channels in the operand.
    windows
        Attributes of a convolution; None for a product of matrices.
    """

    name: str
    data: str
    weights: NDArray[Any]
    axis: int
    windows: Conv2d | None = None

    @property
    def groups(self) -> int:
        """The groups of channels of a grouped convolution; else 1."""
        return 1 if self.windows is None else self.windows.groups

    def rows(self, data: NDArray[Any], most: int) -> NDArray[np.float32]:
        """What the weights of an output channel are multiplied with: [rows, columns], the columns
        in the order of `Grouping.rows`; `most` of the rows, drawn evenly.

        Of a convolution in one group; positions are those of the kernel, and padding is 0.
        """
        if self.windows is None:
            flat = data.reshape(-1, data.shape[-1])
            return flat[_evenly(len(flat), most)].astype(np.float32)
        top, left, bottom, right = self.windows.padding
        padded = np.pad(data, ((0, 0), (0, 0), (top, bottom), (left, right)))
        extents = [
            (extent - 1) * gap + 1
            for extent, gap in zip(self.weights.shape[2:], self.windows.dilation, strict=True)
        ]
        (down, across), (far, wide) = self.windows.strides, self.windows.dilation
        views = np.lib.stride_tricks.sliding_window_view(padded, extents, (2, 3))
        views = views[:, :, ::down, ::across, ::far, ::wide]
        images, _, height, width = views.shape[:4]
        at = np.unravel_index(_evenly(images * height * width, most), (images, height, width))
        taken = views[at[0], :, at[1], at[2]]
        return np.moveaxis(taken, 1, -1).reshape(len(taken), -1).astype(np.float32)


def weighted_products(function: Function) -> Iterator[WeightedProduct]:
    """The products in a function, and in bodies within it, that quantisation may take."""
    for let in all_lets(function.body):
        found = product_of(let)
        if found is not None:
            yield found


def product_of(let: Let) -> WeightedProduct | None:
    """The product that a value is; None for any other value."""
    match let.value:
        case Call(
            callee=OpSpec(name=("conv2d" | "dense" | "gemm" | "matmul") as operator),
            args=(Var(data), Constant() as constant, *_),
            attributes=attributes,
        ):
            array = constant.array
            is_real = np.issubdtype(array.dtype, np.floating) and bool(np.isfinite(array).all())
            if let.keep_float or not is_real or array.ndim < 2 or not array.size:
                return None
            axis = _AXES.get(operator, 1)
            if isinstance(attributes, Gemm):
                axis = 0 if attributes.trans_b else 1
            windows = attributes if isinstance(attributes, Conv2d) else None
            first = np.ascontiguousarray(np.moveaxis(array, axis, 0))
            return WeightedProduct(let.name, data, first, axis, windows)
        case _:
            return None


def _evenly(count: int, most: int) -> NDArray[np.int64]:
    """`most` of `count` numbers at even distances, or all."""
    taken = min(count, most)
    return np.arange(taken) * count // max(taken, 1)
