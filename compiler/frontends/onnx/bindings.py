"""Numbers for extents of inputs that a model leaves open."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from onnx import ModelProto, ValueInfoProto

from tandem.compiler.errors import FrontendError
from tandem.compiler.frontends.onnx.builder import legal_name
from tandem.compiler.graph.extents import Dim, Extent
from tandem.compiler.graph.syntax import unique_name

_NAMELESS = frozenset({"None", "none", "unknown"})
"""Names that exporters write for every extent that they do not know: no two of them are equal."""


@dataclass(frozen=True, slots=True)
class StatedShape:
    """A shape that somebody states for an input.

    Attributes
    ----------
    name
        An input; or the name of an open extent, for which `extents` is a single number.
    extents
        None for those of which nothing is said.
    source
        Where that is said, for error messages, such as an option.
    """

    name: str
    extents: tuple[int | None, ...]
    source: str = ""

    def __str__(self) -> str:
        shown = ", ".join("?" if each is None else str(each) for each in self.extents)
        return f"[{shown}]" + (f" ({self.source})" if self.source else "")


def stated_by_arrays(
    model: ModelProto,
    shapes: Mapping[str, Sequence[int]],
    source: str,
    *,
    with_first: bool = False,
) -> tuple[StatedShape, ...]:
    """What the shapes of arrays say of open extents, by the names of the inputs.

    Nothing is said of extents that the model fixes, of arrays whose rank is not that of the input,
    and, unless `with_first` is set, of first extents: an array may hold several batches.
    """
    found = []
    for info in model.graph.input:
        if info.name not in shapes:
            continue
        shape = tuple(shapes[info.name])
        is_open = [True] * len(shape) if _without_shape(info) else _open_axes(info)
        if len(is_open) != len(shape):
            continue
        is_open[:1] = [with_first and each for each in is_open[:1]]
        stated = (number if each else None for number, each in zip(shape, is_open, strict=True))
        found.append(StatedShape(info.name, tuple(stated), source))
    return tuple(found)


def has_open_extents(model: ModelProto) -> bool:
    """Whether an input has no shape, or leaves extents open other than its first."""
    known = {each.name for each in model.graph.initializer}
    inputs = [each for each in model.graph.input if each.name not in known]
    return any(_without_shape(each) or any(_open_axes(each)[1:]) for each in inputs)


def _open_axes(info: ValueInfoProto) -> list[bool]:
    dims = info.type.tensor_type.shape.dim
    return [not dim.HasField("dim_value") or dim.dim_value <= 0 for dim in dims]


def _without_shape(info: ValueInfoProto) -> bool:
    return not info.type.tensor_type.HasField("shape")


class Bindings:
    """The symbols of a model's open extents, and their numbers as far as these are stated."""

    def __init__(self) -> None:
        self._symbols: dict[str, str] = {}
        self._taken: set[str] = set()
        self._numbers: dict[str, tuple[int, str]] = {}

    def declared(self, info: ValueInfoProto, stated: Iterable[StatedShape]) -> tuple[Extent, ...]:
        """The shape of an input, with symbols for open extents.

        Open are extents with a name or with nothing, those below 0, and a 0 for which another
        number is stated. Extents of the same name share a symbol.

        Raises
        ------
        FrontendError
            The input has no shape, and none is stated.
        """
        own = [each for each in stated if each.name == info.name]
        if _without_shape(info):
            if not own:
                raise FrontendError(
                    f"input {info.name} has no shape: say it with --shape {info.name}=1,..., or "
                    "give an array with --input"
                )
            return tuple(self._new(f"{info.name}_{axis}") for axis in range(len(own[0].extents)))
        shape: list[Extent] = []
        for axis, dim in enumerate(info.type.tensor_type.shape.dim):
            numbers = {each.extents[axis] for each in own if axis < len(each.extents)}
            if dim.HasField("dim_value") and (
                dim.dim_value > 0 or (dim.dim_value == 0 and numbers <= {0, None})
            ):
                shape.append(dim.dim_value)
            elif _names_something(dim.dim_param):
                shape.append(self._named(dim.dim_param))
            else:
                shape.append(self._new(f"{info.name}_{axis}"))
        return tuple(shape)

    def bind_input(self, shape: Sequence[Extent], stated: StatedShape) -> None:
        """Bind the symbols in an input's shape to the numbers that are stated.

        Raises
        ------
        FrontendError
            The numbers contradict the shape, or what was stated before.
        """
        name = stated.name
        if len(stated.extents) != len(shape):
            raise FrontendError(f"input {name} is {self._shown(shape)}, and cannot be {stated}")
        where = f"input {name}" + (f" ({stated.source})" if stated.source else "")
        for extent, number in zip(shape, stated.extents, strict=True):
            if number is None:
                continue
            known: Extent = extent
            reason = ""
            if isinstance(extent, Dim) and number >= 0:
                known, said = self._numbers.setdefault(str(extent), (number, where))
                reason = f": {extent} is {known} by {said}"
            if known != number:
                raise FrontendError(
                    f"input {name} is {self._shown(shape)}, and cannot be {stated}{reason}"
                )

    def bind_extent(self, stated: StatedShape) -> None:
        """Bind the symbol of a named extent. Raises `FrontendError` as `bind_input`."""
        symbol = self._symbols.get(stated.name, stated.name)
        number = stated.extents[0] if len(stated.extents) == 1 else None
        if number is None or number < 0:
            raise FrontendError(f"{stated.name} is one extent, and cannot be {stated}")
        where = f"{stated.name} ({stated.source})" if stated.source else stated.name
        known, said = self._numbers.setdefault(symbol, (number, where))
        if known != number:
            raise FrontendError(f"{stated.name} is {known} by {said}, and cannot be {stated}")

    def bind_batch(self, shapes: Iterable[Sequence[Extent]]) -> None:
        """Bind to 1 the symbols that are first extents of inputs and no other extents."""
        every = list(shapes)
        inner = {str(extent) for shape in every for extent in shape[1:]}
        for shape in every:
            if shape and isinstance(shape[0], Dim) and str(shape[0]) not in inner:
                self._numbers.setdefault(str(shape[0]), (1, "an open batch"))

    def replaced(self, shape: Sequence[Extent]) -> tuple[Extent, ...]:
        """The shape with numbers for bound symbols."""
        return tuple(
            self._numbers.get(str(extent), (extent,))[0] if isinstance(extent, Dim) else extent
            for extent in shape
        )

    @property
    def extent_names(self) -> frozenset[str]:
        """The names of open extents: those in the model, and those of symbols."""
        return frozenset(self._symbols) | frozenset(self._taken)

    def _named(self, name: str) -> Dim:
        if name not in self._symbols:
            self._symbols[name] = unique_name(legal_name(name), self._taken)
        return Dim((self._symbols[name],))

    def _new(self, stem: str) -> Dim:
        return Dim((unique_name(legal_name(stem), self._taken),))

    def _shown(self, shape: Sequence[Extent]) -> str:
        return f"[{', '.join(map(str, self.replaced(shape)))}]"


def _names_something(name: str) -> bool:
    """Whether the name of an extent tells it from others; `?` and `-1` do not."""
    return name not in _NAMELESS and any(each.isalpha() for each in name)
