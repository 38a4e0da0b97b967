"""A step of training as one function: the loss, its gradients, and the weights after the step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from math import inf

from tandem.compiler.errors import GradientError
from tandem.compiler.graph.gradients.functions import value_and_grad
from tandem.compiler.graph.gradients.optimisers import Optimiser
from tandem.compiler.graph.gradients.writer import GraphWriter, atom_of, with_names
from tandem.compiler.graph.infer import infer
from tandem.compiler.graph.nodes import Atom, Body, Function, Let, Param, Tuple, Var
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.opspec import Registry
from tandem.compiler.graph.passes import EliminateDead, transform
from tandem.compiler.graph.syntax import unique_name
from tandem.compiler.graph.terms import Term, apply
from tandem.compiler.graph.types import TensorType
from tandem.compiler.ir.dtypes import INT64


def training_step(
    function: Function,
    weights: Sequence[str],
    optimiser: Optimiser,
    clip: float | None = None,
    operators: Registry = OPERATORS,
) -> Function:
    """The function of a step of training.

    Parameters
    ----------
    function
        A loss: see `value_and_grad`.
    weights
        The names of the parameters that are trained: float tensors of one element type.
    clip
        The greatest norm of all gradients as one vector: longer ones are scaled to it.

    Returns
    -------
    A function of the function's parameters, then of `rate`, a scalar of the weights' type; of
    `step`, an int64 from 1 on; and, for each weight `w`, of the tensors that the optimiser keeps,
    as `w_velocity`. Its result is a tuple: the function's result, each weight after the step,
    `w_next`, and each tensor that is kept, `w_velocity_next`, in the order of the parameters.

    Raises
    ------
    GradientError
        As of `value_and_grad`; a weight is no float tensor, or they differ in type; the norm is
        not over 0.
    """
    if clip is not None and not 0.0 < clip < inf:
        raise GradientError(f"clip is {clip}: over 0 is allowed")
    gradients = value_and_grad(function, weights, operators)
    types = {param.name: param.type for param in gradients.params}
    tensors = {name: type_ for name in weights if isinstance(type_ := types[name], TensorType)}
    dtypes = {type_.dtype for type_ in tensors.values()}
    if len(tensors) != len(weights) or len(dtypes) != 1 or not all(it.is_float for it in dtypes):
        shown = ", ".join(f"{name} {types[name]}" for name in weights)
        raise GradientError(
            f"function {function.name}: weights are tensors of float32 or of float64, not {shown}"
        )
    step = _Step(gradients, operators)
    (dtype,) = dtypes
    rate = step.param("rate", TensorType((), dtype))
    number = step.param("step", TensorType((), INT64)).with_dtype(dtype)
    loss, slopes = step.parts()
    if clip is not None:
        slopes = _clipped(slopes, clip)
    kept = {
        name: {one: step.param(f"{name}_{one}", tensors[name]) for one in optimiser.kept}
        for name in weights
    }
    results: dict[str, Term] = {}
    later: dict[str, Term] = {}
    for name, slope in zip(weights, slopes, strict=True):
        step.writer.stem = f"{name}_step"
        weight = step.writer.term(Var(name))
        results[f"{name}_next"], after = optimiser.update(weight, slope, kept[name], rate, number)
        later.update((f"{name}_{one}_next", term) for one, term in after.items())
    return step.function(f"{function.name}_step", loss, {**results, **later})


def _clipped(gradients: Sequence[Term], clip: float) -> list[Term]:
    squares = (apply("reduce_sum_square", each, keepdims=False) for each in gradients)
    norm = apply("sqrt", reduce(lambda a, b: a + b, squares))
    # 1 where the norm is within the bound; of no gradient at all too.
    factor = clip / apply("maximum", norm, clip)
    return [each * factor for each in gradients]


class _Step:
    """A function of gradients to which values are appended."""

    def __init__(self, gradients: Function, operators: Registry) -> None:
        types = dict(infer(gradients))
        self._gradients = gradients
        self._params: list[Param] = []
        self.writer = GraphWriter(operators, {*types}, types, "step")
        self.writer.lets += gradients.body.lets

    def param(self, name: str, type_: TensorType) -> Term:
        """A further parameter."""
        own = unique_name(name, self.writer.taken)
        self._params.append(Param(own, type_))
        self.writer.types[own] = type_
        return self.writer.term(Var(own))

    def parts(self) -> tuple[Atom, list[Term]]:
        """The result of the function that is trained, and the gradients."""
        tuples = {
            let.name: let.value.items for let in self.writer.lets if isinstance(let.value, Tuple)
        }
        result = self._gradients.body.result
        assert isinstance(result, Var), "a tuple"
        loss, slopes = tuples[result.name]
        assert isinstance(slopes, Var), "a tuple"
        return loss, [self.writer.term(each) for each in tuples[slopes.name]]

    def function(self, name: str, loss: Atom, results: Mapping[str, Term]) -> Function:
        """The function that gives the loss and these results."""
        taken = self.writer.taken
        names = {str(term.value): unique_name(new, taken) for new, term in results.items()}
        assert len(names) == len(results), "an optimiser computes each"
        items = (loss, *map(atom_of, results.values()))
        result = unique_name("results", taken)
        lets = (*self.writer.lets, Let(result, Tuple(items)))
        whole = replace(
            self._gradients,
            name=name,
            params=(*self._gradients.params, *self._params),
            body=with_names(Body(lets, Var(result)), names),
        )
        return transform(whole, [EliminateDead()])
