"""The pass that computes per channel before parts of an image are interleaved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.nodes import Atom, Body, Call, Function, Let, Var
from tandem.compiler.graph.operators.parts import Concat, Slice
from tandem.compiler.graph.operators.shapes import DepthToSpace
from tandem.compiler.graph.opspec import OpSpec
from tandem.compiler.graph.syntax import unique_name
from tandem.compiler.graph.types import TensorType, Type
from tandem.compiler.graph.verify import verify
from tandem.compiler.graph.visit import use_counts
from tandem.compiler.quantise.fold_affine import by_channel

_BY_CHANNEL = frozenset({"add", "batch_norm", "clip", "multiply", "relu"})
"""Operators that requantisation does in passing, on an image and constants for each channel."""


@dataclass(frozen=True, slots=True)
class ComputeOnParts:
    """Applies per-channel operators to the parts of an image instead of to the whole.

    ::

        c = concat(p, q, r, s)                       a = relu(p), b = relu(q), ...
        d = depth_to_space(c)              ->        c = concat(a, b, ...)
        y = relu(d)                                  y = depth_to_space(c)

    So the parts, which are the phases of a transposed convolution, are normalised and clipped by
    the layers that compute them. A value with other uses is left as it is.
    """

    name: str = "compute-on-parts"

    def apply(self, function: Function) -> Function:
        """The function with operators on parts; dead values are left to `EliminateDead`."""
        types = dict(verify(function))
        rewriter = _Rewriter(types, set(types), use_counts(function.body))
        for let in function.body.lets:
            rewriter.add(let)
        return replace(function, body=Body(tuple(rewriter.lets), function.body.result))


@dataclass
class _Rewriter:
    """
    Attributes
    ----------
    types
        Types of all values by name, also of new ones.
    made
        What has been emitted, by name.
    """

    types: dict[str, Type]
    taken: set[str]
    uses: Mapping[str, int]
    lets: list[Let] = field(default_factory=list)
    made: dict[str, Let] = field(default_factory=dict)

    def add(self, let: Let) -> None:
        """Emits a value, on parts if it is computed for each channel of interleaved ones."""
        call = let.value
        image = self._operand(call) if isinstance(call, Call) else None
        found = None if image is None else self._moves(image)
        if found is None:
            self._emit(let)
            return
        assert isinstance(call, Call), "it has an operand"
        parts, moves = found
        whole: tuple[Atom, ...] = tuple(
            self._new(let, part, replace(call, args=_with_operand(call, image, part)))
            for part in parts
        )
        *others, last = moves
        for move in others:
            whole = (self._new(let, Var(move.name), _moved(move, whole)),)
        self._emit(replace(let, value=_moved(last, whole)))

    def _operand(self, call: Call) -> Var | None:
        """The image that a per-channel operator reads, if it is the only one."""
        if not isinstance(call.callee, OpSpec) or call.callee.name not in _BY_CHANNEL:
            return None
        images = [operand for operand in call.args if isinstance(operand, Var)]
        if len(images) != 1:
            return None
        type_ = self.types.get(images[0].name)
        if not isinstance(type_, TensorType) or type_.rank != 4:
            return None
        numbers = [operand for operand in call.args if isinstance(operand, Constant)]
        normalises = call.callee.name == "batch_norm"
        if not normalises and any(by_channel(each, type_.shape) is None for each in numbers):
            return None
        return images[0]

    def _moves(self, image: Var) -> tuple[list[Var], list[Let]] | None:
        """The parts that are concatenated and interleaved to an image, and the operators that do
        it; None for other images, and where a step has other users."""
        moves: list[Let] = []
        let = self.made.get(image.name)
        while let is not None and self.uses.get(let.name, 1) == 1:
            moves.insert(0, let)
            match let.value:
                case Call(args=args, attributes=Concat(axis=1)):
                    parts = [part for part in args if isinstance(part, Var)]
                    whole = len(parts) == len(args) and self._have_channels(parts, image)
                    return (parts, moves) if whole and len(moves) > 1 else None
                case Call(args=(Var(name),), attributes=Slice(axes=(2, 3))):
                    let = self.made.get(name)
                case Call(args=(Var(name),), attributes=DepthToSpace(column_row_depth=False)):
                    let = self.made.get(name)
                case _:
                    return None
        return None

    def _have_channels(self, parts: Sequence[Var], image: Var) -> bool:
        """Whether each part has the channels of the image."""
        channels = [self._shape(name)[1] for name in (image.name, *(part.name for part in parts))]
        return len(set(channels)) == 1

    def _shape(self, name: str) -> tuple[object, ...]:
        type_ = self.types[name]
        assert isinstance(type_, TensorType), "verified: operators take tensors"
        return type_.shape

    def _new(self, of: Let, like: Var, value: Call) -> Var:
        """Emits a part of the value of `of`, of the type of `like`, under a new name."""
        name = unique_name(f"{of.name}_part", self.taken)
        self.types[name] = self.types[like.name]
        self._emit(Let(name, value, origin=of.source))
        return Var(name)

    def _emit(self, let: Let) -> None:
        self.lets.append(let)
        self.made[let.name] = let


def _with_operand(call: Call, image: Var | None, part: Var) -> tuple[Atom, ...]:
    """The operands of a call on a part in place of the image."""
    return tuple(part if operand == image else operand for operand in call.args)


def _moved(move: Let, operands: tuple[Atom, ...]) -> Call:
    """What moves elements, on other operands."""
    assert isinstance(move.value, Call), "a change of layout"
    return replace(move.value, args=operands)
