"""Evaluation of graphs, value by value. A `Runner` executes single operators and kernels.

Functions and bodies are generators that yield the calls whose results they need, and end with a
value or with a tail call, so that neither recursion nor loops take Python's stack.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias, assert_never

from numpy.typing import NDArray

from tandem.compiler.errors import EvaluationError, GraphError
from tandem.compiler.graph.attributes import Attributes
from tandem.compiler.graph.binding import bind
from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.data_types import data_types_in
from tandem.compiler.graph.expressions import tensors
from tandem.compiler.graph.infer import result_of
from tandem.compiler.graph.nodes import (
    Apply,
    Atom,
    Body,
    Call,
    Construct,
    Fun,
    Function,
    FunctionKind,
    Global,
    Gradient,
    If,
    Match,
    Partial,
    Tuple,
    TupleGet,
    Var,
)
from tandem.compiler.graph.opspec import AnyOp, OpSpec
from tandem.compiler.graph.types import (
    DataType,
    FunctionType,
    GenericType,
    Nested,
    TensorType,
    TupleType,
    Type,
    has_functions,
    leaves,
    stored,
    symbols_of,
)
from tandem.compiler.graph.verify import verify
from tandem.compiler.ir import interpreter
from tandem.compiler.ir.dtypes import dtype_of
from tandem.compiler.te import Tensor, placeholder
from tandem.compiler.te.build import program_of

Array: TypeAlias = NDArray[Any]
NestedArray: TypeAlias = Nested[Array]
"""A value of a graph: an array, or a tuple of values."""


@dataclass(frozen=True, slots=True, eq=False)
class _FunctionValue:
    """A value that is a function.

    Attributes
    ----------
    name
        The function's name; of one that is written in a function, the name of that.
    around
        The values that the body may use.
    args
        The first arguments.
    """

    name: str
    params: tuple[str, ...]
    body: Body
    around: Mapping[str, _Held]
    args: tuple[_Held, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class _DataValue:
    """A value of a data type: its constructor, and what that holds."""

    constructor: str
    fields: tuple[_Held, ...]


_Held: TypeAlias = Nested[Array | _FunctionValue | _DataValue]
"""A value within a program: an array, a function, a value of a data type, or a tuple of values."""

MAX_CALLS: Final = 1000
"""The maximum number of calls that wait for the result of another call; tail calls do not wait."""


@dataclass(frozen=True, slots=True)
class Computation:
    """An operator or a kernel, on operands of static types.

    Attributes
    ----------
    key
        Computations with equal keys are equal.
    operands
        Names and types of the operands.
    compute
        Maps the operands' tensors to the output tensors.
    """

    key: Hashable
    operands: Sequence[tuple[str, TensorType]]
    compute: Callable[[Sequence[Tensor]], Sequence[Tensor]]

    def tensors(self) -> tuple[Sequence[Tensor], Sequence[Tensor]]:
        """The tensor expressions of the outputs, and the placeholders of the inputs."""
        inputs = [
            placeholder(type_.static_shape(name), type_.dtype, name)
            for name, type_ in self.operands
        ]
        return self.compute(inputs), inputs


class Runner(ABC):
    """Executes computations on arrays."""

    @abstractmethod
    def prepare(self, computations: Iterable[Computation]) -> None:
        """Compiles computations ahead of time; a runner without compilation does nothing."""

    @abstractmethod
    def __call__(self, computation: Computation, arrays: Sequence[Array]) -> Sequence[Array]:
        """The output arrays of a computation for its input arrays."""


class Interpreter(Runner):
    """Executes computations by the loop language's interpreter: slow, for reference results."""

    def prepare(self, computations: Iterable[Computation]) -> None:
        """Does nothing: the interpreter does not compile."""

    def __call__(self, computation: Computation, arrays: Sequence[Array]) -> Sequence[Array]:
        return interpreter.run(program_of(*computation.tensors()), arrays)


Observe: TypeAlias = Callable[[str, str, NestedArray], None]
"""Takes the name of a function, of a value in it, and the value."""


def evaluate(
    function: Function,
    args: Sequence[NestedArray],
    run: Runner | None = None,
    observe: Observe | None = None,
) -> NestedArray:
    """The function's result for the arguments; `run` defaults to the interpreter. Arrays of tensors
    in layouts are as these are stored.

    Parameters
    ----------
    observe
        Called for parameters and values of the function, of bodies in it and of functions that it
        calls, whenever they are computed; not for those within kernels.

    Raises
    ------
    GraphError
        The function is not legal, takes or gives functions or values of data types, or the
        arguments do not fit its parameters.
    EvaluationError
        More than `MAX_CALLS` calls wait for results: a recursion without end.
    """
    verify(function)
    check_ports(function)
    types = tuple(map(type_of, args))
    params = tuple(stored(each.type) for each in function.params)
    if bind(params, types) is None:
        raise GraphError(
            f"function {function.name} takes {TupleType(params)}, and is given {TupleType(types)}"
        )
    run = run or Interpreter()
    run.prepare(_static_kernels(function))
    return _arrays(_run(_Call(function, args), _Evaluation(function.named, run, observe)))


