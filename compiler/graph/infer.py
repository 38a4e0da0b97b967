"""Type inference: the types of a function's values from the types of its parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NoReturn, assert_never

from tandem.compiler.errors import GraphError
from tandem.compiler.graph.attributes import Attributes
from tandem.compiler.graph.binding import bind_all
from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.data_types import (
    arguments_of,
    constructor_of,
    constructors_of,
    generic,
)
from tandem.compiler.graph.gradient_query import gradient_of_value
from tandem.compiler.graph.nodes import (
    Apply,
    Atom,
    Body,
    Call,
    Construct,
    Fun,
    Function,
    Global,
    Gradient,
    If,
    Let,
    Match,
    OperatorTypes,
    Partial,
    Tuple,
    TupleGet,
    Types,
    Value,
    Var,
)
from tandem.compiler.graph.syntax import ELSE
from tandem.compiler.graph.types import (
    DataType,
    FunctionType,
    TensorType,
    TupleType,
    Type,
    elements_of,
    specialised,
    symbols_of,
)
from tandem.compiler.graph.visit import bodies, functions
from tandem.compiler.ir.dtypes import BOOL
from tandem.compiler.ir.syntax import MAX_DEPTH


def infer(function: Function) -> Mapping[str, Type]:
    """The type of every name in the function and its inner bodies, inferred once per function.

    Raises
    ------
    GraphError
        A name is unknown, operands do not fit, or a declared type differs from the inferred type;
        the message names the function and the value.
    """
    return _types(function).names


def result_of(function: Function) -> Type:
    """The type of the function's result; raises the errors of `infer`."""
    return _types(function).result


def _types(function: Function) -> Types:
    found = function.analyses.types
    if found is not None:
        return found
    results: dict[str, Type] = {}
    # `functions` lists callees that are values before callers, the function itself last; those that
    # are called by name are typed by their calls.
    for callee in functions(function):
        found = callee.analyses.types
        if found is None:
            calls = function.analyses.calls
            found = callee.analyses.types = _Inference(callee, results, calls).types()
            callee.analyses.calls = calls
        results[callee.digest] = found.result
    assert found is not None, "there is at least the function itself"
    return found


