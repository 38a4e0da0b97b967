"""The processor that code is compiled for."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tandem.base.processor import Host
from tandem.compiler.errors import CodegenError
from tandem.runtime.native.processor import available_threads

_BUILT_ON = (
    ("avx", ("avx2", "fma", "f16c", "xop", "vaes", "vpclmul")),
    ("avx2", ("avx512",)),
    ("fma", ("avx512",)),
    ("avx512f", ("avx512",)),
)
"""Features, and the name prefixes of features that depend on them; base features first."""
_VECTORS = {
    "aarch64": "neon",
    "riscv64": "v",
    "thumbv8.1m.main": "mve",
    "wasm32": "simd128",
}
"""The features of vector units of 128 bits and more."""
_REGISTERS = {"thumbv8.1m.main": 8, "thumbv7em": 16, "x86_64": 16}
"""Registers of vectors, or of real numbers, where there are fewer than 32."""
_FMA = {
    "aarch64": ("neon", "neon"),
    "riscv32": ("f", "d"),
    "riscv64": ("f", "d"),
    "thumbv7em": ("vfp4d16sp", "vfp4d16"),
    "thumbv8.1m.main": ("fp-armv8d16", "fp-armv8d16"),
    "x86_64": ("fma", "fma"),
}
"""The features with which `a * b + c` is rounded once, of floats of 32 and of 64 bits; none of
WebAssembly's is."""
_FPU = ("fp16", "vfp4d16sp")
"""The features of a Cortex-M4 for floats, without which the compiler's functions compute them."""
_FPU_OFF = "-vfp2sp"
"""LLVM's word for one without them: what the others build on."""
_ALWAYS = ("64bit", "cmov", "cx8", "fxsr", "mmx", "sse", "sse2", "x87")
"""Features of every x86-64 processor; LLVM ends the process if one of them is switched off."""


@dataclass(frozen=True)
class CpuTarget:
    """A processor, and the number of threads that a function may use.

    Attributes
    ----------
    triple, cpu
        LLVM's names, as `x86_64-unknown-linux-gnu` and `znver4`.
    features
        LLVM's names of the instruction sets that code may use, sorted: `avx2`, `fma`.
    threads
        Threads that run a parallel loop.
    proven
        Whether LLVM is known to make code for it. Else kernels are compiled in a process of their
        own, which LLVM ends where it cannot.
    """

    triple: str
    cpu: str
    features: tuple[str, ...]
    threads: int = 1
    proven: bool = True

    def __post_init__(self) -> None:
        if self.threads < 1:
            raise CodegenError(f"a function needs a thread, not {self.threads}")

    @classmethod
    def host(cls, threads: int | None = None) -> CpuTarget:
        """This machine, with all of its cores unless `threads` says otherwise."""
        host = Host.detect()
        threads = available_threads() if threads is None else threads
        return cls(host.triple, host.cpu, host.features, threads)

    def without(self, *features: str) -> CpuTarget:
        """The processor without these features, and without those that build on them."""
        gone = set(features)
        for base, prefixes in _BUILT_ON:
            if base in gone:
                gone |= {each for each in self.features if each.startswith(prefixes)}
        return replace(self, features=tuple(each for each in self.features if each not in gone))

    def without_fpu(self) -> CpuTarget:
        """The processor without its instructions for floats, with which some are made. Raises
        `CodegenError` for others."""
        if self.architecture != "thumbv7em":
            # LLVM 22 ends the process for a Cortex-M55 without: it cannot select instructions.
            raise CodegenError(f"no code for {self.cpu} without its FPU: only for cortex-m4")
        return self.without(*_FPU)

    @property
    def register_bits(self) -> int:
        """The size of the widest vector register: of RISC-V's vectors, the least that there is."""
        if self.architecture == "x86_64":
            return 512 if "avx512f" in self.features else 256 if "avx2" in self.features else 128
        return 128 if self.has_vectors else 64

    @property
    def has_vectors(self) -> bool:
        """Whether it has registers of several elements."""
        return self.architecture == "x86_64" or _VECTORS.get(self.architecture) in self.features

    @property
    def registers(self) -> int:
        """The number of vector registers, or of those for real numbers where there are none."""
        return 32 if "avx512f" in self.features else _REGISTERS.get(self.architecture, 32)

    @property
    def architecture(self) -> str:
        """The first part of the triple."""
        return self.triple.partition("-")[0]

    def has_fma(self, bits: int) -> bool:
        """Whether it rounds `a * b + c` once, of floats of 32 or 64 bits."""
        of_32, of_64 = _FMA.get(self.architecture, ("", ""))
        return (of_32 if bits == 32 else of_64) in self.features

    def permutes(self, bits: int) -> bool:
        """Whether one instruction permutes the elements of two registers, of so many bits, and
        masks are free."""
        needed = {"avx512f", "avx512vl"}
        if bits < 32:
            needed |= {"avx512bw"} if bits == 16 else {"avx512bw", "avx512vbmi"}
        return self.architecture == "x86_64" and needed <= {*self.features}

    @property
    def has_fpu(self) -> bool:
        """Whether it has instructions for floats; the compiler's functions compute them else."""
        if self.architecture.startswith("riscv"):
            return "f" in self.features
        is_arm_m = self.architecture.startswith("thumb")
        return not is_arm_m or any(each.startswith(("vfp", "fp-armv8")) for each in self.features)

    @property
    def has_rounding(self) -> bool:
        """Whether it has instructions that round to whole numbers."""
        return self.has_fpu and not self.architecture.startswith("thumbv7")

    @property
    def pointer_bits(self) -> int:
        """The size of an address."""
        return 64 if self.architecture in ("aarch64", "nvptx64", "riscv64", "x86_64") else 32

    @property
    def threaded(self) -> bool:
        """Whether a system runs on it that has threads."""
        return "-linux" in self.triple or self.triple == Host.detect().triple

    @property
    def abi(self) -> str:
        """LLVM's name of the calling convention, where it has to be said."""
        if self.architecture == "riscv32":
            return "ilp32"
        return "lp64d" if self.architecture == "riscv64" and "d" in self.features else ""

    @property
    def relocation(self) -> str:
        """LLVM's name of how code finds addresses: those of a program without a system are
        fixed when it is linked."""
        return "pic" if self.threaded else "static"

    @property
    def feature_string(self) -> str:
        """LLVM's feature string, as `-avx512f,+avx2`: on the host's triple, features
        that are not among `features` are switched off."""
        host = Host.detect()
        known = {*host.features, *host.absent} if self.triple == host.triple else set()
        kept = {*self.features, *_ALWAYS}
        off = [f"-{each}" for each in sorted(known) if each not in kept]
        off += [_FPU_OFF] * (self.architecture == "thumbv7em" and not self.has_fpu)
        return ",".join([*off, *(f"+{each}" for each in self.features)])
