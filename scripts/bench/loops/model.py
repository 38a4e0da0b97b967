"""What LLVM's models of processors say of a loop, by llvm-mca.

A model has the units of a processor, and of each instruction the units that it takes and its
latency. Loads are from the nearest cache, branches are predicted.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from typing import Final

from tandem.scripts.bench.loops.assembly import Loop
from tandem.scripts.errors import CommandError

_LEAST_LLVM: Final = 16
"""LLVM 14 and 15 take a Neoverse N1 for a Cortex-A72."""
_MOST_LLVM: Final = 30
_WARM, _LONG = 100, 300
"""Iterations: the first ones fill the pipeline."""


@dataclass(frozen=True, slots=True)
class Core:
    """A processor, and LLVM's model of it.

    Attributes
    ----------
    triple, name
        LLVM's names of it.
    features
        Instruction sets beyond the model's own.
    """

    name: str
    triple: str
    features: tuple[str, ...] = ()

    def cycles(self, loop: Loop) -> float:
        """The cycles of an iteration, in the long run."""
        first, last = (self._summary(loop.text, count)["TotalCycles"] for count in (_WARM, _LONG))
        return float(last - first) / (_LONG - _WARM)

    def throughput(self, instructions: str) -> float:
        """The least cycles of instructions that do not wait for each other, by the units that they
        take."""
        return float(self._summary(instructions, 1)["BlockRThroughput"])

    def _summary(self, text: str, iterations: int) -> dict[str, float]:
        command = [
            _llvm_mca(),
            f"-mtriple={self.triple}",
            f"-mcpu={self.name}",
            f"-mattr={','.join(f'+{each}' for each in self.features)}",
            f"-iterations={iterations}",
            "-json",
        ]
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        if done.returncode:
            raise CommandError(f"llvm-mca refuses a loop for {self.name}: {done.stderr.strip()}")
        found: dict[str, float] = json.loads(done.stdout)["CodeRegions"][0]["SummaryView"]
        return found


def _llvm_mca() -> str:
    """The path of llvm-mca. Raises `CommandError` if there is none that is new enough."""
    names = [f"llvm-mca-{version}" for version in range(_MOST_LLVM, _LEAST_LLVM - 1, -1)]
    for name in (*names, "llvm-mca"):
        path = shutil.which(name)
        if path is not None and _version(path) >= _LEAST_LLVM:
            return path
    raise CommandError(
        f"there is no llvm-mca of LLVM {_LEAST_LLVM} or newer: on Debian, install llvm-19"
    )


def _version(path: str) -> int:
    done = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
    found = re.search(r"LLVM version (\d+)", done.stdout)
    return int(found[1]) if found else 0


def model_version() -> int:
    """The version of LLVM whose models are asked."""
    return _version(_llvm_mca())
