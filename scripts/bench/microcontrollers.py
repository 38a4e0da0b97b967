"""MLPerf Tiny's networks in int8 on Cortex-M: `python -m tandem.scripts.bench.microcontrollers`.

RAM is arena and workspace; inputs, outputs and the stack are the caller's. Flash is machine code
and weights. The bounds are what others publish of their code for these networks, and 60 KB of code.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import tandem
from tandem.scripts.bench.measurements import Measurement, print_measurements
from tandem.scripts.bench.mlperf_tiny import MLPERF_TINY

PROCESSORS = ("cortex-m4", "cortex-m55")
RAM_KB = {"resnet8": 56, "mobilenet-v1-0.25": 100, "ds-cnn": 24, "autoencoder": 4}
"""The greatest RAM that is aimed at, in 1,000 bytes."""
CODE_KB = 60


def measure() -> Iterator[Measurement]:
    """RAM, code and weights of each network on each processor."""
    for name, make in MLPERF_TINY.items():
        for processor in PROCESSORS:
            with TemporaryDirectory() as folder, warnings.catch_warnings():
                # Scales from noise serve here: sizes do not depend on them.
                warnings.simplefilter("ignore")
                compiled = tandem.compile(make(), tandem.Cpu(processor), quantize="multiplier")
                header = compiled.export(Path(folder) / "library", name="network").header
            ram = (header.arena_bytes + header.workspace_bytes) / 1e3
            label = f"{name}, {processor}"
            yield Measurement(f"{label}: RAM", ram, "KB", RAM_KB[name], at_most=True)
            code = header.code_bytes / 1e3
            yield Measurement(f"{label}: code", code, "KB", CODE_KB, at_most=True)
            yield Measurement(f"{label}: weights", header.weight_bytes / 1e3, "KB")


def main() -> int:
    """The command; gives its exit code."""
    return print_measurements(measure())


if __name__ == "__main__":
    sys.exit(main())
