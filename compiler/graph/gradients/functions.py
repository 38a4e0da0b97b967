"""Functions of gradients: `value_and_grad` of a loss, and the `pullback` of any function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tandem.compiler.errors import GradientError
from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.evaluate import Interpreter, check_ports
from tandem.compiler.graph.gradients.cotangents import Cotangent, DataTerm, nested
from tandem.compiler.graph.gradients.data_gradients import gradient_types, with_data_gradients
from tandem.compiler.graph.gradients.pullbacks import Pullbacks
from tandem.compiler.graph.gradients.reverse import Reverse
from tandem.compiler.graph.gradients.varied import varied_names
from tandem.compiler.graph.gradients.writer import GraphWriter, atom_of, with_names
from tandem.compiler.graph.infer import infer, result_of
from tandem.compiler.graph.nodes import Atom, Body, Function, FunctionKind, Param, Var
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.opspec import Registry
from tandem.compiler.graph.passes import (
    Defunctionalise,
    EliminateDead,
    Inline,
    Unfold,
    Unroll,
    transform,
)
from tandem.compiler.graph.syntax import unique_name
from tandem.compiler.graph.terms import Term
from tandem.compiler.graph.types import Part, TensorType, TupleType, Type
from tandem.compiler.graph.visit import functions

INLINED = 256
"""The maximum number of values of a function that is part of each caller, where its values are at
hand; those of a larger one that is called several times are computed again for gradients."""


def value_and_grad(
    function: Function, wrt: Sequence[str] | None = None, operators: Registry = OPERATORS
) -> Function:
    """The function that gives the result of a function, and the gradients of its parameters.

    Parameters
    ----------
    function
        A program that gives a float scalar, or a tuple whose first item is one; the others are
        given as they are, and have no part in gradients.
    wrt
        The names of parameters, with floats in them; by default all that have some.
    operators
        The operators of which gradients are written.

    Returns
    -------
    A function of the same parameters. Its result is (result, gradients), a tuple of the gradients
    of `wrt` in this order. The gradient of a tensor has its shape and element type, float32 for a
    stored float; that of a tuple is a tuple of those of its items that have floats in them.

    Raises
    ------
    GradientError
        The result is no float scalar; a parameter is not there or has no floats; an operator
        between them has no gradient (the message names it); the function calls kernels.
    GraphError
        The function is not legal, or takes or gives functions.
    """
    program = _prepared(function)
    result = result_of(program)
    loss = result.items[0] if isinstance(result, TupleType) and result.items else result
    if not isinstance(loss, TensorType) or loss.shape or not loss.dtype.is_float:
        raise GradientError(
            f"function {function.name} gives {result}: gradients are of a float scalar, or of the "
            "first item of a tuple; `pullback` takes gradients of others"
        )
    writing = _Writing(program, operators)
    one = writing.writer.term(Constant(np.array(1, loss.dtype.numpy)))
    rest = (None,) * (len(result.items) - 1) if isinstance(result, TupleType) else ()
    gradients = writing.gradients((one, *rest) if isinstance(result, TupleType) else one, wrt)
    pair = writing.writer.tuple_of([program.body.result, gradients[0]], [result, gradients[1]])
    return writing.function(f"{function.name}_value_and_grad", (), pair)


def pullback(
    function: Function, wrt: Sequence[str] | None = None, operators: Registry = OPERATORS
) -> Function:
    """The function that takes gradients of a function's result to gradients of its parameters.

    With respect to the gradients it takes it is linear: the product of these, as a row, with the
    function's Jacobian. Pullbacks of pullbacks have second derivatives, and so on.

    Parameters
    ----------
    function, wrt, operators
        As of `value_and_grad`; the result may be of any type with floats in it.

    Returns
    -------
    A function of the function's parameters and a gradient of each float of the result, in order,
    that gives a tuple of the gradients of `wrt`.

    Raises
    ------
    GradientError, GraphError
        As of `value_and_grad`.
    """
    program = _prepared(function)
    result = result_of(program)
    if not gradient_types(result):
        raise GradientError(f"function {function.name} gives {result}, without floats")
    writing = _Writing(program, operators)
    given = writing.params(gradient_types(result))
    terms = [writing.writer.term(Var(param.name)) for param in given]
    gradients, _ = writing.gradients(nested(terms, result), wrt)
    return writing.function(f"{function.name}_pullback", given, gradients)


def _prepared(function: Function) -> Function:
    """The program first order, with its small functions, short loops and functions of known data
    where they are called."""
    for one in functions(function):
        if one.kind is not FunctionKind.FUNC:
            raise GradientError(
                f"function {function.name}: {one.kind.value} {one.name} has no gradient: take "
                "gradients before passes make kernels"
            )
    check_ports(function)
    passes = (
        EliminateDead(),
        Unfold(Interpreter()),
        EliminateDead(),
        Defunctionalise(),
        Inline(INLINED),
        Unroll(Interpreter()),
        Inline(INLINED),
        EliminateDead(),
    )
    return with_data_gradients(transform(function, passes))


class _Writing:
    """A program to whose function gradients are appended."""

    def __init__(self, program: Function, operators: Registry) -> None:
        types = dict(infer(program))
        self._program = program
        self._taken = {each.name for each in functions(program)}
        self._pullbacks = Pullbacks(program.named, operators, self._taken)
        self.writer = GraphWriter(operators, {*types}, types, adder=self._pullbacks.adder)
        self.writer.lets += program.body.lets
        self._own = {*types}
        self._names: dict[str, str] = {}

    def params(self, types: Sequence[Part]) -> tuple[Param, ...]:
        """Further parameters, for gradients."""
        taken = self.writer.taken
        found = tuple(Param(unique_name("gradient", taken), type_) for type_ in types)
        self.writer.types.update((param.name, param.type) for param in found)
        self._own.update(param.name for param in found)
        return found

    def gradients(self, gradient: Cotangent, wrt: Sequence[str] | None) -> tuple[Atom, Type]:
        """The tuple of the gradients of parameters, and its type."""
        asked = self._asked(wrt)
        body = self._program.body
        varied = varied_names(body, asked, self.writer.types)
        reverse = Reverse(self._program.name, self.writer, self._pullbacks.of, varied)
        reverse.body(body, gradient)
        items: list[Atom] = []
        types: list[Type] = []
        for name in asked:
            self.writer.stem = f"{name}_gradient"
            terms = [term for term in reverse.terms_of(name) if term is not None]
            atom, type_ = self._packed(nested(terms, self.writer.types[name]))
            if isinstance(atom, Var) and atom.name not in self._own | self._names.keys():
                # Outputs of artifacts have the names of values.
                self._names[atom.name] = unique_name(f"{name}_gradient", self.writer.taken)
            items.append(atom)
            types.append(type_)
        self.writer.stem = "gradients"
        return self.writer.tuple_of(items, types), TupleType(tuple(types))

    def _packed(self, gradient: Cotangent) -> tuple[Atom, Type]:
        """A gradient as a value: of a tuple without items that have none."""
        if isinstance(gradient, Term | DataTerm):
            return atom_of(gradient), gradient.type
        assert gradient is not None, "asked of parameters with floats"
        pairs = [self._packed(each) for each in gradient if _has_floats(each)]
        types = tuple(type_ for _, type_ in pairs)
        return self.writer.tuple_of([atom for atom, _ in pairs], types), TupleType(types)

    def _asked(self, wrt: Sequence[str] | None) -> list[str]:
        params = {param.name: param.type for param in self._program.params}
        floats = [name for name, type_ in params.items() if gradient_types(type_)]
        asked = floats if wrt is None else [*wrt]
        for name in asked:
            if name not in floats:
                has = f"is {params[name]}, without floats" if name in params else "is not there"
                raise GradientError(
                    f"function {self._program.name}: parameter {name} {has}; gradients can be of "
                    f"{', '.join(floats) or 'none'}"
                )
        if len({*asked}) != len(asked):
            raise GradientError(f"parameters {', '.join(asked)}: one is named twice")
        return asked

    def function(self, name: str, given: Sequence[Param], result: Atom) -> Function:
        """The function of gradients."""
        definitions = (*self._program.definitions, *self._pullbacks.definitions())
        whole = replace(
            self._program,
            name=unique_name(name, self._taken),
            params=(*self._program.params, *given),
            body=with_names(Body(tuple(self.writer.lets), result), self._names),
            result=None,
            definitions=definitions,
        )
        return transform(whole, [EliminateDead()])


def _has_floats(gradient: Cotangent) -> bool:
    if isinstance(gradient, tuple):
        return any(map(_has_floats, gradient))
    return gradient is not None
