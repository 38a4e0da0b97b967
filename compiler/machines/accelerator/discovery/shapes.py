"""Runs of ALU steps without their numbers: what layers and networks have in common.

A step of a run has its operator, and what it takes beside the result of the step before is the
operation's second operand, that operand times a number, or a number. A product that is cut, and the
sums after it whose low bits are zeros, may be one step: parts of one operand are what it takes.
What makes such an operand of the residual's values is a run, too, which begins with the residual.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import product
from typing import TypeAlias

from tandem.compiler.machines.accelerator.discovery.chains import FIELD_BITS, packable
from tandem.compiler.machines.accelerator.templates.custom_passes import (
    ChainStep,
    Residual,
    ResidualSum,
    Values,
)
from tandem.hw.operations import AluOp


class Role(Enum):
    """What a step of an operation takes beside the result of the step before."""

    SECOND = "b"
    SCALED = "b * number"
    NUMBER = "number"
    PACKED = "parts of b"
    """Of a product that is cut: the factor and an addend, which the steps after it add."""
    MULTIPLE = "number << 15"
    """Of a residual: its factor beside another one below."""

    @property
    def has_number(self) -> bool:
        """Whether there is a number, which a parameter may be."""
        return self in (Role.SCALED, Role.NUMBER, Role.MULTIPLE)


@dataclass(frozen=True, slots=True)
class ShapeStep:
    """A step without its numbers; `cut` as of `ChainStep`."""

    op: AluOp
    role: Role
    cut: int | None = None


Shape: TypeAlias = tuple[ShapeStep, ...]
"""The steps of a run."""


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A shape with the numbers of one place where it occurs, in the steps' order."""

    shape: Shape
    numbers: tuple[int, ...]


def occurrences(steps: Sequence[ChainStep]) -> Iterator[Occurrence]:
    """All ways in which runs of a chain are the steps of one operation of at most two operands."""
    for begin in range(len(steps)):
        for end in range(begin + 1, len(steps) + 1):
            run = steps[begin:end]
            if not (run[0].identity or run[-1].identity):
                yield from _of_run(run)
                for length in (2, 3):
                    if length <= len(run) and packable(run[:length]):
                        yield from _packed(run, length)
                if len(run) == 3 and packable(run):
                    yield from _over_residual(run)


def _of_run(run: Sequence[ChainStep]) -> Iterator[Occurrence]:
    for chosen in product(*(tuple(_roles(step)) for step in run)):
        roles = [role for role, _ in chosen]
        if sum(role is not Role.NUMBER for role in roles) > 1:
            continue
        if len(run) == 1 and roles[0] is not Role.SCALED and run[0].cut is None:
            continue  # The base instruction set has it.
        shape = tuple(
            ShapeStep(step.op, role, step.cut) for step, role in zip(run, roles, strict=True)
        )
        yield Occurrence(shape, tuple(number for _, number in chosen if number is not None))


def _packed(run: Sequence[ChainStep], length: int) -> Iterator[Occurrence]:
    """The run whose first steps take parts of the second operand: the others have numbers."""
    numbers = []
    for step in run[length:]:
        found = [number for role, number in _roles(step) if role is Role.NUMBER]
        if not found or found[0] is None:
            return
        numbers.append(found[0])
    rest = (ShapeStep(step.op, Role.NUMBER, step.cut) for step in run[length:])
    yield Occurrence((ShapeStep(AluOp.MUL, Role.PACKED, run[0].cut), *rest), (*numbers,))


def _over_residual(run: Sequence[ChainStep]) -> Iterator[Occurrence]:
    """What the residual of a product that is cut and sums goes through before its use: a product,
    and the sum with the operand for each channel."""
    for step in run:
        match step.operand:
            case Residual(multiplier=multiplier) if run[0].cut is not None:
                steps = ShapeStep(AluOp.MUL, Role.MULTIPLE), ShapeStep(AluOp.ADD, Role.SECOND)
                yield Occurrence(steps, (multiplier << run[0].cut >> FIELD_BITS,))
            case _:
                pass


def _roles(step: ChainStep) -> Iterator[tuple[Role, int | None]]:
    """The roles that a step's operand can have, with its number."""
    match step.operand:
        case Residual(multiplier=multiplier):
            yield Role.SECOND, None
            if multiplier != 1:
                yield Role.SCALED, multiplier
        case Values():
            common = step.operand.common
            if step.op is not AluOp.SHR:
                # A shift by an operand can be out of range.
                yield Role.SECOND, None
            if common is not None:
                yield Role.NUMBER, common
        case ResidualSum():
            pass  # Made of two steps, where these are covered.
