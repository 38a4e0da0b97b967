"""Where a stream's tensors lie: every call finds the bytes that its operands' producers wrote."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from random import Random
from types import SimpleNamespace
from typing import cast

import numpy as np
import numpy.typing as npt
import pytest

from tandem.compiler.graph import Call, Function, Let, TensorType, Type, Var
from tandem.compiler.graph.memory import LiveRange, peak
from tandem.compiler.machines.accelerator.lower.dram_layout import dram_alignment, first_address
from tandem.compiler.machines.accelerator.planned_calls import (
    PlannedCall,
    PlannedStream,
    StreamPlaces,
    places_of,
)
from tandem.compiler.plan.placement import Regions, bytes_of, place_call, placement_of
from tandem.compiler.plan.planner import Plan
from tests.support.compiler.graph.graphs import graph
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine

TINY = machine("tiny")
CASES = 100
BLOCK = 4
LAYOUT = f"{{0, 1/{BLOCK}, 2, 3, _, 1%{BLOCK}}}"


def _blocks(channels: int) -> str:
    return f"int8[1, {channels}, 16, 15]{LAYOUT}"


def _kernel(name: str, operands: Sequence[tuple[str, int]], channels: int, core: str) -> Let:
    """The call of a kernel that only places its operands."""
    params = ", ".join(f"p{at}: {_blocks(each)}" for at, (_, each) in enumerate(operands))
    given = ", ".join(f"{operand}: {_blocks(size)}" for operand, size in operands)
    plain = [
        f"  a{at} = convert(p{at}, shape=[1, {size}, 16, 15], source={LAYOUT})"
        for at, (_, size) in enumerate(operands)
    ]
    names = ", ".join(each for each, _ in operands)
    text = "\n".join(
        [
            f"kernel[other, placed] @k({params}) -> {_blocks(channels)}:",
            *plain,
            f"  c = {core}",
            f"  r = convert(c, shape=[1, {channels}, 16, 15], target={LAYOUT})",
            "  return r",
            "",
            f"func @f({given}) -> {_blocks(channels)}:",
            f"  {name} = @k({names})",
            f"  return {name}",
        ]
    )
    (let,) = graph(text).body.lets
    return let


def _concat(name: str, operands: Sequence[tuple[str, int]]) -> Let:
    parts = ", ".join(f"a{at}" for at in range(len(operands)))
    channels = sum(size for _, size in operands)
    return _kernel(name, operands, channels, f"concat({parts}, axis=1)")


def _slice(name: str, operand: tuple[str, int], start: int, end: int) -> Let:
    core = f"slice(a0, starts=[{start}], ends=[{end}], axes=[1])"
    return _kernel(name, [operand], end - start, core)


@cache
def _type(channels: int) -> TensorType:
    (param,) = graph(f"func @f(x: {_blocks(channels)}) -> {_blocks(channels)}:\n  return x").params
    assert isinstance(param.type, TensorType)
    return param.type


def _call(name: str, type_: TensorType, operands: Sequence[str]) -> PlannedCall:
    """A call that computes: of its plan only the names of the operands are asked for."""
    tensors = {f"x{at}": each for at, each in enumerate(operands)}
    plan = SimpleNamespace(found=SimpleNamespace(tensors=tensors))
    return PlannedCall(name, type_, name, cast(Plan, plan))


@dataclass
class Draft:
    """A stream that is being drawn; `written` are the tensors that the host or a call writes."""

    channels: dict[str, int] = field(default_factory=dict)
    types: dict[str, Type] = field(default_factory=dict)
    calls: list[PlannedCall] = field(default_factory=list)
    placements: dict[str, Call] = field(default_factory=dict)
    inputs: list[str] = field(default_factory=list)
    regions: Regions = field(default_factory=Regions)

    def add(self, name: str, channels: int) -> TensorType:
        """A tensor that can be read from now on."""
        self.channels[name] = channels
        type_ = _type(channels)
        self.types[name] = type_
        return type_

    def compute(self, name: str, channels: int, operands: Sequence[str]) -> None:
        """A call that reads operands and writes a result."""
        self.calls.append(_call(name, self.add(name, channels), operands))

    def place(self, let: Let, channels: int) -> None:
        """A placement, unless its tensors cannot lie so: what `PlaceParts` refuses as well."""
        assert isinstance(let.value, Call)
        types = {**self.types, let.name: _type(channels)}
        regions = self.regions.copy()
        if place_call(regions, let.name, let.value, types) is not None:
            return
        if regions.overlap(let.name, {*self.placements, let.name}) is not None:
            return
        self.regions = regions
        self.placements[let.name] = let.value
        self.add(let.name, channels)

    def stream(self, results: Sequence[str]) -> PlannedStream:
        """The stream."""
        calls, placements, inputs = tuple(self.calls), self.placements, tuple(self.inputs)
        return PlannedStream(calls, placements, self.types, inputs, tuple(results))


def _drawn(seed: int) -> PlannedStream:
    """A stream of calls, concatenations and slices, of whatever there is so far."""
    rng = Random(f"stream {seed}")
    draft = Draft()
    for number in range(rng.randint(1, 2)):
        draft.add(f"in{number}", BLOCK * rng.randint(1, 6))
        draft.inputs.append(f"in{number}")
    for number in range(rng.randint(2, 12)):
        names = list(draft.channels)
        # Mostly recent ones, so that memory becomes free.
        near = names[-4:] if rng.random() < 0.7 else names
        match rng.choice(["compute", "compute", "concat", "slice"]):
            case "compute":
                operands = rng.sample(near, min(len(near), rng.randint(1, 2)))
                draft.compute(f"t{number}", rng.randint(1, 24), operands)
            case "concat":
                parts = rng.sample(near, min(len(near), rng.randint(2, 3)))
                sizes = [(each, draft.channels[each]) for each in parts]
                if len(parts) > 1 and not any(size % BLOCK for _, size in sizes[:-1]):
                    draft.place(_concat(f"t{number}", sizes), sum(size for _, size in sizes))
            case "slice":
                operand = rng.choice(near)
                size = draft.channels[operand]
                start = BLOCK * rng.randrange(-(-size // BLOCK))
                end = rng.randint(start + 1, size)
                draft.place(_slice(f"t{number}", (operand, size), start, end), end - start)
    if not draft.calls:
        draft.compute("t", 5, draft.inputs[:1])
    *others, last = draft.channels
    results = [each for each in others if rng.random() < 0.2 and each not in draft.inputs]
    return draft.stream([*results, last])


Tokens = npt.NDArray[np.int64]


@dataclass
class Memory:
    """Who wrote each byte last, for tensors that have an address; the others lie elsewhere."""

    stream: PlannedStream
    places: StreamPlaces

    def __post_init__(self) -> None:
        self.bytes = np.full(self.places.end, -1, np.int64)
        self.numbers = {name: number for number, name in enumerate(self.stream.types)}

    def write(self, name: str) -> None:
        """Write the bytes of a tensor, as a call or the host does."""
        begin = self.places.addresses[name]
        content = self.content(name)
        self.bytes[begin : begin + len(content)] = content

    def check(self, name: str, when: str) -> None:
        """A tensor has the bytes that it consists of."""
        if name not in self.places.addresses:
            return
        wanted = self.content(name)
        begin = self.places.addresses[name]
        found = self.bytes[begin : begin + len(wanted)]
        assert found.tolist() == wanted.tolist(), f"{when} {name} is overwritten or elsewhere"

    def content(self, name: str) -> Tokens:
        """The bytes of a tensor: a number for each that is written, of its own."""
        size = bytes_of(self.stream.types[name])
        if name not in self.stream.placements:
            return (self.numbers[name] << 20) + np.arange(size)
        call = self.stream.placements[name]
        assert isinstance(call.callee, Function)
        operands = [self.content(each.name) for each in call.args if isinstance(each, Var)]
        if len(operands) > 1:
            return np.concatenate(operands)
        distances = placement_of(call.callee)
        assert distances is not None
        return operands[0][-distances[0] :][:size]


def _run(stream: PlannedStream, places: StreamPlaces) -> None:
    """Execute the stream: a call may write any byte of its result before it reads the last of its
    operands."""
    memory = Memory(stream, places)
    for name in stream.inputs:
        if name in places.addresses:
            memory.write(name)
    for call in stream.calls:
        memory.write(call.name)
        for name in call.tensors.values():
            memory.check(name, f"to {call.name}")
        memory.check(call.name, "after the call")
    for name in stream.results:
        memory.check(name, "in the end")


@cache
def _placed(seed: int) -> tuple[PlannedStream, StreamPlaces]:
    stream = _drawn(seed)
    return stream, places_of(stream, TINY)


def test_every_call_finds_its_operands() -> None:
    kinds = set()
    for seed in range(CASES):
        stream, places = _placed(seed)
        _run(stream, places)
        computed = {call.name for call in stream.calls}
        assert {*places.addresses} >= computed | {*stream.placements}
        kinds |= {len(stream.placements) > 1, bool({*stream.results} & {*stream.placements})}
        ends = [at + bytes_of(stream.types[each]) for each, at in places.addresses.items()]
        assert first_address(TINY) == min(places.addresses.values())
        assert max(ends) <= places.end
        assert places.end - max(ends) < dram_alignment(TINY)
    assert kinds == {True, False}


def test_places_are_recorded(recorded: Callable[[str, Sequence[str]], None]) -> None:
    """Not only sound, but as small as they were."""
    texts = []
    for seed in range(CASES):
        _, places = _placed(seed)
        texts.append(f"{places.end} {sorted(places.addresses.items())}")
    recorded("recorded/layers/places.txt", texts)


def test_a_chain_takes_two_places() -> None:
    draft = Draft()
    draft.add("in0", 8)
    draft.inputs.append("in0")
    before = "in0"
    for number in range(6):
        draft.compute(f"t{number}", 8, [before])
        before = f"t{number}"
    places = places_of(draft.stream([before]), TINY)
    size = bytes_of(draft.types["in0"])
    ranges = [LiveRange(str(at), size, at, at + 1) for at in range(6)]
    assert places.end - first_address(TINY) == peak(ranges, dram_alignment(TINY))
    assert len({*places.addresses.values()}) == 2


@pytest.mark.parametrize("late", ["a", "b"])
def test_parts_stay_as_long_as_the_last_of_them_is_read(late: str) -> None:
    """Whichever part is read again after the whole, and whatever is computed meanwhile."""
    draft = Draft()
    draft.add("in0", 8)
    draft.inputs.append("in0")
    draft.compute("a", 8, ["in0"])
    draft.compute("b", 8, ["in0"])
    draft.place(_concat("c", [("a", 8), ("b", 8)]), 16)
    draft.compute("d", 16, ["c"])
    draft.compute("e", 16, ["d"])
    draft.compute("f", 16, ["e"])
    draft.compute("g", 8, ["f", late])
    stream = draft.stream(["g"])
    places = places_of(stream, TINY)
    _run(stream, places)
    assert places.addresses["b"] - places.addresses["a"] == bytes_of(stream.types["a"])
    assert places.addresses["c"] == places.addresses["a"]
