"""From LLVM's text to machine code.

LLVM neither unrolls nor vectorizes loops here: the schedule has said which loops are.
"""

from __future__ import annotations

from typing import Any

from llvmlite import binding

from compiler.codegen.target import CpuTarget
from compiler.errors import CodegenError
from runtime.native.host import initialise

__all__ = ["assembly", "machine_code", "optimised"]

_LEVEL = 3


def machine_code(text: str, target: CpuTarget) -> bytes:
    """An object file, position-independent, of a module's text."""
    machine = _machine(target)
    code: bytes = machine.emit_object(_optimise(text, machine))
    return code


def assembly(text: str, target: CpuTarget) -> str:
    """The same as assembly, to read."""
    machine = _machine(target)
    code: str = machine.emit_assembly(_optimise(text, machine))
    return code


def optimised(text: str, target: CpuTarget) -> str:
    """LLVM's text after its passes, to read."""
    return str(_optimise(text, _machine(target)))


def _machine(target: CpuTarget) -> Any:
    initialise()
    try:
        kind = binding.Target.from_triple(target.triple)
    except RuntimeError as error:
        raise CodegenError(f"no code for {target.triple} can be made here: {error}") from None
    return kind.create_target_machine(
        cpu=target.cpu,
        features=target.feature_string,
        opt=_LEVEL,
        reloc="pic",
        codemodel="small",
    )


def _optimise(text: str, machine: Any) -> Any:
    try:
        module = binding.parse_assembly(text)
        module.verify()
    except RuntimeError as error:
        raise CodegenError(f"LLVM refuses the module: {error}") from None
    options = binding.create_pipeline_tuning_options(_LEVEL)
    options.loop_unrolling = False
    options.loop_vectorization = False
    options.loop_interleaving = False
    options.slp_vectorization = False
    passes = binding.create_pass_builder(machine, options)
    passes.getModulePassManager().run(module, passes)
    return module
