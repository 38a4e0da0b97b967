"""Operator fusion: groups of operators become kernels, which saves memory traffic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tandem.compiler.graph.infer import infer
from tandem.compiler.graph.nodes import Body, Call, Function, Let, Value, Var
from tandem.compiler.graph.opspec import AnyOp, OpPattern, OpSpec
from tandem.compiler.graph.passes.compressed_weights import widened_readers
from tandem.compiler.graph.passes.expression_size import ExpressionSize, expression_size
from tandem.compiler.graph.passes.grouping import Edge, groups_of
from tandem.compiler.graph.passes.kernel_pool import KernelPool
from tandem.compiler.graph.passes.stored_operands import widened_in_layers
from tandem.compiler.graph.passes.views import view_readers
from tandem.compiler.graph.types import TensorType, Type
from tandem.compiler.graph.verify import verify
from tandem.compiler.graph.visit import functions, map_bodies, map_functions, names_of


@dataclass(frozen=True, slots=True)
class Fuse:
    """Puts every operator into a kernel, alone or fused with others by the rules of `grouping`.

    ::

        c = f(x, W)              kernel @f_g_h(p0: ..., p1: ..., p2: ...):
        s = g(c, b)                f = f(p0, p1)
        y = h(s)           ->      g = g(f, p2)
                                   h = h(g)
                                   return h

                                 y = @f_g_h(x, W, b)

    Constants of one element become part of the kernel; larger constants are arguments, so that
    layers of equal operators, shapes and attributes share a kernel. Existing kernel calls are kept.
    Parts of tensors are read in place (`views`), by several kernels if need be, and kernels of
    layers widen their weights themselves (`compressed_weights`).

    Attributes
    ----------
    limit
        The maximum number of operators in a kernel.
    longest
        The maximum length of a kernel's expression, in nodes. Kernels inline operators into the
        places that read them, and `x = x * x`, n times, would read `x` in 2**n places.
    layers_widen
        Whether layers widen stored floats themselves, as they read them (`stored_operands`), and
        read constants whose elements are moved in place. Else what is wide or moved is stored
        before, by kernels of its own.
    """

    limit: int = 32
    longest: int = 200
    layers_widen: bool = False
    name: str = "fuse"

    def apply(self, function: Function) -> Function:
        """The function with calls of kernels for operators."""
        verify(function)
        pool = KernelPool({each.name for each in functions(function)})
        return map_functions(
            function, lambda one: replace(one, body=self._body(one.body, infer(one), pool))
        )

    def _body(self, body: Body, types: Mapping[str, Type], pool: KernelPool) -> Body:
        lets = [
            replace(let, value=map_bodies(let.value, lambda inner: self._body(inner, types, pool)))
            for let in body.lets
        ]
        specs = [_operator(let.value) for let in lets]
        patterns = [OpPattern.OPAQUE if spec is None else spec.pattern for spec in specs]
        escapes = [body.result == Var(let.name) for let in lets]
        sizes = [_size(let.value, types) for let in lets]
        users = _users(lets, patterns, sizes, types)
        lengths = [size.length for size in sizes]
        widens = [_widens(let, types) for let in lets]
        joined = widened_in_layers(lets, users, escapes, types) if self.layers_widen else ()
        groups = groups_of(
            patterns, users, escapes, self.limit, lengths, self.longest, widens, joined
        )
        groups = self._with_borders(lets, groups, users, escapes)
        views = view_readers(lets, groups, users, escapes, types, self.limit)
        views |= widened_readers(lets, groups, users, escapes)
        members: dict[int, list[Let]] = {}
        for number, let in enumerate(lets):
            for group in views.get(number, {groups[number]}):
                members.setdefault(group, []).append(let)
        fused = []
        for number, let in enumerate(lets):
            if groups[number] == number and number not in views:
                fused.append(let if specs[number] is None else pool.fused(members[number], types))
        return Body(tuple(fused), body.result)

    def _with_borders(
        self,
        lets: Sequence[Let],
        groups: Sequence[int],
        users: Sequence[Sequence[Edge]],
        escapes: Sequence[bool],
    ) -> list[int]:
        """The groups, of which those that end in a `pad` for one operator alone that takes borders
        join that operator's."""
        found = list(groups)
        for number, let in enumerate(lets):
            spec = _operator(let.value)
            if spec is None or spec.name != "pad" or found[number] != number or escapes[number]:
                continue
            if len(users[number]) != 1:
                continue
            (user,) = (lets[edge.user].value for edge in users[number])
            match user:
                case Call(callee=OpSpec(takes_borders=True), args=(first, *_)):
                    if first != Var(let.name):
                        continue
                case _:
                    continue
            target = found[users[number][0].user]
            if found.count(number) + found.count(target) <= self.limit:
                found = [target if group == number else group for group in found]
        return found


def _operator(value: Value) -> AnyOp | None:
    if isinstance(value, Call) and isinstance(value.callee, OpSpec):
        return value.callee
    return None


def _widens(let: Let, types: Mapping[str, Type]) -> bool:
    """Whether the elements of an element-wise operator are wider than all that it reads."""
    spec, result = _operator(let.value), types[let.name]
    if spec is None or spec.pattern is not OpPattern.ELEMENTWISE:
        return False
    read = [types[name] for name in names_of(let.value)]
    if not isinstance(result, TensorType):
        return False
    bits = result.dtype.bits
    return all(isinstance(kind, TensorType) and kind.dtype.bits < bits for kind in read)


def _size(value: Value, types: Mapping[str, Type]) -> ExpressionSize:
    if isinstance(value, Call) and isinstance(value.callee, OpSpec):
        return expression_size(value, types)
    return ExpressionSize()


def _users(
    lets: Sequence[Let],
    patterns: Sequence[OpPattern],
    sizes: Sequence[ExpressionSize],
    types: Mapping[str, Type],
) -> list[list[Edge]]:
    """The uses of each value; broadcasting an operand of the result's shape is element-wise."""
    positions = {let.name: number for number, let in enumerate(lets)}
    found: list[list[Edge]] = [[] for _ in lets]
    for number, let in enumerate(lets):
        for name in names_of(let.value):
            if name in positions:
                pattern = patterns[number]
                if pattern is OpPattern.BROADCAST and _same_shape(types[name], types[let.name]):
                    pattern = OpPattern.ELEMENTWISE
                reads = max(1, sizes[number].reads.get(name, 1))
                found[positions[name]].append(Edge(number, pattern, reads))
    return found


def _same_shape(left: Type, right: Type) -> bool:
    return (
        isinstance(left, TensorType) and isinstance(right, TensorType) and left.shape == right.shape
    )
