"""`--compare`: two engines on the same launches, and the first difference between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import typer

from runtime.layer_profiles import StreamRun
from scripts.errors import CommandError
from scripts.tables import plain_console, plain_table, print_table, whole_number
from sim.compare import Comparison, Difference
from sim.engines import check_engine


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


@dataclass(frozen=True, slots=True)
class EngineComparison:
    """The comparisons of a command's launches.

    Attributes
    ----------
    launches
        One comparison for each launch; at least one.
    streams
        The launches of a network with their streams, which name the layers; empty without one.
    """

    launches: Sequence[Comparison]
    streams: Sequence[StreamRun] = ()

    @property
    def engines(self) -> tuple[str, str]:
        """The engines' names."""
        return self.launches[0].engines

    @property
    def equal(self) -> bool:
        """Whether the engines agree on all launches."""
        return all(launch.equal for launch in self.launches)

    def as_json(self) -> dict[str, object]:
        """The entry `compare` of a command's JSON."""
        found = self._first()
        first = None
        if found is not None:
            number, difference = found
            first = {
                "launch": number,
                "layer": self._layer(number, difference),
                "instruction": difference.instruction,
                "text": difference.text,
                "unit": None if difference.unit is None else difference.unit.name.lower(),
                "event": difference.event,
                "values": list(difference.values),
            }
        return {"engines": list(self.engines), "equal": self.equal, "first": first}

    def print(self) -> None:
        """Print the verdict, and the differences of the first launch that has any as a table."""
        console = plain_console()
        found, (one, other) = self._first(), self.engines
        if found is None:
            what = "every byte; the rest needs two engines with time"
            if self.launches[0].has_time:
                what = "every event, cycle, counter and byte"
            console.print(f"{one} and {other} agree: {what}; launches: {len(self.launches):,}")
            return
        number, _ = found
        apart = sum(not launch.equal for launch in self.launches)
        of = "" if len(self.launches) == 1 else f" in {apart} of {len(self.launches)} launches"
        console.print(f"{one} and {other} differ{of}; the first of each kind:")
        table = plain_table(("event", "unit", "instruction"), (one, other))
        for difference in self.launches[number].differences:
            unit = "" if difference.unit is None else difference.unit.name.lower()
            values = (whole_number(value, "-") for value in difference.values)
            table.add_row(difference.event, unit, self._instruction(number, difference), *values)
        print_table(console, table)

    def raise_if_different(self) -> None:
        """Raise `CommandError` with the first difference, if there is one."""
        found = self._first()
        if found is None:
            return
        number, difference = found
        unit = "" if difference.unit is None else f"{difference.unit.name.lower()} "
        where = self._instruction(number, difference)
        at = f" at instruction {where}" if where else ""
        values = " and ".join(whole_number(value, "none") for value in difference.values)
        one, other = self.engines
        raise CommandError(f"{one} and {other} differ{at}: {unit}{difference.event}: {values}")

    def _first(self) -> tuple[int, Difference] | None:
        """The number of the first launch with a difference, and its first difference."""
        for number, launch in enumerate(self.launches):
            if launch.first is not None:
                return number, launch.first
        return None

    def _instruction(self, launch: int, difference: Difference) -> str:
        if difference.instruction is None:
            return ""
        layer = self._layer(launch, difference)
        of = "" if layer is None else f" of {layer}"
        return f"{difference.instruction}{of}: {difference.text}"

    def _layer(self, launch: int, difference: Difference) -> str | None:
        """The name of the layer of the instruction, if a network was run."""
        if difference.instruction is None or launch >= len(self.streams):
            return None
        stream = self.streams[launch].stream
        number = int(stream.layer_of[difference.instruction])
        return None if number < 0 else stream.layers[number].name
