"""Which processor code is made for."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

from llvmlite import binding

from compiler.errors import CodegenError

__all__ = ["CpuTarget", "initialise"]

_BUILT_ON = (
    ("avx", ("avx2", "fma", "f16c", "xop", "vaes", "vpclmul")),
    ("avx2", ("avx512",)),
    ("fma", ("avx512",)),
    ("avx512f", ("avx512",)),
)
"""What names of features begin with that need another: each line after those it needs."""
_ALWAYS = ("64bit", "cmov", "cx8", "fxsr", "mmx", "sse", "sse2", "x87")
"""What every processor of x86-64 has; LLVM ends the process when it is asked to do without."""


@dataclass(frozen=True)
class CpuTarget:
    """A processor, and how many threads a function may use.

    Attributes
    ----------
    triple, cpu
        LLVM's names, as `x86_64-unknown-linux-gnu` and `znver4`.
    features
        Names of the instruction sets that code may use, sorted, as LLVM calls them: `avx2`, `fma`.
    threads
        Threads that a parallel loop is spread over.
    """

    triple: str
    cpu: str
    features: tuple[str, ...]
    threads: int = 1

    def __post_init__(self) -> None:
        if self.threads < 1:
            raise CodegenError(f"a function needs a thread, not {self.threads}")

    @classmethod
    def host(cls, threads: int | None = None) -> CpuTarget:
        """This machine, with all of its cores unless `threads` says otherwise."""
        initialise()
        features = binding.get_host_cpu_features()
        return cls(
            _host_triple(),
            binding.get_host_cpu_name(),
            tuple(sorted(name for name, present in features.items() if present)),
            threads if threads is not None else len(os.sched_getaffinity(0)),
        )

    def without(self, *features: str) -> CpuTarget:
        """A lesser processor: without these features, and those that build on them."""
        gone = set(features)
        for base, built in _BUILT_ON:
            if base in gone:
                gone |= {each for each in self.features if each.startswith(built)}
        return replace(self, features=tuple(each for each in self.features if each not in gone))

    @property
    def register_bits(self) -> int:
        """The size of the widest vector register."""
        return 512 if "avx512f" in self.features else 256 if "avx2" in self.features else 128

    @property
    def feature_string(self) -> str:
        """As LLVM's target machine takes it: what is not listed is switched off, even if `cpu`
        has it."""
        initialise()
        known = binding.get_host_cpu_features() if self.triple == _host_triple() else {}
        kept = {*self.features, *_ALWAYS}
        off = [f"-{each}" for each in sorted(known) if each not in kept]
        return ",".join([*off, *(f"+{each}" for each in self.features)])


def _host_triple() -> str:
    triple: str = binding.get_process_triple()
    return triple


def initialise() -> None:
    """Make LLVM's back end for this machine known to it; any number of times."""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
