"""Unfolding: functions of data of known constructors become what they compute of its parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.data_types import data_types_in
from tandem.compiler.graph.evaluate import Runner
from tandem.compiler.graph.nodes import (
    Atom,
    Body,
    Call,
    Construct,
    Function,
    Global,
    Let,
    Match,
    Tuple,
    TupleGet,
    Value,
    Var,
)
from tandem.compiler.graph.passes.fold_constants import FoldConstants
from tandem.compiler.graph.passes.inline import recursive_functions
from tandem.compiler.graph.passes.named_functions import by_name
from tandem.compiler.graph.types import FunctionType, symbols_of
from tandem.compiler.graph.verify import verify
from tandem.compiler.graph.visit import (
    all_lets,
    calls_by_name,
    copied,
    functions,
    makes_functions,
    map_bodies,
    map_functions,
    names_taken,
    rename,
    renamed,
    substitute,
    writes_symbols,
)


@dataclass(frozen=True, slots=True)
class Unfold:
    """Replaces a match on a value whose constructor is known by the arm for it, and a call on such
    a value by the function's body, where all recursion ends with the value (Burstall and
    Darlington's unfolding, JACM 1977)::

        a = Leaf(x)                             r = add(x, y)
        b = Leaf(y)
        tree = Node(a, b)             ->
        r = @total(tree)

    So what depends on the form of known data alone is decided, whatever is unknown in it, and
    straight code is left. Recursion that goes on for longer than the limits stays as it is.

    Attributes
    ----------
    run
        The runner that computes conditions that are known.
    nested
        The maximum number of calls that wait for one another.
    values
        The maximum number of values that a call becomes.
    known
        The maximum number of elements of a value that is computed.
    """

    run: Runner
    nested: int = 64
    values: int = 4096
    known: int = 64
    name: str = "unfold"

    def apply(self, function: Function) -> Function:
        """The function with fewer matches and calls; itself if it matches nothing."""
        verify(function)
        if not any(isinstance(let.value, Match) for it in functions(function) for let in _lets(it)):
            return function
        program = by_name(function)
        verify(program)
        recursive = recursive_functions(program.named)
        return map_functions(
            program, lambda one: _Unfolder(self, program.named, recursive, one).function()
        )


def _lets(function: Function) -> tuple[Let, ...]:
    return tuple(all_lets(function.body))


class _Endless(Exception):
    """A call by name stays whose callee is recursive: what it is part of does not end."""


@dataclass
class _Known:
    """What is known of the values in scope, by name."""

    names: dict[str, Atom]
    data: dict[str, Construct]
    tuples: dict[str, Tuple]

    def inner(self) -> _Known:
        """What is known at the beginning of an inner body."""
        return _Known({**self.names}, {**self.data}, {**self.tuples})


@dataclass
class _Unfolder:
    """The unfolding of the calls in one function."""

    limits: Unfold
    named: Mapping[str, Function]
    recursive: frozenset[str]
    whole: Function
    nested: int = 0
    """The calls that are being unfolded within one another."""
    count: int = 0
    """The values that these became so far."""
    fold: FoldConstants = field(init=False)

    def __post_init__(self) -> None:
        self.fold = FoldConstants(self.limits.run, self.limits.known)
        self.taken = names_taken(self.whole)

    def function(self) -> Function:
        """The function; the calls of a recursive one stay."""
        return replace(self.whole, body=self._body(self.whole.body, _Known({}, {}, {})))

    def _body(self, body: Body, known: _Known) -> Body:
        lets: list[Let] = []
        for let in body.lets:
            value = rename(let.value, known.names)
            inner = self._decided(value, let.name, known)
            if inner is not None:
                lets += inner.lets
                if inner.result != Var(let.name):
                    known.names[let.name] = inner.result
                continue
            value = map_bodies(value, lambda inner: self._body(inner, known.inner()))
            match value:
                case Construct():
                    known.data[let.name] = value
                case Tuple():
                    known.tuples[let.name] = value
                case _:
                    pass
            lets.append(replace(let, value=value))
        return Body(tuple(lets), renamed(body.result, known.names))

    def _decided(self, value: Value, name: str, known: _Known) -> Body | None:
        """What a value becomes, with what it is made of; None if it stays."""
        match value:
            case Match(operand=operand, arms=arms) if operand.name in known.data:
                data = known.data[operand.name]
                arm = next(it for it in arms if it.constructor in (data.constructor, None))
                # An arm for all that is left names no fields.
                fields = dict(zip(arm.fields, data.args, strict=False))
                chosen = substitute(arm.body, {**known.names, **fields})
                return self._body(self.fold.body(chosen) if self.nested else chosen, known)
            case TupleGet(operand=operand, index=index) if operand.name in known.tuples:
                return Body((), known.tuples[operand.name].items[index])
            case Call(callee=Global(name=callee, type=type_)):
                return self._called(value, callee, type_, name, known)
            case _:
                return None

    def _called(
        self, call: Call, callee: str, signature: FunctionType, name: str, known: _Known
    ) -> Body | None:
        """The body of a call on known data, or that makes data of constants; None if it stays."""
        recursive = callee in self.recursive
        makes = any(data_types_in(signature.result))
        knows = any(
            makes if isinstance(atom, Constant) else atom.name in known.data for atom in call.args
        )
        if self.nested:
            # A part of what is unfolded: all of it has to end.
            if not recursive and not knows:
                return None
            return self._unfolded(call, callee, name, known)
        if not knows or self.whole.name in self.recursive:
            return None
        self.count = 0
        trial = known.inner()
        try:
            found = self._unfolded(call, callee, name, trial)
        except _Endless:
            self.nested = 0
            return None
        known.names, known.data, known.tuples = trial.names, trial.data, trial.tuples
        return found

    def _unfolded(self, call: Call, callee: str, name: str, known: _Known) -> Body:
        function = self.named[callee]
        has_symbols = any(symbols_of(param.type) for param in function.params)
        if (
            self.nested >= self.limits.nested
            or writes_symbols(function.body)
            or (makes_functions(function.body) and has_symbols)
        ):
            raise _Endless
        params = (param.name for param in function.params)
        args = dict(zip(params, call.args, strict=True))
        body = self.fold.body(copied(function.body, args, self.taken, name))
        self.count += sum(1 for _ in all_lets(body))
        if self.count > self.limits.values:
            raise _Endless
        self.nested += 1
        found = self._body(body, known)
        self.nested -= 1
        if self.recursive & {*calls_by_name(found)}:
            raise _Endless
        return found