def check_ports(function: Function) -> None:
    """Raise `GraphError` if a program takes or gives functions or values of data types: they are
    values within programs."""
    for param in function.params:
        if has_functions(param.type) or any(data_types_in(param.type)):
            raise GraphError(
                f"function {function.name} takes {param.name}, which is {param.type}: programs "
                "take tensors, and tuples of them"
            )
    result = result_of(function)
    if has_functions(result) or any(data_types_in(result)):
        raise GraphError(
            f"function {function.name} gives {result}: programs give tensors, and tuples of them"
        )


def run_call(call: Call, args: Sequence[NestedArray], run: Runner) -> NestedArray:
    """The result of a call of an operator, or of a function as a value."""
    callee = call.callee
    assert not isinstance(callee, Global), "calls by name need a program"
    if isinstance(callee, Function):
        return _arrays(_run(_Call(callee, args), _Evaluation({}, run)))
    return _operator(callee, call.attributes, args, run)


def _operator(
    callee: AnyOp, attributes: Attributes, args: Sequence[_Held], run: Runner
) -> NestedArray:
    arrays = [_array(each) for each in args]
    types = tuple(map(_tensor, arrays))
    computation = Computation(
        # `repr` distinguishes 0.0 from -0.0, which are equal but give different results.
        (callee, repr(attributes), types),
        [(f"operand_{number}", each) for number, each in enumerate(types)],
        lambda inputs: callee.compute("result", inputs, attributes),
    )
    found = tuple(run(computation, arrays))
    return found if callee.several else found[0]


def type_of(value: NestedArray) -> Type:
    """The type of a value."""
    return TupleType(tuple(map(type_of, value))) if isinstance(value, tuple) else _tensor(value)


def _tensor(array: Array) -> TensorType:
    return TensorType(array.shape, dtype_of(array.dtype.name))


def _static_kernels(function: Function) -> Iterator[Computation]:
    """The kernels with static parameter types that the function calls unconditionally."""
    for let in function.body.lets:
        match let.value:
            case Call(callee=Function(kind=FunctionKind.KERNEL) as kernel):
                types = [param.type for param in kernel.params]
                tensors_ = [each.stored for each in types if isinstance(each, TensorType)]
                if not any(map(symbols_of, types)):
                    yield _computation(kernel, tensors_)


def _computation(kernel: Function, types: Sequence[TensorType]) -> Computation:
    return Computation(
        # The digest must not depend on the name: programs may name equal kernels differently.
        (replace(kernel, name="kernel").digest, tuple(types)),
        [(param.name, type_) for param, type_ in zip(kernel.params, types, strict=True)],
        lambda inputs: tensors(kernel, inputs),
    )


@dataclass(frozen=True, slots=True)
class _Call:
    """A call of a function that is to be run."""

    function: Function | _FunctionValue
    args: Sequence[_Held]


_Running: TypeAlias = Generator[_Call, _Held, "_Held | _Call"]
"""The execution of a body: yields calls, is sent their results; ends with its result, or with the
call whose result is its result."""


def _run(call: _Call, evaluation: _Evaluation) -> _Held:
    """The result of a call."""
    waiting: list[_Running] = [evaluation.function(call)]
    result: _Held | None = None
    while True:
        try:
            needed = waiting[-1].send(result)  # type: ignore[arg-type]  # None starts a generator
        except StopIteration as stop:
            waiting.pop()
            if isinstance(stop.value, _Call):
                waiting.append(evaluation.function(stop.value))
                result = None
            elif not waiting:
                return stop.value
            else:
                result = stop.value
        else:
            if len(waiting) >= MAX_CALLS:
                raise EvaluationError(
                    f"function {needed.function.name}: more than {MAX_CALLS} calls wait for results"
                )
            waiting.append(evaluation.function(needed))
            result = None


