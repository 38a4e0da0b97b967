"""The machine that this runs on."""

from __future__ import annotations

import os
from dataclasses import dataclass

from llvmlite import binding

__all__ = ["Host", "available_threads", "initialise"]


@dataclass(frozen=True, slots=True)
class Host:
    """A processor.

    Attributes
    ----------
    triple, cpu
        LLVM's names, as `x86_64-unknown-linux-gnu` and `znver4`.
    features
        Names of the instruction sets that it has, sorted, as LLVM calls them: `avx2`, `fma`.
    absent
        Those that LLVM knows of and this one does not have.
    """

    triple: str
    cpu: str
    features: tuple[str, ...]
    absent: tuple[str, ...]

    @classmethod
    def detect(cls) -> Host:
        """This one."""
        initialise()
        features = binding.get_host_cpu_features()
        return cls(
            binding.get_process_triple(),
            binding.get_host_cpu_name(),
            tuple(sorted(name for name, present in features.items() if present)),
            tuple(sorted(name for name, present in features.items() if not present)),
        )


def available_threads() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0))


def initialise() -> None:
    """Make LLVM's back end for this machine known to it; any number of times."""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
