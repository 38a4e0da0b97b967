"""Who reads the values of a network, and whether all that reads one computes in real numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.nodes import Atom, Call, Function, Let, Var
from tandem.compiler.graph.opspec import OpSpec
from tandem.compiler.graph.types import TensorType, Type
from tandem.compiler.graph.visit import bodies, names_in, names_of
from tandem.compiler.quantise.compressed.products import product_of
from tandem.compiler.quantise.fold_affine import by_channel
from tandem.compiler.quantise.rules import DATA_MOVEMENT, RULES


@dataclass(frozen=True, slots=True)
class Readers:
    """Who reads each value of a body.

    Attributes
    ----------
    lets
        The values by name.
    of_value
        The values that read it; None for one that a body within reads.
    returned
        The result of the body.
    int8
        The values that become int8.
    """

    lets: Mapping[str, Let]
    of_value: Mapping[str, tuple[Let | None, ...]]
    returned: Atom
    int8: frozenset[str]

    @classmethod
    def of(cls, function: Function, int8: frozenset[str]) -> Readers:
        """The readers of a function's values, those in bodies within it left out."""
        found: dict[str, tuple[Let | None, ...]] = {}
        for let in function.body.lets:
            within = {name for body in bodies(let.value) for name in names_in(body)}
            for name in names_of(let.value) | within:
                reader = None if name in within else let
                found[name] = (*found.get(name, ()), reader)
        lets = {let.name: let for let in function.body.lets}
        return cls(lets, found, function.body.result, int8)

    def chains(self, types: Mapping[str, Type]) -> Iterator[tuple[Let, ...]]:
        """The products with constant weights, with the sums after them that add a constant for each
        channel: nothing else reads what another one of the chain reads."""
        for let in self.lets.values():
            if product_of(let) is None:
                continue
            chain = [let]
            while (after := self._with_bias(chain[-1], types)) is not None:
                chain.append(after)
            yield tuple(chain)

    def _with_bias(self, let: Let, types: Mapping[str, Type]) -> Let | None:
        """The only reader of a value, if it adds a constant for each channel."""
        readers = self.of_value.get(let.name, ())
        type_ = types[let.name]
        if len(readers) != 1 or self.returned == Var(let.name) or not isinstance(type_, TensorType):
            return None
        (reader,) = readers
        if reader is None or reader.keep_float or type_.rank < 2 or types[reader.name] != type_:
            return None
        match reader.value:
            case Call(callee=OpSpec(name="add"), args=(Constant() as bias, Var())):
                pass
            case Call(callee=OpSpec(name="add"), args=(Var(), Constant() as bias)):
                pass
            case _:
                return None
        return None if by_channel(bias, type_.shape) is None else reader

    def compute_in_real(self, name: str) -> bool:
        """Whether all that reads a value is computed in real numbers."""
        open_, seen = [name], set[str]()
        while open_:
            value = open_.pop()
            if value in seen:
                continue
            seen.add(value)
            readers = self.of_value.get(value, ())
            if not readers or self.returned == Var(value):
                return False
            for reader in readers:
                if reader is None:
                    return False
                if self._passes_on(reader, value):
                    open_.append(reader.name)
                elif not self._is_real(reader):
                    return False
        return True

    def _passes_on(self, reader: Let, value: str) -> bool:
        """Whether a reader is computed as its own readers want it: it moves the value, or adds it
        to one that is computed in real numbers, which integers would only round."""
        call = reader.value
        if not isinstance(call, Call) or not isinstance(call.callee, OpSpec):
            return False
        if call.callee.name in DATA_MOVEMENT:
            return reader.name not in self.int8
        if call.callee.name != "add" or len(call.args) != 2:
            return False
        others = [arg for arg in call.args if arg != Var(value)]
        return all(
            isinstance(other, Var) and is_computed_in_real(other.name, self.lets)
            for other in others
        ) and bool(others)

    def _is_real(self, reader: Let) -> bool:
        call = reader.value
        if reader.name in self.int8 and not is_computed_in_real(reader.name, self.lets):
            return False
        if not isinstance(call, Call) or not isinstance(call.callee, OpSpec):
            return False
        operator = call.callee.name
        return operator not in RULES or RULES[operator].on_demand


def is_computed_in_real(name: str, lets: Mapping[str, Let]) -> bool:
    """Whether quantisation computes a value in real numbers, and perhaps moves it then."""
    while name in lets:
        value = lets[name].value
        if not isinstance(value, Call) or not isinstance(value.callee, OpSpec):
            return False
        operands = [atom for atom in value.args if isinstance(atom, Var)]
        if value.callee.name in DATA_MOVEMENT and len(operands) == 1:
            name = operands[0].name
        else:
            return value.callee.name not in RULES
    return False
