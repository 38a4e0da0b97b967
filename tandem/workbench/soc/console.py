"""What a system's firmware says on its console."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tandem.workbench.errors import SocError
from tandem.workbench.export.header import Header

_LINE: Final = re.compile(r"(\w+) (\d+)")
_END: Final = re.compile(r"simulated (\d+) cycles in ([\d.]+) s")
_REAL_BOUND: Final = 1e-4
"""Of sums of real numbers, by the greatest one: what exported libraries are compared with."""


@dataclass(frozen=True, slots=True)
class SocOutput:
    """An output of a network, compared with that here.

    Attributes
    ----------
    equal, count
        How many of its elements are equal in every bit, of how many.
    error
        The greatest difference, by the greatest element; 0 if all are equal, infinite if unknown.
    """

    name: str
    equal: int
    count: int
    error: float

    @property
    def is_right(self) -> bool:
        """Whether it is what was expected: reals may be rounded otherwise."""
        return self.equal == self.count or self.error <= _REAL_BOUND


@dataclass(frozen=True, slots=True)
class SocRun:
    """A run of a network on a simulated system: cycles of the system, but for `seconds`.

    Attributes
    ----------
    load
        To find the machine and load weights and instructions, once.
    first, total, alone
        Of the first run; of the second, which is told by parts; and of the last, in which no clock
        is read between steps.
    launches
        Of the accelerator, from launches to their ends, by its own counter.
    kernels
        Of the processor, computing.
    configuration
        Of the processor, beside launches: copies to and from the accelerator's memory, registers,
        caches, and waiting for what has ended already.
    simulated, seconds
        Of the simulation: cycles, and its time here.
    """

    outputs: Sequence[SocOutput]
    load: int
    first: int
    total: int
    alone: int
    launches: int
    kernels: int
    configuration: int
    simulated: int
    seconds: float

    @property
    def firmware(self) -> int:
        """Cycles between the steps of the network."""
        return self.total - self.launches - self.kernels - self.configuration

    @property
    def is_right(self) -> bool:
        """Whether all outputs are."""
        return all(output.is_right for output in self.outputs)


def read_console(
    text: str, header: Header, launching: Sequence[bool], expected: Mapping[str, NDArray[Any]]
) -> SocRun:
    """The run that a console tells of.

    Parameters
    ----------
    launching
        Of each step, whether the accelerator computes it.
    expected
        The outputs here, by the model's names.

    Raises
    ------
    SocError
        The firmware failed, or did not end.
    """
    end = _END.search(text)
    lines = [found.groups() for found in _LINE.finditer(text[: end.start()] if end else text)]
    said: dict[str, list[int]] = {}
    outputs = list[SocOutput]()
    ports = iter(header.outputs)
    for at, (name, number) in enumerate(lines):
        said.setdefault(name, []).append(int(number))
        if name == "equal":
            port = next(ports)
            words = []
            for other, bits in lines[at + 1 :]:
                if other != "word":
                    break
                words.append(int(bits))
            outputs.append(_output(port.name, int(number), words, expected[port.name]))
    steps = said.get("step", [])
    if end is None or len(outputs) < len(header.outputs) or len(steps) != len(launching):
        raise SocError(f"the firmware did not end as it should; it said:\n{text.strip()[-1000:]}")
    of_launches = sum(cycles for cycles, launches in zip(steps, launching, strict=True) if launches)
    launches = said["machine"][0]
    return SocRun(
        *(outputs, said["load"][0], said["first"][0], said["run"][0], said["alone"][0], launches),
        *(sum(steps) - of_launches, of_launches - launches),
        *(int(end.group(1)), float(end.group(2))),
    )


def _output(name: str, equal: int, words: Sequence[int], expected: NDArray[Any]) -> SocOutput:
    error = 0.0
    if equal != expected.size:
        error = float("inf")
        if len(words) == expected.size:
            found = np.array(words, np.uint32).view(np.float32).astype(np.float64)
            wanted = expected.astype(np.float64).ravel()
            error = float(np.abs(found - wanted).max() / max(np.abs(wanted).max(), 1e-30))
    return SocOutput(name, equal, expected.size, error)
