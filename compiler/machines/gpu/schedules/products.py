"""Products of matrices in tensor expressions: dense layers, convolutions, products in batches.

A sum of products, over any axes, is a product of two matrices for each index of a batch, whose
rows, columns and terms are several axes in one: of an image's pixels, of a window. As such it has
one schedule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TypeAlias

from tandem.compiler.ir.dtypes import FLOAT32, INT32, DType
from tandem.compiler.ir.expr import Binary, Expr, Load, Select, Var
from tandem.compiler.ir.operations import BinaryOp
from tandem.compiler.ir.ops import index
from tandem.compiler.ir.stmt import PrimFunc
from tandem.compiler.ir.visit import subexpressions, substitute, variables
from tandem.compiler.machines.gpu.intrinsics import DOT_PRODUCTS
from tandem.compiler.machines.gpu.schedules.rewriting import digits, new_name, plain, rewritten
from tandem.compiler.machines.gpu.schedules.stored_factors import half, narrow
from tandem.compiler.machines.gpu.warps import WARP_PRODUCTS
from tandem.compiler.operators.stored_floats import cast, zero
from tandem.compiler.te import Tensor
from tandem.compiler.te.tensor import Combiner, Compute, compute, reduce_axis

_LEAST = 16
"""The fewest rows and columns, and terms, of what is a product: others have no use for tiles."""


@dataclass(frozen=True, slots=True)
class Product:
    """A product of matrices among the stages of tensor expressions.

    Attributes
    ----------
    stage
        Its name; it has the axes b, m and n, and the terms k.
    left, right
        The stages of its operands, with the axes b, m, k and b, k, n.
    batch, rows, columns, terms
        Their extents.
    bytes
        Of an element of the larger operand, as it is loaded where each thread multiplies by itself.
    factors
        The types of its factors, as they are stored.
    kind
        The type in which they are multiplied.
    dot
        The intrinsic that computes its terms, several at once; None if there is none.
    together
        The intrinsic by which a warp does; None if there is none.
    """

    stage: str
    left: str
    right: str
    batch: int
    rows: int
    columns: int
    terms: int
    bytes: int = 4
    dot: PrimFunc | None = None
    together: PrimFunc | None = None
    factors: tuple[DType, DType] = (FLOAT32, FLOAT32)
    kind: DType = FLOAT32

    @property
    def stored_bytes(self) -> int:
        """Of an element of the larger operand, as it is loaded where a warp multiplies."""
        return _bytes(self.factors)


Multiples: TypeAlias = Callable[[Product], tuple[int, int, int]]
"""Of which rows, columns and terms of a product become multiples."""


def as_products(
    outputs: Sequence[Tensor],
    multiples: Multiples = lambda _: (1, 1, 1),
    in_warps: Callable[[Product], bool] = lambda _: False,
) -> tuple[tuple[Tensor, ...], tuple[Product, ...]]:
    """The tensor expressions with each large sum of products as a product of matrices; the terms of
    an element keep their order.

    Parameters
    ----------
    multiples
        Operands have zeros beyond their rows, columns and terms, up to these multiples: of whole
        tiles no product is under a condition.
    in_warps
        Whether a warp multiplies together, by the product's intrinsic: operands of float16 stay so
        then, and are float32 elsewhere, where each product would have to widen them.
    """
    products: list[Product] = []

    def as_product(tensor: Tensor, source: Compute, taken: set[str]) -> Tensor | None:
        found = _product(tensor, source, taken, multiples, in_warps)
        if found is None:
            return None
        made, product = found
        taken |= {product.stage, product.left, product.right}
        products.append(product)
        return made

    return rewritten(outputs, as_product), tuple(products)


def _product(
    tensor: Tensor,
    source: Compute,
    taken: set[str],
    multiples: Multiples,
    in_warps: Callable[[Product], bool],
) -> tuple[Tensor, Product] | None:
    """The tensor as it reads a product of matrices, and that; None if it is none, or small."""
    term = source.value
    if source.combiner is not Combiner.SUM or source.start is None or source.start.value != 0:
        return None
    if not isinstance(term, Binary) or term.op is not BinaryOp.MUL:
        return None
    factors = term.left, term.right
    if not all(_reads(each) for each in factors):
        return None
    used = [variables(each) for each in factors]
    extents = {each.name: size for each, size in zip(source.axes, tensor.shape, strict=True)}
    rows = [name for name in extents if name in used[0] and name not in used[1]]
    columns = [name for name in extents if name in used[1] and name not in used[0]]
    batch = [name for name in extents if name not in rows and name not in columns]
    terms = {each.name: each.extent for each in source.reduce_axes}
    sizes = [prod(extents[name] for name in part) for part in (batch, rows, columns)]
    depth = prod(terms.values())
    if min(sizes[1], sizes[2], depth) < _LEAST or not sizes[0]:
        return None

    whole = {**extents, **terms}
    stages = [new_name(tensor, each, taken) for each in ("product", "left", "right")]
    found = Product(stages[0], stages[1], stages[2], sizes[0], sizes[1], sizes[2], depth)
    operands, found = _narrowed([plain(each) for each in factors], tensor.dtype, found, in_warps)
    padded = [
        -(-extent // multiple) * multiple
        for extent, multiple in zip((*sizes[1:], depth), multiples(found), strict=True)
    ]

    m_size, n_size, k_size = padded
    axes = (sizes[0], sizes[1], depth), (sizes[0], depth, sizes[2])
    wholes = (sizes[0], m_size, k_size), (sizes[0], k_size, n_size)

    def factor(number: int, at: Sequence[tuple[Sequence[str], Var]]) -> Expr:
        values: dict[str, Expr] = {}
        for names, var in at:
            values |= digits(var, [(name, whole[name]) for name in names])
        value = substitute(operands[number], values)
        for (_, var), extent, beyond in zip(at, axes[number], wholes[number], strict=True):
            if extent < beyond:
                inside = Binary(BinaryOp.LT, var, index(extent))
                value = Select(inside, value, zero(value.dtype))
        return value

    names = [*terms]
    left = compute(
        wholes[0],
        lambda b, m, k: factor(0, [(batch, b), (rows, m), (names, k)]),
        stages[1],
    )
    right = compute(
        wholes[1],
        lambda b, k, n: factor(1, [(batch, b), (names, k), (columns, n)]),
        stages[2],
    )
    k = reduce_axis(k_size, "k")

    def element(b: Var, m: Var, n: Var) -> Expr:
        first = cast(left[b, m, k], factors[0].dtype)
        return Binary(BinaryOp.MUL, first, cast(right[b, k, n], factors[1].dtype))

    b, m, n = Var("b"), Var("m"), Var("n")
    sums = Compute((b, m, n), element(b, m, n), Combiner.SUM, (k,), source.start)
    shape = (sizes[0], m_size, n_size)
    product = Tensor(found.stage, shape, tensor.dtype, source=sums)
    at = tuple(_number([(name, extents[name]) for name in part]) for part in (batch, rows, columns))
    result = Compute(source.axes, Load(product, at))
    made = Tensor(tensor.name, tensor.shape, tensor.dtype, tensor.scope, source=result)
    return made, found


def _narrowed(
    factors: Sequence[Expr], result: DType, product: Product, in_warps: Callable[[Product], bool]
) -> tuple[list[Expr], Product]:
    """The factors as they are loaded, in as few bytes as can be, and the product of these."""
    kinds = [each.dtype for each in factors]
    halves = [half(each) for each in factors]
    alone = [narrow(each) for each in factors]
    stored = [other if each is None else each for each, other in zip(halves, alone, strict=True)]
    types = stored[0].dtype, stored[1].dtype
    product = replace(
        product, bytes=_bytes([each.dtype for each in alone]), factors=types, kind=kinds[0]
    )
    if kinds == [INT32, INT32] and result == INT32:
        dot, together = DOT_PRODUCTS.get(types), WARP_PRODUCTS.get(types)
        return alone, replace(product, dot=dot, together=together)
    if result == FLOAT32 and all(each is not None for each in halves):
        product = replace(product, together=WARP_PRODUCTS.get(types))
        return (stored if in_warps(product) else alone), product
    return alone, product


def _bytes(types: Sequence[DType]) -> int:
    return max(each.holder.numpy.itemsize for each in types)


def _reads(expr: Expr) -> bool:
    """Whether a factor reads memory, so that a copy of it is of use."""
    return any(isinstance(each, Load) for each in subexpressions(expr))


def _number(axes: Sequence[tuple[str, int]]) -> Expr:
    """The number that axes count, the last one fastest; those of one element count nothing."""
    found: Expr = index(0)
    for position, (name, extent) in enumerate(each for each in axes if each[1] != 1):
        found = Var(name) if not position else found * index(extent) + Var(name)
    return found
