"""Constant folding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.evaluate import NestedArray, Runner, run_call, type_of
from tandem.compiler.graph.infer import infer
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
    Partial,
    Tuple,
    TupleGet,
    Value,
)
from tandem.compiler.graph.opspec import OpSpec
from tandem.compiler.graph.passes.compressed_weights import kept_compressed
from tandem.compiler.graph.types import has_functions, tensors_of
from tandem.compiler.graph.verify import verify
from tandem.compiler.graph.visit import map_bodies, map_functions, rename, renamed


@dataclass(frozen=True, slots=True)
class FoldConstants:
    """Computes values that depend on constants only, and selects the body of an `if` on a constant.

    Calls by name are kept: whether they end is not known. So are compressed weights that layers
    read (`compressed_weights`), unless all has to be known.

    ::

        w = f(float32[2, 2](...))
        y = g(x, w)                    ->    y = g(x, float32[2, 2](...))

    Attributes
    ----------
    run
        The runner: `evaluate.Interpreter` for small values, `native.NativeRunner` for weights.
    limit
        The maximum number of elements of a folded value.
    keeps_compressed
        Whether compressed weights stay as they are.
    """

    run: Runner
    limit: int = 1 << 27
    keeps_compressed: bool = True
    name: str = "fold-constants"

    def apply(self, function: Function) -> Function:
        """The function with values that depend on constants only replaced by constants."""
        verify(function)
        return map_functions(function, self._function)

    def body(self, body: Body) -> Body:
        """A body that is not yet part of a function, whose types are not known."""
        return self._body(body, {}, {}, None)

    def _function(self, function: Function) -> Function:
        sizes = {
            name: sum(each.size if isinstance(each.size, int) else self.limit + 1 for each in found)
            for name, type_ in infer(function).items()
            if (found := tensors_of(type_)) and not has_functions(type_)
        }
        small = frozenset(name for name, size in sizes.items() if size <= self.limit)
        if self.keeps_compressed:
            small -= kept_compressed(function.body)
        return replace(function, body=self._body(function.body, {}, {}, small))

    def _body(
        self,
        body: Body,
        around: Mapping[str, NestedArray],
        aliases: Mapping[str, Atom],
        small: frozenset[str] | None,
    ) -> Body:
        """`small` names the values that are computed; None for those that their operands show."""
        known, names = dict(around), dict(aliases)
        lets: list[Let] = []
        for let in body.lets:
            value = rename(let.value, names)
            if isinstance(value, If) and isinstance(value.condition, Constant):
                chosen = value.then if value.condition.array else value.otherwise
                inner = self._body(chosen, known, names, small)
                lets += inner.lets
                names[let.name] = inner.result
                continue
            value = map_bodies(value, lambda inner: self._body(inner, known, names, small))
            allowed = small is None or let.name in small
            found = self._known(value, known, check=small is None) if allowed else None
            if found is not None:
                known[let.name] = found
            if found is None or isinstance(found, tuple):
                # The `Tuple` remains; uses of its items become constants.
                lets.append(replace(let, value=value))
            else:
                names[let.name] = Constant(found)
        return Body(tuple(lets), renamed(body.result, names))

    def _known(
        self, value: Value, known: Mapping[str, NestedArray], *, check: bool
    ) -> NestedArray | None:
        """The result of a value if its operands are known, else None."""
        match value:
            case Call(callee=Global()):
                return None  # Whether the call ends is not known.
            case Call(args=args):
                operands = _all_known(args, known)
                if operands is None or (check and not self._is_small(value, operands)):
                    return None
                return run_call(value, operands, self.run)
            case Tuple(items=items):
                parts = _all_known(items, known)
                return None if parts is None else tuple(parts)
            case TupleGet(operand=operand, index=index):
                given = known.get(operand.name)
                return given[index] if isinstance(given, tuple) else None
            case If() | Match() | Construct() | Partial() | Gradient() | Fun() | Apply():
                return None
            case _:
                assert_never(value)

    def _is_small(self, call: Call, operands: Sequence[NestedArray]) -> bool:
        """Whether the result of an operator is known to be within the limit."""
        if not isinstance(call.callee, OpSpec):
            return False
        types = [type_of(each) for each in operands]
        found = tensors_of(call.callee.result("it", types, call.attributes))
        return all(isinstance(it.size, int) and it.size <= self.limit for it in found)


def _all_known(atoms: Sequence[Atom], known: Mapping[str, NestedArray]) -> list[NestedArray] | None:
    """The values of atoms; None if an atom is not known."""
    found = [each.array if isinstance(each, Constant) else known.get(each.name) for each in atoms]
    complete = [each for each in found if each is not None]
    return complete if len(complete) == len(found) else None