class _Inference:
    """Type inference of one function."""

    def __init__(
        self, function: Function, results: Mapping[str, Type], calls: OperatorTypes
    ) -> None:
        """`results` are callees' result types by digest; `calls` is `AnalysisCache.calls`."""
        self._function = function
        self._results = results
        self._calls = calls
        self._types = {param.name: param.type for param in function.params}

    def types(self) -> Types:
        """The types of the function's names, and of its result."""
        declared = self._function.result
        result = self._body(self._function.body, self._types, 1)
        if declared is not None and declared != result:
            self._fail(f"the result is {result}, and is declared as {declared}")
        return Types(MappingProxyType(self._types), result)

    def _fail(self, message: str) -> NoReturn:
        raise GraphError(f"function {self._function.name}: {message}")

    def _body(self, body: Body, around: Mapping[str, Type], depth: int) -> Type:
        if depth > MAX_DEPTH:
            self._fail(f"nested more than {MAX_DEPTH} deep")
        scope = dict(around)
        for let in body.lets:
            type_ = self._let(let, scope, depth)
            if let.type is not None and let.type != type_:
                self._fail(f"{let.name} is {type_}, and is declared as {let.type}")
            scope[let.name] = self._types[let.name] = type_
        return self._atom("the result", body.result, scope)

    def _atom(self, user: str, atom: Atom, scope: Mapping[str, Type]) -> Type:
        if isinstance(atom, Constant):
            return atom.type
        if atom.name not in scope:
            where = "only inside another body" if atom.name in self._types else "nowhere before"
            self._fail(f"{user} uses {atom.name}, which is defined {where}")
        return scope[atom.name]

    def _let(self, let: Let, scope: Mapping[str, Type], depth: int) -> Type:
        value: Value = let.value
        match value:
            case Call(callee=callee, args=args, attributes=attributes):
                types = [self._atom(let.name, each, scope) for each in args]
                if isinstance(callee, Function):
                    params = tuple(param.type for param in callee.params)
                    type_ = FunctionType(params, self._results[callee.digest])
                    return self._called(let.name, callee.name, type_, types, attributes)
                if isinstance(callee, Global):
                    return self._called(let.name, callee.name, callee.type, types, attributes)
                # `repr` distinguishes True from 1, of which only one is legal.
                key = callee, repr(attributes), tuple(types)
                if key not in self._calls:
                    try:
                        self._calls[key] = callee.result(let.name, types, attributes)
                    except GraphError as error:
                        self._fail(str(error))
                return self._calls[key]
            case Tuple(items=items):
                return TupleType(tuple(self._atom(let.name, each, scope) for each in items))
            case TupleGet(operand=operand, index=index):
                tuple_type = self._atom(let.name, operand, scope)
                if not isinstance(tuple_type, TupleType):
                    self._fail(f"{let.name} is a part of {operand.name}, which is {tuple_type}")
                if not 0 <= index < len(tuple_type.items):
                    self._fail(
                        f"{let.name} is {operand.name}[{index}], and that is {tuple_type}, of "
                        f"{len(tuple_type.items)} values"
                    )
                return tuple_type.items[index]
            case If():
                return self._if(let.name, value, scope, depth)
            case Partial(callee=callee, args=args):
                types = [self._atom(let.name, each, scope) for each in args]
                if isinstance(callee, Var):
                    return self._rest(let.name, callee, types, scope)
                return self._partial(let, callee, types)
            case Gradient():
                return self._gradient(let, value)
            case Apply(callee=callee, args=args):
                types = [self._atom(let.name, each, scope) for each in args]
                type_ = self._rest(let.name, callee, types, scope)
                if type_.params:
                    self._misfit(let.name, "calls", callee, types, scope[callee.name])
                return type_.result
            case Fun():
                return self._fun(let.name, value, scope, depth)
            case Construct(args=args):
                types = [self._atom(let.name, each, scope) for each in args]
                return self._construct(let.name, value, types)
            case Match():
                return self._match(let.name, value, scope, depth)
            case _:
                assert_never(value)

    def _if(self, name: str, value: If, scope: Mapping[str, Type], depth: int) -> Type:
        condition = self._atom(name, value.condition, scope)
        if condition != TensorType((), BOOL):
            self._fail(f"the condition of {name} is {condition}, and has to be bool[]")
        then, otherwise = (self._body(each, scope, depth + 1) for each in bodies(value))
        if then != otherwise:
            self._fail(f"{name} is {then} if the condition holds, else {otherwise}")
        return then

    def _construct(self, name: str, value: Construct, types: Sequence[Type]) -> DataType:
        declared, constructor = value.declared, value.constructor
        declaration = declared.of_constructor(constructor)
        if declaration is None:
            self._fail(f"{name} calls {constructor}, which no data type declares")
        params = declaration.params
        if value.arguments and len(value.arguments) != len(params):
            self._fail(
                f"{name} gives {constructor} {len(value.arguments)} types, and {declaration.name} "
                f"takes {len(params)}"
            )
        known = dict(zip(params, value.arguments, strict=False))
        found = arguments_of(declaration, constructor, types, declared)
        given = f"{constructor}({', '.join(map(str, types))})"
        if found is None or any(known.get(each, said) != said for each, said in found.items()):
            type_ = DataType(declaration.name, tuple(known.values()), declared)
            wanted = constructor_of(type_ if known else generic(declaration, declared), constructor)
            self._fail(f"{name} calls {given}, which is {wanted}")
        unknown = [each for each in params if each not in known and each not in found]
        if unknown:
            self._fail(
                f"{name}: {given} leaves {', '.join(unknown)} of {declaration.name} open: say the "
                f"types, as {constructor}[{', '.join('float32[]' for _ in params)}]"
            )
        arguments = tuple(known[each] if known else found[each] for each in params)
        return DataType(declaration.name, arguments, declared)

    def _match(self, name: str, value: Match, scope: Mapping[str, Type], depth: int) -> Type:
        type_ = self._atom(name, value.operand, scope)
        if not isinstance(type_, DataType):
            self._fail(f"{name} matches {value.operand.name}, which is {type_} and no data type")
        left = {each.name: each for each in constructors_of(type_)}
        every = ", ".join(left)
        results: dict[str, Type] = {}
        for arm in value.arms:
            shown = arm.constructor or ELSE
            if not left or shown in results:
                self._fail(f"the arm {shown} of {name} is never reached: others come before it")
            constructor = constructor_of(type_, arm.constructor)
            if arm.constructor is not None and constructor is None:
                self._fail(f"{name}: {type_} has no constructor {shown}: {every} are allowed")
            fields = () if constructor is None else constructor.fields
            if len(arm.fields) != len(fields):
                self._fail(
                    f"the arm {shown} of {name} names {len(arm.fields)} fields, and "
                    f"{constructor or ELSE} has {len(fields)}"
                )
            own = dict(zip(arm.fields, fields, strict=True))
            self._types |= own
            results[shown] = self._body(arm.body, {**scope, **own}, depth + 1)
            left = {} if constructor is None else {k: v for k, v in left.items() if k != shown}
        if left:
            self._fail(f"{name}: a match of {type_} lacks {', '.join(left)}")
        first = next(iter(results))
        for shown, result in results.items():
            if result != results[first]:
                self._fail(f"{name} is {results[first]} for {first}, and {result} for {shown}")
        return results[first]

    def _fun(self, name: str, value: Fun, scope: Mapping[str, Type], depth: int) -> FunctionType:
        own = {param.name: param.type for param in value.params}
        self._types |= own
        result = self._body(value.body, {**scope, **own}, depth + 1)
        if value.result is not None and value.result != result:
            self._fail(f"the result of {name} is {result}, and is declared as {value.result}")
        return FunctionType(tuple(own.values()), result)

    def _rest(
        self, name: str, callee: Var, types: Sequence[Type], scope: Mapping[str, Type]
    ) -> FunctionType:
        """The type of a function that is a value once its first arguments are given.

        Its symbols are those of the function around, and stand for themselves: nothing is bound.
        """
        type_ = self._atom(name, callee, scope)
        count = len(types)
        if not isinstance(type_, FunctionType):
            self._fail(f"{name} calls {callee.name}, which is {type_} and no function")
        if type_.params[:count] != tuple(types):
            self._misfit(name, "gives arguments to", callee, types, type_)
        return FunctionType(type_.params[count:], type_.result)

    def _partial(self, let: Let, callee: Global, types: Sequence[Type]) -> FunctionType:
        """The type of a function by name once its first arguments are given; the declared type has
        the values of symbols that these leave open."""
        type_, count = callee.type, len(types)
        rest = FunctionType(type_.params[count:], type_.result)
        if isinstance(let.type, FunctionType) and len(let.type.params) == len(rest.params):
            whole = FunctionType((*types, *let.type.params), let.type.result)
            bound = bind_all((type_,), (whole,))
        else:
            bound = bind_all(type_.params[:count], types)
        if bound is None:
            self._misfit(let.name, "takes", callee, types, type_)
        unknown = bound.open_in(rest)
        if unknown:
            self._fail(
                f"{let.name}: {callee.name} is {rest}, with {sorted(unknown)} open: declare the "
                f"type of {let.name}"
            )
        found = specialised(rest, bound.sizes, bound.elements)
        assert isinstance(found, FunctionType), "specialised types keep their form"
        return found

    def _gradient(self, let: Let, value: Gradient) -> FunctionType:
        """The type of a function that gives gradients; the declared type has the values of symbols
        and of open element types."""
        callee, declared = value.callee, let.type
        of = f"{let.name} takes gradients of {callee.name}"
        whole = callee.type
        if isinstance(declared, FunctionType) and len(declared.params) == len(whole.params):
            bound = bind_all(whole.params, declared.params)
            if bound is None:
                self._misfit(let.name, "takes gradients of", callee, declared.params, whole)
            found = specialised(whole, bound.sizes, bound.elements)
            assert isinstance(found, FunctionType), "specialised types keep their form"
            whole = found
        if unknown := symbols_of(whole) | elements_of(whole):
            self._fail(f"{of}, with {sorted(unknown)} open: declare the type of {let.name}")
        result = whole.result
        loss = result.items[0] if isinstance(result, TupleType) and result.items else result
        if not isinstance(loss, TensorType) or loss.shape or not loss.dtype.is_float:
            self._fail(
                f"{of}, which gives {result}: gradients are of a float scalar, or of the first "
                "item of a tuple"
            )
        gradients = [gradient_of_value(each) for each in whole.params]
        wrt = value.wrt or tuple(at for at, each in enumerate(gradients) if each is not None)
        for number in wrt:
            if not 0 <= number < len(gradients):
                self._fail(f"{of} by parameter {number}, and it has {len(gradients)}, from 0 on")
            if gradients[number] is None:
                self._fail(
                    f"{of} by parameter {number}, which is {whole.params[number]}: gradients are "
                    "of floats, in tensors and in tuples of them"
                )
        if len({*wrt}) < len(wrt) or not wrt:
            self._fail(f"{of} by {'a parameter twice' if wrt else 'no parameter with floats'}")
        given = TupleType(tuple(it for at in wrt if (it := gradients[at]) is not None))
        return FunctionType(whole.params, TupleType((result, given)) if value.with_value else given)

    def _misfit(
        self, name: str, verb: str, callee: Global | Var, types: Sequence[Type], type_: Type
    ) -> NoReturn:
        given = f"({', '.join(map(str, types))})"
        self._fail(f"{name} {verb} {callee.name}{given}, which is {type_}")

    def _called(
        self,
        name: str,
        callee: str,
        declared: FunctionType,
        types: Sequence[Type],
        attributes: Attributes,
    ) -> Type:
        given = f"({', '.join(map(str, types))})"
        if type(attributes) is not Attributes:
            self._fail(f"{name} calls function {callee}, which takes no attributes")
        bound = bind_all(declared.params, types)
        if bound is None:
            self._fail(f"{name} calls {callee}{given}, which is {declared}")
        unknown = bound.open_in(declared.result)
        if unknown:
            self._fail(f"{name}: {callee} gives {declared.result}, with {sorted(unknown)} open")
        return specialised(declared.result, bound.sizes, bound.elements)
