"""Which processor code is made for."""

from __future__ import annotations

from dataclasses import dataclass, replace

from compiler.errors import CodegenError
from runtime.native.host import Host, available_threads

__all__ = ["CpuTarget"]

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
        host = Host.detect()
        return cls(
            host.triple,
            host.cpu,
            host.features,
            threads if threads is not None else available_threads(),
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
        host = Host.detect()
        known = {*host.features, *host.absent} if self.triple == host.triple else set()
        kept = {*self.features, *_ALWAYS}
        off = [f"-{each}" for each in sorted(known) if each not in kept]
        return ",".join([*off, *(f"+{each}" for each in self.features)])
