"""Two engines on the same launches, and the first difference between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tandem.runtime.layer_profiles import StreamRun
from tandem.sim.compare import Comparison, Difference
from tandem.workbench.errors import DifferenceError


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
        found = self.first()
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

    def raise_if_different(self) -> None:
        """Raise `DifferenceError` with the first difference, if there is one."""
        text = self.first_text()
        if text is not None:
            raise DifferenceError(text)

    def first_text(self) -> str | None:
        """The first difference as text: engines, instruction, event, values; None without one."""
        found = self.first()
        if found is None:
            return None
        number, difference = found
        unit = "" if difference.unit is None else f"{difference.unit.name.lower()} "
        where = self.instruction(number, difference)
        at = f" at instruction {where}" if where else ""
        values = " and ".join(
            "none" if value is None else f"{value:,}" for value in difference.values
        )
        one, other = self.engines
        return f"{one} and {other} differ{at}: {unit}{difference.event}: {values}"

    def first(self) -> tuple[int, Difference] | None:
        """The number of the first launch with a difference, and its first difference."""
        for number, launch in enumerate(self.launches):
            if launch.first is not None:
                return number, launch.first
        return None

    def instruction(self, launch: int, difference: Difference) -> str:
        """The instruction of a difference as text, with its layer; empty if it is of none."""
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
