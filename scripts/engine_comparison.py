"""`--compare`: the option, and the comparison of two engines as text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from tandem.scripts.tables import plain_console, plain_table, print_table, whole_number
from tandem.sim.engines import check_engine
from tandem.workbench.engine_comparison import EngineComparison


@dataclass(frozen=True, slots=True)
class EngineNames:
    """The names of two engines to compare; results are the first one's."""

    first: str
    second: str

    @property
    def names(self) -> tuple[str, str]:
        """Both names."""
        return self.first, self.second


def parse_engines(text: str) -> EngineNames:
    """The two engines of `--compare`, separated by a comma."""
    names = [name.strip() for name in text.split(",")]
    if len(names) != 2 or not all(names):
        raise typer.BadParameter(f"{text!r} is not two engines, such as rtl,cycle")
    if names[0] == names[1]:
        raise typer.BadParameter(f"{text!r} is one engine twice: name two, such as rtl,cycle")
    return EngineNames(*names)


CompareOption = Annotated[
    EngineNames | None,
    typer.Option(
        "--compare",
        metavar="NAME,NAME",
        parser=parse_engines,
        help="Run on two engines, such as rtl,cycle, and fail at the first difference: of events, "
        "cycles, counters or bytes; with functional, of bytes alone. The first engine's results "
        "are printed.",
    ),
]


def choose_engine(context: typer.Context, engine: str, compared: EngineNames | None) -> str:
    """The engine whose results are printed: that of `--engine`, or the first of `--compare`.

    Raises
    ------
    typer.BadParameter
        Both options were given.
    EngineError
        An engine that does not exist.
    """
    if compared is None:
        check_engine(engine)
        return engine
    source = context.get_parameter_source("engine")
    if source is not None and source.name == "COMMANDLINE":
        raise typer.BadParameter("--engine and --compare: one or the other")
    check_engine(compared.first)
    check_engine(compared.second)
    return compared.first


def print_comparison(compared: EngineComparison) -> None:
    """Print the verdict, and the differences of the first launch that has any as a table."""
    console = plain_console()
    found, (one, other) = compared.first(), compared.engines
    if found is None:
        what = "every byte; the rest needs two engines with time"
        if compared.launches[0].has_time:
            what = "every event, cycle, counter and byte"
        console.print(f"{one} and {other} agree: {what}; launches: {len(compared.launches):,}")
        return
    number, _ = found
    apart = sum(not launch.equal for launch in compared.launches)
    of = "" if len(compared.launches) == 1 else f" in {apart} of {len(compared.launches)} launches"
    console.print(f"{one} and {other} differ{of}; the first of each kind:")
    table = plain_table(("event", "unit", "instruction"), (one, other))
    for difference in compared.launches[number].differences:
        unit = "" if difference.unit is None else difference.unit.name.lower()
        values = (whole_number(value, "-") for value in difference.values)
        table.add_row(difference.event, unit, compared.instruction(number, difference), *values)
    print_table(console, table)
