"""A sketch while it is generated: its schedule so far, and the decisions made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tandem.compiler.errors import ScheduleError
from tandem.compiler.ir.stmt import PrimFunc
from tandem.compiler.ir.visit import blocks
from tandem.compiler.te.knobs import Setting
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.tune.sketches.choosers import Chooser
from tandem.compiler.tune.sketches.rules import SketchRules
from tandem.compiler.tune.sketches.trace import Decision, SketchTrace


@dataclass
class Builder:
    """What the rules of the generator share.

    Attributes
    ----------
    constants
        The inputs whose values are known when the program is compiled.
    labels
        The names of inputs and stages in decisions: `a0` is the first input, `s0` the first stage.
    partial
        The stages of partial results.
    outer
        For each stage with loops of its own at the root: these loops' axes, outermost first.
    owners
        For each stage that has its place: the stage whose outer loops are around it.
    """

    schedule: Schedule
    rules: SketchRules
    constants: frozenset[str]
    chooser: Chooser
    labels: dict[str, str]
    partial: set[str] = field(default_factory=set)
    outer: dict[str, tuple[str, ...]] = field(default_factory=dict)
    owners: dict[str, str] = field(default_factory=dict)
    decisions: list[Decision] = field(default_factory=list)

    @staticmethod
    def of(
        start: Schedule, rules: SketchRules, constants: frozenset[str], chooser: Chooser
    ) -> Builder:
        """The builder of a sketch that begins with a schedule."""
        inputs = {each.name: f"a{at}" for at, each in enumerate(start.program.inputs)}
        stages = {each.name: f"s{at}" for at, each in enumerate(blocks(start.program.body))}
        return Builder(start, rules, constants, chooser, inputs | stages)

    @property
    def program(self) -> PrimFunc:
        """The program so far."""
        return self.schedule.program

    @property
    def trace(self) -> SketchTrace:
        """The decisions so far."""
        return SketchTrace(tuple(self.decisions))

    def choose(self, name: str, options: Sequence[Setting]) -> Setting:
        """An option, noted as a decision where there are several."""
        if len(options) == 1:
            return options[0]
        value = self.chooser.choose(name, options)
        self.decisions.append(Decision(name, value))
        return value

    def number(self, name: str, options: Sequence[int]) -> int:
        """As `choose`, of numbers."""
        return int(self.choose(name, options))

    def attempt(
        self, name: str, options: Sequence[Setting], change: Callable[[Setting], Schedule]
    ) -> Setting:
        """An option with which the schedule can be changed; the schedule is changed so.

        Raises
        ------
        ScheduleError
            There is no such option.
        """
        remaining = list(options)
        while True:
            several = len(options) > 1
            value = self.chooser.choose(name, remaining) if several else remaining[0]
            try:
                self.schedule = change(value)
            except ScheduleError:
                remaining.remove(value)
                if not remaining:
                    raise
                continue
            if several:
                self.decisions.append(Decision(name, value))
            return value
