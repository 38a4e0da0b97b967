"""What a search for operations came to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tandem.compiler.machines.accelerator.discovery.candidates import Dropped
from tandem.compiler.machines.accelerator.discovery.costs import SetCost
from tandem.compiler.machines.accelerator.discovery.pass_counts import PassCounts
from tandem.compiler.machines.accelerator.discovery.sets import RatedSet
from tandem.hw.alu_terms import print_term
from tandem.hw.config import HardwareConfig
from tandem.hw.custom_operations import CustomOperation


@dataclass(frozen=True, slots=True)
class FoundOperation:
    """An operation that was chosen.

    Attributes
    ----------
    sequence
        What it replaces, as a text.
    verdict
        What z3 says of both being equal.
    layers
        The kinds of layers that it has a part in.
    saves
        The estimated cycles that it alone saves in all networks.
    cost
        What it alone takes, by the estimates.
    """

    operation: CustomOperation
    sequence: str
    verdict: str
    layers: int
    saves: int
    cost: SetCost

    @property
    def proved(self) -> bool:
        """Whether the operation is the sequence for all numbers."""
        return self.verdict == "proved"

    def as_json(self) -> dict[str, Any]:
        """The operation in the command's JSON."""
        return {
            "name": self.operation.name,
            "expression": print_term(self.operation.result),
            "parameters": {one.name: one.type_text for one in self.operation.parameters},
            "sequence": self.sequence,
            "proved": self.proved,
            "layers": self.layers,
            "saves": self.saves,
            "area": {"lut": self.cost.lut, "dsp": self.cost.dsp, "share": self.cost.share},
        }


@dataclass(frozen=True, slots=True)
class NetworkCycles:
    """The exact cycles of a network before and after; and those in which the ALU issues.

    Attributes
    ----------
    held_out
        Whether the choice did not see it.
    extended
        The cycles with the extension that a person made; None if the machine cannot have it.
    """

    model: str
    before: int
    after: int
    alu_before: int
    alu_after: int
    held_out: bool
    extended: int | None = None

    @property
    def ratio(self) -> float:
        """Cycles after as a part of those before."""
        return self.after / self.before

    @property
    def alu_share(self) -> float:
        """The part of the cycles before in which the ALU issues."""
        return self.alu_before / self.before

    @property
    def reached(self) -> float | None:
        """What was saved as a part of what the extension saves; None if that saves nothing."""
        if self.extended is None or self.extended >= self.before:
            return None
        return (self.before - self.after) / (self.before - self.extended)

    def as_json(self) -> dict[str, Any]:
        """The network in the command's JSON."""
        return {
            "model": self.model,
            "before": self.before,
            "after": self.after,
            "ratio": self.ratio,
            "alu_share": self.alu_share,
            "held_out": self.held_out,
            "extended": self.extended,
            "reached": self.reached,
        }


@dataclass(frozen=True, slots=True)
class NetworkPasses:
    """The cycles of the ALU's passes in a network on the base machine, by what they are for."""

    model: str
    counts: PassCounts

    def as_json(self) -> dict[str, Any]:
        """The counts in the command's JSON."""
        return {
            "model": self.model,
            "requantisation": self.counts.numbers,
            "residuals": self.counts.residuals,
            "elementwise": self.counts.elementwise,
            "windows": self.counts.windows,
            "copies": self.counts.copies,
            "dropped": list(self.counts.reasons),
        }


@dataclass(frozen=True, slots=True)
class Area:
    """What the chosen operations take.

    Attributes
    ----------
    cost
        Beside the base machine.
    source
        `model` or `synthesis`.
    """

    cost: SetCost
    source: str

    def as_json(self) -> dict[str, Any]:
        """The area in the command's JSON."""
        return {
            "lut": self.cost.lut,
            "dsp": self.cost.dsp,
            "share": self.cost.share,
            "source": self.source,
        }


@dataclass(frozen=True, slots=True)
class FrontSet:
    """A set on the front of estimated cycles and area: its operations as texts."""

    rated: RatedSet
    operations: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """The set in the command's JSON."""
        return {
            "operations": list(self.operations),
            "ratio": self.rated.ratio,
            "lut": self.rated.cost.lut,
            "dsp": self.rated.cost.dsp,
            "share": self.rated.cost.share,
        }


@dataclass(frozen=True, slots=True)
class Found:
    """What a search for operations came to.

    Attributes
    ----------
    config
        The base machine with the operations.
    candidates, dropped
        The number of candidates; and what does not fit the instruction.
    passes
        What the ALU does in the networks that the operations were chosen for.
    front
        The sets that no other beats in estimated cycles without more gates.
    greedy
        The mean ratio of cycles of the set that grew by one operation at a time, estimated.
    """

    baseline: HardwareConfig
    config: HardwareConfig
    operations: tuple[FoundOperation, ...]
    networks: tuple[NetworkCycles, ...]
    area: Area
    candidates: int
    dropped: tuple[Dropped, ...]
    passes: tuple[NetworkPasses, ...]
    front: tuple[FrontSet, ...]
    greedy: float
    judged: int
    seconds: float

    @property
    def slower(self) -> tuple[str, ...]:
        """The networks that take more cycles than before."""
        return tuple(one.model for one in self.networks if one.after > one.before)

    def as_json(self) -> dict[str, Any]:
        """The command's JSON."""
        return {
            "operations": [one.as_json() for one in self.operations],
            "stages": self.config.alu_stages,
            "networks": [one.as_json() for one in self.networks],
            "area": self.area.as_json(),
            "candidates": self.candidates,
            "dropped": len(self.dropped),
            "passes": [one.as_json() for one in self.passes],
            "front": [one.as_json() for one in self.front],
            "greedy": self.greedy,
            "judged": self.judged,
            "seconds": self.seconds,
        }
