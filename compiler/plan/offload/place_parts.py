"""Graph pass that concatenates and slices tensors in blocks by placing them within each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tandem.compiler.errors import Refusal
from tandem.compiler.graph.infer import infer
from tandem.compiler.graph.nodes import Atom, Body, Call, Function, Let, Value, Var
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.operators.layouts import Convert, View
from tandem.compiler.graph.operators.parts import Concat, Slice
from tandem.compiler.graph.opspec import OpSpec
from tandem.compiler.graph.passes.kernel_pool import KernelPool
from tandem.compiler.graph.reasons import Reason
from tandem.compiler.graph.syntax import unique_name
from tandem.compiler.graph.types import TensorType, Type
from tandem.compiler.graph.verify import verify
from tandem.compiler.graph.visit import atoms, functions, map_functions, rewrite_bodies
from tandem.compiler.layouts.layout import Layout, image_blocks
from tandem.compiler.plan.placement import PLACED, Regions, first_channel, place_call

_CHANNELS = 1
"""The axis that is divided into blocks."""
_RANK = 4
"""The number of axes of images."""
_AS_WEIGHTS = "matmul"
"""The operator whose second operand has larger elements than blocks of an image."""


@dataclass(frozen=True, slots=True)
class PlaceParts:
    """Moves concatenations and slices of channels between the target's kernels to kernels that no
    instruction computes.

    ::

        a = convert(a_blocks)             kernel[target] @k(p0, p1):
        b = convert(b_blocks)               a = convert(p0), b = convert(p1)
        c = concat(a, b, axis=1)    ->      c = concat(a, b, axis=1)
        c_blocks = convert(c)               return convert(c)

                                          c_blocks = @k(a_blocks, b_blocks)

    The back end places a_blocks and b_blocks within the memory of c_blocks
    (`compiler.plan.placement`), where whoever computes them stores them. That takes channels in
    whole blocks, except in the last part, and one block of images. Parts that the host computes
    are packed on their own. A slice that begins with a block lies within its operand. A tensor lies
    in one place: where concatenations share parts, they must have the same parts before them, as in
    a dense block of layers. What is not moved records the reason. Dead values are left to
    `EliminateDead`.
    """

    target: str
    name: str = "place-parts"

    def apply(self, function: Function) -> Function:
        """The function with kernels for what can be placed; symbolic shapes are not allowed."""
        verify(function)
        pool = KernelPool({each.name for each in functions(function)}, self.target)

        def changed(one: Function) -> Function:
            types = dict(infer(one))
            taken = {*types}
            body = rewrite_bodies(
                one.body, lambda body: _Placer(self.target, types, taken, pool, body).placed()
            )
            return replace(one, body=body)

        return map_functions(function, changed)


@dataclass
class _Placer:
    """
    Attributes
    ----------
    types, taken
        The types of all values, also of new ones, and all names.
    regions, moved
        The placed tensors, and those of them that consist of others.
    packed
        The first of equal tensors that the host has packed so far.
    """

    target: str
    types: dict[str, Type]
    taken: set[str]
    pool: KernelPool
    body: Body
    regions: Regions = field(default_factory=Regions)
    moved: set[str] = field(default_factory=set)
    packed: dict[Value, Var] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.made = {let.name: let.value for let in self.body.lets}
        self.users: dict[str, list[Let]] = {}
        for let in self.body.lets:
            for atom in atoms(let.value):
                if isinstance(atom, Var):
                    self.users.setdefault(atom.name, []).append(let)
        for let in self.body.lets:
            match let.value:
                case Call(args=(Var(name),), attributes=View()):
                    self.users[name] += self.users.get(let.name, ())
                case _:
                    pass
        self.layouts = self._wanted()

    def placed(self) -> Body:
        """The body with kernels instead of the concatenations and slices that can be placed."""
        lets: list[Let] = []
        for let in self.body.lets:
            added = [let]
            if let.name in self.layouts:
                try:
                    added = self._kernel(let, self.layouts[let.name])
                except Refusal as refusal:
                    added = [replace(let, reasons=(Reason(_operator(let), str(refusal)),))]
            lets += added
            for step in added:
                if _is_packing(step):
                    self.packed.setdefault(step.value, Var(step.name))
        return Body(tuple(lets), self.body.result)

    def _wanted(self) -> dict[str, Layout]:
        """The concatenations and slices between kernels of the target, by name: the blocks of their
        users. Each of them may be a user or a part of another."""
        moves = {let.name: parts for let in self.body.lets if (parts := self._parts(let))}
        from_target: set[str] = set()
        for name, parts in moves.items():
            read = {atom.name for atom in parts if isinstance(atom, Var)}
            if read & from_target or any(self._blocks(atom) for atom in parts):
                from_target.add(name)
        found: dict[str, Layout] = {}
        for let in reversed(self.body.lets):
            if let.name in from_target:
                wanted = (_packed_by(user, found) for user in self.users.get(let.name, ()))
                layout = next(filter(None, wanted), None)
                if layout is not None:
                    found[let.name] = layout
        return found

    def _parts(self, let: Let) -> tuple[Atom, ...] | None:
        """The parts of a concatenation of images along their channels, or the operand of a slice of
        channels; None for other values."""
        match let.value:
            case Call(callee=OpSpec(name="concat"), args=args, attributes=Concat(axis=axis)):
                return args if axis in (_CHANNELS, _CHANNELS - _RANK) else None
            case Call(
                callee=OpSpec(name="slice"), args=(Var(name),) as args, attributes=Slice() as given
            ):
                shape = self._shape(name)
                one = len(shape) == _RANK and first_channel(given, shape) is not None
                return args if one else None
            case _:
                return None

    def _blocks(self, atom: Atom) -> Var | None:
        """The blocks that a part is unpacked from."""
        match self.made.get(atom.name) if isinstance(atom, Var) else None:
            case Call(args=(Var() as blocks,), attributes=Convert(source=Layout(), target=None)):
                return blocks
            case _:
                return None

    def _kernel(self, let: Let, layout: Layout) -> list[Let]:
        """The values that a concatenation becomes: packed parts, the kernel's call, and the result
        unpacked under the old name.

        Raises
        ------
        Refusal
            The parts cannot be placed.
        """
        parts = self._parts(let)
        assert parts is not None, "found so"
        assert isinstance(let.value, Call), "found so"
        names = [atom.name for atom in parts if isinstance(atom, Var)]
        if len(names) < len(parts):
            raise Refusal("a part is constant, and the accelerator writes none")
        self._check_shapes(let, names, layout)
        operands, inside = list[Let](), list[Let]()
        for name in names:
            blocks = self._operand(name, layout, operands)
            plain = _convert(blocks, self._shape(name), layout, None)
            inside.append(self._new(f"{name}_plain", plain, self.types[name]))
        if len({let.value for let in inside}) < len(inside):
            raise Refusal("a part occurs twice, and lies in one place only")
        parts = tuple(Var(each.name) for each in inside)
        type_, shape = self.types[let.name], self._shape(let.name)
        moved = replace(let.value, args=parts)
        inside.append(self._new(f"{let.name}_inside", moved, type_))
        pack = _convert(Var(inside[-1].name), shape, None, layout)
        result = self._new(f"{let.name}_blocks", pack, _in_layout(type_, layout))
        last = replace(result, origin=let.source)
        called = self.pool.fused([*inside, last], self.types, PLACED)
        assert isinstance(called.value, Call), "made so"
        readers = [user for user in self.users.get(let.name, ()) if _is_packing(user)]
        self.users[result.name] = [
            next_user for user in readers for next_user in self.users.get(user.name, ())
        ]
        self._place(result.name, called.value)
        back = self.made[let.name] = _convert(Var(result.name), shape, layout, None)
        reason = Reason("", f"layout for the {self.target}")
        return [*operands, called, replace(let, value=back, reasons=(reason,))]

    def _operand(self, name: str, layout: Layout, operands: list[Let]) -> Var:
        """The blocks of a part; added to `operands` if the host packs them and has not yet."""
        wanted = _in_layout(self.types[name], layout)
        blocks = self._blocks(Var(name))
        if blocks is not None and self.types[blocks.name] == wanted:
            return blocks
        pack = _convert(Var(name), self._shape(name), None, layout)
        if pack in self.packed:
            return self.packed[pack]
        operands.append(self._new(f"{name}_blocks", pack, wanted))
        return Var(operands[-1].name)

    def _new(self, stem: str, value: Value, type_: Type) -> Let:
        """A value with a name of its own."""
        name = unique_name(stem, self.taken)
        self.types[name] = type_
        return Let(name, value)

    def _check_shapes(self, let: Let, parts: list[str], layout: Layout) -> None:
        images = self._shape(let.name)[0]
        batch, block = layout.block(0), layout.block(_CHANNELS)
        if images > batch:
            raise Refusal(
                f"its parts do not lie one behind the other in {images} images, in blocks of "
                f"{batch}"
            )
        given = let.value.attributes if isinstance(let.value, Call) else None
        if isinstance(given, Slice):
            first = first_channel(given, self._shape(parts[0])) or 0
            if first % block:
                raise Refusal(
                    f"channel {first} does not begin a block of {block}: a multiple would help"
                )
        for part in parts[:-1]:
            channels = self._shape(part)[_CHANNELS]
            if channels % block or not channels:
                raise Refusal(
                    f"part {part} has {channels} channels, which are no whole blocks of "
                    f"{block}: a multiple would help"
                )

    def _place(self, name: str, call: Call) -> None:
        """Adds the kernel's operands and result to the regions."""
        regions, moved = self.regions.copy(), {*self.moved, name}
        elsewhere = place_call(regions, name, call, self.types)
        if elsewhere is not None:
            raise Refusal(f"{elsewhere} has another place already")
        overlap = regions.overlap(name, moved)
        if overlap is not None:
            raise Refusal(f"{' and '.join(overlap)} would be in the same place")
        for member in regions.members(name):
            for user in self.users.get(member, ()):
                if _multiplies(user):
                    raise Refusal(f"{user.source} reads {member} as weights")
        self.regions, self.moved = regions, moved

    def _shape(self, name: str) -> tuple[int, ...]:
        type_ = self.types[name]
        assert isinstance(type_, TensorType), "a part of a concatenation"
        return type_.static_shape(name)


