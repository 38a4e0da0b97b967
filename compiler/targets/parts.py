"""What an artifact under way has so far: code, constants, and the calls that become its steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from numpy.typing import NDArray

from compiler.graph.constant import Constant
from compiler.graph.nodes import Function
from hw.config import HardwareConfig
from runtime.artifact import Constant as Held
from runtime.artifact import StreamCode, Tensor
from runtime.memory import aligned_copy
from runtime.native import ObjectCode

__all__ = ["Invocation", "Operand", "Parts", "Report"]

Operand: TypeAlias = str | Constant
"""A tensor by name, or its value."""
Report: TypeAlias = Callable[[str], None]
"""Is told what is being done."""


@dataclass(frozen=True, slots=True)
class Invocation:
    """A call of a kernel, or of a stream.

    Attributes
    ----------
    name
        What the graph calls its result.
    outputs
        A tensor for each that the kernel gives: called so too, or `name.0`, `name.1` and so on.
    reason
        Why the host does it, where another target was asked.
    """

    name: str
    kernel: Function
    operands: tuple[Operand, ...]
    outputs: tuple[str, ...]
    reason: str | None = None


@dataclass
class Parts:
    """Code and constants so far: of equal ones one.

    Attributes
    ----------
    types
        Of the tensors that have names already.
    config
        Of the machine that runs the streams.
    """

    types: Mapping[str, object]
    tell: Report
    kernels: dict[str, ObjectCode] = field(default_factory=dict)
    constants: dict[str, NDArray[Any]] = field(default_factory=dict)
    streams: dict[str, StreamCode] = field(default_factory=dict)
    config: HardwareConfig | None = None
    _held: dict[tuple[str, str], str] = field(default_factory=dict)

    def tensor_of(
        self,
        operand: Operand,
        packed: Callable[[NDArray[Any]], NDArray[Any]] | None = None,
        how: str = "",
    ) -> str:
        """The name of the tensor that holds an operand.

        Parameters
        ----------
        packed, how
            Brings a constant into the order that code wants, and what tells that order from others.
        """
        if isinstance(operand, str):
            return operand
        key = operand.digest, how
        if key not in self._held:
            array = operand.array if packed is None else packed(operand.array)
            name = f"constant_{len(self._held)}"
            while name in self.types:
                name = f"{name}_"
            self._held[key] = name
            self.constants[name] = aligned_copy(array)
        return self._held[key]

    def held(self) -> tuple[Tensor, ...]:
        """The constants as tensors."""
        return tuple(
            Tensor(name, array.shape, array.dtype.name, Held())
            for name, array in self.constants.items()
        )
