"""What an offloaded kernel computes, read from its operators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from compiler.errors import BuildError
from compiler.graph.attributes import Attributes
from compiler.graph.constant import Constant
from compiler.graph.nodes import Atom, Call, Function, Let, Var
from compiler.graph.opspec import OpSpec
from compiler.graph.types import TensorType

__all__ = ["Core", "Reading", "numbers", "operand_types", "operands", "read_kernel"]

_AROUND = frozenset({"unpack_data", "pack_data", "reshape", "byte_planes"})
"""Operators that say how tensors lie."""


@dataclass(frozen=True, slots=True)
class Core:
    """An operator of the kernel that computes something.

    Attributes
    ----------
    args
        Packed operands by the name of the parameter, constants, and results of other such
        operators by their name.
    """

    name: str
    operator: str
    args: tuple[Atom, ...]
    attributes: Attributes


@dataclass(frozen=True, slots=True)
class Reading:
    """A call of a kernel, as what it computes.

    Attributes
    ----------
    cores
        In order.
    shape
        Of the result, before it is packed: [N, C] or [N, C, H, W].
    wide
        The result leaves in bytes.
    """

    kernel: Function
    cores: tuple[Core, ...]
    shape: tuple[int, ...]
    wide: bool

    @property
    def operators(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(each.operator for each in self.cores)

    def packed_shape(self, param: str) -> tuple[int, ...]:
        """Of a packed operand."""
        (found,) = (each.type for each in self.kernel.params if each.name == param)
        assert isinstance(found, TensorType), "verified"
        return found.static_shape(param)

    def fail(self, reason: str) -> NoReturn:
        """The accelerator does not do it."""
        raise BuildError(f"kernel {self.kernel.name}: {reason}")


def read_kernel(call: Call) -> Reading:
    """What a call of an offloaded kernel computes.

    Raises
    ------
    BuildError
        Its result is not packed.
    """
    kernel = call.callee
    assert isinstance(kernel, Function), "an offloaded kernel"
    return _Reader(kernel, call.args).read()


class _Reader:
    def __init__(self, kernel: Function, args: tuple[Atom, ...]) -> None:
        self._kernel = kernel
        self._known: dict[str, Atom] = {}
        for param, arg in zip(kernel.params, args, strict=True):
            self._known[param.name] = arg if isinstance(arg, Constant) else Var(param.name)

    def read(self) -> Reading:
        cores: list[Core] = []
        shape: tuple[int, ...] = ()
        wide = False
        for let in self._kernel.body.lets:
            call = let.value
            assert isinstance(call, Call), "offloaded kernels are made of operators"
            assert isinstance(call.callee, OpSpec), "offloaded kernels are made of operators"
            operator = call.callee.name
            args = tuple(self._atom(each) for each in call.args)
            if operator in _AROUND:
                self._known[let.name] = args[0]
                wide = wide or operator == "byte_planes"
                continue
            shape = _shape(let)
            self._known[let.name] = Var(let.name)
            cores.append(Core(let.name, operator, args, call.attributes))
        return Reading(self._kernel, tuple(cores), shape, wide)

    def _atom(self, atom: Atom) -> Atom:
        return atom if isinstance(atom, Constant) else self._known[atom.name]


def _shape(let: Let) -> tuple[int, ...]:
    assert isinstance(let.type, TensorType), "kernels know the types of their values"
    return let.type.static_shape(let.name)


def operands(call: Call) -> dict[str, str]:
    """The packed tensors of a call: by the kernel's parameter, the value that it is given."""
    assert isinstance(call.callee, Function), "an offloaded kernel"
    pairs = zip(call.callee.params, call.args, strict=True)
    return {param.name: arg.name for param, arg in pairs if isinstance(arg, Var)}


def operand_types(call: Call) -> dict[str, TensorType]:
    """The packed tensors that a call is given, and their types."""
    assert isinstance(call.callee, Function), "an offloaded kernel"
    found: dict[str, TensorType] = {}
    for param, arg in zip(call.callee.params, call.args, strict=True):
        assert isinstance(param.type, TensorType), "verified: kernels take tensors"
        if isinstance(arg, Var):
            found[arg.name] = param.type
    return found


def numbers(atom: Atom) -> NDArray[np.generic]:
    """A constant's array."""
    assert isinstance(atom, Constant), "matched"
    return atom.array