@dataclass(frozen=True, slots=True)
class _Evaluation:
    """The functions that can be called by name, the runner, and who observes values."""

    named: Mapping[str, Function]
    run: Runner
    observe: Observe | None = None

    def function(self, call: _Call) -> _Running:
        """The execution of a function."""
        function, args = call.function, call.args
        if isinstance(function, _FunctionValue):
            given = dict(zip(function.params, (*function.args, *args), strict=True))
            for name, value in given.items():
                self._seen(function.name, name, value)
            known = {**function.around, **given}
            return (yield from self._body(function.name, function.body, known, True))
        if function.kind in (FunctionKind.FUNC, FunctionKind.STREAM):
            known = dict(zip((each.name for each in function.params), args, strict=True))
            for name, value in known.items():
                self._seen(function.name, name, value)
            return (yield from self._body(function.name, function.body, known, True))
        arrays = [_array(each) for each in args]
        found = self.run(_computation(function, tuple(map(_tensor, arrays))), arrays)
        return _nest(result_of(function), iter(found))

    def _seen(self, function: str, name: str, value: _Held) -> None:
        if self.observe is not None and _is_plain(value):
            self.observe(function, name, _arrays(value))

    def _body(self, function: str, body: Body, around: Mapping[str, _Held], last: bool) -> _Running:
        """The execution of a body of a function; `last` if its result is the function's."""
        known = dict(around)
        for number, let in enumerate(body.lets):
            tail = last and number == len(body.lets) - 1 and body.result == Var(let.name)
            value = let.value
            match value:
                case Call(callee=OpSpec() as spec, args=args, attributes=attributes):
                    arrays = [_atom(each, known) for each in args]
                    known[let.name] = _operator(spec, attributes, arrays, self.run)
                case Call(callee=callee, args=args):
                    assert not isinstance(callee, OpSpec), "the case before"
                    called = callee if isinstance(callee, Function) else self.named[callee.name]
                    call = _Call(called, [_atom(each, known) for each in args])
                    if tail:
                        return call
                    known[let.name] = yield call
                case Tuple(items=items):
                    known[let.name] = tuple(_atom(each, known) for each in items)
                case TupleGet(operand=operand, index=index):
                    whole = known[operand.name]
                    assert isinstance(whole, tuple), "verified"
                    known[let.name] = whole[index]
                case If(condition=condition, then=then, otherwise=otherwise):
                    holds = _array(_atom(condition, known))
                    chosen = self._body(function, then if holds else otherwise, known, tail)
                    found = yield from chosen
                    if isinstance(found, _Call):
                        return found
                    known[let.name] = found
                case Apply(callee=callee, args=args):
                    call = _Call(_function(known[callee.name]), [_atom(it, known) for it in args])
                    if tail:
                        return call
                    known[let.name] = yield call
                case Partial(callee=callee, args=args):
                    if isinstance(callee, Global):
                        named = self.named[callee.name]
                        params = tuple(param.name for param in named.params)
                        base = _FunctionValue(named.name, params, named.body, {})
                    else:
                        base = _function(known[callee.name])
                    given = (_atom(each, known) for each in args)
                    known[let.name] = replace(base, args=(*base.args, *given))
                case Construct(constructor=constructor, args=args):
                    fields = tuple(_atom(each, known) for each in args)
                    known[let.name] = _DataValue(constructor, fields)
                case Match(operand=operand, arms=arms):
                    data = known[operand.name]
                    assert isinstance(data, _DataValue), "verified"
                    arm = next(it for it in arms if it.constructor in (data.constructor, None))
                    # The last arm may be for all that is left, and names no fields.
                    own_fields = dict(zip(arm.fields, data.fields, strict=False))
                    for name, field in own_fields.items():
                        self._seen(function, name, field)
                    inside = {**known, **own_fields}
                    found = yield from self._body(function, arm.body, inside, tail)
                    if isinstance(found, _Call):
                        return found
                    known[let.name] = found
                case Gradient():
                    raise AssertionError("verified: programs have none")
                case Fun(params=own, body=inner):
                    params = tuple(param.name for param in own)
                    known[let.name] = _FunctionValue(function, params, inner, known)
                case _:
                    assert_never(value)
            self._seen(function, let.name, known[let.name])
        return _atom(body.result, known)


def _atom(atom: Atom, known: Mapping[str, _Held]) -> _Held:
    return atom.array if isinstance(atom, Constant) else known[atom.name]


def _array(value: _Held) -> Array:
    """The value, of a tensor's type."""
    assert not isinstance(value, tuple | _FunctionValue | _DataValue), "verified"
    return value


def _function(value: _Held) -> _FunctionValue:
    """The value, of a function's type."""
    assert isinstance(value, _FunctionValue), "verified"
    return value


def _is_plain(value: _Held) -> bool:
    """Whether a value is an array, or a tuple of such values."""
    return not any(isinstance(each, _FunctionValue | _DataValue) for each in leaves(value))


def _arrays(value: _Held) -> NestedArray:
    """A value that is plain."""
    return tuple(map(_arrays, value)) if isinstance(value, tuple) else _array(value)


def _nest(type_: Type, arrays: Iterator[Array]) -> NestedArray:
    """The arrays, nested in tuples as the type is."""
    match type_:
        case TensorType():
            return next(arrays)
        case TupleType(items=items):
            return tuple(_nest(each, arrays) for each in items)
        case FunctionType() | GenericType() | DataType():
            raise AssertionError("verified: kernels give tensors, and tuples of them")
        case _:
            assert_never(type_)
