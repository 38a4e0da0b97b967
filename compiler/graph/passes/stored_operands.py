"""Operands of layers that stay float16: the layer widens them itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.infer import infer
from tandem.compiler.graph.nodes import Atom, Body, Call, Function, Let, Value, Var
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.operators.elementwise import Cast
from tandem.compiler.graph.opspec import OpPattern, OpSpec
from tandem.compiler.graph.passes.compressed_weights import is_layer
from tandem.compiler.graph.passes.grouping import Edge
from tandem.compiler.graph.syntax import unique_name
from tandem.compiler.graph.types import TensorType, Type
from tandem.compiler.graph.verify import verify
from tandem.compiler.graph.visit import all_lets, map_functions, names_taken, rewrite_bodies
from tandem.compiler.ir.dtypes import FLOAT16, FLOAT32

_FACTORS = 2
"""The first operands of a layer, of which it sums products; a bias is added to sums."""
_CAST = OPERATORS["cast"]


@dataclass(frozen=True, slots=True)
class StoredOperands:
    """Gives each layer of float16 operands its own casts to float32, which `Fuse` can put into the
    layer's kernel, as `layers_widen` says.

    ::

        a = cast(x, to=float32)                  a = cast(x, to=float32)
        y = dense(a, float32[4, 8](...))    ->   w = cast(float16[4, 8](...), to=float32)
                                                 y = dense(a, w)

    Both factors are float16: cast from it, also where they have been moved since, as by a
    transposition or by zeros around an image; or constants whose numbers are those of float16, all
    of them, as where a model's weights were. Other layers stay as they are. No number changes.
    """

    name: str = "stored-operands"

    def apply(self, function: Function) -> Function:
        """The function with casts of their own for layers."""
        verify(function)
        return map_functions(function, self._function)

    def _function(self, function: Function) -> Function:
        if not any(is_layer(let.value) for let in all_lets(function.body)):
            return function
        types, taken = infer(function), names_taken(function)
        body = rewrite_bodies(function.body, partial(self._body, types=types, taken=taken))
        return replace(function, body=body)

    def _body(self, body: Body, types: Mapping[str, Type], taken: set[str]) -> Body:
        lets: list[Let] = []
        defined: dict[str, Let] = {}
        for let in body.lets:
            if is_layer(let.value):
                assert isinstance(let.value, Call)
                casts, value = _with_casts(let, let.value, defined, types, taken)
                lets += casts
                let = replace(let, value=value)
            lets.append(let)
            defined[let.name] = let
        return Body(tuple(lets), body.result)


def widened_in_layers(
    lets: Sequence[Let],
    users: Sequence[Sequence[Edge]],
    escapes: Sequence[bool],
    types: Mapping[str, Type],
) -> frozenset[int]:
    """The numbers of the casts, of what moves their elements, and of constants whose elements are
    moved, that one layer alone reads, for its products."""
    numbers = {let.name: number for number, let in enumerate(lets)}
    defined = {let.name: let for let in lets}
    found = set[int]()
    for let in lets:
        if not is_layer(let.value):
            continue
        assert isinstance(let.value, Call)
        for atom in let.value.args[:_FACTORS]:
            casts = _chain(atom, defined, types)
            constant = _moved(_operand(casts[0]) if casts else atom, defined)
            chain = [numbers[each.name] for each in (*constant, *casts)]
            if all(len(users[each]) == 1 and not escapes[each] for each in chain):
                found |= {*chain}
    return frozenset(found)


def _with_casts(
    layer: Let,
    value: Call,
    defined: Mapping[str, Let],
    types: Mapping[str, Type],
    taken: set[str],
) -> tuple[list[Let], Call]:
    """A layer on casts of its own, and these; none if a factor is no float16."""
    chains = [_chain(atom, defined, types) for atom in value.args[:_FACTORS]]
    if not any(chains):
        return [], value
    lets: list[Let] = []
    args: list[Atom] = []
    for atom, chain in zip(value.args, chains, strict=False):
        if not chain:
            half = _as_half(atom)
            if half is None:
                return [], value
            chain = (Let(f"{layer.name}_weight", Call(_CAST, (half,), Cast(FLOAT32))),)
        for position, let in enumerate(chain):
            assert isinstance(let.value, Call)
            name = unique_name(let.name, taken)
            of = let.value if not position else replace(let.value, args=(args.pop(),))
            lets.append(replace(let, name=name, value=of, origin=None))
            args.append(Var(name))
    return lets, replace(value, args=(*args, *value.args[_FACTORS:]))


def _chain(atom: Atom, defined: Mapping[str, Let], types: Mapping[str, Type]) -> tuple[Let, ...]:
    """A cast from float16 and the operators that move its elements, in order, of which the last is
    the atom; nothing if it is something else."""
    found: list[Let] = []
    while isinstance(atom, Var) and atom.name in defined:
        let = defined[atom.name]
        found.append(let)
        match let.value:
            case Call(callee=OpSpec(name="cast"), args=(of,), attributes=Cast(to=to)):
                return tuple(reversed(found)) if to == FLOAT32 and _is_half(of, types) else ()
            case value if _moves(value):
                atom = _operand(let)
            case _:
                return ()
    return ()


def _moved(atom: Atom, defined: Mapping[str, Let]) -> tuple[Let, ...]:
    """The operators that move a constant's elements to the atom, in order; nothing if it is
    something else."""
    found: list[Let] = []
    while isinstance(atom, Var) and atom.name in defined:
        let = defined[atom.name]
        if not _moves(let.value):
            return ()
        found.append(let)
        atom = _operand(let)
    return tuple(reversed(found)) if isinstance(atom, Constant) else ()


def _moves(value: Value) -> bool:
    """Whether a value is the elements of one other in other places."""
    match value:
        case Call(callee=OpSpec(pattern=OpPattern.INJECTIVE, several=False), args=(_,)):
            return True
        case _:
            return False


def _operand(let: Let) -> Atom:
    """What a cast, or what moves elements, reads."""
    assert isinstance(let.value, Call)
    return let.value.args[0]


def _is_half(atom: Atom, types: Mapping[str, Type]) -> bool:
    type_ = atom.type if isinstance(atom, Constant) else types[atom.name]
    return isinstance(type_, TensorType) and type_.dtype == FLOAT16


def _as_half(atom: Atom) -> Constant | None:
    """A constant in float32 as float16; None if that has other numbers."""
    if not isinstance(atom, Constant) or atom.type.dtype != FLOAT32:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        half = atom.array.astype(FLOAT16.numpy)
    return Constant(half) if np.array_equal(half.astype(FLOAT32.numpy), atom.array) else None
