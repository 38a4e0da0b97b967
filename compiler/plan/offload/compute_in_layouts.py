"""Graph pass that computes element-wise operators of the host in a machine's layout."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import prod

from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.infer import infer
from tandem.compiler.graph.nodes import Body, Call, Function, Let, Var
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.operators.layouts import Convert, View
from tandem.compiler.graph.opspec import OpPattern, OpSpec
from tandem.compiler.graph.syntax import unique_name
from tandem.compiler.graph.types import TensorType, Type
from tandem.compiler.graph.visit import (
    map_functions,
    names_of,
    names_taken,
    rewrite_bodies,
)
from tandem.compiler.layouts.layout import Bytes, Layout


@dataclass(frozen=True, slots=True)
class ComputeInLayouts:
    """Computes element-wise operators between tensors of a machine in the layout of these, where
    the host has fewer elements to compute and to convert then.

    ::

        x = convert(x_blocks, source=L)             x = view(x_blocks)
        y = sigmoid(x)                      ->      y = sigmoid(x)
        y_blocks = convert(y, target=L)             y_blocks = view(y)

    Operators that hand their values to each other are one group, and each group has one layout or
    stays row-major. An element that an operator computes costs as much as one that is converted;
    in a layout padding is computed too, which no operator traps on, whatever it holds. Whatever
    else reads or writes a value of the group converts it.
    """

    name: str = "compute-in-layouts"

    def apply(self, function: Function) -> Function:
        """The function with fewer conversions."""

        def changed(one: Function) -> Function:
            types = infer(one)
            taken = names_taken(one)
            return replace(
                one, body=rewrite_bodies(one.body, lambda body: _in_layouts(body, types, taken))
            )

        return map_functions(function, changed)


@dataclass(slots=True)
class _Group:
    """Element-wise operators of one shape that hand their values to each other.

    Attributes
    ----------
    reads
        The values that enter the group, each with the tensor in a layout that it is converted
        from, if any.
    converted
        The conversions of the group's values to layouts.
    row_major
        The values of the group that something else reads.
    """

    shape: tuple[int, ...]
    members: list[Let] = field(default_factory=list)
    reads: dict[str, Let | None] = field(default_factory=dict)
    converted: list[Let] = field(default_factory=list)
    row_major: set[str] = field(default_factory=set)

    def best_layout(self) -> Layout | None:
        """The layout with the fewest elements to compute and to convert; None for row-major."""
        found = [_layout(let) for let in (*self.reads.values(), *self.converted)]
        layouts = [layout for layout in found if layout is not None]
        size = prod(self.shape)

        def cost(layout: Layout | None) -> int:
            computed = size if layout is None else prod(layout.stored_shape(self.shape))
            outside = len(self.row_major) if layout is not None else 0
            others = sum(other != layout for other in found)
            return len(self.members) * computed + (others + outside) * size

        usable = [each for each in dict.fromkeys(layouts) if self._is_usable(each)]
        return min((None, *usable), key=cost)

    def _is_usable(self, layout: Layout) -> bool:
        """Whether the group's values can lie in a layout: its padding need not be zero."""
        zero = any(zero for _, zero in layout.padded_axes(self.shape))
        return not zero and Bytes() not in layout.parts


def _in_layouts(body: Body, types: Mapping[str, Type], taken: set[str]) -> Body:
    chosen: dict[str, tuple[_Group, Layout]] = {}
    for group in _groups(body, types):
        layout = group.best_layout()
        if layout is not None:
            chosen |= {let.name: (group, layout) for let in (*group.members, *group.converted)}
    if not chosen:
        return body
    stored: dict[tuple[str, Layout], Var] = {}
    """The row-major tensors of the stored elements, by value and layout."""
    lets: list[Let] = []
    for let in body.lets:
        if let.name not in chosen:
            lets.append(let)
            continue
        group, layout = chosen[let.name]
        assert isinstance(let.value, Call), "an operator"
        if let in group.members:
            lets += _member(let, group, layout, stored, taken)
        elif _layout(let) == layout:
            (operand,) = let.value.args
            assert isinstance(operand, Var), "of the group"
            lets.append(replace(let, value=_viewed(stored[operand.name, layout], group, layout)))
        else:
            lets.append(let)
    return Body(tuple(lets), body.result)


