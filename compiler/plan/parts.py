"""Parts of an artifact under construction: code, constants, and the calls that it will run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from numpy.typing import NDArray

from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.nodes import Function
from tandem.runtime.aligned_arrays import aligned_copy
from tandem.runtime.artifact import Code, ConstantPlace, Tensor

Argument: TypeAlias = str | Constant
"""A tensor by name, or a constant."""
Progress: TypeAlias = Callable[[str], None]
"""A function that shows one line of text for each step of compilation."""


@dataclass(frozen=True, slots=True)
class Invocation:
    """A call of a kernel or of a stream on named tensors and constants.

    Attributes
    ----------
    name
        Name of the result in the graph.
    outputs
        Names of the tensors of the result: `name`, or `name.0`, `name.1` and so on.
    reason
        Why the host runs the kernel instead of another target.
    replaced
        The operators that it computes, if they are others than the kernel's (`Let.replaced`).
    """

    name: str
    kernel: Function
    operands: tuple[Argument, ...]
    outputs: tuple[str, ...]
    reason: str | None = None
    replaced: tuple[str, ...] = ()


@dataclass
class ArtifactParts:
    """Code and constants of an unfinished artifact; equal constants are stored once.

    Attributes
    ----------
    types
        Types of the graph's tensors; constants get names that are not among these.
    progress
        Shows the messages of back ends.
    code
        The code of the steps, by name.
    """

    types: Mapping[str, object]
    progress: Progress
    code: dict[str, Code] = field(default_factory=dict)
    constants: dict[str, NDArray[Any]] = field(default_factory=dict)
    _names: dict[tuple[str, str], str] = field(default_factory=dict)

    def tensor_of(self, operand: Argument) -> str:
        """The name of the tensor that holds an operand."""
        if isinstance(operand, str):
            return operand
        return self.packed_tensor([operand], lambda array: array)

    def packed_tensor(
        self,
        operands: Sequence[Argument],
        pack: Callable[..., NDArray[Any]],
        layout: str = "",
    ) -> str:
        """The name of the tensor that holds constants in another layout.

        Parameters
        ----------
        pack, layout
            A function of the constants' arrays that gives that layout, and a unique name of it.
        """
        constants = [each for each in operands if isinstance(each, Constant)]
        assert len(constants) == len(operands), "only constants are packed"
        key = " ".join(each.digest for each in constants), layout
        if key not in self._names:
            array = pack(*(each.array for each in constants))
            name = f"constant_{len(self._names)}"
            while name in self.types:
                name = f"{name}_"
            self._names[key] = name
            self.constants[name] = aligned_copy(array)
        return self._names[key]

    def constant_tensors(self) -> tuple[Tensor, ...]:
        """The constants as tensors of the artifact."""
        return tuple(
            Tensor(name, array.shape, array.dtype.name, ConstantPlace())
            for name, array in self.constants.items()
        )
