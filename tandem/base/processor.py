"""The processor of this computer, as LLVM names it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from llvmlite import binding


@dataclass(frozen=True, slots=True)
class Host:
    """A processor.

    Attributes
    ----------
    triple, cpu
        LLVM's names, as `x86_64-unknown-linux-gnu` and `znver4`.
    features
        LLVM's names of the instruction sets that the processor has, sorted: `avx2`, `fma`.
    absent
        Names of the instruction sets that LLVM knows and the processor lacks, sorted.
    """

    triple: str
    cpu: str
    features: tuple[str, ...]
    absent: tuple[str, ...]

    @classmethod
    def detect(cls) -> Host:
        """The processor that this process runs on."""
        return _detected()


@cache
def _detected() -> Host:
    initialise()
    features = binding.get_host_cpu_features()
    return Host(
        binding.get_process_triple(),
        binding.get_host_cpu_name(),
        tuple(sorted(name for name, present in features.items() if present)),
        tuple(sorted(name for name, present in features.items() if not present)),
    )


@cache
def initialise() -> None:
    """Register LLVM's back end for this machine; may be called any number of times."""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()


@cache
def initialise_all() -> None:
    """Register LLVM's back ends for all machines; may be called any number of times."""
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()


def target_of(triple: str) -> Any:
    """LLVM's target of a triple. Raises `RuntimeError` if LLVM has none."""
    initialise()
    if triple.partition("-")[0] != binding.get_process_triple().partition("-")[0]:
        initialise_all()
    return binding.Target.from_triple(triple)


def object_of_text(text: str, triple: str, level: int) -> bytes:
    """The object file of an LLVM module's text, for any processor of a triple.

    Parameters
    ----------
    level
        How much LLVM optimises, 0 to 3.

    Raises
    ------
    RuntimeError
        LLVM has no code for the triple, or refuses the module.
    """
    module = binding.parse_assembly(text)
    module.triple = triple
    machine = target_of(triple).create_target_machine(opt=level, reloc="pic", codemodel="small")
    module.data_layout = str(machine.target_data)
    module.verify()
    options = binding.create_pipeline_tuning_options(level)
    passes = binding.create_pass_builder(machine, options)
    passes.getModulePassManager().run(module, passes)
    found: bytes = machine.emit_object(module)
    return found
