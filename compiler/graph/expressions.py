"""Tensor expressions of kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from tandem.compiler import te
from tandem.compiler.errors import GraphError
from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.nodes import Atom, Body, Call, Function, Global, Tuple, TupleGet, Value
from tandem.compiler.graph.opspec import OpSpec
from tandem.compiler.graph.types import Nested, TensorType, leaves
from tandem.compiler.operators.arithmetic import identity
from tandem.compiler.te import Tensor, compute, placeholder

_Value: TypeAlias = Nested[Tensor]


def placeholders(kernel: Function) -> list[Tensor]:
    """A tensor for each parameter of a kernel."""
    found = []
    for param in kernel.params:
        assert isinstance(param.type, TensorType), "verified: kernels take tensors"
        stored = param.type.stored
        found.append(placeholder(stored.static_shape(param.name), stored.dtype, param.name))
    return found


def tensors(function: Function, inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The tensor expressions of a kernel's result on placeholders for its parameters.

    Placeholders have the names of the parameters, and static shapes. Stages have the names of the
    kernel's values; operators name their intermediate stages.

    Raises
    ------
    GraphError
        The function is no kernel: see `verify`.
    """
    names = [each.name for each in function.params]
    return _Expressions(function.name, dict(zip(names, inputs, strict=True))).body(function.body)


class _Expressions:
    def __init__(self, function: str, known: Mapping[str, Tensor]) -> None:
        self._function = function
        self._known: dict[str, _Value] = dict(known)
        self._added = 0

    def body(self, body: Body) -> tuple[Tensor, ...]:
        """The result's tensors."""
        for let in body.lets:
            self._known[let.name] = self._value(let.name, let.value)
        # Outputs are distinct computed tensors: inputs and repeated outputs are copied.
        results: dict[str, Tensor] = {}
        for tensor in leaves(self._atom(body.result)):
            if tensor.source is None or tensor.name in results:
                tensor = identity(tensor, name=self._name("copy"))
            results[tensor.name] = tensor
        return tuple(results.values())

    def _name(self, stem: str) -> str:
        """A name that no value has."""
        self._added += 1
        name = f"{stem}_{self._added}"
        return name if name not in self._known else self._name(stem)

    def _value(self, name: str, value: Value) -> _Value:
        match value:
            case Call(callee=Function(name=callee) | Global(name=callee)):
                raise GraphError(f"function {self._function}: {name} calls the function {callee}")
            case Call(callee=OpSpec() as spec, args=args, attributes=attributes):
                operands = [self._tensor(name, each) for each in args]
                found = spec.compute(name, operands, attributes)
                return found if spec.several else found[0]
            case Tuple(items=items):
                return tuple(self._atom(each) for each in items)
            case TupleGet(operand=operand, index=index):
                whole = self._known[operand.name]
                assert isinstance(whole, tuple), "verified"
                return whole[index]
            case _:
                raise GraphError(f"function {self._function}: {name} is decided at run time")

    def _atom(self, atom: Atom) -> _Value:
        return self._known[atom.name] if not isinstance(atom, Constant) else self._constant(atom)

    def _tensor(self, user: str, atom: Atom) -> Tensor:
        found = self._atom(atom)
        assert isinstance(found, Tensor), f"verified: {user} takes tensors"
        return found

    def _constant(self, constant: Constant) -> Tensor:
        if constant.array.size != 1:
            raise GraphError(
                f"function {self._function} holds a constant {constant.type}: one element only"
            )
        value = te.const(constant.array.item(), constant.type.dtype)
        return compute(constant.array.shape, lambda *_: value, self._name("constant"))
