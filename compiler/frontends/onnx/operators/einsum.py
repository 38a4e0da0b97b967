"""Sums of products of tensors in Einstein's notation, as products of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tandem.compiler.frontends.onnx.converter import Converter
from tandem.compiler.frontends.onnx.node import Node
from tandem.compiler.frontends.onnx.values import Value
from tandem.compiler.graph.extents import Extent, product
from tandem.compiler.graph.operators.products import Product
from tandem.compiler.graph.operators.reductions import Reduction
from tandem.compiler.graph.operators.shapes import Expand, Transpose


@dataclass(frozen=True, slots=True)
class _Term:
    """A tensor, and a label for each of its axes."""

    value: Value
    labels: tuple[str, ...]

    def extent(self, label: str) -> Extent:
        """The extent of the axis of a label."""
        return self.value.shape[self.labels.index(label)]


def _einsum(node: Node) -> Value:
    equation = node.text("equation").replace(" ", "")
    left, arrow, right = equation.partition("->")
    texts = left.split(",")
    operands = node.inputs
    if len(texts) != len(operands):
        node.refuse(f"{len(operands)} operands for {equation}")
    terms = [_labelled(node, value, text) for value, text in zip(operands, texts, strict=True)]
    hidden = max((sum(_is_hidden(x) for x in each.labels) for each in terms), default=0)
    if arrow:
        result = _labels(node, right, hidden)
    else:
        found = [label for each in terms for label in each.labels]
        shown = sorted(x for x in set(found) if found.count(x) == 1 and not _is_hidden(x))
        result = (*map(str, range(-hidden, 0)), *shown)
    known = {label for each in terms for label in each.labels}
    if len(set(result)) != len(result) or not set(result) <= known:
        node.refuse(f"the result of {equation}")
    terms = _broadcast(node, [_without_repeats(node, each) for each in terms])
    total = terms[0]
    for number, other in enumerate(terms[1:], 1):
        needed = {*result, *(label for each in terms[number + 1 :] for label in each.labels)}
        total = _contracted(node, total, other, needed)
    total = _summed(node, total, set(result))
    order = tuple(total.labels.index(each) for each in result)
    return node.call("transpose", total.value, to=Transpose(order))


def _is_hidden(label: str) -> bool:
    """Whether a label is one of those that an ellipsis stands for."""
    return label.startswith("-")


def _labels(node: Node, text: str, hidden: int) -> tuple[str, ...]:
    """A label for each axis; `...` stands for `hidden` axes, labelled by their number, negative."""
    before, dots, after = text.partition("...")
    if not (before + after).isalpha() and before + after:
        node.refuse(f"the labels {text!r}")
    return (*before, *(map(str, range(-hidden, 0)) if dots else ()), *after)


def _labelled(node: Node, value: Value, text: str) -> _Term:
    found = _labels(node, text, value.rank - len(text.replace("...", "")))
    if len(found) != value.rank:
        node.refuse(f"the labels {text!r} for {value.type}")
    return _Term(value, found)


def _without_repeats(node: Node, term: _Term) -> _Term:
    """The diagonal along axes of the same label."""
    value, labels = term.value, list(term.labels)
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            extent = node.extent(first, value)
            if node.extent(second, value) != extent:
                node.refuse(f"axes {first} and {second} of {value.type} differ")
            shape = [extent if axis in (first, second) else 1 for axis in range(value.rank)]
            same = node.constant(np.eye(extent, dtype=np.bool_).reshape(shape))
            masked = node.call("where", same, value, node.number(0, value))
            value = node.call("reduce_sum", masked, to=Reduction((second,), False))
            del labels[second]
    return _Term(value, tuple(labels))


def _broadcast(node: Node, terms: Sequence[_Term]) -> list[_Term]:
    """Terms whose axes of the same label have the same extent."""
    extents: dict[str, Extent] = {}
    for term in terms:
        for label, extent in zip(term.labels, term.value.shape, strict=True):
            if extents.setdefault(label, extent) == 1:
                extents[label] = extent
    found = []
    for term in terms:
        wanted = tuple(extents[label] for label in term.labels)
        value = term.value
        if wanted != value.shape:
            numbers = tuple(each for each in wanted if isinstance(each, int))
            if len(numbers) != len(wanted):
                node.unsupported(f"{value.type} to {wanted}: give shapes")
            value = node.call("expand", value, to=Expand(numbers))
            if value.shape != wanted:
                node.refuse(f"{term.value.type} does not broadcast to {list(wanted)}")
        found.append(_Term(value, term.labels))
    return found


def _summed(node: Node, term: _Term, needed: set[str]) -> _Term:
    """The sum along axes whose labels are not needed."""
    axes = tuple(axis for axis, label in enumerate(term.labels) if label not in needed)
    if not axes:
        return term
    value = node.call("reduce_sum", term.value, to=Reduction(axes, False))
    return _Term(value, tuple(each for each in term.labels if each in needed))


def _contracted(node: Node, a: _Term, b: _Term, needed: set[str]) -> _Term:
    """The product, summed along axes whose labels are not needed: a product of matrices."""
    a = _summed(node, a, needed | set(b.labels))
    b = _summed(node, b, needed | set(a.labels))
    shared = [each for each in a.labels if each in b.labels]
    batch = [each for each in shared if each in needed]
    inner = [each for each in shared if each not in needed]
    rows = [each for each in a.labels if each not in shared]
    columns = [each for each in b.labels if each not in shared]

    def matrices(term: _Term, first: Sequence[str], second: Sequence[str]) -> Value:
        order = tuple(term.labels.index(each) for each in (*batch, *first, *second))
        moved = node.call("transpose", term.value, to=Transpose(order))
        sizes = (product(map(term.extent, each)) for each in (batch, first, second))
        return node.reshape(moved, tuple(sizes))

    dtype = a.value.dtype
    found = node.call(
        "matmul",
        matrices(a, rows, inner),
        matrices(b, inner, columns),
        to=Product() if dtype.is_float else Product(dtype),
    )
    shape = [*map(a.extent, (*batch, *rows)), *map(b.extent, columns)]
    return _Term(node.reshape(found, shape), (*batch, *rows, *columns))


CONVERTERS: tuple[Converter, ...] = (Converter("Einsum", (12, 28), _einsum),)
