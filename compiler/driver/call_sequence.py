"""A network as a sequence of calls on named tensors, without tuples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NoReturn, TypeAlias

from compiler.errors import BuildError
from compiler.graph.constant import Constant
from compiler.graph.infer import infer
from compiler.graph.nodes import Atom, Call, Function, FunctionKind, If, Let, Tuple, TupleGet
from compiler.graph.types import Nested, TensorType, Type, leaves, part_names, tensors_of
from compiler.targets.parts import Invocation, Operand

_Value: TypeAlias = Nested[Operand]


@dataclass(frozen=True, slots=True)
class CallSequence:
    """The kernel calls of a function in program order, on named tensors.

    Attributes
    ----------
    types
        Types of all tensors by name; constants have no name.
    results
        The function's results, flattened to tensors.
    """

    invocations: tuple[Invocation, ...]
    types: Mapping[str, TensorType]
    results: tuple[Operand, ...]


def call_sequence(function: Function) -> CallSequence:
    """The call sequence of a function of kernels.

    Raises
    ------
    BuildError
        The function has branches, calls of functions that are no kernels, operators outside of
        kernels, or parameters that are tuples: its memory cannot be planned.
    """
    return _Walk(function).sequence()


@dataclass
class _Walk:
    function: Function
    invocations: list[Invocation] = field(default_factory=list)
    types: dict[str, TensorType] = field(default_factory=dict)
    values: dict[str, _Value] = field(default_factory=dict)

    def sequence(self) -> CallSequence:
        for param in self.function.params:
            if not isinstance(param.type, TensorType):
                self._fail(f"parameter {param.name} is {param.type}: tensors only")
            self._tensor(param.name, param.type)
            self.values[param.name] = param.name
        inferred = infer(self.function)
        for let in self.function.body.lets:
            self.values[let.name] = self._value(let, inferred[let.name])
        results = self._tensors(self.function.body.result)
        return CallSequence(tuple(self.invocations), self.types, results)

    def _atom(self, atom: Atom) -> _Value:
        return atom if isinstance(atom, Constant) else self.values[atom.name]

    def _tensors(self, atom: Atom) -> tuple[Operand, ...]:
        return tuple(leaves(self._atom(atom)))

    def _value(self, let: Let, type_: Type) -> _Value:
        match let.value:
            case Call(
                callee=Function(kind=FunctionKind.KERNEL | FunctionKind.STREAM) as kernel, args=args
            ):
                names = part_names(let.name, type_)
                outputs = tuple(leaves(names))
                for name, tensor in zip(outputs, tensors_of(type_), strict=True):
                    self._tensor(name, tensor)
                operands = tuple(each for arg in args for each in self._tensors(arg))
                self.invocations.append(Invocation(let.name, kernel, operands, outputs, let.reason))
                return names
            case Call(callee=callee):
                self._fail(f"{let.name} calls {callee.name}, which is no kernel and no stream")
            case Tuple(items=items):
                return tuple(self._atom(each) for each in items)
            case TupleGet(operand=operand, index=index):
                whole = self.values[operand.name]
                assert isinstance(whole, tuple), "verified"
                return whole[index]
            case If():
                self._fail(f"{let.name} is decided when it runs: a plan in advance has no branches")

    def _tensor(self, name: str, type_: TensorType) -> None:
        type_.static_shape(f"{self.function.name}: {name}")
        self.types[name] = type_

    def _fail(self, reason: str) -> NoReturn:
        raise BuildError(f"function {self.function.name}: {reason}")
