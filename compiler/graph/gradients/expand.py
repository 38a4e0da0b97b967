"""Functions of gradients that a text asks for: `grad(@f)` and `value_and_grad(@f)`."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tandem.compiler.errors import GradientError
from tandem.compiler.graph.binding import bind
from tandem.compiler.graph.evaluate import check_ports
from tandem.compiler.graph.gradients.data_gradients import with_data_gradients
from tandem.compiler.graph.gradients.functions import value_and_grad
from tandem.compiler.graph.infer import infer, result_of
from tandem.compiler.graph.nodes import (
    Body,
    Call,
    Function,
    Global,
    Gradient,
    Let,
    Module,
    Partial,
    Tuple,
    Var,
)
from tandem.compiler.graph.opspec import Registry
from tandem.compiler.graph.passes import BindSymbols, EliminateDead, transform
from tandem.compiler.graph.syntax import unique_name
from tandem.compiler.graph.types import FunctionType
from tandem.compiler.graph.visit import (
    all_lets,
    called_by_name,
    declarations_of,
    functions,
    map_functions,
    program,
    rewrite_lets,
)


def expanded(whole: Function, operators: Registry) -> Function:
    """The program with definitions of the functions of gradients that are values in it.

    ::

        g = grad(@f)    ->    g = @f_grad

    Gradients of a function that asks for gradients itself are second derivatives, and so on.

    Raises
    ------
    GradientError
        As of `value_and_grad`; the gradients of a function that they are part of.
    GraphError
        As of `infer` and of `value_and_grad`: of a function that takes values of data types, too.
    """
    while asked := {one.name: _asked(one) for one in functions(whole) if _asked(one)}:
        every = dict.fromkeys(each for one in asked.values() for each in one)
        ready = [
            (value, type_)
            for value, type_ in every
            if not asked.keys() & {value.callee.name, *_reached(whole, value.callee.name)}
        ]
        if not ready:
            raise GradientError(f"function {sorted(asked)[0]} is part of its own gradients")
        for value, type_ in ready:
            whole = _Expansion(whole, operators).of(value, type_)
        # Of what only its gradients were asked nothing is left.
        called = called_by_name(whole)
        kept = tuple(each for each in whole.definitions if each.name in called)
        whole = replace(whole, definitions=kept)
    return whole


def _asked(function: Function) -> list[tuple[Gradient, FunctionType]]:
    """The functions of gradients that are values in a function, and their types."""
    found = []
    for let in all_lets(function.body):
        if isinstance(let.value, Gradient):
            type_ = infer(function)[let.name]
            assert isinstance(type_, FunctionType), "inferred"
            found.append((let.value, type_))
    return found


def _alone(whole: Function, name: str) -> Function:
    """A function of a program, as a program."""
    named = (replace(each, definitions=()) for each in whole.named.values())
    return program(Module(tuple(named)), name)


def _reached(whole: Function, name: str) -> frozenset[str]:
    return called_by_name(_alone(whole, name))


@dataclass(slots=True)
class _Expansion:
    """The definition of one function of gradients in a program."""

    whole: Function
    operators: Registry
    taken: set[str] = field(init=False)

    def __post_init__(self) -> None:
        self.taken = {each.name for each in functions(self.whole)}

    def of(self, value: Gradient, type_: FunctionType) -> Function:
        """The program with the definition, and a function by name where the value was."""
        name = value.callee.name
        check_ports(_alone(self.whole, name))
        if declarations_of(_alone(self.whole, name)).types:
            self.whole = with_data_gradients(self.whole)
        function = _alone(self.whole, name)
        sizes = bind([param.type for param in function.params], type_.params)
        assert sizes is not None, "inferred"
        if sizes:
            numbers = {symbol: size for symbol, size in sizes.items() if isinstance(size, int)}
            function = BindSymbols(tuple(sorted(numbers.items()))).apply(function)
        names = [function.params[at].name for at in value.wrt] or None
        written = value_and_grad(function, names, self.operators)
        own = self._renamed(written if value.with_value else _gradients_alone(written), name, value)
        new = Global(own[-1].name, type_)

        def rewritten(one: Function) -> Function:
            def change(let: Let) -> tuple[Let, ...]:
                same = let.value == value and infer(one)[let.name] == type_
                return (replace(let, value=Partial(new)) if same else let,)

            return replace(one, body=rewrite_lets(one.body, change))

        changed = map_functions(self.whole, rewritten)
        return replace(changed, definitions=(*changed.definitions, *own))

    def _renamed(self, written: Function, name: str, value: Gradient) -> list[Function]:
        """The functions of a program, with names that the whole program does not have."""
        stem = f"{name}_value_and_grad" if value.with_value else f"{name}_grad"
        names = {each.name: unique_name(each.name, self.taken) for each in written.definitions}
        names[written.name] = unique_name(stem, self.taken)

        def change(let: Let) -> tuple[Let, ...]:
            match let.value:
                case Call(callee=Global(name=old, type=type_)):
                    return (
                        replace(let, value=replace(let.value, callee=Global(names[old], type_))),
                    )
                case _:
                    return (let,)

        result = result_of(written)
        all_functions = (*written.definitions, replace(written, definitions=(), result=result))
        return [
            replace(one, name=names[one.name], body=rewrite_lets(one.body, change))
            for one in all_functions
        ]


def _gradients_alone(function: Function) -> Function:
    """The function whose result is the gradients of one whose result is a value and them."""
    result = function.body.result
    assert isinstance(result, Var), "a tuple"
    (pair,) = (let.value for let in function.body.lets if let.name == result.name)
    assert isinstance(pair, Tuple), "as written"
    body = Body(function.body.lets, pair.items[1])
    return transform(replace(function, body=body, result=None), [EliminateDead()])