def _member(
    let: Let,
    group: _Group,
    layout: Layout,
    stored: dict[tuple[str, Layout], Var],
    taken: set[str],
) -> Iterator[Let]:
    """An operator on stored elements, after views of its operands; and its row-major result."""
    assert isinstance(let.value, Call), "an operator"

    def new(stem: str, value: Call) -> Let:
        return Let(unique_name(stem, taken), value, origin=let.origin, reasons=let.reasons)

    names = (each.name for each in let.value.args if isinstance(each, Var))
    for name in dict.fromkeys(names):
        if (name, layout) in stored:
            continue
        source = group.reads[name]
        if source is not None and _layout(source) == layout:
            assert isinstance(source.value, Call), "a conversion"
            (blocks,) = source.value.args
        else:
            convert = Call(OPERATORS["convert"], (Var(name),), Convert(group.shape, None, layout))
            yield (made := new(f"{name}_blocks", convert))
            blocks = Var(made.name)
        whole = View(layout.stored_shape(group.shape))
        yield (made := new(f"{name}_stored", Call(OPERATORS["view"], (blocks,), whole)))
        stored[name, layout] = Var(made.name)
    args = tuple(stored[it.name, layout] if isinstance(it, Var) else it for it in let.value.args)
    yield (
        made := replace(
            let,
            name=unique_name(f"{let.name}_stored", taken),
            value=replace(let.value, args=args),
            type=None,
            origin=let.source,
        )
    )
    stored[let.name, layout] = Var(made.name)
    if let.name in group.row_major or any(
        names_of(other.value) == {let.name} and _layout(other) != layout
        for other in group.converted
    ):
        blocks_of = new(f"{let.name}_blocks", _viewed(stored[let.name, layout], group, layout))
        yield blocks_of
        back = Convert(group.shape, layout, None)
        yield replace(let, value=Call(OPERATORS["convert"], (Var(blocks_of.name),), back))


def _viewed(stored: Var, group: _Group, layout: Layout) -> Call:
    """The stored elements as a tensor in the layout."""
    return Call(OPERATORS["view"], (stored,), View(group.shape, layout))


def _groups(body: Body, types: Mapping[str, Type]) -> list[_Group]:
    """The groups of a body's own operators, in the order of their last ones."""
    made = {let.name: let for let in body.lets}
    group_of: dict[str, _Group] = {}
    for let in body.lets:
        shape = _computed_shape(let, types)
        if shape is None:
            for name in names_of(let.value):
                if name in group_of:
                    _read(group_of[name], name, let)
            continue
        group = _Group(shape)
        for name in names_of(let.value):
            other = group_of.get(name)
            if other is None:
                source = made.get(name)
                is_converted = source is not None and _is_from_layout(source)
                group.reads[name] = source if is_converted else None
            elif other is not group:
                group = _joined(other, group)
        group.members.append(let)
        group_of |= {member.name: group for member in group.members}
    if isinstance(body.result, Var) and body.result.name in group_of:
        group_of[body.result.name].row_major.add(body.result.name)
    return list({id(group): group for group in group_of.values()}.values())


def _joined(first: _Group, second: _Group) -> _Group:
    return _Group(
        first.shape,
        [*first.members, *second.members],
        {**first.reads, **second.reads},
        [*first.converted, *second.converted],
        first.row_major | second.row_major,
    )


def _read(group: _Group, name: str, let: Let) -> None:
    """Note what reads a value of the group, and is none of its operators."""
    match let.value:
        case Call(attributes=Convert(source=None, target=Layout())):
            group.converted.append(let)
        case _:
            group.row_major.add(name)


def _is_from_layout(let: Let) -> bool:
    match let.value:
        case Call(attributes=Convert(source=Layout(), target=None)):
            return True
        case _:
            return False


def _layout(let: Let | None) -> Layout | None:
    """The layout of a conversion from a layout or to one; None of anything else."""
    match let:
        case Let(value=Call(attributes=Convert(source=source, target=target))):
            return source or target
        case _:
            return None


def _computed_shape(let: Let, types: Mapping[str, Type]) -> tuple[int, ...] | None:
    """The shape of an element-wise operator's operands and result; None for all else."""
    match let.value:
        case Call(callee=OpSpec(pattern=OpPattern.ELEMENTWISE | OpPattern.BROADCAST)):
            pass
        case _:
            return None
    type_ = types[let.name]
    if not isinstance(type_, TensorType) or not _is_static(type_):
        return None
    for atom in let.value.args:
        if isinstance(atom, Constant):
            if atom.array.size != 1 or atom.array.ndim:
                return None
        else:
            other = types[atom.name]
            if not isinstance(other, TensorType) or other.shape != type_.shape:
                return None
    return type_.static_shape(let.name)


def _is_static(type_: TensorType) -> bool:
    return type_.layout is None and all(isinstance(extent, int) for extent in type_.shape)
