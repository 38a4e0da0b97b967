"""Random nodes of ONNX Runtime's own operators, computed by ONNX Runtime and here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import onnxruntime
import pytest
from onnx import ModelProto, ValueInfoProto, helper, numpy_helper

from tandem.compiler.errors import FrontendError
from tandem.compiler.frontends.onnx import import_model
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.machines.cpu.runner import NativeRunner
from tests.support.compiler.frontends.random_nodes import Array, RandomNode
from tests.support.compiler.frontends.runtime_nodes import DOMAIN


@dataclass(frozen=True)
class Differences:
    """How many integers there were, and how many of them differ, all of them by one."""

    integers: int = 0
    by_one: int = 0

    def __add__(self, other: Differences) -> Differences:
        return Differences(self.integers + other.integers, self.by_one + other.by_one)


def model_of(node: RandomNode, known: Sequence[int] = ()) -> ModelProto:
    """A model of the node alone; operands at the places `known` are initialisers."""
    names = ["" if each is None else f"x{at}" for at, each in enumerate(node.operands)]
    while not names[-1]:
        names.pop()
    used = range(node.outputs) if node.used is None else node.used
    outputs = [f"y{at}" if at in used else "" for at in range(node.outputs)]
    proto = helper.make_node(node.operator, names, outputs, domain=node.domain, **node.attributes)
    given = [(at, each) for at, each in enumerate(node.operands) if each is not None]
    graph = helper.make_graph(
        [proto],
        "graph",
        [
            helper.make_tensor_value_info(
                f"x{at}", helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
            )
            for at, array in given
            if at not in known
        ],
        [helper.make_empty_tensor_value_info(name) for name in outputs if name],
        [numpy_helper.from_array(each, f"x{at}") for at, each in given if at in known],
    )
    opsets = [helper.make_opsetid("", node.opset), helper.make_opsetid(DOMAIN, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def feeds_of(node: RandomNode, model: ModelProto) -> dict[str, Array]:
    """The node's operands that are inputs of the model, by name."""
    inputs = {info.name for info in model.graph.input}
    given = enumerate(node.operands)
    return {f"x{at}": each for at, each in given if each is not None and f"x{at}" in inputs}


def expected(model: ModelProto, feeds: dict[str, Array]) -> list[Array]:
    """ONNX Runtime's results; the model's outputs get their types and shapes."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    found = [np.asarray(each) for each in session.run(None, feeds)]
    for output, array in zip(model.graph.output, found, strict=True):
        declare(output, array)
    return found


def declare(output: ValueInfoProto, array: Array) -> None:
    """Give an output of a model the type and shape of an array."""
    dtype = helper.np_dtype_to_tensor_dtype(array.dtype)
    output.CopyFrom(helper.make_tensor_value_info(output.name, dtype, array.shape))


def computed(
    model: ModelProto, feeds: dict[str, Array], without: Sequence[str] = ()
) -> list[Array]:
    """The results here, by code without some features of this processor. What has to be known at
    import is taken from `feeds`."""
    imported = import_model(model, offered=feeds)
    found = evaluate(
        imported.function,
        [feeds[name] for name in imported.inputs],
        NativeRunner(reassociate=False, without=without),
    )
    return [*imported.by_name(found).values()]


def refusal(node: RandomNode, result: Array) -> str:
    """Why a node is refused, whose result would be of the type and shape of an array."""
    model = model_of(node)
    for output in model.graph.output:
        declare(output, result)
    with pytest.raises(FrontendError) as raised:
        import_model(model, offered=feeds_of(node, model))
    return str(raised.value)


def differences(
    node: RandomNode, known: Sequence[int] = (), without: Sequence[str] = ()
) -> Differences:
    """Assert that results are ONNX Runtime's: floats close, integers within one."""
    model = model_of(node, known)
    feeds = feeds_of(node, model)
    wanted = expected(model, feeds)
    shapes = [None if each is None else each.shape for each in node.operands]
    said = f"{node.operator} {shapes} {dict(node.attributes)}, known {list(known)}"
    total = Differences()
    for ours, theirs in zip(computed(model, feeds, without), wanted, strict=True):
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype), said
        if theirs.dtype.kind == "f":
            np.testing.assert_allclose(ours, theirs, 2e-4, 2e-5, err_msg=said)
            continue
        apart = np.abs(ours.astype(np.int64) - theirs.astype(np.int64))
        assert apart.max(initial=0) <= 1, said
        total += Differences(apart.size, int(apart.sum()))
    return total


_NEVER_KNOWN = ("QLinearWhere",)
"""Operators whose kernels crash in ONNX Runtime if only some of their scales are initialisers."""


def drawn(draw: Callable[[np.random.Generator], RandomNode], seeds: Sequence[int]) -> Differences:
    """The differences of drawn nodes, whose operands but the first may be known at import."""
    total = Differences()
    for seed in seeds:
        random = np.random.default_rng(seed)
        node = draw(random)
        known = [at for at in range(1, len(node.operands)) if random.integers(0, 2)]
        if node.operator in _NEVER_KNOWN or random.integers(0, 2):
            known = []
        total += differences(node, known)
    return total
