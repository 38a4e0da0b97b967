"""Attributes of ONNX nodes, with their operators' defaults, and errors about nodes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import Enum
from typing import Any, NoReturn, TypeVar

import numpy as np
from onnx import AttributeProto, GraphProto

from tandem.compiler.errors import FrontendError, UnsupportedError
from tandem.compiler.frontends.onnx.values import Array, array_of
from tandem.compiler.graph.attributes import Attributes, declared

A = TypeVar("A", bound=Attributes)
T = TypeVar("T")


class NodeAttributes:
    """The attributes of a node.

    Parameters
    ----------
    where
        The node's description in error messages.
    given, defaults
        The attributes that the node sets, and those that its operator declares, by name.
    """

    def __init__(
        self,
        where: str,
        given: Mapping[str, AttributeProto],
        defaults: Mapping[str, AttributeProto],
    ) -> None:
        self._where = where
        self._given = given
        self._declared = defaults

    def has(self, name: str) -> bool:
        """Whether this version of the operator declares an attribute."""
        return name in self._declared

    def integer(self, name: str, otherwise: int | None = None) -> int:
        """An integer attribute; `otherwise` if it is missing."""
        found = self._attribute(name, AttributeProto.INT)
        given = otherwise if found is None else int(found.i)
        return self.needed(given, f"attribute {name} is missing")

    def real(self, name: str, otherwise: float | None = None) -> float:
        """A float attribute; `otherwise` if it is missing."""
        found = self._attribute(name, AttributeProto.FLOAT)
        given = otherwise if found is None else float(found.f)
        number = self.needed(given, f"attribute {name} is missing")
        if np.isnan(number):
            self.refuse(f"attribute {name} is NaN")
        return number

    def text(self, name: str, otherwise: str | None = None) -> str:
        """A string attribute; `otherwise` if it is missing."""
        found = self._attribute(name, AttributeProto.STRING)
        given = otherwise if found is None else bytes(found.s).decode(errors="replace")
        return self.needed(given, f"attribute {name} is missing")

    def word(self, name: str, allowed: Collection[str], otherwise: str | None = None) -> str:
        """A string attribute that must be in `allowed`; `otherwise` if it is missing."""
        found = self.text(name, otherwise)
        if found not in allowed:
            self.refuse(f"{name} is {found!r}")
        return found

    def integers(self, name: str) -> tuple[int, ...] | None:
        """An attribute of integers, or None."""
        found = self._attribute(name, AttributeProto.INTS)
        return None if found is None else tuple(map(int, found.ints))

    def tensor(self, name: str) -> Array | None:
        """A tensor attribute, or None."""
        found = self._attribute(name, AttributeProto.TENSOR)
        return None if found is None else array_of(found.t, f"{self._where}: attribute {name}")

    def given(self) -> tuple[str, ...]:
        """The names of the attributes that the node sets."""
        return tuple(self._given)

    def reals(self, name: str) -> tuple[float, ...]:
        """An attribute of floats; empty if it is missing."""
        found = self._attribute(name, AttributeProto.FLOATS)
        return () if found is None else tuple(map(float, found.floats))

    def texts(self, name: str) -> tuple[str, ...]:
        """An attribute of strings; empty if it is missing."""
        found = self._attribute(name, AttributeProto.STRINGS)
        return () if found is None else tuple(bytes(each).decode() for each in found.strings)

    def attributes(self, kind: type[A]) -> A:
        """The node's attributes as graph attributes; defaults for those that this version lacks."""
        given: dict[str, Any] = {}
        for name, hint in declared(kind).items():
            if not self.has(name):
                continue
            if isinstance(hint, type) and issubclass(hint, Enum):
                word = self.text(name)
                if word not in {choice.value for choice in hint}:
                    self.refuse(f"attribute {name} is {word!r}")
                given[name] = hint(word)
            elif hint in (bool, int):
                given[name] = hint(self.integer(name))
            else:
                given[name] = self.real(name) if hint is float else self.integers(name)
        return kind(**given)

    def _attribute(self, name: str, kind: int) -> AttributeProto | None:
        default = self._declared.get(name)
        found = self._given.get(name)
        if found is None and default is not None:
            found = default if default.type != AttributeProto.UNDEFINED else None
        if found is not None and found.type != kind:
            self.refuse(f"attribute {name} is of another type")
        if found is not None and found.ref_attr_name:
            self.refuse(f"attribute {name} refers to {found.ref_attr_name} of no function")
        return found

    def graph(self, name: str) -> GraphProto:
        """An attribute that is a graph."""
        found = self._attribute(name, AttributeProto.GRAPH)
        return self.needed(found, f"attribute {name} is missing").g

    # Errors ---------------------------------------------------------------------------------------

    def needed(self, found: T | None, refusal: str) -> T:
        """The argument; raises the error `refusal` if it is None."""
        if found is None:
            self.refuse(refusal)
        return found

    def refuse(self, reason: str) -> NoReturn:
        """Raise a `FrontendError`: the node is not legal."""
        raise FrontendError(f"{self._where}: {reason}")

    def unsupported(self, reason: str) -> NoReturn:
        """Raise an `UnsupportedError` about the node."""
        raise UnsupportedError(f"{self._where}: not supported: {reason}")
