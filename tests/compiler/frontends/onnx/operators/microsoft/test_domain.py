"""The domain of ONNX Runtime's operators: nodes that are elsewhere, and what is refused."""

from __future__ import annotations

from math import erf, sqrt

import numpy as np
import pytest
from onnx import ModelProto, NodeProto, TensorProto, helper

from tandem.compiler.errors import UnsupportedError
from tandem.compiler.frontends.onnx import import_model
from tandem.compiler.frontends.onnx.operators.microsoft.domain import DOMAIN, with_own_domain
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.machines.cpu.runner import NativeRunner


def model(*nodes: NodeProto, opset: int = 16, domains: tuple[str, ...] = ()) -> ModelProto:
    """A model of nodes from `x` to `y`, with a weight `w`; it imports these domains."""
    one = helper.make_tensor("w", TensorProto.FLOAT, [3], [1.0, 2.0, 3.0])
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 3])],
        [one],
    )
    opsets = [helper.make_opsetid("", opset), *(helper.make_opsetid(it, 1) for it in domains)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def norm(operator: str) -> NodeProto:
    return helper.make_node(operator, ["x", "w"], ["y"])


def test_a_domain_that_is_not_imported() -> None:
    """ONNX Runtime takes such a model, and so does the importer; it is left as it is."""
    given = model(helper.make_node("Gelu", ["x"], ["y"], domain=DOMAIN))
    before = given.SerializeToString()
    found = import_model(given)
    assert found.outputs == ("y",)
    assert given.SerializeToString() == before
    imports = {it.domain: it.version for it in with_own_domain(given).opset_import}
    assert imports == {"": 16, DOMAIN: 1}


def test_a_function_of_the_standard_behind_one() -> None:
    """The function's body depends on types that `onnx` does not infer there: here CenterCropPad's,
    whose result is the middle of what it is given."""
    nodes = [
        helper.make_node("Gelu", ["x"], ["a"], domain=DOMAIN),
        helper.make_node("CenterCropPad", ["a", "shape"], ["y"]),
    ]
    shape = helper.make_tensor("shape", TensorProto.INT64, [2], [2, 1])
    given = model(*nodes, opset=18, domains=(DOMAIN,))
    given.graph.initializer.append(shape)
    given.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 1]))
    data = np.arange(6, dtype=np.float32).reshape(2, 3)
    found = evaluate(import_model(given).function, [data], NativeRunner(1))
    assert isinstance(found, np.ndarray)
    wanted = [x * 0.5 * (1 + erf(x / sqrt(2))) for x in (1.0, 4.0)]
    np.testing.assert_allclose(found.reshape(-1), wanted, 1e-5)


def test_normalisations_in_the_domain_of_the_standard() -> None:
    """Those that the standard does not define at this opset are ONNX Runtime's."""
    for operator, opset, moved in (
        ("LayerNormalization", 16, True),
        ("LayerNormalization", 17, False),
        ("SimplifiedLayerNormalization", 16, True),
        ("SimplifiedLayerNormalization", 20, True),
    ):
        found = with_own_domain(model(norm(operator), opset=opset))
        assert [it.domain for it in found.graph.node] == [DOMAIN if moved else ""], operator
        assert import_model(model(norm(operator), opset=opset)).outputs == ("y",)


def test_a_model_of_the_standard_is_not_copied() -> None:
    given = model(norm("LayerNormalization"), opset=17, domains=(DOMAIN,))
    assert with_own_domain(given) is given


def test_a_refusal_says_what_helps() -> None:
    domain = f"{DOMAIN}.nchwc"
    node = helper.make_node("Conv", ["x", "w"], ["y"], "last", domain=domain)
    reason = "save it with ORT_ENABLE_EXTENDED instead of ORT_ENABLE_ALL"
    with pytest.raises(UnsupportedError, match=reason) as raised:
        import_model(model(node, domains=(domain,)))
    assert f"{domain}.Conv of opset 1 (node last)" in str(raised.value)


def test_other_operators_of_the_domain_have_no_advice() -> None:
    node = helper.make_node("Tokenizer", ["x"], ["y"], "last", domain=DOMAIN)
    with pytest.raises(
        UnsupportedError, match=r"com.microsoft.Tokenizer of opset 1 \(node last\)$"
    ):
        import_model(model(node, domains=(DOMAIN,)))
