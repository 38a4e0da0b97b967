"""Labels of a program for its timeline: layers, and the schedule position of each instruction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tandem.sim.errors import EngineError


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """The layers of a program.

    Attributes
    ----------
    layers
        Names of the layers.
    macs
        Useful multiply-accumulates of each layer.
    layer_of
        For each instruction the number of its layer; -1 if it belongs to none.
    places
        For each instruction the position in its layer's schedule that it was generated from, or "".
    """

    layers: tuple[str, ...]
    macs: tuple[int, ...]
    layer_of: npt.NDArray[np.integer]
    places: Sequence[str]

    def check(self, instructions: int) -> None:
        """Raise `EngineError` unless the labels fit a program of this number of instructions."""
        numbers = self.layer_of
        if len(numbers) != instructions or len(self.places) != instructions:
            raise EngineError(
                f"labels of {len(numbers)} and places of {len(self.places)} instructions: "
                f"the program has {instructions}"
            )
        if len(self.macs) != len(self.layers):
            raise EngineError(f"{len(self.layers)} layers with the work of {len(self.macs)}")
        wrong = numbers[(numbers < -1) | (numbers >= len(self.layers))]
        if len(wrong):
            raise EngineError(f"an instruction of layer {wrong[0]}: there are {len(self.layers)}")

    def layer(self, instruction: int) -> str | None:
        """The name of an instruction's layer; None if it belongs to none."""
        number = int(self.layer_of[instruction])
        return None if number < 0 else self.layers[number]
