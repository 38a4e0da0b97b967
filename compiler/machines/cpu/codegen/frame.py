"""The state of emitting one LLVM function: insertion points, variables, buffers, known values."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from llvmlite import ir

from tandem.compiler.errors import CodegenError
from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.expr import Var
from tandem.compiler.ir.interval_ops import Interval
from tandem.compiler.machines.cpu.codegen.cpu_target import CpuTarget
from tandem.compiler.machines.cpu.codegen.llvm import I64, splat


@dataclass(frozen=True, slots=True)
class LaneVar:
    """The value of a vectorized loop's variable: `base` plus the lane number, in `count` lanes."""

    base: Any
    count: int


Binding: TypeAlias = Any
"""The value of a loop variable: an `i64`, a known int, or a `LaneVar`."""


@dataclass(frozen=True, slots=True)
class BufferLocation:
    """The memory of a buffer.

    Attributes
    ----------
    pointer
        The address of its first element.
    lanes
        The number of copies, interleaved by element: one for each lane of the vectorized loop that
        the buffer is allocated in; 1 elsewhere.
    stack
        Whether the buffer is on the stack, where LLVM may make registers of it.
    """

    buffer: Buffer
    pointer: Any
    lanes: int = 1
    stack: bool = False

    @property
    def size(self) -> int:
        """The number of elements of all lanes."""
        return self.buffer.size * self.lanes


@dataclass
class Frame:
    """The state of emitting one LLVM function. Loops and conditions nest as `with` blocks.

    The state is undefined after an error.

    Attributes
    ----------
    builder
        The builder of the next instruction.
    entry
        The builder of the entry block, where stack memory is allocated.
    stack
        Pointers to allocated memory, by buffer.
    workspace
        The memory that the caller passes; inside a task, the worker's own part.
    launch
        The function that runs tasks; None inside a task.
    tags
        For each buffer the alias metadata of its accesses.
    target
        The processor.
    where
        Names of the function and the enclosing loops, for error messages.
    bindings, ranges
        The values and the ranges of loop variables, by name.
    places
        The memory of buffers, by name.
    lanes, mask
        Within a vectorized loop: the number of lanes, and the mask of active lanes (None: all).
    active
        Whether each lane is active; None if that is decided at run time.
    streamed
        Names of parameters whose cache lines are prefetched.
    converts_halves
        Whether there are instructions between float16 and float32.
    known
        Values computed so far, for reuse: one table for each open loop or condition.
    """

    builder: Any
    entry: Any
    workspace: Any
    launch: Any
    tags: Mapping[str, tuple[Any, Any]]
    target: CpuTarget
    where: list[str]
    stack: dict[str, Any] = field(default_factory=dict)
    bindings: dict[str, Binding] = field(default_factory=dict)
    ranges: dict[str, Interval] = field(default_factory=dict)
    places: dict[str, BufferLocation] = field(default_factory=dict)
    lanes: int | None = None
    mask: Any = None
    active: tuple[bool, ...] | None = None
    streamed: frozenset[str] = frozenset()
    converts_halves: bool = False
    known: list[dict[Hashable, Any]] = field(default_factory=lambda: [{}])
    _bodies: list[int] = field(default_factory=lambda: [0])
    """For each open loop with a variable in a register, the number of its table in `known`."""

    def place(self, buffer: Buffer) -> BufferLocation:
        """The memory of a buffer. Raises `CodegenError` if the buffer is not declared."""
        if buffer.name not in self.places:
            raise self.error(f"{buffer.name} is neither a parameter nor allocated here")
        return self.places[buffer.name]

    def binding(self, variable: Var) -> Binding:
        """The value of a loop variable. Raises `CodegenError` if no loop around declares it."""
        if variable.name not in self.bindings:
            raise self.error(f"{variable.name} is no variable of a loop around the statement")
        return self.bindings[variable.name]

    def error(self, message: str) -> CodegenError:
        """An error whose message names the function and the loops around."""
        return CodegenError(f"{' / '.join(self.where)}: {message}")

    def recall(self, key: Hashable) -> Any:
        """The value kept under `key` in an open loop or condition; None if there is none."""
        for table in reversed(self.known):
            if key in table:
                return table[key]
        return None

    def keep(self, key: Hashable, value: Any) -> Any:
        """Keep a value while the innermost loop or condition is open, and return it."""
        self.known[-1][key] = value
        return value

    def first_in_body(self, key: Hashable) -> bool:
        """Whether `key` is asked for the first time in the body of the innermost loop, of which
        unrolled iterations are parts."""
        table = self.known[self._bodies[-1]]
        return key not in table and table.setdefault(key, True)

    @contextmanager
    def region(self) -> Iterator[None]:
        """A scope of code that runs zero or more times; its kept values are dropped at its end."""
        self.known.append({})
        yield
        self.known.pop()

    @contextmanager
    def bound(self, name: str, binding: Binding, values: Interval) -> Iterator[None]:
        """The scope of a loop's body, in which the variable has a binding and a range."""
        self.bindings[name] = binding
        self.ranges[name] = values
        self.where.append(name)
        base = binding.base if isinstance(binding, LaneVar) else binding
        with self.region():
            if not isinstance(base, int):
                self._bodies.append(len(self.known) - 1)
            yield
            if not isinstance(base, int):
                self._bodies.pop()
        self.where.pop()
        del self.bindings[name]
        del self.ranges[name]

    @contextmanager
    def vectorized(self, lanes: int) -> Iterator[None]:
        """The scope of a vectorized loop's body, with that many lanes."""
        self.lanes, self.mask, self.active = lanes, None, (True,) * lanes
        yield
        self.lanes, self.mask, self.active = None, None, None

    @contextmanager
    def masked(self, condition: Any, truths: Sequence[int] | None) -> Iterator[None]:
        """A scope in which a lane is active only if `condition` holds there too; `truths` says in
        which lanes it does, or is None if that is not known."""
        outer, inner = self.mask, splat(self.builder, condition, self.lanes)
        active = self.active
        self.mask = inner if outer is None else self.builder.and_(outer, inner)
        self.active = None
        if active is not None and truths is not None:
            self.active = tuple(a and bool(b) for a, b in zip(active, truths, strict=True))
        with self.region():
            yield
        self.mask, self.active = outer, active

    def tag(self, instruction: Any, buffer: Buffer) -> Any:
        """Tell LLVM that an access to `buffer` aliases no other buffer, and return the access."""
        own, others = self.tags[buffer.name]
        instruction.set_metadata("alias.scope", own)
        if others is not None:
            instruction.set_metadata("noalias", others)
        return instruction

    def number(self, value: Any) -> Any:
        """An int as an `i64` constant; an LLVM value as it is."""
        return ir.Constant(I64, value) if isinstance(value, int) else value
