"""Losses: what training makes small, written behind a network."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from enum import Enum
from math import prod
from typing import Final, assert_never

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.graph.gradients.writer import GraphWriter, atom_of
from tandem.compiler.graph.infer import infer
from tandem.compiler.graph.nodes import Body, Function, Param, Var
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.syntax import unique_name
from tandem.compiler.graph.terms import Term, apply
from tandem.compiler.graph.types import TensorType
from tandem.compiler.ir.dtypes import FLOAT32, INT64
from tandem.workbench.errors import TrainingError

TARGET: Final = "target"
"""The name of what a network's output is compared with."""


def check_input_names(names: Iterable[str]) -> None:
    """Raise `TrainingError` if an input has the name of the target: arrays go by their names."""
    if TARGET in names:
        raise TrainingError(
            f"an input of the network is called {TARGET}, as what its output is compared with: "
            "train it with another name"
        )


class Loss(Enum):
    """A measure of how far an output [N, ...] is from its target."""

    CROSS_ENTROPY = "cross-entropy"
    """Of logits [N, ..., classes] and the numbers of classes [N, ...], in nats."""
    MSE = "mse"
    """The mean of squared differences from a target of the output's shape."""
    MAE = "mae"
    """The mean of absolute differences."""
    BINARY_CROSS_ENTROPY = "binary-cross-entropy"
    """Of logits and truth values or probabilities of the output's shape, in nats."""


def target_type(output: TensorType, loss: Loss) -> TensorType:
    """The type of the target of an output.

    Raises
    ------
    TrainingError
        The loss is not defined for outputs of this type.
    """
    if output.dtype != FLOAT32 or not output.shape:
        raise TrainingError(
            f"the output is {output}: a loss is of float32 values, a row for each sample"
        )
    if loss is not Loss.CROSS_ENTROPY:
        return output
    if len(output.shape) < 2:
        raise TrainingError(f"the output is {output}: cross-entropy is of logits [N, ..., classes]")
    return TensorType(output.shape[:-1], INT64)


def with_loss(network: Function, loss: Loss) -> Function:
    """The function of the mean loss over a batch; its last parameter is the target."""
    return _behind(network, loss, sample_wise=False)


def with_sample_losses(network: Function, loss: Loss) -> Function:
    """The function that gives a loss for each sample, [N], and, of cross-entropy, the part of its
    classes that the network tells right, [N]; its last parameter is the target."""
    return _behind(network, loss, sample_wise=True)


def target_name(network: Function) -> str:
    """The parameter of the target, in the functions of losses."""
    return unique_name(TARGET, {*infer(network)})


def _behind(network: Function, loss: Loss, *, sample_wise: bool) -> Function:
    types = dict(infer(network))
    writer = GraphWriter(OPERATORS, {*types}, types, "loss")
    writer.lets += network.body.lets
    result = network.body.result
    output = types[result.name] if isinstance(result, Var) else result.type
    if not isinstance(output, TensorType):
        raise TrainingError(f"the network gives {output}: training is of one output")
    target = Param(unique_name(TARGET, writer.taken), target_type(output, loss))
    types[target.name] = target.type
    terms = writer.term(result), writer.term(Var(target.name))
    losses = _by_sample(_elements(*terms, loss))
    if not sample_wise:
        found: Var = Var(str(apply("reduce_mean", losses, keepdims=False).value))
    elif loss is Loss.CROSS_ENTROPY:
        best = apply("arg_max", terms[0], axis=-1, keepdims=False, select_last_index=False)
        right = _by_sample(apply("equal", best, terms[1]).with_dtype(FLOAT32))
        parts = (losses, right)
        found = writer.tuple_of([atom_of(each) for each in parts], [each.type for each in parts])
    else:
        found = Var(str(losses.value))
    return replace(
        network,
        name=f"{network.name}_loss",
        params=(*network.params, target),
        body=Body(tuple(writer.lets), found),
        result=None,
    )


def _elements(output: Term, target: Term, loss: Loss) -> Term:
    """The loss of each element."""
    match loss:
        case Loss.CROSS_ENTROPY:
            classes = output.type.static_shape("the output")[-1]
            numbers = output.constant(_classes(classes))
            axis = len(output.type.shape) - 1
            own = apply("equal", apply("unsqueeze", target, axes=(axis,)), numbers)
            likely = apply("log_softmax", output, axis=-1)
            chosen = likely * own.with_dtype(output.type.dtype)
            return -apply("reduce_sum", chosen, axes=(axis,), keepdims=False)
        case Loss.MSE:
            difference = output - target
            return difference * difference
        case Loss.MAE:
            return apply("absolute", output - target)
        case Loss.BINARY_CROSS_ENTROPY:
            return apply("softplus", output) - output * target
        case _:
            assert_never(loss)


def _classes(number: int) -> NDArray[np.int64]:
    return np.arange(number)


def _by_sample(elements: Term) -> Term:
    """The mean of each row."""
    shape = elements.type.static_shape("the loss")
    if len(shape) == 1:
        return elements
    rows = apply("reshape", elements, shape=(shape[0], prod(shape[1:])), allow_zero=True)
    return apply("reduce_mean", rows, axes=(1,), keepdims=False)
