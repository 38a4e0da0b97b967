"""Chains of nodes on tensors with an extent that depends on inputs: shapes of any kind, without
elements too. Results are those of ONNX's reference, and what is refused stays what it was."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto
from onnx.reference import ReferenceEvaluator

from tandem.compiler.errors import CompilerError
from tandem.compiler.frontends.onnx import Imported, import_model
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.printer import text
from tests.compiler.frontends.onnx.bounded.bounded_models import bounded_model, make, sparse

CASES = 240
GATHERS = 80
"""Further cases, most of whose nodes gather."""
EVALUATED = 5
"""The results of one case in so many are compared."""
COUNTS = (0, 4, 12)
LENGTH = 3
"""The maximum number of nodes in a chain."""
TABLES = ((5, 12), (12, 5), (2, 5, 6), (12, 1, 5))
"""Shapes of constants that elements are gathered from."""
WORDS = (-1, -1, -1, 0, 0, 1, 1, 2, 3, 4, 12)
"""Extents of a reshape."""

Draw = Callable[[Random, str, str, dict[str, Any]], NodeProto]


def _operand(weights: dict[str, Any], values: Any) -> str:
    name = f"w{len(weights)}"
    weights[name] = np.array(values)
    return name


def _reshape(rng: Random, x: str, y: str, weights: dict[str, Any]) -> NodeProto:
    shape = [rng.choice(WORDS) for _ in range(rng.randint(1, 3))]
    # At most one is inferred.
    first = shape.index(-1) if -1 in shape else 0
    shape = [2 if each == -1 and at != first else each for at, each in enumerate(shape)]
    name = _operand(weights, shape)
    return make("Reshape", [x, name], [y], allowzero=int(rng.random() < 0.3))


def _slice(rng: Random, x: str, y: str, weights: dict[str, Any]) -> NodeProto:
    axes = rng.choice(([0], [1], [-1], [0, 1]))
    starts = [rng.choice((0, 0, 1, 2, -1)) for _ in axes]
    ends = [rng.choice((0, 1, 2, 5, 20, -1)) for _ in axes]
    steps = [rng.choice((1, 1, 1, 2, -1)) for _ in axes]
    names = [_operand(weights, each) for each in (starts, ends, axes, steps)]
    return make("Slice", [x, *names], [y])


def _unsqueeze(rng: Random, x: str, y: str, weights: dict[str, Any]) -> NodeProto:
    axes = rng.choice(([0], [1], [-1], [0, 1], [0, -1]))
    return make("Unsqueeze", [x, _operand(weights, axes)], [y])


def _squeeze(rng: Random, x: str, y: str, weights: dict[str, Any]) -> NodeProto:
    return make("Squeeze", [x, _operand(weights, [rng.choice((0, 1, -1))])], [y])


def _reduce(rng: Random, x: str, y: str, weights: dict[str, Any]) -> NodeProto:
    kind = rng.choice(("ReduceSum", "ReduceMean", "ReduceMax", "ReduceProd"))
    axes = _operand(weights, rng.choice(([0], [1], [-1], [0, 1])))
    return make(kind, [x, axes], [y], keepdims=rng.randint(0, 1))


def _binary(rng: Random, x: str, y: str, weights: dict[str, Any]) -> NodeProto:
    shape = rng.choice(((), (1,), (2,), (12,), (1, 2), (3, 1), (0,)))
    other = _operand(weights, np.ones(shape, np.float32))
    pair = [x, other] if rng.random() < 0.5 else [x, x]
    return make(rng.choice(("Add", "Sub")), pair, [y])


def _others(rng: Random, x: str, y: str, weights: dict[str, Any]) -> NodeProto:
    match rng.randint(0, 6):
        case 0:
            return make("Flatten", [x], [y], axis=rng.choice((0, 1, 2, -1)))
        case 1:
            return make("Transpose", [x], [y])
        case 2:
            return make("Concat", [x, x], [y], axis=rng.choice((0, 1, -1)))
        case 3:
            return make("Size", [x], [y])
        case 4:
            return make("Shape", [x], [y], start=rng.choice((0, 1, -1)))
        case 5:
            return make("Softmax", [x], [y], axis=rng.choice((0, 1, -1)))
        case _:
            rows = _operand(weights, [rng.choice((0, 1, -1))])
            return make("Gather", [x, rows], [y], axis=rng.choice((0, 1)))


DRAWS: Sequence[Draw] = (
    *(_reshape, _reshape, _slice, _slice, _others, _others),
    *(_unsqueeze, _squeeze, _reduce, _binary),
)


def _gather(rng: Random, x: str, y: str, weights: dict[str, Any]) -> NodeProto:
    """Of a value, or by positions that depend on inputs; with axes of batches and without."""
    shape = rng.choice(((1,), (2,), (2, 1), (2, 1), (1, 2), (2, 2), (12, 1)))
    indices = _operand(weights, np.full(shape, rng.choice((0, 0, 1))))
    table = _operand(weights, np.arange(60, dtype=np.float32).reshape(rng.choice(TABLES)))
    data, indices = rng.choice(((x, indices), (x, indices), (table, "t"), (table, "p"), (x, "t")))
    match rng.randint(0, 4):
        case 0:
            return make("GatherElements", [data, indices], [y], axis=rng.choice((0, 1, -1)))
        case 1:
            return make("Gather", [data, indices], [y], axis=rng.choice((0, 1, -1)))
        case 2:
            places = rng.choice(((2, 1), (2, 3, 1)))
            indices = _operand(weights, np.zeros(places, np.int64))
            return make("GatherND", ["p", indices], [y], batch_dims=1)
        case _:
            return make("GatherND", [data, indices], [y], batch_dims=rng.choice((0, 1, 1)))


def _model(seed: int) -> ModelProto:
    rng = Random(f"bounded {seed}")
    gathers = seed >= CASES
    last, nodes, weights = rng.choice(("v", "f", "p" if gathers else "f")), [], dict[str, Any]()
    draws = (*DRAWS, *[_gather] * len(DRAWS) * 2 * gathers)
    for number in range(rng.randint(1, LENGTH)):
        nodes.append(rng.choice(draws)(rng, last, f"y{number}", weights))
        last = f"y{number}"
        if nodes[-1].op_type in ("Shape", "Size"):
            break
    return bounded_model(nodes, weights, [last])


def _imported(seed: int) -> tuple[ModelProto, Imported] | str:
    """The model and what it becomes, or how it is refused."""
    try:
        model = _model(seed)
    except Exception as error:
        # ONNX's inference of shapes: its words depend on its version.
        return f"not legal: {type(error).__name__}"
    try:
        return model, import_model(model)
    except CompilerError as error:
        said = str(error).partition("the model is not legal: ")
        return f"{type(error).__name__}: {said[0]}{said[1]}"


def test_imports(recorded: Callable[[str, Sequence[str]], None]) -> None:
    texts = []
    for seed in range(CASES + GATHERS):
        match _imported(seed):
            case str(refusal):
                texts.append(refusal)
            case (_, imported):
                texts.append(text(imported.function))
    taken = sum(each.startswith("func") for each in texts)
    assert CASES // 4 < taken < CASES + GATHERS
    recorded("recorded/frontends/bounded_chains.txt", texts)


def _reference(model: ModelProto, feeds: Mapping[str, Any]) -> Any:
    """What ONNX's reference says; None where it has no answer, as of the mean of nothing."""
    try:
        with np.errstate(all="ignore"):
            (found,) = ReferenceEvaluator(model).run(None, dict(feeds))
    except (ValueError, IndexError, TypeError, RuntimeError, np.exceptions.AxisError):
        return None
    return np.asarray(found)


def test_results() -> None:
    compared = 0
    for seed in range(0, CASES + GATHERS, EVALUATED):
        match _imported(seed):
            case str():
                continue
            case (model, imported):
                pass
        if model.graph.output[0].type.tensor_type.elem_type == TensorProto.UNDEFINED:
            continue
        for count in COUNTS:
            x = sparse(seed + count, count)
            wanted = _reference(model, {"x": x})
            if wanted is None or not np.all(np.isfinite(wanted)):
                continue
            (found,) = imported.by_name(evaluate(imported.function, [x])).values()
            assert found.shape == wanted.shape, (seed, count)
            np.testing.assert_allclose(found, wanted, 1e-5, err_msg=f"{seed} {count}")
            compared += 1
    assert compared > CASES // EVALUATED // 2
