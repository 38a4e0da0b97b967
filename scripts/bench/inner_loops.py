"""Inner loops on other processors, as the tables of docs/cpu-kernels.md.

`python -m tandem.scripts.bench.inner_loops` compiles layers for processors that are not here, and
asks LLVM's models of them how many cycles an iteration of the hottest loop takes: the share of the
products that the model could do, of Tandem's loop and of GCC's for the obvious loops in C. A model
knows neither caches nor mispredicted branches.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.processors import PROCESSORS, processor_of
from tandem.scripts.bench.loops.assembly import hot_loop
from tandem.scripts.bench.loops.layers import DTYPES, LAYERS, ROW, Layer
from tandem.scripts.bench.loops.model import Core, model_version

LEAST: Final = 70
"""The least share of the peak, in per cent, of a loop that needs no reason."""
_U74: Final = "sifive-u74"
_AARCH64: Final = "aarch64-linux-gnu"
_RISCV: Final = "riscv64-linux-gnu"
CORES: Final = {
    name: Core(name, _AARCH64, ("dotprod",) if "dotprod" in PROCESSORS[name].features else ())
    for name in ("cortex-a53", "cortex-a72", "cortex-a55", "neoverse-n1")
} | {_U74: Core(_U74, _RISCV, ("m", "a", "f", "d", "c"))}
"""The processors, by LLVM's names."""

_ACCUMULATORS: Final = 16


@dataclass(frozen=True, slots=True)
class Sequence:
    """Instructions that multiply and add.

    Attributes
    ----------
    text
        The instructions, with `{0}` for the number of an accumulator.
    needs
        The feature of processors that have them, or their architecture.
    """

    name: str
    text: str
    products: int
    needs: str

    def rate(self, core: Core) -> float:
        """The products a cycle of a processor that does nothing else."""
        text = "\n".join(self.text.format(each) for each in range(_ACCUMULATORS))
        return self.products * _ACCUMULATORS / core.throughput(text)


SEQUENCES: Final[Mapping[str, tuple[Sequence, ...]]] = {
    "float32": (
        Sequence("fmla", "fmla v{0}.4s, v30.4s, v31.4s", 4, _AARCH64),
        Sequence("fmadd.s", "fmadd.s f{0}, f30, f31, f{0}", 1, _RISCV),
    ),
    "int8": (
        Sequence("sdot", "sdot v{0}.4s, v30.16b, v31.16b", 16, "dotprod"),
        Sequence("smlal", "smlal v{0}.4s, v30.4h, v31.4h", 4, _AARCH64),
        Sequence(
            "smull, sadalp", "smull v29.8h, v30.8b, v31.8b\nsadalp v{0}.4s, v29.8h", 8, _AARCH64
        ),
        Sequence("mulw, addw", "mulw x31, x30, x29\naddw x{0}, x{0}, x31", 1, _RISCV),
    ),
}
"""What computes exact sums of products, by the data's type."""


_WRITE_BACK: Final = "in order: results are written back in order, so that loads wait for products"
REASONS: Final[Mapping[tuple[str, str], str]] = {
    ("cortex-a53", "float32"): _WRITE_BACK,
    ("cortex-a55", "float32"): _WRITE_BACK,
    (_U74, "float32"): "in order: the loads of an iteration come before its products",
    (_U74, "int8"): "no vectors: loads, products and sums share two instructions a cycle",
}
"""Why a processor's loops of a type are far from the peak."""
ONE_ROW: Final = "in order: a weight is loaded for each product"


@dataclass(frozen=True, slots=True)
class Peak:
    """The most products a cycle, by the model of a processor."""

    sequence: str
    products: float


@dataclass(frozen=True, slots=True)
class Row:
    """What a processor does of a layer: products a cycle, of Tandem's loop and of GCC's."""

    core: str
    layer: str
    dtype: str
    ours: float
    theirs: float
    peak: Peak

    @property
    def share(self) -> int:
        """Of the peak, in per cent."""
        return round(100 * self.ours / self.peak.products)

    def __str__(self) -> str:
        rates = f"{self.ours:.2f} | {self.share}% | {self.theirs:.2f}"
        return f"| {self.core} | {self.layer} | {self.dtype} | {rates} | {self.reason or ''} |"

    @property
    def reason(self) -> str | None:
        """Why the share is under `LEAST`; None if it is not, or not known why."""
        if self.share >= LEAST:
            return None
        return ONE_ROW if self.layer == ROW.name else REASONS.get((self.core, self.dtype))


def peak_of(core: Core, dtype: str) -> Peak:
    """The fastest of the sequences that a processor has."""
    known = {*core.features, core.triple}
    found = [Peak(each.name, each.rate(core)) for each in SEQUENCES[dtype] if each.needs in known]
    return max(found, key=lambda peak: peak.products)


def target_of(name: str) -> CpuTarget:
    """The target of a processor."""
    known = PROCESSORS.get(name)
    return known or processor_of("riscv64-unknown-linux-gnu", name)


def compiler_of(name: str) -> tuple[str, ...]:
    """GCC for a processor."""
    if name == _U74:
        return f"{_RISCV}-gcc", "-march=rv64gc", "-mtune=sifive-7-series"
    return f"{_AARCH64}-gcc", f"-mcpu={name}"


def measure(name: str, layer: Layer, dtype: str) -> Row:
    """The row of a processor, a layer and a type."""
    core = CORES[name]
    ours = hot_loop(layer.assembly(dtype, target_of(name)))
    theirs = hot_loop(layer.gcc_assembly(dtype, compiler_of(name)))
    our_rate, their_rate = (loop.products / core.cycles(loop) for loop in (ours, theirs))
    return Row(name, layer.name, dtype, our_rate, their_rate, peak_of(core, dtype))


def rows() -> Iterator[Row]:
    """All rows of the table."""
    for dtype in DTYPES:
        for name in CORES:
            for layer in LAYERS:
                yield measure(name, layer, dtype)


def main() -> int:
    """Print the peaks and the table; 1 where a share under `LEAST` has no reason."""
    print(f"Peaks of the models of LLVM {model_version()}, products a cycle:")
    print()
    print("| processor | float32 | int8 |")
    print("|---|---|---|")
    for name, core in CORES.items():
        peaks = (peak_of(core, dtype) for dtype in DTYPES)
        print(
            f"| {name} | " + " | ".join(f"{p.products:.3g} (`{p.sequence}`)" for p in peaks) + " |"
        )
    print()
    print("| processor | layer | type | products a cycle | of the peak | GCC | because |")
    print("|---|---|---|--:|--:|--:|---|")
    missing = False
    for row in rows():
        print(row, flush=True)
        missing |= row.share < LEAST and row.reason is None
    return int(missing)


if __name__ == "__main__":
    sys.exit(main())
