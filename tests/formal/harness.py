"""A circuit around a block: what its inputs may do, and what must hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from amaranth.asserts import AnySeq, Initial
from amaranth.hdl import Array, Assert, Assume, Cover, Module, Mux, ResetSignal, Signal, Value

Expression = Any
"""Something Amaranth can make a value of: it ships no types."""


def implies(condition: Expression, consequence: Expression) -> Any:
    """If the condition holds, so does the consequence; both are truth values."""
    return ~Value.cast(condition).bool() | Value.cast(consequence).bool()


class Harness:
    """A module with free inputs, assumptions and properties.

    A property is a part of the block's contract. An invariant is about its insides: induction
    needs some, but a fault must show in a property.

    Registers and memories have no initial value: the first cycle is a reset, in which nothing is
    assumed or claimed, and the only one.
    """

    def __init__(self) -> None:
        self.module = Module()
        self.peeks: dict[str, str] = {}
        """The harness's wire, and the name that the wire inside the block has when flattened."""
        self.properties: dict[str, Expression] = {}
        self.invariants: dict[str, Expression] = {}
        self.covers: list[str] = []
        self._names: set[str] = set()
        self.comb(Assume(ResetSignal() == Initial()))

    def comb(self, *statements: Any) -> None:
        """Combinational statements, outside any condition."""
        self.module.d.comb += list(statements)

    def sync(self, *statements: Any) -> None:
        """Clocked statements, outside any condition."""
        self.module.d.sync += list(statements)

    # Inputs -----------------------------------------------------------------------------

    def free(self, *signals: Any) -> None:
        """Inputs that may have any value in each cycle."""
        for signal in signals:
            value = Value.cast(signal)
            self.comb(value.eq(AnySeq(len(value))))

    def choice(self) -> Any:
        """A bit that may have any value in each cycle."""
        bit = Signal(name="choice")
        self.free(bit)
        return bit

    def suppose(self, condition: Expression) -> None:
        """What the block's surroundings keep to."""
        self.comb(Assume(ResetSignal() | Value.cast(condition).bool()))

    # Claims -----------------------------------------------------------------------------

    def must(self, name: str, condition: Expression) -> None:
        """A property."""
        self.properties[self._new(name)] = condition

    def invariant(self, name: str, condition: Expression) -> None:
        """A relation inside the block, proved with the properties and used by their induction."""
        self.invariants[self._new(name)] = condition

    def claim(self, claims: Mapping[str, Expression]) -> None:
        """Hand claims to the prover."""
        for name, condition in claims.items():
            self.comb(Assert(ResetSignal() | Value.cast(condition).bool(), name))

    def reach(self, name: str, condition: Expression) -> None:
        """What can happen: a guard against assumptions that leave nothing to prove."""
        self.covers.append(self._new(name))
        self.comb(Cover(~ResetSignal() & Value.cast(condition).bool(), name))

    def steady(self, name: str, valid: Any, ready: Any, *payload: Any) -> None:
        """Rule of every handshake: once valid, it stays and so does its payload until taken."""
        held = self.delayed(valid & ~ready)
        same = [Value.cast(part) == self.delayed(part) for part in payload]
        self.must(f"{name}_stays_valid", implies(held, valid))
        for number, equal in enumerate(same):
            self.must(f"{name}_payload_{number}_is_steady", implies(held, equal))

    # Helpers ----------------------------------------------------------------------------

    def delayed(self, value: Any) -> Any:
        """The value of a cycle ago; 0 in the cycle after reset."""
        now = Value.cast(value)
        past = Signal(len(now))
        self.sync(past.eq(now))
        return past

    def counter(self, bits: int, up: Expression, down: Expression, clear: Expression = 0) -> Any:
        """How much more went up than down, before this cycle and after the last `clear`."""
        count = Signal(bits)
        self.sync(count.eq(Mux(clear, 0, count + up - down)))
        return count

    def peek(self, path: str, bits: int) -> Any:
        """A wire inside the block: `dut.head` is `head` of the submodule `dut`.

        The prover connects it, and fails if there is no such wire.
        """
        name = f"peek_{len(self.peeks)}"
        seen = Signal(bits, name=name)
        self.free(seen)
        self.peeks[name] = path
        return seen

    def queue_at(self, path: str, depth: int, width: int, *, deep: bool = False) -> Any:
        """The payloads in the Queue at `path`, oldest first; adds what holds in every Queue."""
        bits = (depth - 1).bit_length()
        stem = path.replace(".", "_")
        if deep:
            head = self.peek(f"{path}.head", bits)
        else:
            head = self.peek(f"{path}.after_head", bits) - 1
        tail = self.peek(f"{path}.tail", bits)
        level = self.peek(f"{path}.level", bits + 1)
        filled = self.peek(f"{path}.filled", 1)
        space = self.peek(f"{path}.space", 1)
        shown = self.peek(f"{path}.o__payload", width)
        if not deep:
            several = self.peek(f"{path}.several", 1)
            self.invariant(f"{stem}_several_is_two_or_more", several == (level >= 2))
        array = "storage.array" if deep else "storage"
        words = Array(self.peek(f"{path}.{array}[{at}]", width) for at in range(depth))
        self.invariant(f"{stem}_level_in_range", level <= depth)
        self.invariant(f"{stem}_level_is_distance", (tail - head)[:bits] == level[:bits])
        self.invariant(f"{stem}_filled_is_not_empty", filled == (level != 0))
        self.invariant(f"{stem}_space_is_not_full", space == (level != depth))
        self.invariant(f"{stem}_shows_the_oldest", implies(level != 0, shown == words[head[:bits]]))
        return lambda place: words[(head + place)[:bits]]

    def _new(self, name: str) -> str:
        if name in self._names:
            raise ValueError(f"two claims are called {name}")
        self._names.add(name)
        return name


class Follower:
    """Follows one of many things that come and go in order; which one, the solver chooses.

    What is proved of the one is proved of all. After it left, another can be chosen. All leave at
    once when they are dropped, with those that come in that cycle.

    Attributes
    ----------
    active
        One is being followed.
    ahead
        How many are before it.
    word
        What was known of it when it came.
    is_next
        Whether the followed thing is the next to leave.
    """

    def __init__(
        self,
        harness: Harness,
        *,
        comes: Any,
        leaves: Any,
        waiting: Any,
        word: Any,
        bits: int,
        dropped: Expression = 0,
    ) -> None:
        known = Value.cast(word)
        self.active = Signal(name="followed")
        self.ahead = Signal(bits, name="ahead")
        self.word = Signal(len(known), name="word")
        self.is_next = self.active & (self.ahead == 0)
        self.starts = Signal(name="starts")
        harness.comb(self.starts.eq(comes & harness.choice() & ~self.active))
        m = harness.module
        with m.If(dropped):
            m.d.sync += self.active.eq(0)
        with m.Elif(self.starts):
            m.d.sync += [self.active.eq(1), self.ahead.eq(waiting - leaves), self.word.eq(known)]
        with m.Elif(self.active & leaves):
            m.d.sync += [
                self.active.eq(self.ahead != 0),
                self.ahead.eq(Mux(self.ahead != 0, self.ahead - 1, 0)),
            ]
