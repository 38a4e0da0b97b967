"""Gradients of products of matrices, which are products of matrices."""

from __future__ import annotations

from typing import Any

from tandem.compiler.graph.extents import product
from tandem.compiler.graph.gradient_query import GradientQuery, Gradients
from tandem.compiler.graph.operators.gradients.shaping import (
    reshaped,
    summed_to,
    total,
    transposed,
)
from tandem.compiler.graph.terms import Term, apply


def _turned(term: Term) -> Term:
    """The matrices of a stack, transposed."""
    rank = term.type.rank
    return transposed(term, (*range(rank - 2), rank - 1, rank - 2))


def _widened(query: GradientQuery) -> tuple[Term, ...]:
    """The operands in the type in which products are summed, that of the result."""
    dtype = query.gradient.type.dtype
    return tuple(each.with_dtype(dtype) for each in query.operands)


def _narrowed(query: GradientQuery, *found: Term | None) -> Gradients:
    pairs = zip(found, query.operands, strict=True)
    return [term and term.with_dtype(operand.type.dtype) for term, operand in pairs]


def matmul_gradient(query: GradientQuery, _: object) -> Gradients:
    """g @ b^T and a^T @ g; a gradient of a matrix that several multiply is one product of all."""
    left, right = query.operands
    a, b = _widened(query)
    gradient = query.gradient
    # A vector is a row on the left and a column on the right, as an axis of the gradient too.
    if right.type.rank == 1:
        b = apply("unsqueeze", b, axes=(1,))
        gradient = apply("unsqueeze", gradient, axes=(gradient.type.rank,))
    if left.type.rank == 1:
        a = apply("unsqueeze", a, axes=(0,))
        gradient = apply("unsqueeze", gradient, axes=(gradient.type.rank - 1,))
    of_a, of_b = None, None
    if query.wanted[0]:
        whole = apply("matmul", gradient, _turned(b))
        of_a = reshaped(summed_to(whole, a.type), left.type.shape)
    if query.wanted[1]:
        if b.type.rank == 2 and a.type.rank > 2:
            a, gradient = _rows(a), _rows(gradient)
        whole = apply("matmul", _turned(a), gradient)
        of_b = reshaped(summed_to(whole, b.type), right.type.shape)
    return _narrowed(query, of_a, of_b)


def _rows(term: Term) -> Term:
    """The rows of all matrices of a stack, as one matrix."""
    return reshaped(term, (product(term.type.shape[:-1]), term.type.shape[-1]))


def dense_gradient(query: GradientQuery, _: object) -> Gradients:
    """g @ weight, g^T @ data, and the sum of g's rows."""
    data, weight, *bias = _widened(query)
    gradient = query.gradient
    of_data = apply("matmul", gradient, weight)
    of_weight = apply("matmul", _turned(gradient), data)
    return _narrowed(
        query, of_data, of_weight, *(total(gradient, (0,), keepdims=False) for _ in bias)
    )


def gemm_gradient(query: GradientQuery, attributes: Any) -> Gradients:
    """Products with alpha * g, and beta * g summed to the shape of c."""
    a, b, *c = query.operands
    gradient = query.gradient
    scaled = gradient if attributes.alpha == 1.0 else gradient * attributes.alpha
    left = _turned(a) if attributes.trans_a else a
    right = _turned(b) if attributes.trans_b else b
    of_left = apply("matmul", scaled, _turned(right))
    of_right = apply("matmul", _turned(left), scaled)
    return [
        _turned(of_left) if attributes.trans_a else of_left,
        _turned(of_right) if attributes.trans_b else of_right,
        *(summed_to(gradient * attributes.beta, each.type) for each in c),
    ]
