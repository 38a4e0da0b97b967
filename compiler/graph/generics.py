"""Functions of open element types: copies for those with which a program calls them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tandem.compiler.errors import GraphError
from tandem.compiler.graph.binding import bind_all
from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.infer import infer
from tandem.compiler.graph.nodes import (
    Atom,
    Call,
    Construct,
    Fun,
    Function,
    Global,
    Gradient,
    Let,
    Param,
    Partial,
)
from tandem.compiler.graph.syntax import unique_name
from tandem.compiler.graph.types import FunctionType, Type, elements_of, specialised
from tandem.compiler.graph.visit import rewrite_lets
from tandem.compiler.ir.dtypes import DType


def monomorphic(program: Function) -> Function:
    """The program with copies of functions of open element types, each for known ones.

    ::

        func @f[T](x: T[N]) -> T[N]:            func @f_int8(x: int8[N]) -> int8[N]:
          ...                            ->       ...
        func @main(x: int8[2]):                 func @main(x: int8[2]):
          y = @f(x)                               y = @f_int8(x)

    The copies are checked, and not the function that they are of.

    Raises
    ------
    GraphError
        The program's own function has open element types; arguments do not fit, or leave some open.
    """
    if not any(function.elements for function in program.named.values()):
        return program
    if program.elements:
        raise GraphError(
            f"function {program.name}: {', '.join(program.elements)} is open: a program's own "
            "function has no open element types"
        )
    return _Copies(program).program()


_Elements = tuple[tuple[str, DType], ...]


@dataclass
class _Copies:
    """The copies made so far, by function and element types, and those still to be made."""

    whole: Function
    names: dict[tuple[str, _Elements], str] = field(default_factory=dict)
    waiting: list[tuple[str, _Elements]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.taken = {*self.whole.named}

    def program(self) -> Function:
        """The program of copies."""
        made: dict[str, list[Function]] = {name: [] for name in self.whole.named}
        for function in (replace(self.whole, definitions=()), *self.whole.definitions):
            if not function.elements:
                made[function.name].append(self._resolved(function))
        while self.waiting:
            name, elements = self.waiting.pop(0)
            generic = self.whole.named[name]
            copy = _with_elements(generic, dict(elements), self.names[name, elements])
            made[name].append(self._resolved(copy))
        (own,) = made.pop(self.whole.name)
        return replace(own, definitions=tuple(each for group in made.values() for each in group))

    def _resolved(self, function: Function) -> Function:
        """The function with calls of copies."""
        types = infer(function)

        def change(let: Let) -> tuple[Let, ...]:
            match let.value:
                case Call(callee=Global() as callee, args=args) if _is_open(callee):
                    given = tuple(_type(each, types) for each in args)
                    whole = FunctionType(given, types[let.name])
                    value = replace(let.value, callee=self._copy(callee, whole))
                    return (replace(let, value=value),)
                case Partial(callee=Global() as callee, args=args) if _is_open(callee):
                    rest = types[let.name]
                    assert isinstance(rest, FunctionType), "inferred"
                    given = (*(_type(each, types) for each in args), *rest.params)
                    whole = FunctionType(given, rest.result)
                    return (replace(let, value=Partial(self._copy(callee, whole), args)),)
                case Gradient(callee=callee) if _is_open(callee):
                    own = types[let.name]
                    assert isinstance(own, FunctionType), "inferred"
                    bound = bind_all(callee.type.params, own.params)
                    assert bound is not None, "inferred"
                    result = specialised(callee.type.result, bound.sizes, bound.elements)
                    copy = self._copy(callee, FunctionType(own.params, result))
                    return (replace(let, value=replace(let.value, callee=copy)),)
                case _:
                    return (let,)

        return replace(function, body=rewrite_lets(function.body, change))

    def _copy(self, callee: Global, used: FunctionType) -> Global:
        """The copy of a function for its use as a function of a type."""
        bound = bind_all((callee.type,), (used,))
        assert bound is not None, "inferred"
        key = callee.name, tuple(sorted(bound.elements.items(), key=lambda item: item[0]))
        if key not in self.names:
            stem = "_".join([callee.name, *(str(dtype) for _, dtype in key[1])])
            self.names[key] = unique_name(stem, self.taken)
            self.waiting.append(key)
        type_ = specialised(callee.type, {}, bound.elements)
        assert isinstance(type_, FunctionType), "specialised types keep their form"
        return Global(self.names[key], type_)


def _is_open(callee: Global) -> bool:
    return bool(elements_of(callee.type))


def _type(atom: Atom, types: Mapping[str, Type]) -> Type:
    return atom.type if isinstance(atom, Constant) else types[atom.name]


def _with_elements(function: Function, elements: Mapping[str, DType], name: str) -> Function:
    """The function for known element types."""

    def known(type_: Type | None) -> Type | None:
        return None if type_ is None else specialised(type_, {}, elements)

    def params(all_: tuple[Param, ...]) -> tuple[Param, ...]:
        return tuple(Param(each.name, specialised(each.type, {}, elements)) for each in all_)

    def change(let: Let) -> tuple[Let, ...]:
        value = let.value
        if isinstance(value, Fun):
            value = replace(value, params=params(value.params), result=known(value.result))
        elif isinstance(value, Construct):
            own = (specialised(each, {}, elements) for each in value.arguments)
            value = replace(value, arguments=tuple(own))
        return (replace(let, value=value, type=known(let.type)),)

    return replace(
        function,
        name=name,
        params=params(function.params),
        body=rewrite_lets(function.body, change),
        result=known(function.result),
        elements=(),
    )