def _operator(let: Let) -> str:
    assert isinstance(let.value, Call), "a concatenation or a slice"
    assert isinstance(let.value.callee, OpSpec), "a concatenation or a slice"
    return let.value.callee.name


def _is_packing(let: Let) -> bool:
    match let.value:
        case Call(attributes=Convert(source=None, target=Layout())):
            return True
        case _:
            return False


def _packed_by(user: Let, found: Mapping[str, Layout]) -> Layout | None:
    """The blocks of images that a user reads, if it reads such."""
    match user.value:
        case Call(attributes=Convert(source=None, target=Layout() as layout)):
            blocks = layout.rank == _RANK and layout == image_blocks(
                layout.block(0), layout.block(_CHANNELS)
            )
            return layout if blocks else None
        case _:
            return found.get(user.name)


def _multiplies(user: Let) -> bool:
    """Whether a value is a call of a kernel that multiplies two computed tensors."""
    match user.value:
        case Call(callee=Function() as kernel):
            calls = (let.value for let in kernel.body.lets if isinstance(let.value, Call))
            return any(each.callee.name == _AS_WEIGHTS for each in calls)
        case _:
            return False


def _convert(of: Var, shape: tuple[int, ...], source: Layout | None, target: Layout | None) -> Call:
    return Call(OPERATORS["convert"], (of,), Convert(shape, source, target))


def _in_layout(plain: Type, layout: Layout) -> TensorType:
    """The type of an image in blocks."""
    assert isinstance(plain, TensorType), "an image"
    return replace(plain, layout=layout)
