"""Branches, loops and scans against ONNX Runtime."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

pytest.importorskip("onnxruntime", reason="what results are compared with")

from tandem.compiler.errors import UnsupportedError
from tandem.compiler.frontends.onnx import import_model
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.machines.cpu.runner import NativeRunner
from tests.support.compiler.frontends.onnx_runs import agree

FLOAT, INT, TRUTH = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
Types = dict[str, tuple[int, list[Any]]]


def graph(nodes: Sequence[NodeProto], inputs: Types, outputs: Types, **weights: Any) -> Any:
    """A graph, for a model or for an attribute."""
    return helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info(name, *of) for name, of in inputs.items()],
        [helper.make_tensor_value_info(name, *of) for name, of in outputs.items()],
        [numpy_helper.from_array(np.asarray(each), name) for name, each in weights.items()],
    )


def model(whole: Any) -> ModelProto:
    return helper.make_model(whole, opset_imports=[helper.make_opsetid("", 16)], ir_version=8)


def node(operator: str, inputs: str, outputs: str, **attributes: Any) -> NodeProto:
    """A node on operands and results with spaces between them; `-` for a missing one."""
    names = ["" if each == "-" else each for each in inputs.split()]
    return helper.make_node(operator, names, outputs.split(), **attributes)


V: tuple[int, list[int]] = (FLOAT, [4])
X = np.array([0.5, -1, 2, 3], np.float32)


def halving() -> ModelProto:
    """A loop that halves until the largest element is under a limit, and counts."""
    body = graph(
        [
            node("Mul", "x half", "y"),
            node("Add", "n one", "m"),
            node("ReduceMax", "y", "most", keepdims=0),
            node("Greater", "most limit", "more"),
        ],
        {"i": (INT, []), "c": (TRUTH, []), "x": V, "n": (INT, [])},
        {"more": (TRUTH, []), "y": V, "m": (INT, [])},
        half=np.float32(0.5),
        one=np.int64(1),
    )
    return model(
        graph(
            [node("Loop", "trips first data start", "result count", body=body)],
            {"data": V, "limit": (FLOAT, []), "trips": (INT, []), "first": (TRUTH, [])},
            {"result": V, "count": (INT, [])},
            start=np.int64(0),
        )
    )


def test_a_loop_with_an_end_that_depends_on_data() -> None:
    for limit, most, first in ((0.1, 100, True), (0.1, 2, True), (0.1, 100, False)):
        feeds = {
            "data": X,
            "limit": np.array(limit, np.float32),
            "trips": np.array(most),
            "first": np.array(first),
        }
        assert len(agree(halving(), feeds).manifest.functions) == 2


def branches() -> ModelProto:
    """An `If` in an `If`, with values from around both."""

    def leaf(operator: str) -> Any:
        return graph([node(operator, "doubled x", "z")], {}, {"z": V})

    inner = graph(
        [
            node("Relu", "x", "r"),
            node("If", "b", "w", then_branch=leaf("Add"), else_branch=leaf("Mul")),
            node("Sub", "w r", "y"),
            node("Neg", "w", "y2"),
        ],
        {},
        {"y": V, "y2": V},
    )
    other = graph([node("Identity", "x", "y"), node("Abs", "doubled", "y2")], {}, {"y": V, "y2": V})
    return model(
        graph(
            [
                node("Add", "x x", "doubled"),
                node("If", "a", "out more", then_branch=inner, else_branch=other),
                node("Add", "out more", "sum"),
            ],
            {"x": V, "a": (TRUTH, []), "b": (TRUTH, [])},
            {"sum": V, "more": V},
        )
    )


@pytest.mark.parametrize("a", [False, True])
@pytest.mark.parametrize("b", [False, True])
def test_branches(a: bool, b: bool) -> None:
    feeds = {"x": X, "a": np.array(a), "b": np.array(b)}
    assert len(agree(branches(), feeds).manifest.functions) == 1
    known = import_model(branches(), values={"a": np.array(a), "b": np.array(b)})
    assert "if " not in str(known.function)


def scan(length: int, **attributes: Any) -> ModelProto:
    """Sums of the rows of a matrix so far, and their squares."""
    body = graph(
        [node("Add", "s x", "t"), node("Mul", "t t", "u"), node("Identity", "t", "v")],
        {"s": (FLOAT, [3]), "x": (FLOAT, [3])},
        {"t": (FLOAT, [3]), "u": (FLOAT, [3]), "v": (FLOAT, [3])},
    )
    return model(
        graph(
            [node("Scan", "zero x", "last u v", body=body, num_scan_inputs=1, **attributes)],
            {"x": (FLOAT, [length, 3])},
            {"last": (FLOAT, [3]), "u": (FLOAT, [length, 3]), "v": (FLOAT, [3, length])},
            zero=np.zeros(3, np.float32),
        )
    )


@pytest.mark.parametrize(("length", "functions"), [(3, 0), (300, 2)])
def test_scans(length: int, functions: int) -> None:
    x = np.random.default_rng(0).standard_normal((length, 3)).astype(np.float32) / 4
    whole = scan(
        length,
        scan_input_directions=[1],
        scan_output_axes=[0, 1],
        scan_output_directions=[1, 0],
    )
    assert len(agree(whole, {"x": x}, 1e-4).manifest.functions) == functions


def rows(count: int | None) -> ModelProto:
    """A loop with results of all iterations, nested: each is a product of a loop of its own."""
    inner = graph(
        [node("Mul", "q two", "p"), node("Identity", "d", "e")],
        {"j": (INT, []), "d": (TRUTH, []), "q": V},
        {"e": (TRUTH, []), "p": V},
        two=np.float32(1.5),
    )
    body = graph(
        [
            node("Add", "x base", "y"),
            node("Loop", "i - y", "row", body=inner),
            node("Identity", "c", "more"),
        ],
        {"i": (INT, []), "c": (TRUTH, []), "x": V},
        {"more": (TRUTH, []), "y": V, "row": V},
    )
    known = {} if count is None else {"count": np.int64(count)}
    inputs: Types = {"base": V, **({"count": (INT, [])} if count is None else {})}
    return model(
        graph(
            [node("Loop", "count - base", "last all", body=body)],
            inputs,
            {"last": V, "all": (FLOAT, [4 if count is None else count, 4])},
            **known,
        )
    )


@pytest.mark.parametrize(
    ("count", "functions"),
    [(4, 0), (0, 0), pytest.param(258, 3, marks=pytest.mark.exhaustive)],
)
def test_results_of_all_iterations(count: int, functions: int) -> None:
    x = np.array([0.5, -1, 0.25, 0], np.float32) * np.float32(1e-30)
    artifact = agree(rows(count), {"base": x})
    assert len(artifact.manifest.functions) == functions


def test_a_number_of_results_that_is_not_known() -> None:
    with pytest.raises(UnsupportedError, match=r"Loop.*operand M has to be known .* inputs: count"):
        import_model(rows(None))


def steps(most: int) -> ModelProto:
    """A loop of at most so many iterations that halves until the largest element is under a limit,
    with the results of all iterations, and their number."""
    body = graph(
        [
            node("Mul", "x half", "y"),
            node("Identity", "y", "row"),
            node("ReduceMax", "y", "most", keepdims=0),
            node("Greater", "most limit", "more"),
        ],
        {"i": (INT, []), "c": (TRUTH, []), "x": V},
        {"more": (TRUTH, []), "y": V, "row": V},
        half=np.float32(0.5),
    )
    return model(
        graph(
            [
                node("Loop", "trips first data", "result all", body=body),
                node("ReduceSum", "all axis", "total", keepdims=0),
                node("Shape", "all", "shape"),
            ],
            {"data": V, "limit": (FLOAT, []), "first": (TRUTH, [])},
            {"result": V, "all": (FLOAT, ["rows", 4]), "total": V, "shape": (INT, [2])},
            trips=np.int64(most),
            axis=np.array([0]),
        )
    )


@pytest.mark.every(2)
@pytest.mark.parametrize("limit", [0.2, 5, -1])
def test_results_of_as_many_iterations_as_data_says(limit: float) -> None:
    for first in (True, False):
        feeds = {"data": X, "limit": np.array(limit, np.float32), "first": np.array(first)}
        agree(steps(7), feeds)


def test_too_many_results() -> None:
    with pytest.raises(
        UnsupportedError, match=r"Loop.*operand cond has to be known .* inputs: first"
    ):
        import_model(steps(1 << 40))


def old_scan(batch: int, length: int, lengths: bool, backward: int) -> ModelProto:
    """Sums of the rows of several matrices so far, each of a length of its own, in opset 8."""
    body = graph(
        [node("Add", "s x", "t"), node("Mul", "t t", "u")],
        {"s": (FLOAT, [3]), "x": (FLOAT, [3])},
        {"t": (FLOAT, [3]), "u": (FLOAT, [3])},
    )
    first = "n" if lengths else "-"
    scanned = node(
        "Scan", f"{first} s x", "last u", body=body, num_scan_inputs=1, directions=[backward]
    )
    whole = graph(
        [scanned],
        {
            **({"n": (INT, [batch])} if lengths else {}),
            "s": (FLOAT, [batch, 3]),
            "x": (FLOAT, [batch, length, 3]),
        },
        {"last": (FLOAT, [batch, 3]), "u": (FLOAT, [batch, length, 3])},
    )
    return helper.make_model(whole, opset_imports=[helper.make_opsetid("", 8)], ir_version=3)


@pytest.mark.every(3)
@pytest.mark.parametrize(
    ("lengths", "backward", "length"),
    [(True, 0, 3), (False, 1, 3), (False, 0, 300), (True, 1, 3), (True, 0, 300)],
)
def test_the_first_scan(lengths: bool, backward: int, length: int) -> None:
    """Sequences by themselves; a short one keeps its state, and has zeros behind its rows."""
    random = np.random.default_rng(length)
    x = random.standard_normal((2, length, 3)).astype(np.float32) / 4
    state = random.standard_normal((2, 3)).astype(np.float32)
    counts = np.array([2, length]) if lengths else np.full(2, length)
    rows, last = np.zeros_like(x), state.copy()
    for batch, count in enumerate(counts):
        order = reversed(range(count)) if backward else range(count)
        for step, at in enumerate(order):
            last[batch] += x[batch, at]
            rows[batch, step] = last[batch] ** 2
    imported = import_model(old_scan(2, length, lengths, backward))
    assert bool(imported.function.definitions) is (length > 3)
    feeds = {"n": counts, "s": state, "x": x}
    found = evaluate(imported.function, [feeds[each] for each in imported.inputs], NativeRunner())
    assert isinstance(found, tuple)
    results: tuple[Any, ...] = (last, rows)
    for ours, wanted in zip(found, results, strict=True):
        assert isinstance(ours, np.ndarray)
        np.testing.assert_allclose(ours, wanted, 1e-3, 1e-4)
