"""Errors of the compiler's floor, all rooted in `CompilerError`."""

from __future__ import annotations

from tandem.base.errors import Error


class CompilerError(Error):
    """Root of every error that the `compiler` package raises on purpose."""


class IRError(CompilerError):
    """A program of the loop language that means nothing: types, scopes, shapes, bounds."""


class ParseError(IRError):
    """A text that is no program.

    Attributes
    ----------
    line, column
        Where in the text, both from 1.
    """

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(f"line {line}, column {column}: {message}")
        self.line = line
        self.column = column


class GraphError(CompilerError):
    """A graph that means nothing, or that what is asked of it does not fit."""


class GradientError(GraphError):
    """A function or an operator of a graph has no gradient."""


class EvaluationError(CompilerError):
    """A graph whose evaluation does not end within the limits."""


class TensorError(CompilerError):
    """A tensor expression that means nothing: ranks, shapes, types, axes."""


class ScheduleError(CompilerError):
    """A primitive that cannot be applied, or cannot be shown to keep the result.

    Attributes
    ----------
    primitive
        The primitive, as it is written in a trace.
    reason
        Why; names loops, buffers and numbers.
    """

    def __init__(self, primitive: str, reason: str) -> None:
        super().__init__(f"{primitive}: {reason}")
        self.primitive = primitive
        self.reason = reason


class ReplayError(CompilerError):
    """A trace that cannot be read, or lacks a choice."""


class CodegenError(CompilerError):
    """A program that a back end cannot express, or native code that cannot run here."""


class LoweringError(CompilerError):
    """A program that the accelerator's instructions cannot express; names loops and buffers."""


class CapacityError(LoweringError):
    """Buffers that an on-chip memory cannot hold at the same time, or a stream that the machine's
    addresses do not reach; says by how much."""


class BuildError(CompilerError):
    """A graph that cannot become an artifact; names values."""


class Refusal(CompilerError):
    """What a target does not do, and the limit that it hits: a refusal, and no error. Whatever was
    asked for stays with another target."""


class QuantisationError(CompilerError):
    """Numbers that integers cannot stand for: scales, shifts, ranges, sums over 32 bits."""


class FrontendError(CompilerError):
    """Somebody else's model that cannot be read: no model, a broken one, or one that is not
    supported; names files, nodes and tensors, in one line, whatever these names hold."""

    def __init__(self, message: str) -> None:
        line = " ".join(message.split())
        super().__init__("".join(each if each.isprintable() else "?" for each in line))


class UnsupportedError(FrontendError):
    """A model that may be right, and of which something is not supported here."""


class UnknownValueError(UnsupportedError):
    """An operand whose value has to be known at import, and depends on a model's inputs.

    Attributes
    ----------
    operand
        The operand's name in the model.
    inputs
        The names of the inputs that it depends on.
    """

    def __init__(self, message: str, operand: str, inputs: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.operand = operand
        self.inputs = inputs


class RecordError(CompilerError):
    """A record of tuning that cannot be read or written; names the file, the line and the entry."""


class TuningError(CompilerError):
    """Times of choices that cannot be compared."""


class BoundError(CompilerError):
    """A lower bound that a measurement is below: an error in the bound, which proves nothing."""


class WorkerError(CompilerError):
    """Something to measure that cannot be sent to another process, or not be imported there."""


class SpaceError(CompilerError):
    """A text that is no description of a space of machines, or a space without one that fits."""


class SearchError(CompilerError):
    """A search that cannot go on: its storage cannot be used, or belongs to another search."""
