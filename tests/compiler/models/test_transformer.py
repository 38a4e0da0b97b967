"""Parts of transformers as ONNX operators, by ONNX's reference, against NumPy's formulas."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from tandem.compiler.models.transformer import (
    HIDDEN,
    IR_VERSION,
    OPSET,
    CachedTokenPorts,
    Sizes,
    TokenPorts,
    TransformerBuilder,
    causal_mask,
)

Array = NDArray[Any]
SIZES = Sizes(8, 4, 12, 2, tokens=3, vocabulary=5, past=2, key_heads=2)


def builder(**trained: Array) -> TransformerBuilder:
    return TransformerBuilder(np.random.default_rng(1), trained=trained)


def numbers(*shape: int) -> Array:
    return np.random.default_rng(2).standard_normal(shape).astype(np.float32)


def weight(network: TransformerBuilder, name: str) -> Array:
    return np.asarray(numpy_helper.to_array(network.weights[name]))


def ran(network: TransformerBuilder, name: str, **given: Array) -> Array:
    """What the nodes compute under a name."""
    values = [helper.make_tensor_value_info(name, TensorProto.UNDEFINED, None)]
    inputs = [
        helper.make_tensor_value_info(
            key, helper.np_dtype_to_tensor_dtype(array.dtype), list(array.shape)
        )
        for key, array in given.items()
    ]
    weights = [*network.weights.values()]
    if not network.nodes:
        return weight(network, name)
    graph = helper.make_graph(network.nodes, "part", inputs, values, weights)
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION
    )
    (found,) = ReferenceEvaluator(model).run([name], given)
    return np.asarray(found)


def softmax(x: Array) -> Array:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return np.asarray(powers / powers.sum(-1, keepdims=True))


def close(found: Array, wanted: Array) -> None:
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_sizes() -> None:
    assert (SIZES.head, SIZES.shared_heads) == (2, 2)
    plain = Sizes(12, 3, 24, 8, tokens=4, vocabulary=5)
    assert (plain.head, plain.shared_heads, plain.past) == (4, 3, 0)
    assert plain.branch_scale == 0.25


def test_constants_are_of_float32() -> None:
    network = builder()
    assert network.constant("two", 2) == "two"
    found = weight(network, "two")
    assert found.dtype == np.float32
    assert (found.shape, float(found)) == ((), 2.0)


def test_linear() -> None:
    x = numbers(1, 3, 6)
    network = builder()
    assert network.linear("dense", "x", 6, 400, 0.5) == "dense"
    weights, bias = (weight(network, f"dense.{each}") for each in ("weight", "bias"))
    close(ran(network, "dense", x=x), x @ weights + bias)
    # Of the variance that keeps that of x, times the square of the scale; biases are small.
    assert weights.shape == (6, 400)
    assert math.isclose(weights.std(), 0.5 / math.sqrt(6), rel_tol=0.05)
    assert 0.05 < bias.std() < 0.15
    alone = builder()
    alone.linear("dense", "x", 6, 400, bias=False)
    assert [*alone.weights] == ["dense.weight"]
    assert math.isclose(weight(alone, "dense.weight").std(), 1 / math.sqrt(6), rel_tol=0.05)
    close(ran(alone, "dense", x=x), x @ weight(alone, "dense.weight"))


def test_layer_norm() -> None:
    x = 5 * numbers(1, 3, 100) + 2
    network = builder()
    assert network.layer_norm("norm", "x", 100) == "norm"
    scale, bias = weight(network, "norm.scale"), weight(network, "norm.bias")
    assert 0.8 <= scale.min() < 0.85
    assert 1.15 < scale.max() <= 1.2
    assert 0.05 < bias.std() < 0.15
    centred = x - x.mean(-1, keepdims=True)
    wanted = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * scale + bias
    close(ran(network, "norm", x=x), wanted)


def test_split() -> None:
    x = numbers(1, 5, 12)
    network = builder()
    assert network.split("heads", "x", 3, 4) == "heads"
    wanted = [[[x[0, t, h * 4 : h * 4 + 4] for t in range(5)] for h in range(3)]]
    close(ran(network, "heads", x=x), np.array(wanted))


@pytest.mark.parametrize("masked", [False, True])
def test_attend(masked: bool) -> None:
    """Scores are divided by the root of a head's features."""
    given = {name: numbers(1, 4, 3, 2) * factor for name, factor in (("q", 1), ("k", 2), ("v", 3))}
    network = builder()
    mask = network.constant("mask", causal_mask(3)) if masked else None
    assert network.attend("seen", ["q", "k", "v"], SIZES, mask) == "seen"
    wanted = np.zeros((1, 3, 8))
    for head in range(4):
        q, k, v = (each[0, head] for each in given.values())
        scores = q @ k.T / math.sqrt(2)
        if masked:
            scores[np.triu_indices(3, 1)] = -np.inf
        wanted[0, :, head * 2 : head * 2 + 2] = softmax(scores) @ v
    close(ran(network, "seen", **given), wanted)


