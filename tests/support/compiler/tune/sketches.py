"""Sketches in tests: decisions by name, and the options that there were."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tandem.compiler.te.knobs import Setting
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.tune.sketches.builder import Builder
from tandem.compiler.tune.sketches.choosers import Chooser
from tandem.compiler.tune.sketches.rules import SketchRules


class Decided(Chooser):
    """Takes what is decided, else the first option; notes all options."""

    def __init__(self, values: Mapping[str, Setting]) -> None:
        self.values = values
        self.options: dict[str, list[Setting]] = {}

    def choose(self, name: str, options: Sequence[Setting]) -> Setting:
        """The value of the decision."""
        self.options.setdefault(name, [*options])
        wanted = self.values.get(name)
        return wanted if wanted in options and wanted is not None else options[0]


def built(
    start: Schedule, rules: SketchRules | None = None, /, **values: Setting
) -> tuple[Builder, dict[str, list[Setting]]]:
    """A builder with decisions, `s0__tile` for `s0.tile`, and the options that it will be asked."""
    chooser = Decided({name.replace("__", "."): value for name, value in values.items()})
    given = SketchRules(128, 16) if rules is None else rules
    return Builder.of(start, given, frozenset(), chooser), chooser.options
