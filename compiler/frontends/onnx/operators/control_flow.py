"""Operators whose attributes are graphs: `If`, `Loop`, `Scan`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from onnx import GraphProto

from tandem.compiler.frontends.onnx.converter import Converter
from tandem.compiler.frontends.onnx.loops import (
    MOST_ROWS,
    collect,
    is_short,
    known_truth,
    loop,
    repeat,
    reversed_rows,
    stack,
)
from tandem.compiler.frontends.onnx.node import Node, Section
from tandem.compiler.frontends.onnx.values import Count, Value
from tandem.compiler.graph.nodes import Body, If, Tuple, TupleGet, Var
from tandem.compiler.graph.operators.parts import Gather
from tandem.compiler.graph.operators.shapes import Transpose
from tandem.compiler.graph.types import TensorType, TupleType, Type
from tandem.compiler.ir.dtypes import INT64


def _if(node: Node) -> tuple[Value, ...]:
    condition = node.reshape(node.input(0), ())
    known = known_truth(condition)
    if known is not None:
        chosen = node.section(node.graph("then_branch" if known else "else_branch"))
        if len(chosen.results) != len(node.outputs):
            node.refuse(f"its branch has {len(chosen.results)} results")
        return node.insert(chosen)
    branches = [node.section(node.graph(name)) for name in ("then_branch", "else_branch")]
    then, otherwise = ([each.type for each in branch.results] for branch in branches)
    if then != otherwise:
        node.unsupported(
            f"its branches give {_listed(then)} and {_listed(otherwise)}, and the condition has to "
            "be known when the model is imported then"
        )
    (test,) = node.atoms([condition])
    type_: Type = then[0] if len(then) == 1 else TupleType(tuple(then))
    bodies = [_body(node, branch, type_) for branch in branches]
    whole = node.builder.bind(If(test, *bodies), type_)
    if len(then) == 1:
        return (Value(then[0], whole),)
    return tuple(
        Value(type_of, node.builder.bind(TupleGet(whole, number), type_of))
        for number, type_of in enumerate(then)
    )


def _listed(types: Sequence[TensorType]) -> str:
    return ", ".join(map(str, types)) or "nothing"


def _body(node: Node, section: Section, type_: Type) -> Body:
    """A section as the body of a branch."""
    atoms = node.atoms(section.results)
    if isinstance(type_, TensorType):
        return Body(section.lets, atoms[0])
    builder = node.builder.inner()
    builder.add(section.lets)
    return builder.body("results", builder.bind(Tuple(atoms), type_))


def _loop(node: Node) -> tuple[Value, ...]:
    """A loop, unrolled if its end is known at import and near, else a function.

    Its results are the last values of the state, and the rows of all iterations. How many rows
    there are has to be known: shapes are part of a graph's types.
    """
    given_limit, given_go = node.optional(0), node.optional(1)
    limit = None if given_limit is None else node.reshape(given_limit, ())
    go = None if given_go is None else node.reshape(given_go, ())
    state = tuple(node.input(position) for position in range(2, node.operands))
    count = _count(limit, go)
    # A loop whose limit depends on inputs has no end that could be known.
    unrolled = _unrolled(node, count, go, state) if limit is None or count is not None else None
    if unrolled is not None:
        return unrolled
    body = node.graph("body")
    truth = node.constant(np.ones((), np.bool_))

    def step(index: Value, given: Sequence[Value]) -> tuple[Sequence[Value], Sequence[Value]]:
        _, *found = node.insert(node.section(body, (index, truth, *given)))
        return found[: len(state)], found[len(state) :]

    always = count == 0 or ((go is None or known_truth(go)) and _goes_on(node, body, truth, state))
    if always and count is not None:
        last, rows = repeat(node, count, state, step, len(body.node))
        return (*last, *rows)
    if len(body.output) > 1 + len(state) and count is not None and count <= MOST_ROWS:
        return _bounded_rows(node, count, truth if go is None else go, state)
    if len(body.output) > 1 + len(state):
        # Raises an error that names inputs, if the end is among them.
        for position in (0, 1):
            node.known(position)
        node.unsupported(
            "the number of iterations, and so the shape of its results, has to be known when the "
            "model is imported"
        )
    if always:
        return loop(node, limit, None, state, lambda index, _, now: (None, step(index, now)[0]))

    def iteration(
        index: Value, condition: Value | None, given: Sequence[Value]
    ) -> tuple[Value, Sequence[Value]]:
        assert condition is not None, "the loop has one"
        after, *following = node.insert(node.section(body, (index, condition, *given)))
        return node.reshape(after, ()), following

    return loop(node, limit, truth if go is None else go, state, iteration)


def _bounded_rows(node: Node, most: int, go: Value, state: Sequence[Value]) -> tuple[Value, ...]:
    """The results of a loop that has at most `most` iterations; how many depends on data."""
    body = node.graph("body")

    def step(
        index: Value, condition: Value | None, given: Sequence[Value]
    ) -> tuple[Value | None, Sequence[Value], Sequence[Value]]:
        assert condition is not None, "the loop has one"
        after, *found = node.insert(node.section(body, (index, condition, *given[1:])))
        done = node.call("add", index, node.number(1, index))
        return node.reshape(after, ()), (done, *found[: len(state)]), found[len(state) :]

    none = node.constant(np.zeros((), np.int64))
    (done, *last), rows = collect(node, most, go, (none, *state), step)
    count = Count(done, next(filter(None, node.outputs)))
    return (*last, *(replace(each, counts={0: count}) for each in rows))


def _count(limit: Value | None, go: Value | None) -> int | None:
    """The maximum number of iterations; None if there is none or if it is not known."""
    if go is not None and known_truth(go) is False:
        return 0
    if limit is None or limit.known is None or limit.known.dtype == object:
        return None
    return max(int(limit.known), 0)


def _goes_on(node: Node, body: GraphProto, truth: Value, state: Sequence[Value]) -> bool:
    """Whether the condition after an iteration is known to hold."""
    inner = node.builder.inner()
    types = [TensorType((), INT64), *(each.type for each in state)]
    index, *given = (Value(each, Var(inner.param("trial", each).name)) for each in types)
    with node.within(inner):
        return bool(known_truth(node.section(body, (index, truth, *given)).results[0]))


def _unrolled(
    node: Node, count: int | None, go: Value | None, state: Sequence[Value]
) -> tuple[Value, ...] | None:
    """The results of a loop whose every condition is known and whose end is near; else None."""
    body = node.graph("body")
    if count == 0 or (go is not None and not known_truth(go)):
        return None
    if count is not None and not is_short(count, len(body.node)):
        return None
    inner = node.builder.inner()
    truth = node.constant(np.ones((), np.bool_))
    rows: list[Sequence[Value]] = []
    carried = len(state)
    with node.within(inner):
        going: bool | None = True
        while going and len(rows) != count:
            index = node.constant(np.array(len(rows), np.int64))
            after, *found = node.insert(node.section(body, (index, truth, *state)))
            state = found[:carried]
            rows.append(found[carried:])
            going = known_truth(after)
            if going is None or not is_short(len(rows), len(body.node)):
                return None
        arrays = [stack(node, each) for each in zip(*rows, strict=True)]
        results = inner.end_body("loop", (*state, *arrays))
    node.builder.add(inner.lets)
    return results


def _scan_batches(node: Node) -> tuple[Value, ...]:
    """The first `Scan`: a loop over the sequences along axis 0, and one over the slices of each.

    Of a sequence that is shorter than its operand, state stays what it is after the last slice, and
    rows behind are zeros.
    """
    body, scanned = node.graph("body"), node.integer("num_scan_inputs")
    operands = [node.input(position) for position in range(1, node.operands)]
    if not 0 < scanned <= len(operands):
        node.refuse(f"num_scan_inputs is {scanned}, of {len(operands)} operands")
    state, data = operands[:-scanned], operands[-scanned:]
    backwards = node.integers("directions") or (0,) * scanned
    if len(backwards) != scanned or any(each.rank < 2 for each in data):
        node.refuse(
            f"{len(backwards)} directions, and {', '.join(str(each.type) for each in data)}"
        )
    sizes = {(node.extent(0, each), node.extent(1, each)) for each in data}
    if len(sizes) != 1 or any(each.shape[:1] != data[0].shape[:1] for each in state):
        node.refuse(f"its operands are {', '.join(str(each.type) for each in operands)}")
    ((batch, count),) = sizes
    lengths = node.optional(0)
    if lengths is not None and lengths.shape != (batch,):
        node.refuse(f"sequence_lens is {lengths.type}, for {batch} sequences")

    def item(value: Value, index: Value) -> Value:
        return node.call("gather", value, index, to=Gather())

    def sequence(number: Value, _: Sequence[Value]) -> tuple[Sequence[Value], Sequence[Value]]:
        own = [item(each, number) for each in data]
        length = node.constant(np.array(count, np.int64))
        if lengths is not None:
            length = node.cast(item(lengths, number), INT64)

        def step(index: Value, given: Sequence[Value]) -> tuple[Sequence[Value], Sequence[Value]]:
            last = node.call("subtract", length, node.number(1, length))
            back = node.call("subtract", last, index)
            places = [back if backward else index for backward in backwards]
            slices = list(map(item, own, places))
            found = node.insert(node.section(body, (*given, *slices)))
            if lengths is not None:
                goes_on = node.call("less", index, length)
                zeros = [node.number(0, each) for each in found[len(state) :]]
                found = tuple(
                    node.call("where", goes_on, new, old)
                    for new, old in zip(found, (*given, *zeros), strict=True)
                )
            return found[: len(state)], found[len(state) :]

        start = [item(each, number) for each in state]
        final, rows = repeat(node, count, start, step, len(body.node) + scanned)
        return (), (*final, *rows)

    _, results = repeat(node, batch, (), sequence, count * (len(body.node) + scanned))
    return results


def _scan(node: Node) -> tuple[Value, ...]:
    if node.version == 8:
        return _scan_batches(node)
    body, scanned = node.graph("body"), node.integer("num_scan_inputs")
    operands = node.inputs
    if not 0 < scanned <= len(operands):
        node.refuse(f"num_scan_inputs is {scanned}, of {len(operands)} operands")
    state, data = operands[:-scanned], operands[-scanned:]
    axes = node.integers("scan_input_axes") or (0,) * scanned
    backwards = node.integers("scan_input_directions") or (0,) * scanned
    if len(axes) != scanned or len(backwards) != scanned:
        node.refuse(f"{len(axes)} axes and {len(backwards)} directions of {scanned} operands")
    places = [node.axes((axis,), each)[0] for axis, each in zip(axes, data, strict=True)]
    counts = {node.extent(axis, each) for axis, each in zip(places, data, strict=True)}
    if len(counts) != 1:
        node.refuse(f"its operands have {sorted(counts)} slices")
    (count,) = counts
    last = node.constant(np.array(count - 1, np.int64))

    def step(index: Value, given: Sequence[Value]) -> tuple[Sequence[Value], Sequence[Value]]:
        slices = [
            node.call(
                "gather",
                operand,
                node.call("subtract", last, index) if backward else index,
                to=Gather(axis % operand.rank),
            )
            for operand, axis, backward in zip(data, places, backwards, strict=True)
        ]
        found = node.insert(node.section(body, (*given, *slices)))
        return found[: len(state)], found[len(state) :]

    final, rows = repeat(node, count, state, step, len(body.node) + scanned)
    return (*final, *_stacked(node, rows))


def _stacked(node: Node, rows: Sequence[Value]) -> Iterator[Value]:
    """The rows of a scan in the order and along the axis of its results."""
    axes = node.integers("scan_output_axes") or (0,) * len(rows)
    backwards = node.integers("scan_output_directions") or (0,) * len(rows)
    if len(axes) != len(rows) or len(backwards) != len(rows):
        node.refuse(f"{len(axes)} axes and {len(backwards)} directions of {len(rows)} results")
    for value, given, backward in zip(rows, axes, backwards, strict=True):
        if backward:
            value = reversed_rows(node, value)
        axis = node.axes((given,), value)[0] % value.rank
        order = [*range(1, value.rank)]
        order.insert(axis, 0)
        yield node.call("transpose", value, to=Transpose(tuple(order))) if axis else value


CONVERTERS: tuple[Converter, ...] = (
    Converter(
        "If",
        (1, 11, 13, 16, 19, 21, 23, 24, 25),
        _if,
        "tensors only; branches of different shapes need a condition known at import",
        takes_stored_floats=True,
    ),
    Converter(
        "Loop",
        (1, 11, 13, 16, 19, 21, 23, 24, 25),
        _loop,
        "tensors only; results of all iterations need a limit known at import, which bounds them",
        takes_stored_floats=True,
    ),
    Converter(
        "Scan",
        (8, 9, 11, 16, 19, 21, 23, 24, 25),
        _scan,
        "a number of slices known at import",
        takes_stored_floats=True,
    ),
)
