"""Where code is being written, and what is known there."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from llvmlite import ir

from compiler.codegen.llvm import I64, splat
from compiler.errors import CodegenError
from compiler.ir.buffer import Buffer
from compiler.ir.expr import Var
from compiler.ir.interval import Interval

__all__ = ["Binding", "BufferLocation", "Frame", "LaneVar"]


@dataclass(frozen=True, slots=True)
class LaneVar:
    """The variable of a vectorized loop: lane number plus `base`, in each of `count` lanes."""

    base: Any
    count: int


Binding: TypeAlias = Any
"""What a loop variable stands for: an `i64`, an int that is known, or a `LaneVar`."""


@dataclass(frozen=True, slots=True)
class BufferLocation:
    """Where a buffer lies.

    Attributes
    ----------
    pointer
        To its first element.
    lanes
        How many copies lie side by side, element by element: the lanes of the vectorized loop that
        it is allocated in, each of which has its own; 1 elsewhere.
    stack
        Whether it is on the stack, perhaps to become registers.
    """

    buffer: Buffer
    pointer: Any
    lanes: int = 1
    stack: bool = False

    @property
    def size(self) -> int:
        """Elements, of all lanes."""
        return self.buffer.size * self.lanes


@dataclass
class Frame:
    """The state of writing one LLVM function. Loops and conditions nest as `with` blocks.

    An error ends the function: nothing is put back after one.

    Attributes
    ----------
    builder
        Where the next instruction goes.
    entry
        The builder where stack is taken.
    stack
        Stack by the buffer that has it.
    workspace
        The memory that the caller brings: the shared part, or in a task the worker's own.
    launch
        Who runs tasks; None inside of one.
    tags
        For each buffer the metadata that keeps its accesses apart from those of others.
    features
        Instruction sets of the target.
    contract
        Whether `x + a * b` is rounded once.
    bindings, ranges
        Loop variables, and the values that they take here.
    places
        Buffers by name.
    lanes, mask
        Within a vectorized loop: how many lanes, and which of them run (None: all).
    known
        Values that were computed on the way here: one table for each open loop or condition.
    """

    builder: Any
    entry: Any
    workspace: Any
    launch: Any
    tags: Mapping[str, tuple[Any, Any]]
    features: frozenset[str]
    contract: bool
    where: list[str]
    stack: dict[str, Any] = field(default_factory=dict)
    bindings: dict[str, Binding] = field(default_factory=dict)
    ranges: dict[str, Interval] = field(default_factory=dict)
    places: dict[str, BufferLocation] = field(default_factory=dict)
    lanes: int | None = None
    mask: Any = None
    known: list[dict[Hashable, Any]] = field(default_factory=lambda: [{}])

    def place(self, buffer: Buffer) -> BufferLocation:
        """Where a buffer lies; refused if nothing declares it."""
        if buffer.name not in self.places:
            raise self.error(f"{buffer.name} is neither a parameter nor allocated here")
        return self.places[buffer.name]

    def binding(self, variable: Var) -> Binding:
        """What a loop variable stands for; refused if no loop around declares it."""
        if variable.name not in self.bindings:
            raise self.error(f"{variable.name} is no variable of a loop around here")
        return self.bindings[variable.name]

    def error(self, message: str) -> CodegenError:
        """An error that says where it is."""
        return CodegenError(f"{' / '.join(self.where)}: {message}")

    def recall(self, key: Hashable) -> Any:
        """What was kept under `key` here or around here, or None."""
        for table in reversed(self.known):
            if key in table:
                return table[key]
        return None

    def keep(self, key: Hashable, value: Any) -> Any:
        """Keep a value for as long as the innermost loop or condition is open."""
        self.known[-1][key] = value
        return value

    @contextmanager
    def region(self) -> Iterator[None]:
        """Code that may not run, or runs again: what it computes is not known behind it."""
        self.known.append({})
        yield
        self.known.pop()

    @contextmanager
    def bound(self, name: str, binding: Binding, values: Interval) -> Iterator[None]:
        """A loop's variable within its body, and the values that it takes there."""
        self.bindings[name] = binding
        self.ranges[name] = values
        self.where.append(name)
        with self.region():
            yield
        self.where.pop()
        del self.bindings[name]
        del self.ranges[name]

    @contextmanager
    def vectorized(self, lanes: int) -> Iterator[None]:
        """Everything within happens in so many lanes."""
        self.lanes, self.mask = lanes, None
        yield
        self.lanes, self.mask = None, None

    @contextmanager
    def masked(self, condition: Any) -> Iterator[None]:
        """Only lanes where a condition holds run within, of those that ran before."""
        outer, inner = self.mask, splat(self.builder, condition, self.lanes)
        self.mask = inner if outer is None else self.builder.and_(outer, inner)
        with self.region():
            yield
        self.mask = outer

    def tag(self, instruction: Any, buffer: Buffer) -> Any:
        """Tell LLVM that an access to `buffer` touches no other."""
        own, others = self.tags[buffer.name]
        instruction.set_metadata("alias.scope", own)
        if others is not None:
            instruction.set_metadata("noalias", others)
        return instruction

    def number(self, value: Any) -> Any:
        """A number to index with: an int becomes a constant."""
        return ir.Constant(I64, value) if isinstance(value, int) else value