def test_perceptron() -> None:
    x = numbers(1, 3, 8)
    network = builder()
    assert network.perceptron("mlp", "x", SIZES) == "mlp"
    names = "mlp.inner.weight", "mlp.inner.bias", "mlp.weight", "mlp.bias"
    first, before, second, after = (weight(network, name) for name in names)
    assert (first.shape, second.shape) == ((8, 12), (12, 8))
    inner = x.astype(np.float64) @ first + before
    gelu = inner * np.vectorize(lambda t: (1 + math.erf(t / math.sqrt(2))) / 2)(inner)
    close(ran(network, "mlp", x=x), gelu @ second + after)
    # The last layer of a branch is scaled down with the depth.
    assert 0.4 < second.std() * math.sqrt(12) < 0.6


def test_causal_mask() -> None:
    assert HIDDEN == -10_000
    wanted = [[0, 0, 0, HIDDEN, HIDDEN], [0, 0, 0, 0, HIDDEN], [0, 0, 0, 0, 0]]
    assert causal_mask(3, 2).tolist() == wanted
    assert causal_mask(2).tolist() == [[0, HIDDEN], [0, 0]]
    assert causal_mask(2).dtype == np.float32


TABLE = np.arange(20, dtype=np.float32).reshape(10, 2)


def test_ports_of_tokens_at_fixed_positions() -> None:
    network, ports = builder(), TokenPorts(SIZES)
    assert weight(network, ports.positions(network)).tolist() == [[2, 3, 4]]
    mask = ports.mask(network)
    assert mask is not None
    assert weight(network, mask).tolist() == causal_mask(3, 2).tolist()
    assert ports.at_positions(network, "rows", TABLE) == "rows"
    assert weight(network, "rows").tolist() == [[TABLE[2:5].tolist()]]
    one = TokenPorts(Sizes(8, 4, 12, 2, tokens=1, vocabulary=5))
    assert one.mask(network) is None
    # Without earlier tokens there is nothing to join.
    assert one.joined(network, "layer0.key") == "layer0.key"
    assert (one.inputs, one.outputs, network.nodes) == ({}, {}, [])


def test_earlier_keys_are_joined() -> None:
    network, ports = builder(), TokenPorts(SIZES)
    name = ports.joined(network, "layer1.key")
    assert ports.inputs == {"layer1.key.past": (TensorProto.FLOAT, (1, 2, 2, 2))}
    assert ports.outputs == {"layer1.key": (1, 2, 3, 2)}
    past, own = numbers(1, 2, 2, 2), numbers(1, 2, 3, 2)
    found = ran(network, name, **{"layer1.key.past": past, "layer1.key": own})
    close(found, np.concatenate([past, own], 2))


def ports_of(model: onnx.ModelProto) -> dict[str, tuple[int, list[int]]]:
    """The inputs and outputs of a model: their types and shapes."""
    found = {}
    for port in (*model.graph.input, *model.graph.output):
        kind = port.type.tensor_type
        found[port.name] = kind.elem_type, [dim.dim_value for dim in kind.shape.dim]
    return found


@pytest.mark.parametrize("kind", [TokenPorts, CachedTokenPorts])
def test_models(kind: type[TokenPorts]) -> None:
    network, ports = builder(), kind(SIZES)
    ports.mask(network)
    ports.joined(network, "layer0.value")
    if kind is CachedTokenPorts:
        ports.at_positions(network, "rows", TABLE)
    model = ports.model(network, "name")
    assert model.graph.name == "name"
    assert (model.opset_import[0].version, model.ir_version) == (20, 9)
    named = ("ids", "layer0.value.past", "layer0.value")
    if kind is CachedTokenPorts:
        named = ("input_ids", "past_key_values.0.value", "present.0.value")
    wanted: dict[str, tuple[int, list[int]]] = {
        named[0]: (TensorProto.INT64, [1, 3]),
        named[1]: (TensorProto.FLOAT, [1, 2, 2, 2]),
        "logits": (TensorProto.FLOAT, [1, 3, 5]),
        named[2]: (TensorProto.FLOAT, [1, 2, 3, 2]),
    }
    if kind is CachedTokenPorts:
        wanted["attention_mask"] = TensorProto.INT64, [1, 5]
        wanted["position_ids"] = TensorProto.INT64, [1, 3]
    assert ports_of(model) == wanted


@pytest.mark.parametrize("tokens", [1, 3])
def test_a_mask_hides_what_is_no_token(tokens: int) -> None:
    network = builder()
    mask = CachedTokenPorts(Sizes(8, 4, 12, 2, tokens, 5, past=2)).mask(network)
    assert mask is not None
    seen = np.array([[0, 1] + [1] * tokens])
    wanted = causal_mask(tokens, 2)
    wanted[:, 0] += HIDDEN
    assert ran(network, mask, attention_mask=seen).tolist() == [[wanted.tolist()]]


def test_rows_at_any_positions() -> None:
    """Gathered once, however many layers ask for them."""
    network, ports = builder(), CachedTokenPorts(SIZES)
    for _ in range(2):
        assert ports.at_positions(network, "rows", TABLE) == "rows"
    assert len(network.nodes) == 2
    found = ran(network, "rows", position_ids=np.array([[7, 0, 9]]))
    assert found.tolist() == [[TABLE[[7, 0, 9]].tolist()]]


def test_trained_weights_have_the_shape() -> None:
    network = builder(**{"dense.weight": np.zeros((2, 2), np.float32)})
    with pytest.raises(ValueError, match=r"dense.weight is \[6, 4\], and trained \[2, 2\]"):
        network.linear("dense", "x", 6, 4)
